"""One call: every method at every budget."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from cerflearn._typing import FloatArray
from cerflearn._validation import check_integer, invalid
from cerflearn.comparison.data import Data, Predict, Split, read, read_test, split
from cerflearn.comparison.methods import METHODS, SAME_AT_EVERY_BUDGET
from cerflearn.comparison.model import Model, TooDearError
from cerflearn.comparison.progress import Progress
from cerflearn.comparison.table import Frontier, Row

_TIMED_ROWS = 2_000
_REPEATS = 7


def frontier(
    X: Any,
    y: Any,
    macs: Any,
    methods: Sequence[str] | None = None,
    *,
    test_size: float = 0.25,
    test_set: tuple[Any, Any] | None = None,
    task: str = "auto",
    n_seeds: int = 1,
    random_state: Any = 0,
    verbose: bool = False,
) -> Frontier:
    r"""Compare methods at equal multiply-accumulates: accuracy against MACs, and against time.

    Every method builds the best model whose features and scores together cost at most a budget,
    with settings chosen on training rows alone, and is judged on test rows.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Inputs, finite.
    y : array-like of shape (n_samples,) or (n_samples, n_targets)
        Labels or numbers.
    macs : int or sequence of int
        Budgets: most MACs of one row.
    methods : sequence of str, default=None
        What to compare; None is all of:

        - ``"linear"``: ridge or logistic regression, D MACs for each score; from the budget on
          that pays for it;
        - ``"mlp"``: dense perceptron of scikit-learn with one hidden layer of ReLU;
        - ``"pruned_mlp"``: such a perceptron pruned to the budget while it is trained;
        - ``"rff"``, ``"fastfood"``, ``"nystroem"``: random features and ridge regression;
        - ``"masked"``, ``"cvem"``, ``"blocked"``: likewise with :class:`MaskedFourierFeatures`,
          :class:`MaskedCERF` with ``selector="cvem"``, and :class:`BlockedCERF`;
        - ``"refined"``: :class:`CERFClassifier` or :class:`CERFRegressor` with
          ``learn="features"``;
        - ``"cerf"``: these as they are.
    test_size : float, default=0.25
        Share of the rows to judge by, drawn anew for each seed.
    test_set : tuple (X_test, y_test), default=None
        Rows to judge by instead; then all of X is learned from.
    task : {"auto", "classification", "regression"}, default="auto"
        What y is; ``"auto"`` asks :func:`sklearn.utils.multiclass.type_of_target`.
    n_seeds : int, default=1
        Splits and draws to average over.
    random_state : int, sequence of int or None, default=0
        First seed, the others follow it; or all seeds; None draws them.
    verbose : bool, default=False
        Tell what is done, on the standard error stream; with a bar if ``rich`` is installed
        (``pip install 'cerflearn[progress]'``).

    Returns
    -------
    Frontier
        With ``rows``, ``best(macs)``, ``plot()``, ``to_pandas()``; ``print`` shows a table.

    Notes
    -----
    Inputs are scaled one by one or all alike, whichever suits kernel ridge regression on training
    rows, for all methods: scaling can be folded into the first weights and is not counted. Kernel
    widths and ridge penalties are chosen by leaving rows out one by one, settings of networks on
    held-out training rows (folds, or a fifth of more than 1,000 rows); ``fit_seconds``
    includes it. A method whose smallest model exceeds a budget is left out there, and ``note``
    says why. Time is that of scores and decision for one of about 2,000 float32 rows, the best of
    7 runs on one thread, for all methods without checks of the input. A pruned perceptron runs as
    dense matrix products, which are faster than sparse ones in NumPy.

    Results depend on data, parameters and seeds alone, but for the times.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from cerflearn import frontier
    >>> X, y = load_iris(return_X_y=True)
    >>> found = frontier(X, y, macs=[50, 100], methods=["linear", "rff", "masked"])
    >>> [(row["method"], row["macs"]) for row in found.rows if row["budget"] == 50]
    [('linear', 12), ('rff', 50), ('masked', 50)]
    """
    budgets, names = _check_macs(macs), _check_methods(methods)
    seeds = _check_seeds(n_seeds, random_state)
    data = read(X, y, task)
    test = None if test_set is None else read_test(data, test_set)
    runs: dict[tuple[str, int], list[_Run]] = {(n, b): [] for n in names for b in budgets}
    with Progress(len(seeds) * len(runs), bool(verbose)) as progress, threadpool_limits(1):
        for seed in seeds:
            parts = split(data, test_size, test, seed)
            for name in names:
                once: _Run | None = None
                for budget in budgets:
                    which = f", seed {seed}" if len(seeds) > 1 else ""
                    progress.step(f"{name}, {budget:,} MACs{which}")
                    run = once or _run(name, budget, parts)
                    if name in SAME_AT_EVERY_BUDGET and run.model is not None:
                        once = run
                    runs[name, budget].append(run)
    rows = [_row(name, budget, found) for (name, budget), found in runs.items()]
    metric = "accuracy" if data.task == "classification" else "R2"
    return Frontier(rows, metric, _title(data, parts, seeds))


def _check_macs(macs: Any) -> list[int]:
    must_be = "a positive integer, or a list of at least one"
    if isinstance(macs, Integral):
        macs = [macs]
    if isinstance(macs, str) or not isinstance(macs, Iterable):
        raise invalid("macs", macs, must_be)
    values = list(macs)
    if not values:
        raise invalid("macs", values, must_be)
    return sorted({check_integer("macs", value, must_be) for value in values})


def _check_methods(methods: Any) -> list[str]:
    if methods is None:
        return list(METHODS)
    names = [methods] if isinstance(methods, str) else list(methods)
    unknown = [name for name in names if name not in METHODS]
    if unknown or not names:
        known = ", ".join(repr(name) for name in METHODS)
        raise invalid("methods", methods, f"None or one or more of {known}")
    return list(dict.fromkeys(names))


def _check_seeds(n_seeds: Any, random_state: Any) -> list[int]:
    n_seeds = check_integer("n_seeds", n_seeds, "a positive integer")
    must_be = "a non-negative integer, a list of them or None"
    if random_state is None:
        return [int(s) for s in np.random.default_rng().integers(2**31 - 1, size=n_seeds)]
    if isinstance(random_state, Integral):
        first = check_integer("random_state", random_state, must_be, at_least=0)
        return list(range(first, first + n_seeds))
    if isinstance(random_state, str) or not isinstance(random_state, Iterable):
        raise invalid("random_state", random_state, must_be)
    seeds = [check_integer("random_state", seed, must_be, at_least=0) for seed in random_state]
    if not seeds or n_seeds not in (1, len(seeds)):
        raise invalid("random_state", random_state, f"a list of n_seeds={n_seeds} integers")
    return seeds


@dataclass(frozen=True, eq=False)
class _Run:
    """One method, budget and seed."""

    model: Model | None
    score: float = np.nan
    microseconds: float = np.nan
    fit_seconds: float = np.nan
    note: str = ""


def _run(name: str, budget: int, parts: Split) -> _Run:
    start = time.perf_counter()
    try:
        model = METHODS[name](parts.training, budget)
    except TooDearError as reason:
        return _Run(None, note=str(reason))
    fit_seconds = time.perf_counter() - start
    if model.cost.macs > budget:
        raise RuntimeError(f"{name!r} costs {model.cost.macs} MACs with macs={budget}: a bug.")
    score = parts.training.score(model.predict(parts.X_test), parts.y_test)
    return _Run(model, score, time_per_row(model.predict, parts.X_test), fit_seconds)


def time_per_row(predict: Predict, X: FloatArray) -> float:
    """Microseconds for one of about 2,000 rows, the best of several runs."""
    rows = np.ascontiguousarray(np.resize(X, (_TIMED_ROWS, X.shape[1])))
    best = np.inf
    for _ in range(_REPEATS):
        start = time.perf_counter()
        predict(rows)
        best = min(best, time.perf_counter() - start)
    return 1e6 * best / len(rows)


def _row(name: str, budget: int, runs: list[_Run]) -> Row:
    """Average over seeds; a method that was left out for one is left out."""
    row: Row = {"method": name, "budget": budget}
    numbers = ("macs", "score", "error", "scores", "microseconds", "fit_seconds", "size", "n_bytes")
    missing = [run.note for run in runs if run.model is None]
    if missing:
        return row | dict.fromkeys(numbers) | {"note": missing[0]}
    models = [run.model for run in runs if run.model is not None]
    scores = [run.score for run in runs]
    several = len(scores) > 1
    values: Iterable[Any] = (
        max(model.cost.macs for model in models),
        float(np.mean(scores)),
        float(np.std(scores, ddof=1) / np.sqrt(len(scores))) if several else float("nan"),
        scores,
        min(run.microseconds for run in runs),
        float(np.mean([run.fit_seconds for run in runs])),
        max(model.size for model in models),
        max(model.cost.n_bytes for model in models),
    )
    return row | dict(zip(numbers, values, strict=True)) | {"note": ""}


def _title(data: Data, parts: Split, seeds: list[int]) -> str:
    n_train, n_features = parts.training.X.shape
    what = f"{len(data.classes)} classes" if len(data.classes) else "regression"
    seed_text = f"{len(seeds)} seeds" if len(seeds) > 1 else f"seed {seeds[0]}"
    return (
        f"{n_train:,} training rows and {len(parts.X_test):,} test rows of {n_features} inputs, "
        f"{what}, {seed_text}, one thread"
    )

"""One call: every method at every budget."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from threadpoolctl import threadpool_limits

from cerflearn._typing import MatrixLike
from cerflearn._validation import check_integer, invalid
from cerflearn.comparison.dataset import (
    Dataset,
    TrainTestSplit,
    check_test_size,
    read_dataset,
    read_test_set,
    split_dataset,
)
from cerflearn.comparison.methods import METHODS, SAME_AT_EVERY_BUDGET
from cerflearn.comparison.progress import ProgressDisplay
from cerflearn.comparison.runs import Run, average, run_method
from cerflearn.comparison.table import Frontier

_MAX_MACS = 10**12
_TEST_SIZE = 0.25


def frontier(
    X: MatrixLike,
    y: ArrayLike,
    macs: int | Iterable[int],
    methods: str | Sequence[str] | None = None,
    *,
    test_size: float = _TEST_SIZE,
    test_set: tuple[MatrixLike, ArrayLike] | None = None,
    task: str = "auto",
    n_seeds: int = 1,
    random_state: int | Iterable[int] | None = 0,
    verbose: bool = False,
) -> Frontier:
    r"""Compare methods at equal multiply-accumulates: accuracy against MACs, and against time.

    Every method fits the best model whose features and scores together cost at most a budget.
    Its settings are chosen on training rows alone; its score is that of test rows.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Inputs, finite.
    y : array-like of shape (n_samples,) or (n_samples, n_targets)
        Labels or finite numbers.
    macs : int or iterable of int
        Budgets: most MACs of one row, from 1 to 10**12.
    methods : str or sequence of str, default=None
        What to compare; None is all of:

        - ``"linear"``: ridge or logistic regression, D MACs for each score; at budgets of at
          least its cost;
        - ``"mlp"``: dense perceptron of scikit-learn with one hidden layer of ReLU;
        - ``"pruned_mlp"``: such a perceptron pruned to the budget while it is trained, with a
          linear part where held-out rows gain from it;
        - ``"rff"``, ``"fastfood"``, ``"nystroem"``: random features and ridge regression;
        - ``"masked"``, ``"cvem"``, ``"blocked"``: likewise with :class:`MaskedFourierFeatures`,
          :class:`MaskedCERF` with ``selector="cvem"``, and :class:`BlockedCERF` [1]_;
        - ``"trees"``: boosted trees of scikit-learn, a comparison or addition counting as a MAC;
        - ``"refined"``: :class:`CERFClassifier` or :class:`CERFRegressor` with
          ``learn="features"``;
        - ``"cerf"``: these with their defaults.
    test_size : float, default=0.25
        Share of the rows to test on, drawn anew for each seed.
    test_set : tuple (X_test, y_test), default=None
        Rows to test on instead; then all of X is learned from, and ``test_size`` must be left at
        its default.
    task : {"auto", "classification", "regression"}, default="auto"
        What y is; ``"auto"`` uses :func:`sklearn.utils.multiclass.type_of_target`.
    n_seeds : int, default=1
        Splits and draws to average over.
    random_state : int, iterable of int or None, default=0
        First seed, the others follow it; or all seeds; None draws them.
    verbose : bool, default=False
        Show progress on the standard error stream; with a bar if ``rich`` is installed
        (``pip install 'cerflearn[progress]'``).

    Returns
    -------
    Frontier
        With ``rows``, ``best(macs)``, ``plot()``, ``to_pandas()``; it prints as a table.

    See Also
    --------
    cost : Multiply-accumulates of one fitted model or pipeline.
    CERFClassifier : Classifier within a budget, the method ``"cerf"``.
    CERFRegressor : Regressor within a budget, the method ``"cerf"``.

    Notes
    -----
    Inputs are scaled one by one or all alike, whichever has the lower error of kernel ridge
    regression on training rows, for all methods: scaling can be folded into the first weights and
    is not counted. Kernel coefficients and ridge penalties are chosen by the leave-one-out error,
    settings of dense perceptrons, trees and logistic regression on held-out training rows (folds,
    or a fifth of more than 1,000 rows), and those of ``"pruned_mlp"``, ``"refined"`` and ``"cerf"``
    as in ``fit`` of :class:`CERFClassifier`; ``fit_seconds`` includes it.

    A method whose smallest model exceeds a budget, or which raises an error, has no model there,
    and ``note`` says why. No model has more than eight features or hidden units for each training
    row (1,000 are always allowed, 8,192 at most), the matrix of rows and features stays below
    2 GiB, and ``"cvem"`` and ``"blocked"`` select from at most 1,000 candidates. Where that limits
    a model, ``note`` says so, and ``macs`` is what it costs.

    Time is that of scores and decision for one of 2,000 float32 rows, the best of 7 runs on one
    thread, for all methods but ``"trees"`` without checks of the input. A pruned perceptron runs
    in the native core, as the predictors of this package do.

    Results depend on data, parameters and seeds alone, except for the times.

    References
    ----------
    .. [1] Wangni, Zhuo and Zhu, "Learning Random Fourier Features by Hybrid Constrained
       Optimization": masked features, blocks and ``selector="cvem"``.

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
    check_test_size(test_size, test_set, _TEST_SIZE)
    dataset = read_dataset(X, y, task)
    test = None if test_set is None else read_test_set(dataset, test_set)
    runs: dict[tuple[str, int], list[Run]] = {(n, b): [] for n in names for b in budgets}
    with ProgressDisplay(len(seeds) * len(runs), bool(verbose)) as progress, threadpool_limits(1):
        for seed in seeds:
            split = split_dataset(dataset, test_size, test, seed)
            for name in names:
                shared: Run | None = None
                for budget in budgets:
                    which = f", seed {seed}" if len(seeds) > 1 else ""
                    progress.step(f"{name}, {budget:,} MACs{which}")
                    run = shared or run_method(name, budget, split)
                    if name in SAME_AT_EVERY_BUDGET and run.model is not None:
                        shared = run
                    runs[name, budget].append(run)
    rows = [average(name, budget, found) for (name, budget), found in runs.items()]
    metric = "accuracy" if dataset.task == "classification" else "R2"
    return Frontier(rows, metric, _title(dataset, split, seeds))


def _check_macs(macs: Any) -> list[int]:
    must_be = "an integer from 1 to 10**12, or a list of at least one"
    if isinstance(macs, Integral):
        macs = [macs]
    if isinstance(macs, str) or not np.iterable(macs):
        raise invalid("macs", macs, must_be)
    values = list(macs)
    if not values:
        raise invalid("macs", values, must_be)
    return sorted({check_integer("macs", value, must_be, at_most=_MAX_MACS) for value in values})


def _check_methods(methods: Any) -> list[str]:
    if methods is None:
        return list(METHODS)
    known = ", ".join(repr(name) for name in METHODS)
    must_be = f"None or one or more of {known}"
    if not np.iterable(methods):
        raise invalid("methods", methods, must_be)
    names = [methods] if isinstance(methods, str) else list(methods)
    if not names or not all(isinstance(name, str) and name in METHODS for name in names):
        raise invalid("methods", names, must_be)
    return [str(name) for name in dict.fromkeys(names)]  # NumPy's have a type of their own


def _check_seeds(n_seeds: Any, random_state: Any) -> list[int]:
    n_seeds = check_integer("n_seeds", n_seeds, "a positive integer")
    must_be = "an integer from 0 to 2**32 - 1, a list of them or None"
    if random_state is None:
        return [int(s) for s in np.random.default_rng().integers(2**31 - 1, size=n_seeds)]
    if isinstance(random_state, Integral):
        first = _check_seed(random_state, must_be)
        _check_seed(first + n_seeds - 1, must_be)
        return list(range(first, first + n_seeds))
    if isinstance(random_state, str) or not np.iterable(random_state):
        raise invalid("random_state", random_state, must_be)
    seeds = [_check_seed(seed, must_be) for seed in random_state]
    if not seeds or n_seeds not in (1, len(seeds)):
        raise invalid("random_state", seeds, f"a list of n_seeds={n_seeds} integers")
    return seeds


def _check_seed(seed: Any, must_be: str) -> int:
    return check_integer("random_state", seed, must_be, at_least=0, at_most=2**32 - 1)


def _title(dataset: Dataset, split: TrainTestSplit, seeds: list[int]) -> str:
    n_train, n_features = split.training.X.shape
    what = f"{len(dataset.classes)} classes" if len(dataset.classes) else "regression"
    seed_text = f"{len(seeds)} seeds" if len(seeds) > 1 else f"seed {seeds[0]}"
    inputs = "1 input" if n_features == 1 else f"{n_features:,} inputs"
    return (
        f"{n_train:,} training rows and {len(split.X_test):,} test rows of {inputs}, "
        f"{what}, {seed_text}, one thread"
    )

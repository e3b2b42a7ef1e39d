"""Pieces of the predictor benchmark: each is measured alone and kept."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.datasets import make_classification
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import RidgeClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline

import _predictors_data as data
from cerflearn import CERFClassifier, cost, frontier
from datasets import Split, few, mnist

Piece = tuple[tuple[str, ...], Callable[[], Any]]

METHODS = ("linear", "mlp", "pruned_mlp", "rff", "fastfood", "nystroem", "masked", "cvem",
           "blocked", "refined", "cerf")  # fmt: skip
REGRESSION_METHODS = ("linear", "mlp", "rff", "pruned_mlp", "masked", "cerf")
SHARES = (0.25, 0.5, 1.0)  # of a linear model's MACs
REGRESSION_SHARES = (1.0, 2.0, 4.0)
LEAST_BASE = 64  # MACs that shares are taken of where a linear model has fewer
LARGE_MACS = (20_000, 100_000)
RATES = (1e-2, 3e-3, 1e-3)
EPOCHS = 60
EPOCHS_BETWEEN_LOOKS = 5


# --- accuracy at total MACs -------------------------------------------------------------------
def accuracies(seeds: int, tiny: bool) -> Iterator[Piece]:
    table = data.TINY_BUDGETS if tiny else data.BUDGETS
    for seed in range(seeds):
        for name, (load, budgets) in table.items():
            for macs in budgets:
                run = lambda load=load, macs=macs, seed=seed: one_accuracy(load(seed), macs, seed)  # noqa: E731
                yield (name, str(macs), str(seed)), run


def one_accuracy(split: Split, macs: int, seed: int) -> dict[str, Any]:
    start = time.perf_counter()
    model = CERFClassifier(macs=macs, random_state=seed)
    model.fit(split.X_train.astype(np.float32), split.y_train)
    seconds = time.perf_counter() - start
    return {
        "accuracy": 100.0 * float(model.score(split.X_test.astype(np.float32), split.y_test)),
        "macs": cost(model).macs,
        "seconds": round(seconds, 2),
        "settings": {
            name: getattr(model, f"{name}_")
            for name in ("learn", "teacher", "activation", "n_components", "alpha")
        },
    }


# --- MNIST with all rows ----------------------------------------------------------------------
def large(tiny: bool) -> Iterator[Piece]:
    budgets = (400,) if tiny else LARGE_MACS
    load = (lambda: few(0)) if tiny else (lambda: as_float32(mnist(0, n_train=60_000)))
    for macs in budgets:
        yield ("cerf", str(macs)), lambda macs=macs: one_accuracy(load(), macs, seed=0)
        for rate in RATES:
            run = lambda macs=macs, rate=rate: perceptron(load(), macs, rate, tiny)  # noqa: E731
            yield ("mlp", str(macs), str(rate)), run
    yield ("time",), lambda: training_time(load(), budgets[0], tiny)


def as_float32(split: Split) -> Split:
    arrays = (split.X_train.astype(np.float32), split.y_train)
    return Split(*arrays, split.X_test.astype(np.float32), split.y_test)


def perceptron(split: Split, macs: int, rate: float, tiny: bool) -> dict[str, Any]:
    """Dense ReLU network of equal MACs, looked at every few epochs, by a tenth held out."""
    X, y = split.X_train, split.y_train
    order = np.random.default_rng(0).permutation(len(X))
    held_out, rows = order[: len(X) // 10], order[len(X) // 10 :]
    n_classes = len(np.unique(y))
    n_hidden = macs // (X.shape[1] + n_classes)
    model = MLPClassifier((n_hidden,), learning_rate_init=rate, random_state=0)
    looks = []
    for epoch in range(1, (6 if tiny else EPOCHS) + 1):
        model.partial_fit(X[rows], y[rows], classes=np.arange(n_classes))
        if epoch % (3 if tiny else EPOCHS_BETWEEN_LOOKS) == 0:
            kept = 100.0 * float(model.score(X[held_out], y[held_out]))
            test = 100.0 * float(model.score(split.X_test, split.y_test))
            looks.append({"epochs": epoch, "held out": kept, "accuracy": test})
    return {"macs": cost(model).macs, "hidden": n_hidden, "looks": looks}


def training_time(split: Split, macs: int, tiny: bool) -> dict[str, Any]:
    """Both fits in one run, one thread: ours, and a dense network of as many MACs."""
    start = time.perf_counter()
    ours = CERFClassifier(macs=macs, random_state=0).fit(split.X_train, split.y_train)
    middle = time.perf_counter()
    per_unit = split.X_train.shape[1] + len(np.unique(split.y_train))
    n_hidden = max(1, macs // per_unit)
    parameters = {"max_iter": 5000} if tiny else {}
    rival = MLPClassifier((n_hidden,), random_state=0, **parameters)
    rival.fit(split.X_train, split.y_train)
    end = time.perf_counter()
    return {
        "hidden": n_hidden,
        "seconds": round(middle - start, 2),
        "mlp seconds": round(end - middle, 2),
        "mlp epochs": int(rival.n_iter_),
        "accuracy": 100.0 * float(ours.score(split.X_test, split.y_test)),
        "mlp accuracy": 100.0 * float(rival.score(split.X_test, split.y_test)),
    }


# --- frontiers --------------------------------------------------------------------------------
def frontiers(
    seeds: int, tiny: bool, only: list[str] | None, chosen: list[str] | None
) -> Iterator[Piece]:
    table = {"few digits": few} if tiny else data.CLASSES
    methods = chosen or (("linear", "rff", "cerf") if tiny else METHODS)
    shares = SHARES[::2] if tiny else SHARES
    yield from _frontier_pieces(table, methods, shares, seeds, "classification", only)


def regressions(
    seeds: int, tiny: bool, only: list[str] | None, chosen: list[str] | None
) -> Iterator[Piece]:
    table = {"diabetes": data.diabetes} if tiny else data.NUMBERS
    methods = chosen or (("linear", "rff", "mlp", "cerf") if tiny else REGRESSION_METHODS)
    shares = REGRESSION_SHARES[:1] if tiny else REGRESSION_SHARES
    yield from _frontier_pieces(table, methods, shares, seeds, "regression", only)


def _frontier_pieces(
    table: dict[str, Callable[[int], Split]],
    methods: Sequence[str],
    shares: tuple[float, ...],
    seeds: int,
    task: str,
    only: list[str] | None,
) -> Iterator[Piece]:
    """One method, dataset and seed: all budgets."""
    for seed in range(seeds):
        for name, load in table.items():
            if only and name not in only:
                continue
            for method in methods:

                def run(load: Any = load, method: str = method, seed: int = seed) -> Any:
                    return one_method(load(seed), method, shares, seed, task)

                yield (name, str(seed), method), run


def one_method(
    split: Split, method: str, shares: tuple[float, ...], seed: int, task: str
) -> list[dict[str, Any]]:
    base = max(data.linear_macs(split), LEAST_BASE)
    found = frontier(
        split.X_train,
        split.y_train,
        [int(share * base) for share in shares],
        [method],
        test_set=(split.X_test, split.y_test),
        task=task,
        random_state=seed,
    )
    keys = ("budget", "macs", "score", "microseconds", "fit_seconds", "size", "note")
    return [{key: row[key] for key in keys} for row in found.rows]


# --- speed ------------------------------------------------------------------------------------
def speed(tiny: bool) -> Iterator[Piece]:
    yield ("fit 200 x 10",), lambda: fit_time(small_sample(), repeats=1 if tiny else 5)
    yield ("fit 4,000 x 784",), lambda: fit_time(large_sample(tiny))
    yield ("predict",), lambda: prediction_time(large_sample(tiny), tiny)


def large_sample(tiny: bool) -> Split:
    return as_float32(few(0) if tiny else mnist(0, n_train=4_000))


def small_sample() -> Split:
    X, y = make_classification(n_samples=400, n_features=10, n_informative=6, random_state=0)
    return Split(X[:200], y[:200], X[200:], y[200:])


def fit_time(split: Split, repeats: int = 1) -> dict[str, Any]:
    """Default fit, one thread, the best of some."""
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        model = CERFClassifier(random_state=0).fit(split.X_train, split.y_train)
        seconds.append(time.perf_counter() - start)
    accuracy = 100.0 * float(model.score(split.X_test, split.y_test))
    return {"seconds": round(min(seconds), 3), "macs": cost(model).macs, "accuracy": accuracy}


def prediction_time(split: Split, tiny: bool) -> dict[str, Any]:
    """``predict`` of 10,000 rows, float32, one thread, in turns, the best of many."""
    ours = CERFClassifier(random_state=0).fit(split.X_train, split.y_train)
    rival = best_sampler(split, 64 if tiny else 1024)
    models = {"cerf": ours, "RBFSampler": rival}
    rows = np.ascontiguousarray(np.resize(split.X_test, (10_000, split.X_test.shape[1])))
    best = dict.fromkeys(models, np.inf)
    for _ in range(3 if tiny else 20):
        for name, model in models.items():
            start = time.perf_counter()
            model.predict(rows)
            best[name] = min(best[name], time.perf_counter() - start)
    return {
        name: {
            "milliseconds": round(1e3 * best[name], 3),
            "macs": cost(model).macs,
            "accuracy": 100.0 * float(model.score(split.X_test, split.y_test)),
        }
        for name, model in models.items()
    }


def best_sampler(split: Split, n_components: int) -> Any:
    """RBFSampler and ridge regression, gamma and penalty by a fifth of the training rows."""
    X, y = split.X_train, split.y_train
    cut = len(X) - len(X) // 5
    spread = float(X.shape[1] * X.var())

    def pipeline(factor: float, alpha: float) -> Any:
        sampler = RBFSampler(gamma=factor / spread, n_components=n_components, random_state=0)
        return make_pipeline(sampler, RidgeClassifier(alpha=alpha))

    def held_out(setting: tuple[float, float]) -> float:
        return float(pipeline(*setting).fit(X[:cut], y[:cut]).score(X[cut:], y[cut:]))

    settings = [(factor, alpha) for factor in (0.1, 0.3, 1.0) for alpha in (0.01, 0.1, 1.0)]
    return pipeline(*max(settings, key=held_out)).fit(X, y)

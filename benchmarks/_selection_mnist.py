"""MNIST-60k with 1,024 outputs: what masks lose against dense features, and how fast they are."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import RidgeClassifierCV
from sklearn.model_selection import PredefinedSplit
from threadpoolctl import threadpool_limits

from _selection_accuracy import median_gamma, ridge
from cerflearn import MaskedCERF, MaskedFourierFeatures, RandomFourierFeatures
from datasets import Split, bundled, mnist

N_OUTPUTS = 1_024
N_SEEDS = 3
N_VALIDATION = 10_000
N_SMALL = 10_000  # training rows that choose the width
N_ROWS, N_ROUNDS = 10_000, 15  # of the race
WIDTHS = (0.1, 0.3, 1.0, 3.0)
ALPHAS = np.logspace(-4, 1, 6)

Make = Callable[..., Any]

METHODS: dict[str, Make] = {
    "dense": lambda **p: RandomFourierFeatures(paired=False, **p),
    "dense, paired": lambda **p: RandomFourierFeatures(**p),
    "masked, default": lambda **p: MaskedFourierFeatures(**p),
    "masked, density .02": lambda **p: MaskedFourierFeatures(mask_density=0.02, **p),
    "masked, greedy": lambda **p: MaskedCERF(selector="greedy", **p),
}


def choose_width(split: Split, n_outputs: int) -> float:
    """Multiple of the median heuristic that suits dense features best, on other training rows."""
    n_small = min(N_SMALL, 2 * len(split.y_train) // 3)
    train, check = slice(0, n_small), slice(n_small, n_small + n_small // 2)
    median = median_gamma(split.X_train)
    scores = []
    for width in WIDTHS:
        sampler = RandomFourierFeatures(
            n_components=n_outputs, paired=False, gamma=width * median, random_state=1000
        )
        head = ridge().fit(sampler.fit_transform(split.X_train[train]), split.y_train[train])
        rows = sampler.transform(split.X_train[check])
        scores.append(head.score(rows, split.y_train[check]))
    return WIDTHS[int(np.argmax(scores))]


def accuracy(make: Make, split: Split, **parameters: Any) -> dict[str, float]:
    """Test accuracy (%) of a ridge head whose penalty is chosen on the last training rows."""
    n_train = len(split.y_train)
    n_validation = min(N_VALIDATION, n_train // 5)
    folds = np.full(n_train, -1)
    folds[-n_validation:] = 0
    sampler = make(**parameters)
    start = time.process_time()
    sampler.fit(split.X_train)
    taken = time.process_time() - start
    head = RidgeClassifierCV(alphas=ALPHAS, cv=PredefinedSplit(folds))
    head.fit(sampler.transform(split.X_train), split.y_train)
    score = head.score(sampler.transform(split.X_test), split.y_test)
    return {"macs": sampler.n_macs_, "accuracy": round(100.0 * score, 3), "fit": round(taken, 2)}


@threadpool_limits.wrap(limits=1)
def race(X: NDArray, n_outputs: int, gamma: float, n_rounds: int) -> dict[str, float]:
    """Best time (ms) of ``transform``, all maps in turn in every round, one thread, float32."""
    X = X.astype(np.float32)
    maps = {"RBFSampler": RBFSampler(n_components=n_outputs, gamma=gamma, random_state=0)}
    for name, make in METHODS.items():
        if name != "masked, greedy":
            maps[name] = make(n_components=n_outputs, gamma=gamma, random_state=0)
    # Greedy chooses masks that two projections share; on how it chose the time does not depend.
    maps["masked, greedy"] = MaskedFourierFeatures(
        n_components=n_outputs, gamma=gamma, features_per_mask=2, random_state=0
    )
    best = dict.fromkeys(maps, np.inf)
    for sampler in maps.values():
        sampler.fit(X).transform(X)
    for _ in range(n_rounds):
        for name, sampler in maps.items():
            start = time.perf_counter()
            sampler.transform(X)
            best[name] = min(best[name], 1e3 * (time.perf_counter() - start))
    return {name: round(value, 3) for name, value in best.items()}


def pieces(
    known: Callable[[str], Any], *, tiny: bool
) -> Iterator[tuple[tuple[str, ...], Callable[[], Any]]]:
    """Every measurement by its place in the results; ``tiny`` for a smoke test without data.

    ``known(place)`` returns what was measured before.
    """
    split = bundled(0) if tiny else mnist(0, 60_000)
    n_outputs = 64 if tiny else N_OUTPUTS
    yield ("width",), lambda: choose_width(split, n_outputs)
    gamma = known("width") * median_gamma(split.X_train)
    for seed in range(2 if tiny else N_SEEDS):
        for name, make in METHODS.items():
            fixed = {"n_components": n_outputs, "gamma": gamma, "random_state": seed}
            yield (name, str(seed)), partial(accuracy, make, split, **fixed)
    rows, n_rounds = split.X_test[:N_ROWS], 2 if tiny else N_ROUNDS
    yield ("milliseconds",), lambda: race(rows, n_outputs, gamma, n_rounds)

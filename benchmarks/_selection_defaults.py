"""Which selector should be the default, judged on data that no other table uses.

Everything but the selector is at its default, gamma too. Learned masks share at most two
projections, random ones 16, which run faster; so random masks are also given the MACs that take as
long.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from _selection_accuracy import ridge
from cerflearn import MaskedCERF, MaskedFourierFeatures
from datasets import Split, bundled, fold, read

SOURCES = {
    "pima": ("pima", "X"),
    "satimage": ("satimage", "X"),
    "uci_letter": ("uci_letter", "X"),
    "covtype": ("covtype", "X"),
    "letters": ("letters", "X"),
    "CIFAR-10 moments": ("nuswide_substitute_cifar10", "CM"),
    "ORL": ("orl_32x32", "X"),
}
"""Name in the table: file and key."""

SELECTORS = ("random", "greedy", "shared", "cvem")
CONTROL = "random, 2 a mask"
"""Random masks shared as learned ones are: what is left between the two is selection."""

BUDGETS = (2, 8, 32)
"""MACs, in dense features."""

MOST_ROWS = 5_000
MOST_OUTPUTS = 600  # more candidates than 2.5 times as many take too long to learn from here
N_SEEDS = 5
N_ROWS, N_ROUNDS = 2_000, 25  # of the race


def load(name: str, seed: int) -> Split:
    """Five-fold split of at most ``MOST_ROWS`` random rows, columns standardised."""
    X, y = read(*SOURCES[name])
    some = np.random.default_rng(100 + seed // 5).permutation(len(y))[:MOST_ROWS]
    split = fold(X[some], y[some], seed)
    scaler = StandardScaler().fit(split.X_train)
    return Split(
        scaler.transform(split.X_train), split.y_train, scaler.transform(split.X_test), split.y_test
    )


def fitted(split: Split, **parameters: Any) -> tuple[MaskedCERF, dict[str, float]]:
    """Map and what is known of it: outputs, MACs, seconds of ``fit``, accuracy (%)."""
    sampler = MaskedCERF(**parameters)
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        sampler.fit(split.X_train)
    taken = time.process_time() - start
    head = ridge().fit(sampler.transform(split.X_train), split.y_train)
    score = head.score(sampler.transform(split.X_test), split.y_test)
    return sampler, {
        "outputs": sampler.n_components_,
        "macs": sampler.n_macs_,
        "fit": round(taken, 4),
        "ridge": round(100.0 * score, 3),
    }


@threadpool_limits.wrap(limits=1)
def race(maps: dict[str, MaskedCERF], split: Split, n_rounds: int) -> dict[str, float]:
    """Best time (ms) of ``transform`` in float32, all maps in turn in every round."""
    rows = np.resize(split.X_train.astype(np.float32), (N_ROWS, split.X_train.shape[1]))
    best = dict.fromkeys(maps, np.inf)
    for _ in range(n_rounds):
        for name, sampler in maps.items():
            start = time.perf_counter()
            sampler.transform(rows)
            best[name] = min(best[name], 1e3 * (time.perf_counter() - start))
    return best


def compare(split: Split, seed: int, budget: int, n_rounds: int = N_ROUNDS) -> dict[str, Any]:
    """Compare all selectors at equal MACs, and random masks that take the time of greedy ones."""
    macs = budget * split.X_train.shape[1]
    maps, result = {}, {}
    for selector in SELECTORS:
        maps[selector], result[selector] = fitted(
            split, selector=selector, macs=macs, random_state=seed
        )
    drawn = {"selector": "random", "random_state": seed}
    _, result[CONTROL] = fitted(split, macs=macs, features_per_mask=2, **drawn)
    times = race(maps, split, n_rounds)
    for selector in SELECTORS:
        result[selector]["transform"] = round(times[selector], 4)
    more = max(macs, round(macs * times["greedy"] / times["random"]))
    _, result["random, equal time"] = fitted(split, macs=more, **drawn)
    return result


def run(load_split: Callable[[], Split], seed: int, budgets: tuple[int, ...]) -> dict[str, Any]:
    """Compare at all budgets that are not too large."""
    split = load_split()
    result = {}
    for budget in budgets:
        sampler = MaskedFourierFeatures(macs=budget * split.X_train.shape[1], random_state=seed)
        if sampler.fit(split.X_train).n_components_ <= MOST_OUTPUTS:
            result[str(budget)] = compare(split, seed, budget)
    return result


def pieces(*, tiny: bool) -> Iterator[tuple[tuple[str, ...], Callable[[], Any]]]:
    """Every measurement by its place in the results; ``tiny`` for a smoke test without data."""
    if tiny:
        for seed in range(2):
            yield ("digits", str(seed)), partial(run, partial(bundled, seed), seed, (2,))
        return
    for seed in range(N_SEEDS):
        for name in SOURCES:
            yield (name, str(seed)), partial(run, partial(load, name, seed), seed, BUDGETS)

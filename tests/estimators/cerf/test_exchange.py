"""Blocks exchanged for others that serve better with non-negative weights."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import cerflearn.estimators.cerf.nnls_weights as module
from cerflearn import BlockedCERF, RandomFourierFeatures
from cerflearn.estimators.cerf.candidates import MacBudget
from cerflearn.features.blocked import BlockedMap
from cerflearn.learning.weights import kernel_weights, pair_block
from cerflearn.spectral import Gaussian

SIZE = 8
DATA = np.random.default_rng(5).normal(size=(300, SIZE))
TEACHER = RandomFourierFeatures(
    kernel=Gaussian(0.3), n_components=200, paired=False, random_state=1
).fit(DATA)


def fitted(seed, n_blocks=3, **changes) -> BlockedCERF:
    parameters = {
        "kernel": Gaussian(0.2),
        "spread": 0.5,
        "scale_spread": 0.5,
        "paired": False,
        "n_components": n_blocks * SIZE,
        "n_candidates": 10 * SIZE,
        "teacher": TEACHER,
        "weights": "nnls",
        "random_state": seed,
    }
    return BlockedCERF(**(parameters | changes)).fit(DATA[:200])


def candidates(seed) -> BlockedMap:
    """Map of all blocks that such a fit chooses from."""
    return fitted(seed, n_blocks=10, weights="equal").feature_map_


def error_of(features, blocks) -> float:
    """Error w'Aw - 2 b'w of some blocks with their best weights, on the training rows."""
    columns = np.concatenate([np.arange(SIZE) + SIZE * block for block in sorted(blocks)])
    sums = pair_block(None, TEACHER.transform(DATA[:200]), features[:, columns])
    quadratic, linear = sums.normal_equations()
    weights = kernel_weights(quadratic, linear)
    return float(weights @ quadratic @ weights - 2.0 * linear @ weights)


@pytest.mark.parametrize("seed", [0, 1, 5, 13])  # the latter two need a second round
def test_no_single_exchange_of_blocks_lowers_the_error(seed):
    features = candidates(seed).transform(DATA[:200])
    kept = sorted({column // SIZE for column in fitted(seed).selected_.tolist()})
    others = sorted(set(range(10)) - set(kept))  # 7, and 8 are tried
    error = error_of(features, kept)
    for leaves, comes in product(kept, others):
        changed = {*kept} - {leaves} | {comes}
        assert error_of(features, changed) >= error - 2e-6 * abs(error)


def test_exchanged_blocks_are_nearer_to_the_teacher_on_other_rows(monkeypatch):
    wanted = TEACHER.transform(DATA[200:]) @ TEACHER.transform(DATA[200:]).T

    def mean_error() -> float:
        grams = [f @ f.T for f in (fitted(s).transform(DATA[200:]) for s in range(8))]
        return float(np.mean([np.abs(gram - wanted).mean() for gram in grams]))

    exchanged = mean_error()
    monkeypatch.setattr(module, "_MOST_EXCHANGED_COLUMNS", 0)
    assert exchanged < 0.95 * mean_error()


def test_a_block_of_which_some_outputs_are_kept_stays_as_large():
    sampler = fitted(0, n_components=3 * SIZE - 3)
    assert sampler.n_components_ == 3 * SIZE - 3
    assert sampler.n_blocks_ == 3


def test_one_block_is_exchanged_for_the_best():
    features = fitted(2, n_blocks=10, weights="equal").feature_map_.transform(DATA[:200])
    errors = [error_of(features, [block]) for block in range(10)]
    kept = {column // SIZE for column in fitted(2, n_blocks=1).selected_.tolist()}
    assert kept == {int(np.argmin(errors))}


@pytest.mark.parametrize("n_blocks", [16, 17])
def test_many_blocks_or_columns_are_not_exchanged(monkeypatch, n_blocks):
    # 16 blocks of 8 are the most of both.
    called = []
    monkeypatch.setattr(module, "_exchange", lambda *given: called.append(given) or given[2])
    fitted(0, n_blocks=n_blocks, n_candidates=20 * SIZE)
    assert len(called) == (n_blocks == 16)


def test_successors_of_the_largest_gain_are_tried_first():
    budget = MacBudget(np.zeros(8, dtype=np.int64))
    places = module._Places(np.arange(2), np.arange(8), np.arange(8) // 2, budget)
    gain = np.array([9.0, 9.0, 1.0, 0.0, 5.0, 1.0, 0.0, 3.0])
    assert places.successors(0, gain) == [[4, 5], [6, 7], [2, 3]]


def test_successors_that_cost_too_much_leave_the_budget_as_it_was():
    budget = MacBudget(np.array([1, 1, 1, 5, 2, 1]), budget=4)
    assert budget.add(0)
    assert budget.add(1)
    places = module._Places(np.arange(2), np.arange(6), np.arange(6) // 2, budget)
    for _ in range(2):
        assert places.successors(0, np.ones(6)) == [[4, 5]]  # 1 and 5 MACs are too many
    assert budget.add(4)  # the two MACs that are left
    assert not budget.add(2)

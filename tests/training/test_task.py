"""Rows to train on and to hold out, batches of rows, and constant scores."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cerflearn.training import policy
from cerflearn.training.task import fullest_parts, hash_of_rows, parts_of_rows, problem_of
from training_samples import make_task


def splitmix(x):
    """Finaliser of splitmix64, in Python's integers."""
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB % 2**64
    return x ^ (x >> 31)


def test_hashes_depend_on_index_and_seed_alone():
    hashes = hash_of_rows(1000, 7)
    np.testing.assert_array_equal(hash_of_rows(10, 7), hashes[:10])
    assert (hash_of_rows(1000, 8) != hashes).all()
    assert len(np.unique(hashes)) == 1000
    start = 7 * 0x9E3779B97F4A7C15
    assert hashes[:5].tolist() == [splitmix((i + start) % 2**64) for i in range(5)]
    assert len(hash_of_rows(0, 3)) == 0


def test_hashes_of_large_seeds_and_neighbouring_rows_look_random():
    for seed in (0, 2**62 + 1):
        bits = np.unpackbits(hash_of_rows(4096, seed).view(np.uint8))
        assert abs(bits.mean() - 0.5) < 4 * 0.5 / np.sqrt(len(bits))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    counts=st.lists(st.integers(0, 30), min_size=1, max_size=6),
    n_parts=st.integers(1, 10),
    seed=st.integers(0, 2**62),
)
def test_parts_are_balanced_over_all_rows_and_each_stratum(counts, n_parts, seed):
    strata = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(counts)), counts))
    parts = parts_of_rows(strata, n_parts, seed)
    for rows in (np.ones(len(strata), dtype=bool), *(strata == s for s in range(len(counts)))):
        sizes = np.bincount(parts[rows], minlength=n_parts)
        assert len(sizes) == n_parts
        assert sizes.max() - sizes.min() <= 1


def test_parts_of_a_block_do_not_depend_on_later_rows(monkeypatch):
    monkeypatch.setattr(policy, "GRID_ROWS", 64)
    strata = np.random.default_rng(0).integers(3, size=200)
    parts = parts_of_rows(strata, 4, 9)
    np.testing.assert_array_equal(parts_of_rows(strata[:128], 4, 9), parts[:128])
    for start in range(0, 200, 64):
        sizes = np.bincount(parts[start : start + 64], minlength=4)
        assert sizes.max() - sizes.min() <= 1
    assert (parts_of_rows(strata, 4, 10) != parts).any()


def test_rows_of_a_task_keep_their_relative_weights():
    task = make_task("multiclass")
    task.weights[:] = np.arange(1, 121) / (120 * 121 / 2)
    part = task.rows(np.array([3, 1, 7]))
    assert part.weights == pytest.approx(np.array([4, 2, 8]) / 14)
    np.testing.assert_array_equal(part.X, task.X[[3, 1, 7]])
    np.testing.assert_array_equal(part.strata, task.strata[[3, 1, 7]])
    np.testing.assert_array_equal(part.targets, task.targets[[3, 1, 7]])
    assert part.X.flags.c_contiguous


@pytest.mark.parametrize("kind", ["regression", "binary", "multiclass", "multilabel"])
def test_no_other_constant_scores_have_a_smaller_loss(kind):
    task = make_task(kind)
    task.weights[:] = np.random.default_rng(0).dirichlet(np.ones(task.n_samples))
    best = task.constant_scores()

    def loss(scores):
        return task.loss(np.broadcast_to(scores, task.targets.shape))

    least = loss(best)
    for o in range(task.n_scores):
        for shift in (-0.05, 0.05):
            moved = best.copy()
            moved[o] += shift
            assert loss(moved) > least


def test_an_absent_class_has_a_finite_constant_score():
    task = make_task("multiclass")
    task.targets[:] = [1.0, 0.0, 0.0]
    assert not task.targets_vary
    assert np.isfinite(task.constant_scores()).all()
    binary = make_task("binary")
    assert binary.targets_vary
    binary.targets[:] = 1.0
    assert np.isfinite(binary.constant_scores()).all()


def test_weights_of_a_problem_have_mean_one():
    task = make_task("binary")
    problem = problem_of(task.kind, task.X, task.targets, np.arange(1.0, 121.0))
    assert problem.weights.mean() == pytest.approx(1.0, rel=1e-6)
    assert problem.weights[119] == pytest.approx(120 * problem.weights[0], rel=1e-6)
    assert problem.loss == "logistic"
    arrays = problem.X, problem.targets, problem.weights
    assert {array.dtype for array in arrays} == {np.dtype(np.float32)}


def test_parts_with_rows_of_the_most_strata_come_first():
    strata = np.array([0, 0, 0, 0, 1, 1, 2])
    # The row of stratum 2 is alone: nothing is learned where it is held out.
    assert fullest_parts(strata, np.array([0, 1, 2, 0, 2, 1, 0]), 3).tolist() == [1, 2, 0]
    assert fullest_parts(strata, np.array([0, 1, 2, 0, 2, 0, 1]), 3).tolist() == [0, 2, 1]
    alone = np.arange(4)
    assert fullest_parts(alone, alone, 4).tolist() == [0, 1, 2, 3]

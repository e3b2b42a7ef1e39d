"""The order in which steps of training see the rows."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from cerflearn.estimators.stored_rows import RowFile
from cerflearn.training import policy
from cerflearn.training.inputs import ScaledRows, multiplied
from cerflearn.training.mini_batches import MiniBatches
from cerflearn.training.settings import TrainingSettings
from cerflearn.training.task import OneHotRows, Problem, problem_of
from cerflearn.training.trainer import train_network
from training_samples import make_task


def short_blocks(monkeypatch):
    monkeypatch.setattr(policy, "GRID_ROWS", 16)
    monkeypatch.setattr(policy, "BATCH_SIZE", 8)


def batches_of_rows(n_rows, batch_size, n_steps, rng):
    """Rows of each step, read back from inputs that are their own numbers."""
    X = np.arange(n_rows, dtype=np.float32)[:, None]
    problem = Problem(X, X, X[:, 0], "squared")
    taken = MiniBatches(problem, batch_size, n_steps, rng).take(n_steps)
    return np.concatenate([rows.X[rows.order][:, :, 0] for rows in taken]).astype(np.int32)


def test_a_round_of_batches_sees_every_row_once():
    order = batches_of_rows(60, 12, 15, np.random.default_rng(0))
    assert order.shape == (15, 12)
    assert order.dtype == np.int32
    rounds = order.reshape(3, 60)
    for rows in rounds:
        assert sorted(rows) == list(range(60))
    assert (rounds[0] != rounds[1]).any()
    np.testing.assert_array_equal(batches_of_rows(60, 12, 15, np.random.default_rng(0)), order)
    assert (batches_of_rows(60, 12, 15, np.random.default_rng(1)) != order).any()


@pytest.mark.parametrize(("n_rows", "batch_size"), [(50, 12), (7, 7), (1, 1), (13, 1)])
def test_no_row_is_seen_twice_in_a_round(n_rows, batch_size):
    per_round = n_rows // batch_size
    order = batches_of_rows(n_rows, batch_size, 3 * per_round, np.random.default_rng(0))
    for first in range(0, len(order), per_round):
        seen = order[first : first + per_round].ravel()
        assert len(np.unique(seen)) == per_round * batch_size
        assert seen.min() >= 0
        assert seen.max() < n_rows


def test_many_rows_are_shuffled_a_few_blocks_at_a_time(monkeypatch):
    short_blocks(monkeypatch)
    n_rows = 16 * 9
    order = batches_of_rows(n_rows, 8, n_rows // 8, np.random.default_rng(0)).ravel()
    assert sorted(order) == list(range(n_rows))
    span = 16 * policy.SHUFFLED_BLOCKS
    blocks = [set(order[first : first + span] // 16) for first in range(0, n_rows, span)]
    # Each part has whole blocks of its own, in random order, with mixed rows.
    assert [len(part) for part in blocks] == [4, 4, 1]
    assert sorted(set().union(*blocks)) == list(range(9))
    assert sorted(blocks[0]) != [0, 1, 2, 3]
    assert len(set(order[:16] // 16)) > 1


def test_a_last_block_too_small_for_a_batch_is_seen_with_others(monkeypatch):
    short_blocks(monkeypatch)
    order = batches_of_rows(16 * 4 + 3, 8, 400, np.random.default_rng(0))
    assert (np.bincount(order.ravel(), minlength=67) > 0).all()


def forms_of(X, targets):
    """The same rows in memory, in a file, and sparse, with an order of their own in the table."""
    numbers = np.random.default_rng(9).permutation(len(X))
    table = np.empty_like(X)
    table[numbers] = X
    one, zero = np.ones(X.shape[1]), np.zeros(X.shape[1])
    file = RowFile("X", X.shape, X.dtype)
    for part in (X[:100], X[100:100], X[100:]):
        file.append(part)
    stored = file.rows()
    scaling = (zero, one, np.full(X.shape[1], -np.inf), np.full(X.shape[1], np.inf))
    return [
        (X, OneHotRows(targets, 3)[:]),
        (ScaledRows(stored.table, np.arange(len(X)), *scaling), OneHotRows(targets, 3)),
        (ScaledRows(csr_matrix(table), numbers, *scaling), OneHotRows(targets, 3)),
    ]


def test_steps_are_the_same_wherever_the_rows_are(monkeypatch):
    short_blocks(monkeypatch)
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(200, 5)) * (rng.uniform(size=(200, 5)) < 0.5)).astype(np.float32)
    codes, weights = rng.integers(3, size=200), rng.uniform(0.5, 1.5, size=200)
    blocks = np.array([0, 16, 20, 36, 50, 66, 70, 86, 102, 118, 134, 150, 166, 182, 198, 200])
    seen = []
    for inputs, targets in forms_of(X, codes):
        problem = problem_of("multiclass", inputs, targets, weights, blocks)
        batches = MiniBatches(problem, 8, 60, np.random.default_rng(1))
        steps = [*batches.take(7), *batches.take(53)]
        seen.append(
            [
                np.concatenate([np.asarray(getattr(part, name))[part.order] for part in steps])
                for name in ("X", "targets", "weights")
            ]
        )
    assert seen[0][0].shape == (60, 8, 5)
    for other in seen[1:]:
        for expected, found in zip(seen[0], other, strict=True):
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("kind", ["table", "cosine"])
def test_training_has_the_same_bits_wherever_the_rows_are(monkeypatch, kind):
    short_blocks(monkeypatch)
    sample = make_task("multiclass", n_samples=300, macs=30)
    X = np.where(sample.X > 0.3, sample.X, np.float32(0.0))
    factors = np.linspace(0.5, 2.0, X.shape[1]).astype(np.float32)
    found = []
    for inputs, targets in forms_of(X, sample.strata):
        problem = problem_of(
            "multiclass", multiplied(inputs, factors), targets, sample.weights, None
        )
        settings = TrainingSettings(kind, 4, 1e-3, linear_part=True)
        network = train_network(
            problem, settings, sample.budget, sample.usable, np.zeros(3), 120,
            np.random.default_rng(2), held_out_loss=lambda network: float(network.n_macs),
        )  # fmt: skip
        arrays = (network.parameters, network.variances, network.inputs)
        found.append([array.tobytes() for array in arrays])
    assert found[0] == found[1] == found[2]


def test_blocks_of_few_rows_are_mixed_with_more_others(monkeypatch):
    short_blocks(monkeypatch)
    X = np.arange(60, dtype=np.float32)[:, None]
    problem = Problem(X, X, X[:, 0], "squared", np.arange(61, step=3))  # 20 blocks of 3 rows
    batches = MiniBatches(problem, 8, 70, np.random.default_rng(0))
    seen = np.concatenate([part.order for part in batches.take(70)])
    assert seen.shape == (70, 8)
    assert len(np.unique(seen)) == 60

"""Networks while they are trained: parts, copies, and what pruning leaves."""

from __future__ import annotations

import numpy as np
import pytest

from cerflearn.training.network import padded_scores
from training_samples import dense_parts, make_network, random_network


def test_scores_are_padded_to_whole_vectors():
    expected = {1: 1, 2: 4, 3: 4, 4: 4, 5: 8, 8: 8, 9: 16, 16: 16, 17: 24}
    assert {n: padded_scores(n) for n in expected} == expected


@pytest.mark.parametrize("kind", ["cosine", "table"])
def test_operations_are_entries_scores_of_features_and_linear_entries(kind):
    mask, linear = np.ones((4, 2)), np.zeros((4, 3))
    linear[1] = 1
    assert make_network(kind, mask, linear).n_macs == 8 + 2 * 3 + 3


def test_parts_are_views_and_tables_leave_out_the_padding():
    network = random_network("table", 3)
    network.parts()[5][:] = 7.0
    assert (network.parameters[-3:] == 7.0).all()
    network.tables()[1, 2] = 5.0
    head = network.parts()[3][1].reshape(9, 4)
    assert head[2].tolist() == [5.0, 5.0, 5.0, 0.0]


def test_the_weight_matrix_has_the_weights_of_each_feature_in_its_column():
    network = random_network("cosine", 2)
    found = network.weight_matrix().toarray()
    np.testing.assert_array_equal(found, dense_parts(network)["W"].astype(np.float32))


def test_copies_and_restarts_have_arrays_of_their_own():
    network = random_network("relu", 2)
    network.first[:], network.second[:], network.n_steps = 1.0, 2.0, 9
    copied, restarted = network.copy(), network.restarted()
    network.parameters[:] = network.means[:] = network.variances[:] = 99.0
    assert (copied.parameters != 99.0).all()
    assert (copied.first == 1.0).all()
    assert copied.n_steps == 9
    np.testing.assert_array_equal(restarted.parameters, copied.parameters)
    np.testing.assert_array_equal(restarted.means, copied.means)
    assert not restarted.first.any()
    assert not restarted.second.any()
    assert restarted.n_steps == 0
    assert network.n_steps == 9


@pytest.mark.parametrize("n_scores", [1, 3, 10])
@pytest.mark.parametrize("kind", ["cosine", "relu", "table"])
def test_dropping_entries_of_weight_zero_keeps_the_scores(kind, n_scores):
    network = random_network(kind, n_scores, n_features=8, n_components=4)
    rng = np.random.default_rng(3)
    entries = rng.uniform(size=len(network.inputs)) < 0.6
    entries[network.features_of_entries() == 2] = False
    linear = rng.uniform(size=len(network.linear_inputs)) < 0.5
    network.means[:], network.variances[:] = rng.normal(size=4), rng.uniform(0.5, 2.0, size=4)
    weights, _, _, heads, direct, _ = network.parts()
    weights[~entries], direct[~linear], heads[2] = 0.0, 0.0, 0.0
    pruned = network.pruned(entries, linear)
    assert pruned.n_components == 3
    assert len(pruned.inputs) == entries.sum()
    assert len(pruned.linear_inputs) == linear.sum()
    X = rng.normal(size=(50, 8)).astype(np.float32)
    assert pruned.scores(X) == pytest.approx(network.scores(X), abs=1e-5)


def test_optimiser_state_stays_with_its_parameter():
    network = random_network("table", 3, n_features=8, n_components=4)
    network.first[:] = 2.0 * network.parameters
    network.second[:] = 3.0 * network.parameters
    network.n_steps = 5
    rng = np.random.default_rng(0)
    pruned = network.pruned(
        rng.uniform(size=len(network.inputs)) < 0.5,
        rng.uniform(size=len(network.linear_inputs)) < 0.5,
    )
    np.testing.assert_array_equal(pruned.first, 2.0 * pruned.parameters)
    np.testing.assert_array_equal(pruned.second, 3.0 * pruned.parameters)
    assert pruned.n_steps == 5
    assert pruned.pointers.dtype == np.int64
    assert pruned.inputs.dtype == np.int32

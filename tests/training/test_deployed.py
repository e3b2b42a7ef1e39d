"""Deployed networks are the trained ones: moments folded in, tables in bins."""

from __future__ import annotations

import numpy as np
import pytest

from cerflearn.training.deployed import deploy, tabulate
from cerflearn.training.policy import TABLE_END
from cerflearn.training.start import set_moments
from training_samples import make_network, random_network


def trained(kind, n_scores, n_rows=300, n_features=5):
    rng = np.random.default_rng(n_scores)
    X = (rng.normal(size=(n_rows, n_features)) + 0.5).astype(np.float32)
    network = random_network(kind, n_scores, n_features=n_features, n_components=4)
    set_moments(network, X, np.ones(n_rows, dtype=np.float32))
    return network, X


@pytest.mark.parametrize("n_scores", [1, 3, 10])
@pytest.mark.parametrize("kind", ["cosine", "relu"])
def test_scores_are_those_of_the_trained_network(kind, n_scores):
    network, X = trained(kind, n_scores)
    expected = network.scores(X)
    size = float(np.abs(expected).max())
    assert deploy(network, 2).scores(X) == pytest.approx(expected, abs=1e-5 * size)


@pytest.mark.parametrize("n_scores", [1, 3, 10])
def test_scores_of_tables_converge_with_the_bins(n_scores):
    network, X = trained("table", n_scores)
    expected = network.scores(X)
    errors = [np.abs(deploy(network, n).scores(X) - expected).max() for n in (64, 256, 1024, 4096)]
    # A score is off by half a bin times the slopes of the tables.
    steepest = np.abs(np.diff(network.tables(), axis=1)).max(axis=(1, 2)).sum()
    for n_bins, error in zip((64, 256, 1024, 4096), errors, strict=True):
        assert error <= 0.5 * steepest * (network.n_knots - 1) / n_bins + 1e-4
    assert errors[-1] < 0.1 * errors[0]


@pytest.mark.parametrize("kind", ["cosine", "relu", "table"])
def test_operations_masks_and_linear_parts_are_kept(kind):
    network, _ = trained(kind, 3)
    deployed = deploy(network, 32)
    assert deployed.n_macs == network.n_macs
    assert deployed.n_scores == 3
    np.testing.assert_array_equal(deployed.mask, network.weight_matrix().toarray() != 0.0)
    assert not deployed.frequencies[~deployed.mask].any()
    assert np.count_nonzero(deployed.linear) == len(network.linear_inputs)


def test_many_rows_are_scored_in_blocks():
    network, X = trained("relu", 2)
    deployed = deploy(network, 2)
    many = np.tile(X, (30, 1))
    assert deployed.scores(many) == pytest.approx(np.tile(deployed.scores(X), (30, 1)), abs=1e-12)


@pytest.mark.parametrize("kind", ["cosine", "relu", "table"])
def test_a_rescaled_network_reads_inputs_before_they_are_scaled(kind):
    network, X = trained(kind, 3)
    factors = np.array([0.5, 2.0, 4.0, 0.25, 8.0])  # powers of two: no rounding
    deployed = deploy(network, 64)
    found = deployed.rescaled(factors).scores(X.astype(float) / factors)
    assert found == pytest.approx(deployed.scores(X.astype(float)), abs=1e-9)


def test_bins_have_the_value_at_their_centre():
    knots = np.random.default_rng(0).normal(size=(3, 5, 2))
    at = np.linspace(-TABLE_END, TABLE_END, 5)
    for n_bins in (2, 4, 7, 64):
        width = 2.0 * TABLE_END / n_bins
        centres = -TABLE_END + width * (np.arange(n_bins) + 0.5)
        found = tabulate(knots, n_bins)
        assert found.shape == (3, n_bins, 2)
        for k in range(3):
            for o in range(2):
                expected = np.interp(centres, at, knots[k, :, o])
                assert found[k, :, o] == pytest.approx(expected, abs=1e-12)


def test_projections_beyond_the_span_have_the_first_or_last_bin():
    network = make_network("table", [[1]], [[0]], n_knots=5)
    network.parts()[0][:] = 1.0
    deployed = deploy(network, 8)
    found = deployed.scores(np.array([[-50.0], [50.0]])) - network.parts()[5]
    table = deployed.tables[0, :, 0]
    assert found.ravel() == pytest.approx([table[0], table[-1]])

"""Networks within a budget: importances, whole blocks, merged tables."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cerflearn.training.policy import TABLE_END
from cerflearn.training.pruning import (
    Budget,
    entry_importances,
    feature_values,
    input_importances,
    merge_tables,
    prune,
)
from cerflearn.training.start import set_moments
from oracle import training as oracle
from training_samples import dense_parts, make_network, random_network

KINDS = ("cosine", "relu", "table")
RNG = np.random.default_rng(0)


def normalised(network, X):
    set_moments(network, X, np.ones(len(X), dtype=np.float32))
    return network


def rows(n_rows, n_features, seed=0):
    """Uniform rows: no projection is beyond the span of a table."""
    rng = np.random.default_rng(seed)
    return rng.uniform(-1.0, 1.0, size=(n_rows, n_features)).astype(np.float32)


def deviations_of(X):
    return X.std(axis=0)


@pytest.mark.parametrize("n_scores", [1, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_a_features_value_is_the_deviation_of_the_scores_it_adds(kind, n_scores):
    X = rows(300, 5)
    network = normalised(random_network(kind, n_scores), X)
    parts = dense_parts(network)
    parts["linear"] = np.zeros_like(parts["linear"])
    for k, value in enumerate(feature_values(network, X)):
        alone = dict(parts) | {name: parts[name][k : k + 1] for name in ("scales", "offsets")}
        alone |= {"W": parts["W"][:, k : k + 1], "heads": parts["heads"][k : k + 1]}
        scores = oracle.scores(kind, X.astype(float), np.ones(300), alone)
        assert value == pytest.approx(np.sqrt(scores.var(axis=0).sum()), rel=1e-3)


def test_a_large_weight_of_an_input_that_hardly_varies_is_dropped_first():
    X = rows(400, 3)
    X[:, 0] *= 0.01
    network = make_network("relu", np.ones((3, 1)), np.zeros((3, 1)))
    network.parts()[0][:] = (5.0, 1.0, 0.9)  # times their deviations: .05, 1, .9
    normalised(network, X)
    pruned = prune(network, X, deviations_of(X), 3, Budget(3, 1))
    assert pruned.inputs.tolist() == [1, 2]
    assert prune(network, X, deviations_of(X), 2, Budget(2, 1)).inputs.tolist() == [1]


def test_a_large_linear_weight_of_an_input_that_hardly_varies_is_dropped_first():
    X = rows(400, 3)
    X[:, 0] *= 0.01
    network = make_network("relu", np.zeros((3, 0)), np.ones((3, 1)))
    network.parts()[4][:] = (5.0, 0.9, 1.0)
    assert prune(network, X, deviations_of(X), 2, Budget(2, 1)).linear_inputs.tolist() == [1, 2]
    assert prune(network, X, deviations_of(X), 1, Budget(1, 1)).linear_inputs.tolist() == [2]


def test_features_that_add_little_to_the_scores_are_dropped_first():
    X = rows(400, 4)
    network = make_network("cosine", np.ones((4, 2)), np.zeros((4, 1)))
    weights, scales, offsets, heads, _, _ = network.parts()
    weights[:4], weights[4:] = 1.0, 0.1  # projections are normalised: the size does not matter
    scales[:], offsets[:] = 1.0, 0.5
    heads[:] = [[0.1], [1.0]]
    normalised(network, X)
    pruned = prune(network, X, deviations_of(X), 5, Budget(5, 1))
    assert pruned.n_components == 1
    assert pruned.parts()[3].tolist() == [[1.0]]


def test_importances_are_in_units_of_the_scores():
    X = rows(2000, 4)
    deviations = deviations_of(X)
    network = make_network("table", np.eye(4)[:, :1], np.eye(4)[:, 1:2], n_knots=5)
    weights, _, _, _, direct, _ = network.parts()
    direct[:] = 0.7
    network.tables()[0, :, 0] = 0.2 * np.linspace(-TABLE_END, TABLE_END, 5)
    normalised(network, X)
    entries, linear = entry_importances(network, X, deviations)
    # A straight table of slope .2 per deviation, and .7 per unit of an input.
    assert entries == pytest.approx([0.2], rel=1e-3)
    assert linear == pytest.approx([0.7 * deviations[1]], rel=1e-6)
    shares = input_importances(network, X, deviations)
    assert shares == pytest.approx([entries[0], linear[0], 0, 0] / (entries + linear)[0])
    assert weights[0] != 0.0


def test_importances_of_all_inputs_are_zero_if_nothing_is_read():
    network = make_network("relu", np.zeros((3, 0)), np.zeros((3, 2)))
    assert input_importances(network, rows(9, 3), np.ones(3)).tolist() == [0.0, 0.0, 0.0]


@settings(max_examples=80, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 1000),
    kind=st.sampled_from(KINDS),
    n_features=st.integers(1, 14),
    n_groups=st.integers(1, 4),
    group_size=st.sampled_from([1, 2, 4]),
    features_per_mask=st.integers(1, 3),
    n_scores=st.integers(1, 4),
    macs=st.integers(0, 120),
)
def test_pruned_networks_are_within_the_budget_and_made_of_whole_blocks(
    seed, kind, n_features, n_groups, group_size, features_per_mask, n_scores, macs
):
    rng = np.random.default_rng(seed)
    n_components = n_groups * features_per_mask - int(rng.integers(features_per_mask))
    linear_mask = rng.uniform(size=(n_features, n_scores)) < 0.3
    network = make_network(kind, np.ones((n_features, n_components)), linear_mask, seed=seed)
    X = rng.normal(size=(40, n_features)).astype(np.float32)
    normalised(network, X)
    marks = network.parts()[0].copy()
    budget = Budget(macs, n_scores, group_size, features_per_mask)
    pruned = prune(network, X, deviations_of(X), macs, budget)
    assert pruned.n_macs <= macs
    # Weights tell which entry of the full mask each one was.
    place = {value: i for i, value in enumerate(marks.tolist())}
    kept = np.zeros(len(marks), dtype=bool)
    kept[[place[value] for value in pruned.parts()[0].tolist()]] = True
    kept = kept.reshape(n_components, n_features)
    if not (kind == "table" and features_per_mask == 1 and n_features == 1):  # merged
        for first in range(0, n_components, features_per_mask):
            for start in range(0, n_features, group_size):
                block = kept[first : first + features_per_mask, start : start + group_size]
                assert block.all() or not block.any()
    # One block more would be too many, or nothing was dropped.
    left = macs - pruned.n_macs
    if pruned.n_macs < network.n_macs and kind != "table":
        assert left < group_size * features_per_mask + features_per_mask * n_scores


def test_a_network_within_the_budget_stays_as_it_is():
    X = rows(50, 5)
    network = normalised(random_network("cosine", 3), X)
    macs = network.n_macs
    assert prune(network, X, deviations_of(X), macs, Budget(macs, 3)) is network


def test_pruning_leaves_its_argument_alone():
    X = rows(50, 5)
    network = normalised(random_network("table", 3), X)
    before = network.parameters.copy()
    prune(network, X, deviations_of(X), 9, Budget(9, 3))
    np.testing.assert_array_equal(network.parameters, before)


def test_operations_of_a_linear_entry_and_of_a_feature():
    budget = Budget(100, 3)
    assert budget.operations(0, 0, 1) == 1
    assert budget.operations(4, 2, 5) == 4 + 2 * 3 + 5
    assert budget.entries_for(2) == 94
    assert budget.admits(15, 4, 2, 5, None)
    assert not budget.admits(14, 4, 2, 5, None)


def test_bytes_are_kept_at_the_last_pruning_alone():
    def count_bytes(n_entries, n_components, n_linear, n_bins):
        return n_entries + n_components * (n_bins or 1) + 2 * n_linear

    X = rows(60, 6)
    network = normalised(random_network("table", 1, n_features=6, n_components=8), X)
    budget = Budget(30, 1, max_bytes=40, count_bytes=count_bytes)
    early = prune(network, X, deviations_of(X), 31, budget, n_bins=16)
    assert early.n_components > 2
    last = prune(network, X, deviations_of(X), 30, budget, n_bins=16)
    counts = len(last.inputs), last.n_components, len(last.linear_inputs)
    assert count_bytes(*counts, 16) <= 40
    assert last.n_macs <= 30
    assert last.n_components == 2
    # Few operations do not help if there are too many bytes.
    assert not budget.admits(30, 3, 3, 0, 16)
    assert budget.admits(30, 3, 3, 0, 8)


def single_input_tables(signs, n_scores=2, linear=True):
    """Tables of input 0 alone, and one of inputs 1 and 2."""
    n = len(signs)
    mask = np.zeros((3, n + 1))
    mask[0, :n], mask[1:, n] = 1, 1
    linear_mask = np.ones((3, n_scores)) if linear else np.zeros((3, n_scores))
    network = make_network("table", mask, linear_mask, n_knots=7, seed=5)
    network.parts()[0][:n] = np.array(signs) * np.linspace(0.5, 2.0, n)
    return network


@pytest.mark.parametrize("signs", [(1, 1), (1, -1), (-1, 1, 1, -1)])
def test_merged_tables_are_the_same_function(signs):
    X = rows(500, 3)
    X[:, 0] += 0.4
    network = normalised(single_input_tables(signs), X)
    merged = merge_tables(network)
    assert merged.n_components == 2
    assert merged.inputs.tolist() == [0, 1, 2]
    assert merged.linear_inputs.tolist() == [1, 2, 1, 2]  # those of input 0 are in the table
    # Sums of up to four tables and a straight line, in single precision.
    assert merged.scores(X) == pytest.approx(network.scores(X), abs=2e-5)


def test_a_linear_entry_is_absorbed_by_a_single_table():
    X = rows(500, 3)
    network = normalised(single_input_tables((-1,)), X)
    merged = merge_tables(network)
    assert merged.n_macs == network.n_macs - 2
    assert merged.scores(X) == pytest.approx(network.scores(X), abs=2e-5)


def test_tables_of_different_inputs_and_of_several_are_not_merged():
    X = rows(100, 3)
    mask = [[1, 0, 1, 1], [0, 1, 1, 1], [0, 0, 0, 0]]
    network = normalised(make_network("table", mask, np.zeros((3, 1))), X)
    merged = merge_tables(network)
    assert merged.inputs.tolist() == network.inputs.tolist()
    assert merged.pointers.tolist() == network.pointers.tolist()
    np.testing.assert_array_equal(merged.scores(X), network.scores(X))


def test_a_table_of_weight_zero_is_not_merged_with_others():
    X = rows(500, 3)
    network = single_input_tables((1, 1, 1))
    network.parts()[0][1] = 0.0
    normalised(network, X)
    merged = merge_tables(network)
    assert merged.scores(X) == pytest.approx(network.scores(X), abs=2e-5)
    network.parts()[0][:2] = 0.0
    normalised(network, X)
    assert merge_tables(network).scores(X) == pytest.approx(network.scores(X), abs=2e-5)


def test_merging_saves_operations_before_anything_is_dropped():
    X = rows(500, 3)
    network = normalised(single_input_tables((1, -1, 1), linear=False), X)
    macs = network.n_macs - 2 * (1 + 2)  # two tables of two scores less
    pruned = prune(network, X, deviations_of(X), macs, Budget(macs, 2))
    assert pruned.scores(X) == pytest.approx(network.scores(X), abs=2e-5)


def test_tables_that_share_a_mask_are_not_merged():
    X = rows(500, 3)
    network = make_network("table", [[1, 1], [0, 0], [0, 0]], np.zeros((3, 2)))
    normalised(network, X)
    for width, n_components in ((1, 1), (2, 2)):
        budget = Budget(6, 2, features_per_mask=width)
        assert prune(network, X, deviations_of(X), 6, budget).n_components == n_components

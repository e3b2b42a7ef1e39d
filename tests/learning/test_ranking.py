"""From scores to one selector: order, ties, pairs and groups."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cerflearn.learning.ranking import check_n_components, rank_candidates

quick = settings(max_examples=80, deadline=None, derandomize=True)
scores = st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=1, max_size=24).map(np.array)


@quick
@given(scores)
def test_better_scores_come_first_and_ties_by_column(values):
    ranking = rank_candidates(values)
    expected = sorted(range(len(values)), key=lambda column: (-values[column], column))
    assert ranking.tolist() == expected
    assert ranking.dtype == np.int64


@quick
@given(scores, st.integers(1, 4), st.integers(1, 3), st.integers(0, 2**32 - 1))
def test_groups_and_units_stay_together_by_mean_score(values, units_a_group, unit_size, seed):
    unit = np.arange(len(values)) // unit_size
    group = unit // units_a_group
    shuffle = np.random.default_rng(seed).permutation(len(values))
    unit, group = unit[shuffle], group[shuffle]  # members need not be neighbours
    ranking = rank_candidates(values, units=unit, groups=group)
    assert sorted(ranking.tolist()) == list(range(len(values)))
    for labels in (group, unit):
        seen = labels[ranking]
        runs = seen[np.flatnonzero(np.diff(seen, prepend=-1))]
        assert len(runs) == len(set(runs.tolist()))
    means = [values[group == label].mean() for label in group[ranking]]
    assert (np.diff(means) <= 1e-15).all()
    first = [np.flatnonzero(group == label)[0] for label in group[ranking]]
    assert all(first[i] <= first[i + 1] for i in range(len(values) - 1) if means[i] == means[i + 1])
    for label in np.unique(group):
        inside = ranking[group[ranking] == label]
        unit_means = [values[unit == u].mean() for u in unit[inside]]
        assert (np.diff(unit_means) <= 1e-15).all()
    for label in np.unique(unit):
        assert (np.diff(ranking[unit[ranking] == label]) > 0).all()


def test_an_odd_number_keeps_the_first_column_of_the_last_pair():
    cosines_then_sines = np.array([0, 1, 2, 0, 1, 2])
    values = np.array([0.1, 0.9, 0.5, 0.1, 0.9, 0.6])
    ranking = rank_candidates(values, units=cosines_then_sines)
    assert sorted(ranking[:3].tolist()) == [1, 2, 4]


def test_a_partial_last_group_keeps_its_best_units():
    groups = np.repeat([0, 1], 4)
    units = np.repeat([0, 1, 2, 3], 2)
    values = np.array([0.9, 0.9, 0.8, 0.8, 0.1, 0.1, 0.7, 0.7])
    ranking = rank_candidates(values, units=units, groups=groups)
    assert sorted(ranking[:6].tolist()) == [0, 1, 2, 3, 6, 7]


@pytest.mark.parametrize("n_components", [0, -1, 4])
def test_impossible_numbers_of_components_are_refused(n_components):
    with pytest.raises(ValueError, match="must be between 1 and 3"):
        check_n_components(n_components, 3)

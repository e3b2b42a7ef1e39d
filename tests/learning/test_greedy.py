"""Pursuit from Gram matrices against regressions on the data."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cerflearn.engine.blocks import ArraySource
from cerflearn.engine.engines import SerialEngine
from cerflearn.learning.greedy import fit_greedy, pursue
from oracle.cvem import pursuit_by_regression
from oracle.problems import planted_problem

quick = settings(max_examples=20, deadline=None, derandomize=True)
seeds = st.integers(0, 2**32 - 1)


def rows_of(teacher, learner, block_rows=16):
    return SerialEngine(ArraySource(teacher, learner, block_rows=block_rows))


def correlated_problem(seed, n_samples, n_outputs, n_candidates):
    """Columns that share factors, so that the best next column depends on those chosen."""
    rng = np.random.default_rng(seed)
    factors = rng.normal(size=(n_samples, 4))
    learner = factors @ rng.normal(size=(4, n_candidates)) + rng.normal(
        size=(n_samples, n_candidates)
    )
    teacher = learner @ rng.normal(size=(n_candidates, n_outputs))
    return teacher + rng.normal(size=teacher.shape) + 2.0, learner - 1.0


@quick
@given(seed=seeds, n_outputs=st.integers(1, 6), n_components=st.integers(1, 7))
def test_single_columns_are_chosen_as_by_naive_pursuit(seed, n_outputs, n_components):
    teacher, learner = correlated_problem(seed, 40, n_outputs, 7)
    result = fit_greedy(rows_of(teacher, learner), n_components)
    centred = teacher - teacher.mean(axis=0), learner - learner.mean(axis=0)
    expected = pursuit_by_regression(*centred, [np.array([k]) for k in range(7)], n_components)
    assert result.ranking[:n_components].tolist() == expected


@quick
@given(seed=seeds, size=st.integers(2, 4), n_groups=st.integers(1, 4))
def test_groups_are_chosen_as_by_naive_pursuit(seed, size, n_groups):
    teacher, learner = correlated_problem(seed, 40, 3, 4 * size)
    labels = np.random.default_rng(seed).permutation(np.repeat(np.arange(4), size))
    result = fit_greedy(rows_of(teacher, learner), n_groups * size, groups=labels, units=labels)
    blocks = [np.flatnonzero(labels == label) for label in range(4)]
    centred = teacher - teacher.mean(axis=0), learner - learner.mean(axis=0)
    order = pursuit_by_regression(*centred, blocks, n_groups)
    expected = np.concatenate([blocks[label] for label in order])
    assert result.ranking[: n_groups * size].tolist() == expected.tolist()


def test_groups_of_different_sizes_compete_by_gain_a_column():
    rng = np.random.default_rng(0)
    learner = rng.normal(size=(500, 5))
    # Column 0 explains 4 units of energy, the group of columns 1 to 4 explains 8, 2 each.
    teacher = learner * np.sqrt([4.0, 2.0, 2.0, 2.0, 2.0])
    result = fit_greedy(rows_of(teacher, learner), 5, groups=np.array([0, 1, 1, 1, 1]))
    assert result.ranking[0] == 0
    assert result.ranking[1:].tolist() == [1, 2, 3, 4]


def test_errors_are_the_residuals_of_regression():
    teacher, learner = correlated_problem(0, 60, 3, 8)
    result = fit_greedy(rows_of(teacher, learner), 5)
    T, L = teacher - teacher.mean(axis=0), learner - learner.mean(axis=0)
    for step, error in enumerate(result.errors, start=1):
        columns = L[:, result.ranking[:step]]
        residual = T - columns @ np.linalg.lstsq(columns, T, rcond=None)[0]
        assert error == pytest.approx((residual**2).sum() / (T**2).sum(), abs=1e-8)


def test_a_last_group_that_does_not_fit_is_entered_unit_by_unit():
    teacher, learner = correlated_problem(1, 80, 3, 12)
    groups, units = np.repeat([0, 1, 2], 4), np.repeat(np.arange(6), 2)
    result = fit_greedy(rows_of(teacher, learner), 7, units=units, groups=groups)
    chosen = result.ranking[:7]
    first, last = set(groups[chosen[:4]].tolist()), set(groups[chosen[4:]].tolist())
    assert len(first) == len(last) == 1
    T, L = teacher - teacher.mean(axis=0), learner - learner.mean(axis=0)
    fixed = chosen[:4]
    candidates = [np.flatnonzero(units == u) for u in np.unique(units[groups == last.pop()])]
    errors = []
    for columns in candidates:
        both = L[:, np.concatenate([fixed, columns])]
        errors.append(np.linalg.norm(T - both @ np.linalg.lstsq(both, T, rcond=None)[0]))
    assert chosen[4:6].tolist() == candidates[int(np.argmin(errors))].tolist()
    # The seventh column is the first of the unit that is left of this group.
    assert chosen[6] == candidates[int(np.argmax(errors))][0]


def test_ranking_is_a_permutation_and_rest_of_a_partial_group_need_not_be_lost():
    teacher, learner = correlated_problem(1, 80, 3, 12)
    result = fit_greedy(rows_of(teacher, learner), 5)
    assert sorted(result.ranking.tolist()) == list(range(12))


def test_planted_columns_are_found():
    teacher, learner, planted = planted_problem(0)
    result = fit_greedy(rows_of(teacher, learner), len(planted))
    assert sorted(result.ranking[: len(planted)].tolist()) == planted.tolist()


def test_copies_and_constant_columns_come_last():
    teacher, learner, planted = planted_problem(1, n_candidates=10, n_planted=4)
    copies = learner[:, planted] * 2.0 + 1.0
    full = np.hstack([learner, copies, np.ones((len(learner), 1))])
    result = fit_greedy(rows_of(teacher, full), 10)
    # Of a column and its copy one is chosen; the other can explain nothing more.
    pairs = {int(k): 10 + i for i, k in enumerate(planted)}
    for column, copy in pairs.items():
        assert len({column, copy} & set(result.ranking[:4].tolist())) == 1
        assert len({column, copy} & set(result.ranking[:10].tolist())) == 1
    assert 14 not in result.ranking[:10]


@pytest.mark.parametrize("n_outputs", [2, 30])
def test_fewer_samples_than_components_still_give_a_full_ranking(n_outputs):
    rng = np.random.default_rng(0)
    teacher, learner = rng.normal(size=(10, n_outputs)), rng.normal(size=(10, 40))
    result = fit_greedy(rows_of(teacher, learner), 25)
    assert sorted(result.ranking.tolist()) == list(range(40))
    assert len(result.errors) <= 10
    assert (np.diff(result.errors) <= 1e-12).all()


def centred_gram(teacher, learner):
    T, L = teacher - teacher.mean(axis=0), learner - learner.mean(axis=0)
    return T, L, (L.T @ L, T.T @ L, float((T**2).sum()))


def ill_problem(kind, seed, n_candidates=12):
    """Teacher and candidates of which some add nothing to others."""
    rng = np.random.default_rng(seed)
    learner, noise = rng.normal(size=(60, n_candidates)), rng.normal(size=(60, 3))
    mix = rng.normal(size=(n_candidates, 3))
    if kind == "copies":
        learner = np.tile(learner[:, : n_candidates // 3], 3)
    elif kind == "dependent":
        learner = learner[:, :5] @ rng.normal(size=(5, n_candidates))
    elif kind == "constant":
        learner[:, [1, 5, 6, 7]] = 2.0
    elif kind == "few samples":
        learner, noise = learner[:7], noise[:7]
    elif kind == "teacher explained":
        mix[4:], noise = 0.0, 0.0 * noise
    return learner @ mix + noise, learner


ILL = ("copies", "constant", "teacher explained", "dependent", "few samples")
# There all columns left lead to the same last direction, and differ by what the ridge does.
LAST_IS_SHARED = ("dependent", "few samples")


def unexplained(T, L, columns):
    fit = np.linalg.lstsq(L[:, columns], T, rcond=1e-10)[0]
    return np.linalg.norm(T - L[:, columns] @ fit) ** 2 / np.linalg.norm(T) ** 2


def check_ranking(kind, T, L, found, expected):
    if kind not in LAST_IS_SHARED:
        assert found == expected
    assert len(set(found)) == len(expected)
    assert unexplained(T, L, found) == pytest.approx(unexplained(T, L, expected), abs=1e-8)


@pytest.mark.parametrize("seed", [9, 15, 20])
def test_what_is_left_of_a_cut_group_of_copies_can_be_factorised(seed):
    # It is rounding, not always positive definite: only a ridge of the size of the copies helps.
    gram = centred_gram(*ill_problem("copies", seed))[2]
    result = pursue(*gram, 11, groups=np.repeat([0, 1], 6))
    assert sorted(result.ranking.tolist()) == list(range(12))


@pytest.mark.parametrize("kind", ILL)
@pytest.mark.parametrize("size", [3, 6])
def test_a_cut_last_group_of_dependent_columns_is_ranked_as_by_naive_pursuit(kind, size):
    groups = np.arange(12) // size
    blocks = [np.flatnonzero(groups == label).tolist() for label in range(12 // size)]
    for seed in range(20):
        T, L, gram = centred_gram(*ill_problem(kind, seed))
        for n_components in (11,) if kind in LAST_IS_SHARED else (size + 1, 11):
            n_whole, n_inner = divmod(n_components, size)
            order = pursuit_by_regression(T, L, blocks, n_whole + 1)
            expected = [column for label in order[:-1] for column in blocks[label]]
            last = blocks[order[-1]]
            units = [[column] for column in last]
            inner = pursuit_by_regression(T, L, units, n_inner, given=list(expected))
            expected += [last[unit] for unit in inner]
            found = pursue(*gram, n_components, groups=groups).ranking[:n_components].tolist()
            check_ranking(kind, T, L, found, expected)


@pytest.mark.parametrize("kind", ILL)
@pytest.mark.parametrize("n_components", [3, 12])
def test_dependent_columns_are_ranked_as_by_naive_pursuit_and_ties_by_column(kind, n_components):
    for seed in range(10):
        T, L, gram = centred_gram(*ill_problem(kind, seed))
        expected = pursuit_by_regression(T, L, np.arange(12)[:, None], n_components)
        found = pursue(*gram, n_components).ranking[:n_components].tolist()
        check_ranking(kind, T, L, found, expected)


def test_no_copy_is_chosen_while_another_column_explains_more():
    for seed in range(5):
        teacher, learner = correlated_problem(seed, 80, 6, 8)
        copied = np.hstack([learner, 3.0 * learner - 1.0])
        shuffled = np.random.default_rng(seed).permutation(16)
        ranking = fit_greedy(rows_of(teacher, copied[:, shuffled]), 8).ranking
        originals = shuffled[ranking] % 8
        assert len(set(originals[:8].tolist())) == 8
        alone = fit_greedy(rows_of(teacher, learner), 8).ranking
        assert originals[:8].tolist() == alone.tolist()
        # Of a column and its copy, which explain the same, the first is taken.
        place = {original: np.flatnonzero(shuffled % 8 == original) for original in range(8)}
        assert ranking[:8].tolist() == [place[original][0] for original in originals[:8]]


def test_equal_blocks_are_taken_in_the_order_of_their_columns_whatever_their_labels():
    rng = np.random.default_rng(0)
    column = rng.normal(size=(40, 1))
    gram = centred_gram(column, np.tile(column, 5))[2]
    assert pursue(*gram, 5, units=np.array([4, 2, 0, 3, 1])).ranking.tolist() == [0, 1, 2, 3, 4]

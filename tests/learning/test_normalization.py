"""Means and variances by blocks, what is subtracted and divided, and bad input."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cerflearn.engine.blocks import ArraySource
from cerflearn.engine.engines import SerialEngine
from cerflearn.learning.normalization import Moments, fit_normalizer

quick = settings(max_examples=40, deadline=None, derandomize=True)


def rows_of(teacher, learner, block_rows=7):
    return SerialEngine(ArraySource(teacher, learner, block_rows=block_rows))


@quick
@given(
    seed=st.integers(0, 2**32 - 1),
    n_samples=st.integers(2, 60),
    offset=st.sampled_from([0.0, 1.0, 1e6]),
)
def test_blockwise_moments_equal_those_of_the_whole(seed, n_samples, offset):
    values = np.random.default_rng(seed).normal(size=(n_samples, 3)) + offset
    moments = Moments.of_block(values[:1], "teacher")
    for row in values[1:]:
        moments = moments.merge(Moments.of_block(row[None], "teacher"))
    # A two-pass variance has no cancellation; means are rounded in units of the offset.
    np.testing.assert_allclose(moments.mean, values.mean(axis=0), rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(moments.variance, values.var(axis=0), rtol=1e-8 if offset else 1e-12)
    np.testing.assert_array_equal(moments.largest, np.abs(values).max(axis=0))


@quick
@given(seed=st.integers(0, 2**32 - 1), cuts=st.tuples(st.integers(1, 9), st.integers(1, 9)))
def test_moments_merge_the_same_however_they_are_grouped(seed, cuts):
    values = np.random.default_rng(seed).normal(size=(30, 2))
    first, second = cuts[0], cuts[0] + cuts[1]
    a, b, c = (
        Moments.of_block(part, "teacher")
        for part in (values[:first], values[first:second], values[second:])
    )
    left, right = a.merge(b).merge(c), a.merge(b.merge(c))
    np.testing.assert_allclose(left.mean, right.mean, rtol=0, atol=1e-15)
    np.testing.assert_allclose(left.squared_deviation, right.squared_deviation, rtol=1e-13)


def test_standardize_centres_both_and_scales_learner_columns_and_the_whole_teacher():
    rng = np.random.default_rng(0)
    teacher = rng.normal(size=(50, 3)) * [1.0, 2.0, 3.0] + 5.0
    learner = rng.normal(size=(50, 4)) * [1.0, 0.1, 10.0, 1e-3] - 2.0
    normalizer = fit_normalizer(rows_of(teacher, learner), "standardize")
    T, L = normalizer.apply(teacher, learner)
    np.testing.assert_allclose([*T.mean(axis=0), *L.mean(axis=0)], 0.0, atol=1e-12)
    np.testing.assert_allclose(L.std(axis=0), 1.0, rtol=1e-9)
    np.testing.assert_allclose((T**2).mean(), 1.0, rtol=1e-12)
    np.testing.assert_allclose(
        T.std(axis=0) / T.std(axis=0)[0], teacher.std(axis=0) / teacher.std(axis=0)[0]
    )


def test_center_subtracts_means_only_and_none_changes_nothing():
    rng = np.random.default_rng(0)
    teacher, learner = rng.normal(size=(2, 50, 3)) + 1.0
    centred = fit_normalizer(rows_of(teacher, learner), "center").apply(teacher, learner)
    for ours, raw in zip(centred, (teacher, learner), strict=True):
        np.testing.assert_allclose(ours, raw - raw.mean(axis=0), atol=1e-14)
    unchanged = fit_normalizer(rows_of(teacher, learner), None).apply(teacher, learner)
    for ours, raw in zip(unchanged, (teacher, learner), strict=True):
        np.testing.assert_array_equal(ours, raw)
        assert not np.shares_memory(ours, raw)


@pytest.mark.parametrize("normalize", ["standardize", "center", None])
def test_constant_candidates_are_not_usable_and_become_zero(normalize):
    rng = np.random.default_rng(0)
    teacher, learner = rng.normal(size=(2, 50, 4))
    learner[:, 1] = 0.1  # its block means are rounded
    learner[:, 2] = 1.0 + 1e-8 * rng.normal(size=50)  # as a float32 feature may be
    normalizer = fit_normalizer(rows_of(teacher, learner), normalize)
    assert normalizer.usable.tolist() == [True, False, False, True]
    assert (normalizer.apply(teacher, learner)[1][:, 1:3] == 0.0).all()


def test_result_is_float64_in_c_order_whatever_the_input():
    rng = np.random.default_rng(0)
    teacher, learner = rng.normal(size=(2, 20, 3)).astype(np.float32)
    normalizer = fit_normalizer(rows_of(teacher, learner), "standardize")
    expected = normalizer.apply(teacher, learner)
    fortran = normalizer.apply(np.asfortranarray(teacher), np.asfortranarray(learner))
    for ours, other in zip(expected, fortran, strict=True):
        assert ours.dtype == np.float64
        assert ours.flags.c_contiguous
        assert other.flags.c_contiguous
        assert ours.tobytes() == other.tobytes()


GOOD = np.random.default_rng(0).normal(size=(20, 3))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", ["teacher", "learner"])
def test_values_that_are_not_finite_are_refused_by_name(name, value):
    bad = GOOD.copy()
    bad[13, 2] = value
    arrays = (bad, GOOD) if name == "teacher" else (GOOD, bad)
    with pytest.raises(ValueError, match=f"The {name} contains NaN or infinity"):
        fit_normalizer(rows_of(*arrays), "standardize")


@pytest.mark.parametrize(
    ("teacher", "learner", "message"),
    [
        (GOOD[:1], GOOD[:1], "at least 2 samples"),
        (np.ones((20, 3)), GOOD, "All columns of the teacher are constant"),
        (GOOD, np.full((20, 2), 0.3), "All columns of the learner are constant"),
        (GOOD[:, 0], GOOD, "The teacher has 1 dimensions, expected 2"),
    ],
)
def test_data_nothing_can_be_learned_from_are_refused(teacher, learner, message):
    with pytest.raises(ValueError, match=message):
        fit_normalizer(rows_of(teacher, learner), "center")

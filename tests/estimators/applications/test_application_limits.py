"""Applications at the limits of numbers, and parameters without effect: refused, never ignored."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler

from cerflearn import (
    KernelAutoencoder,
    KernelImputer,
    RandomizedKernelCCA,
    RandomizedKernelPCA,
)

RNG = np.random.default_rng(0)
A = RNG.normal(size=(80, 5))
HOLES = RNG.random(A.shape) < 0.2
ONE_PATTERN = np.array([True, False, False, False, False])


def with_holes(rows):
    return np.where(HOLES, np.nan, rows)


@pytest.mark.parametrize("scale", [1e154, 1e160, 1e200, 1e300, 1e307])
@pytest.mark.parametrize("column", [None, 2])
def test_the_imputer_refuses_inputs_whose_variance_is_beyond_numbers(scale, column):
    rows = A.copy()
    rows[:, slice(None) if column is None else column] *= scale
    name = 0 if column is None else column
    message = f"Column {name} of X varies too much for its variance to be a number: scale X"
    with pytest.raises(ValueError, match=message):
        KernelImputer(random_state=0).fit(with_holes(rows))


@pytest.mark.parametrize("scale", [1e-320, 1e-200, 1e-156])
def test_the_imputer_refuses_inputs_whose_variance_vanishes(scale):
    message = "Column 0 of X varies too little for its variance to be a number: scale X"
    with pytest.raises(ValueError, match=message):
        KernelImputer(random_state=0).fit(with_holes(A * scale))
    frame = pd.DataFrame(with_holes(A * [1.0, scale, 1.0, 1.0, 1.0]), columns=list("abcde"))
    with pytest.raises(ValueError, match=r"Column 1 \('b'\) of X varies too little"):
        KernelImputer(random_state=0).fit(frame)


@pytest.mark.parametrize("scale", [1e-150, 1e-20, 1e20, 1e150])
def test_the_imputer_does_not_depend_on_scales_that_numbers_can_hold(scale):
    imputer = KernelImputer(max_iter=2, random_state=0)
    plain = clone(imputer).fit_transform(with_holes(A))
    found = clone(imputer).fit_transform(with_holes(A * scale))
    np.testing.assert_allclose(found / scale, plain, atol=1e-6)


def test_constant_columns_of_any_size_are_no_error():
    rows = np.column_stack([A, np.full(80, 1e-300), np.zeros(80), np.full(80, 1e300)])
    rows[::4] = np.where(RNG.random((20, 8)) < 0.3, np.nan, rows[::4])
    found = KernelImputer(max_iter=1, random_state=0).fit_transform(rows)
    np.testing.assert_allclose(found[:, 5:], np.tile([1e-300, 0.0, 1e300], (80, 1)))


def test_huge_known_values_of_new_rows_are_read_as_outliers():
    imputer = KernelImputer(random_state=0).fit(with_holes(A))
    rows = A[:3].copy()
    rows[:, 0], rows[:, 4] = 1e308, np.nan
    found = imputer.transform(rows)
    assert np.isfinite(found).all()
    assert np.abs(found[:, 4]).max() < 10.0


def test_what_does_not_fit_into_single_precision_is_refused():
    rows = np.column_stack([A, 1e3 * A[:, :1]])
    imputer = KernelImputer(patterns=np.arange(6) == 5, max_iter=1, random_state=0)
    imputer.fit(rows * 1e37)
    single = (A[:4] * 1e37).astype(np.float32)
    with pytest.raises(ValueError, match="beyond the range of float32: pass float64"):
        imputer.transform(np.column_stack([single, np.full(4, np.nan, np.float32)]))


SCALED = [
    RandomizedKernelPCA(n_components=3, random_state=0),
    KernelAutoencoder(n_components=3, random_state=0),
    RandomizedKernelCCA(random_state=0),
]


@pytest.mark.parametrize("estimator", SCALED, ids=lambda e: type(e).__name__)
@pytest.mark.parametrize("scale", [1e-320, 1e-200, 1e-160, 1e160, 1e300])
def test_scales_at_which_the_kernel_is_no_number_are_refused(estimator, scale):
    with pytest.raises(ValueError, match="scale X"):
        clone(estimator).fit(A * scale, A[:, :2] * scale)


@pytest.mark.parametrize("scale", [1e160, 1e300])
def test_inputs_too_large_to_regress_are_refused_whatever_the_map(scale):
    for estimator in (RandomizedKernelPCA, KernelAutoencoder):
        with pytest.raises(ValueError, match=r"X holds values of \d\.\d+e\+\d+.*: scale X"):
            estimator(n_components=2, feature_map=MinMaxScaler()).fit(A * scale)
    pca = RandomizedKernelPCA(
        n_components=2, feature_map=MinMaxScaler(), fit_inverse_transform=False
    )
    plain = clone(pca).fit(A).transform(A)
    np.testing.assert_allclose(clone(pca).fit(A * scale).transform(A * scale), plain, atol=1e-9)


@pytest.mark.parametrize("scale", [1e-200, 1e-30, 1e130])
def test_the_score_does_not_depend_on_the_scale(scale):
    scores = []
    for factor in (1.0, scale):
        same = FunctionTransformer(lambda rows, factor=factor: rows / factor)
        coder = KernelAutoencoder(n_components=2, feature_map=same).fit(A[:60] * factor)
        scores.append(coder.score(A[60:] * factor))
    wanted, found = scores
    assert wanted < -0.1
    assert found == pytest.approx(wanted)


@pytest.mark.parametrize("estimator", SCALED, ids=lambda e: type(e).__name__)
def test_features_whose_variance_is_beyond_numbers_are_refused(estimator):
    huge = FunctionTransformer(lambda rows: 1e200 * rows)
    with pytest.raises(ValueError, match="too large for their variance to be a number"):
        clone(estimator).set_params(feature_map=huge, n_components=2).fit(A, A[:, :2])


@pytest.mark.parametrize("patterns", [ONE_PATTERN, [ONE_PATTERN.tolist()]], ids=["flat", "table"])
def test_copies_of_rows_with_one_pattern_are_refused(patterns):
    with pytest.raises(ValueError, match=re.escape(f"n_copies=2 has no effect with {patterns=}: ")):
        KernelImputer(patterns=patterns, n_copies=2).fit(A)


@pytest.mark.parametrize("n_copies", [10**6, 10**12, 10**30])
def test_more_copies_than_memory_are_refused(n_copies):
    message = f"n_copies={n_copies} is not valid: it must be at most"
    with pytest.raises(ValueError, match=message):
        KernelImputer(patterns=0.3, n_copies=n_copies).fit(A)


def test_a_penalty_of_the_imputer_that_overflows_is_refused():
    with pytest.raises(ValueError, match=r"alpha=1e\+308 is not valid"):
        KernelImputer(alpha=1e308).fit(A)

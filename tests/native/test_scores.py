"""Fused scores: features @ coef.T + intercept without the features."""

from __future__ import annotations

import numpy as np
import pytest

from cerflearn import _native
from oracle.features import long, score_bound
from oracle.random_maps import dense_map, fastfood_map, inputs, masked_map

each_level = pytest.mark.parametrize("level", _native.levels())
each_dtype = pytest.mark.parametrize("dtype", ["float32", "float64"])
MAPS = {
    "dense": dense_map(19, 27, "odd"),
    "independent": masked_map(37, 61, 1, 1, "single"),
    "grouped": masked_map(45, 11, 1, 8, "paired"),
    "shared": masked_map(37, 29, 8, 4, "odd"),
    "relu_independent": masked_map(37, 61, 1, 1, relu=True),
    "relu_shared": masked_map(37, 29, 8, 4, relu=True),
    "fastfood": fastfood_map(27, 32, 3, "odd", kept_fraction=0.4, centred=True),
}
each_map = pytest.mark.parametrize("kind", MAPS)


def draw_head(n_scores, n_outputs, dtype):
    rng = np.random.default_rng(n_scores)
    coef = rng.standard_normal((n_scores, n_outputs)).astype(dtype)
    return coef, rng.standard_normal(n_scores).astype(dtype)


def scores(model, X, coef, intercept, n_threads=1):
    out = np.full((len(X), len(coef)), np.nan, dtype=model.dtype)
    assert model.scores(X, coef, intercept, out, n_threads)
    return out


@each_level
@each_dtype
@each_map
@pytest.mark.parametrize("n_scores", [1, 2, 3, 4, 5, 8, 9, 10, 60])
def test_scores_are_within_the_bound(kind, n_scores, dtype, level):
    case = MAPS[kind]
    model = case.model(_native, dtype, level)
    coef, intercept = draw_head(n_scores, case.n_outputs, dtype)
    X = inputs(70, case.n_features, dtype)
    exact, bound = case.features_and_bound(X, dtype)
    expected = exact @ long(coef).T + long(intercept)
    allowed = score_bound(exact, bound, coef, intercept, dtype)
    for n in (1, 12, 25, 64, 70):
        error = np.abs(scores(model, X[:n], coef, intercept) - expected[:n])
        assert (error <= allowed[:n]).all()


@each_level
@each_dtype
@each_map
def test_threads_and_memory_order_change_no_bit(kind, dtype, level):
    case = MAPS[kind]
    model = case.model(_native, dtype, level)
    coef, intercept = draw_head(7, case.n_outputs, dtype)
    X = inputs(460, case.n_features, dtype)
    expected = scores(model, X, coef, intercept)
    np.testing.assert_array_equal(scores(model, X, coef, intercept, 2), expected)
    np.testing.assert_array_equal(scores(model, np.asfortranarray(X), coef, intercept), expected)
    cut = len(X) // 2 + 3
    parts = [scores(model, part, coef, intercept) for part in (X[:cut], X[cut:])]
    np.testing.assert_array_equal(np.concatenate(parts), expected)


@each_level
@each_dtype
@each_map
@pytest.mark.parametrize("n", [1, 70])
def test_values_that_are_not_finite_are_refused(kind, n, dtype, level):
    case = MAPS[kind]
    model = case.model(_native, dtype, level)
    coef, intercept = draw_head(3, case.n_outputs, dtype)
    X = inputs(n, case.n_features, dtype)
    X[n // 2, -1] = np.nan
    assert model.scores(X, coef, intercept, np.empty((n, 3), dtype), 1) is False


@each_map
def test_no_scores_and_no_rows_are_fine(kind):
    case = MAPS[kind]
    model = case.model(_native, "float64", "baseline")
    for n, n_scores in [(0, 2), (1, 0), (30, 0)]:
        coef, intercept = draw_head(n_scores, case.n_outputs, "float64")
        assert scores(model, inputs(n, case.n_features, "float64"), coef, intercept).shape == (
            n,
            n_scores,
        )


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        (((3, 18), (2, 53), (2,), (3, 2)), "width"),
        (((3, 19), (2, 52), (2,), (3, 2)), "coef"),
        (((3, 19), (2, 53), (3,), (3, 2)), "intercept"),
        (((3, 19), (2, 53), (2,), (2, 2)), "out"),
        (((3, 19), (2, 53), (2,), (3, 3)), "out"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(shapes, message):
    model = MAPS["dense"].model(_native, "float64", "baseline")
    X, coef, intercept, out = (np.zeros(shape) for shape in shapes)
    with pytest.raises(ValueError, match=message):
        model.scores(X, coef, intercept, out, 1)


def test_nothing_is_converted_silently():
    model = MAPS["dense"].model(_native, "float64", "baseline")
    X, coef, intercept, out = (np.zeros(s) for s in [(3, 19), (2, 53), (2,), (3, 2)])
    for arguments in [
        (X, coef.astype(np.float32), intercept, out),
        (X, np.asfortranarray(coef), intercept, out),
        (X, coef, intercept.astype(np.float32), out),
        (X, coef, np.zeros(4)[::2], out),
        (X, coef, intercept, np.asfortranarray(out)),
    ]:
        with pytest.raises(TypeError):
            model.scores(*arguments, 1)

"""Inputs that no mask reads: they change no bit, and must be finite all the same."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from cerflearn import _native
from oracle.random_maps import inputs, masked_map

each_level = pytest.mark.parametrize("level", _native.levels())
each_dtype = pytest.mark.parametrize("dtype", ["float32", "float64"])
N_READ, N_FEATURES = 20, 150
MAPS = {
    "independent": masked_map(N_READ, 33, 1, 1),
    "shared": masked_map(N_READ, 40, 8, 1, "odd"),
    "relu": masked_map(N_READ, 33, 8, 1, relu=True),
}
# Where the inputs that are read lie: whole cache lines without any, lines with one, with some.
PLACES = {
    "first": np.arange(N_READ),
    "last": np.arange(N_FEATURES - N_READ, N_FEATURES),
    "inside": np.arange(67, 67 + N_READ),
    "spread": np.linspace(3, N_FEATURES - 2, N_READ).astype(int),
    "two parts": np.r_[5 : 5 + N_READ // 2, 120 : 120 + N_READ // 2],
}
each_map = pytest.mark.parametrize("kind", MAPS)
each_place = pytest.mark.parametrize("place", PLACES)


def spread(case, places):
    """The same masks among more inputs."""
    mask_inputs = places[case.arguments["mask_inputs"]].astype(np.int32)
    arguments = case.arguments | {"n_features": N_FEATURES, "mask_inputs": mask_inputs}
    return dataclasses.replace(case, arguments=arguments, n_features=N_FEATURES)


def transform(model, X, n_threads=1):
    out = np.full((len(X), model.n_outputs), np.nan, model.dtype)
    assert model.transform(X, out, n_threads)
    return out


@each_level
@each_dtype
@each_map
@each_place
def test_features_are_those_of_the_inputs_that_are_read(place, kind, dtype, level):
    case, places = MAPS[kind], PLACES[place]
    compact, model = (m.model(_native, dtype, level) for m in (case, spread(case, places)))
    X = inputs(500, N_FEATURES, dtype)
    coef = inputs(3, case.n_outputs, dtype)
    for n in (1, 23, 24, 65, 500):
        expected = transform(compact, np.ascontiguousarray(X[:n, places]))
        for rows in (X[:n], np.asfortranarray(X[:n]), np.repeat(X[:n], 2, axis=1)[:, ::2]):
            np.testing.assert_array_equal(transform(model, rows, 2), expected)
        scores = [np.empty((n, 3), dtype) for _ in range(2)]
        assert model.scores(X[:n], coef, coef[:, 0].copy(), scores[0], 1)
        assert compact.scores(X[:n, places], coef, coef[:, 0].copy(), scores[1], 1)
        np.testing.assert_array_equal(*scores)


@each_level
@each_dtype
@pytest.mark.parametrize("kind", ["independent", "shared"])
@each_place
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_are_refused_wherever_they_are(value, place, kind, dtype, level):
    model = spread(MAPS[kind], PLACES[place]).model(_native, dtype, level)
    for n in (1, 30, 70):
        X, out = inputs(n, N_FEATURES, dtype), np.empty((n, model.n_outputs), dtype)
        assert model.transform(X, out, 1)
        for d in range(N_FEATURES):
            row = d % n
            before, X[row, d] = X[row, d], value
            assert not model.transform(X, out, 1), (n, d)
            assert not model.transform(np.asfortranarray(X), out, 1), (n, d)
            X[row, d] = before

"""Scores of predictors on rows that are not in memory."""

from __future__ import annotations

import dask.array as da
import numpy as np
import pytest

from cerflearn import CERFClassifier, CERFRegressor
from cerflearn.blocks import from_blocks, from_npy

X = np.random.default_rng(0).normal(size=(700, 4))
TARGETS = {
    CERFClassifier: np.array(["no", "yes"])[(X[:, 0] > 0).astype(int)],
    CERFRegressor: X[:, 0] ** 2,
}


@pytest.mark.parametrize("kind", [CERFClassifier, CERFRegressor])
def test_scores_are_those_of_rows_in_memory(tmp_path, kind):
    y, weights = TARGETS[kind], np.arange(700.0)
    model = kind(macs=20, learn="selection", random_state=0).fit(X, y)
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "y.npy", y)
    parts = [(X[i : i + 99], y[i : i + 99]) for i in range(0, 700, 99)]
    given = (
        (from_npy(tmp_path / "x.npy", target=tmp_path / "y.npy"),),
        (from_blocks(iter(parts)),),
        (tmp_path / "x.npy", y),
        (da.from_array(X, chunks=200), da.from_array(y, chunks=100)),
    )
    for settings in ({}, {"sample_weight": weights}):
        expected = model.score(X, y, **settings)
        assert expected < 1
        for data in given if not settings else (given[0], *given[2:]):
            assert model.score(*data, **settings) == expected
    with pytest.raises(ValueError, match="y is None: score needs the targets"):
        model.score(tmp_path / "x.npy")
    with pytest.raises(ValueError, match="has a target and y is passed too"):
        model.score(given[0][0], y)
    with pytest.raises(ValueError, match=r"block 7 of the days has 3 columns"):
        model.score(from_blocks([*parts[:-1], (X[:9, :3], y[:9])], name="the days"))

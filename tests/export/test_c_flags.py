"""Headers without warnings at -O2 and -O3: GCC finds some there that it does not find at -O1."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from c_samples import QUICK
from cerflearn import CERFRegressor, MaskedFourierFeatures, export_c
from cerflearn.export.c99.c_float import TILE
from cerflearn.export.c99.c_verify import STRICT_FLAGS

CPP_FLAGS = ("-std=c++17", *STRICT_FLAGS[1:])
COMPILERS = {"gcc": STRICT_FLAGS, "clang": STRICT_FLAGS, "g++": CPP_FLAGS, "clang++": CPP_FLAGS}
X = np.random.default_rng(0).normal(size=(200, 4))
USE = """
#include "m.h"
void run(const float *x, float *s);
void run(const float *x, float *s) { m_scores(x, s); }
"""


def few_weights(n_weights):
    """Regressor that reads so many of its inputs."""
    model = LinearRegression().fit(X, X[:, 0])
    model.coef_ = np.where(np.arange(4) < n_weights, [0.0, 2.0, 0.0, 3.0], 0.0)
    return model


def predictor(activation, macs):
    model = CERFRegressor(macs=macs, activation=activation, **QUICK)
    return model.fit(X, X[:, 0] * X[:, 1])


def features(n_components, **parameters):
    return MaskedFourierFeatures(n_components=n_components, random_state=0, **parameters).fit(X)


MODELS = {
    "cosines": lambda: predictor("cosine", 200),
    "few cosines": lambda: predictor("cosine", 10),
    "positive parts": lambda: predictor("relu", 200),
    "tables": lambda: predictor("table", 60),
    "few tables": lambda: predictor("table", 4),
    "whole tiles": lambda: features(2 * 3 * TILE),
    "a part of a tile": lambda: features(2 * TILE + 6),
    "shared masks": lambda: features(3 * TILE, features_per_mask=6),
    "two weights": lambda: few_weights(4),
    "a weight": lambda: few_weights(2),
    "a scaler": lambda: make_pipeline(StandardScaler(), LinearRegression()).fit(X, X[:, 0]),
}


@cache
def header(name):
    """Text of a header, made once."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "m.h")
        export_c(MODELS[name](), path, X=X, verify=False)
        return path.read_text()


@pytest.mark.parametrize("compiler", COMPILERS)
def test_no_warnings_at_any_optimisation(compiler, tmp_path):
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is absent")
    suffix = ".cpp" if compiler.endswith("++") else ".c"
    (tmp_path / f"use{suffix}").write_text(USE)
    for name in MODELS:
        (tmp_path / "m.h").write_text(header(name))
        for level in ("-O2", "-O3"):
            command = [compiler, *COMPILERS[compiler], level, "-c", f"use{suffix}"]
            done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
            assert done.returncode == 0, (name, level, done.stderr.decode()[-1000:])

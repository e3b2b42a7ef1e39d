"""Codes and markers of missing values in C, whose inputs have single precision."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from cerflearn import export_c
from cerflearn.export.c99.c_verify import find_compiler

needs_compiler = pytest.mark.skipif(find_compiler() is None, reason="no C compiler")
DTYPES = ("float32", "int16", "int8")
RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 4))
Y = np.digitize(X[:, 0] + X[:, 1], [-0.5, 0.5])
WITH_CODES = np.c_[X, RNG.choice([0.1, 0.2, 0.7], len(X))]
MARKED = np.where(RNG.random(X.shape) < 0.2, -999.9, X)


def coded():
    columns = ColumnTransformer([("o", OneHotEncoder(), [-1])], remainder="passthrough")
    labels = (Y + (WITH_CODES[:, 4] > 0.5)) % 3
    return make_pipeline(columns, LogisticRegression()).fit(WITH_CODES, labels)


def marked():
    steps = SimpleImputer(missing_values=-999.9), StandardScaler(), LogisticRegression()
    return make_pipeline(*steps).fit(MARKED, Y)


@needs_compiler
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("make", "rows"), [(coded, WITH_CODES), (marked, MARKED)])
def test_numbers_that_single_precision_cannot_hold(make, rows, dtype, tmp_path):
    report = export_c(make(), tmp_path / "m.h", X=rows, dtype=dtype)
    assert report.label_agreement >= (1.0 if dtype == "float32" else 0.98)
    assert report.relative_error < {"float32": 1e-6, "int16": 1e-3, "int8": 0.05}[dtype]


@needs_compiler
@pytest.mark.parametrize("make", [coded, marked])
def test_rows_are_drawn_with_those_numbers(make, tmp_path):
    assert export_c(make(), tmp_path / "m.h").label_agreement == 1.0


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("codes", [2.0**24 + np.arange(3), 0.1 + 1e-12 * np.arange(3)])
def test_codes_that_are_one_number_in_single_precision_are_refused(codes, dtype, tmp_path):
    codes = RNG.choice(codes, size=(200, 1))
    rows = np.c_[X[:, :1], codes]
    columns = ColumnTransformer([("o", OneHotEncoder(), [1])], remainder="passthrough")
    model = make_pipeline(columns, LogisticRegression()).fit(rows, Y)
    with pytest.raises(ValueError, match=r"Codes of input 1 cannot be told apart in single precis"):
        export_c(model, tmp_path / "m.h", X=rows, dtype=dtype)
    assert not list(tmp_path.iterdir())

"""Targets whose mean is large against their deviation, in integers."""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from c_samples import QUICK
from cerflearn import CERFRegressor, export_c
from cerflearn.export.c99.c_calibrate import quantized
from cerflearn.export.c99.c_fold import staged
from cerflearn.export.c99.c_quantize import MOST
from cerflearn.export.c99.c_scales import QuantizeOptions
from cerflearn.export.c99.c_verify import find_compiler
from cerflearn.export.program import program_of

needs_compiler = pytest.mark.skipif(find_compiler() is None, reason="no C compiler")
X = np.random.default_rng(0).normal(size=(200, 4))
Y = X[:, 0] * X[:, 1]
ACTIVATIONS = ("cosine", "relu", "table")


def regressor(activation):
    if activation == "linear":
        return Ridge()
    return CERFRegressor(macs=40, activation=activation, **QUICK)


def target(activation):
    return Y + X[:, 0] if activation == "linear" else Y


@cache
def fitted(activation, mean):
    return regressor(activation).fit(X, target(activation) + mean)


@needs_compiler
@pytest.mark.parametrize("activation", [*ACTIVATIONS, "linear"])
@pytest.mark.parametrize("dtype", ["int16", "int8"])
def test_a_large_mean_takes_no_digits_from_what_varies(dtype, activation, tmp_path):
    y, mean = target(activation), 1e5
    near = export_c(fitted(activation, 0.0), tmp_path / "m.h", X=X, dtype=dtype).relative_error
    far = export_c(fitted(activation, mean), tmp_path / "m.h", X=X, dtype=dtype).relative_error
    # At most twice the unit with which 1.1 times the mean fits 32 bits, and four roundings to it.
    assert far < 1.5 * near + 4 * 2.2 * mean / y.std() / 2.0**31


@needs_compiler
@pytest.mark.parametrize(
    ("activation", "dtype"), [("cosine", "int16"), ("relu", "int8"), ("table", "int16")]
)
def test_an_output_that_hardly_varies_leaves_the_others_their_digits(activation, dtype, tmp_path):
    model = regressor(activation).fit(X, np.c_[Y, 1e3 + 1e-8 * X[:, 2]])
    report = export_c(model, tmp_path / "m.h", X=X, dtype=dtype)
    assert report.relative_error < 0.05
    shifts = re.findall(r">> (\d+)", (tmp_path / "m.h").read_text())
    assert all(int(shift) < 32 for shift in shifts)


@pytest.mark.parametrize("activation", [*ACTIVATIONS, "linear"])
@pytest.mark.parametrize("mean", [1e5, 1e12, 1e20])
def test_shifts_are_less_than_32_bits_and_nothing_overflows(mean, activation):
    stages = staged(program_of(fitted(activation, 0.0)), one_stage=True)
    stages.stages[0].intercept[:] += mean
    whole = quantized(stages, "int8", X, QuantizeOptions())
    assert all(-31 <= part.exponent < 31 for part in whole.parts)
    limit = whole.scaling.limit
    extreme = np.random.default_rng(1).choice([-limit, limit], size=(300, 4))
    assert np.abs(whole.run(extreme)).max() <= MOST

"""Sizes before deployment: from the arrays that are written, and as ``max_bytes`` counts."""

from __future__ import annotations

import re

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from c_samples import CASES, case
from cerflearn import CERFClassifier, cost
from cerflearn.export.c99.c_export import deployed_bytes, export_c, export_sizes
from cerflearn.export.c99.c_verify import find_compiler
from cerflearn.export.program import program_of

needs_compiler = pytest.mark.skipif(find_compiler() is None, reason="no C compiler")
BYTES = {
    "float": 4, "int8_t": 1, "int16_t": 2, "int32_t": 4, "uint8_t": 1, "uint16_t": 2, "uint32_t": 4,
}  # fmt: skip
ARRAY = re.compile(r"^static const (\w+) (\w+)\[(\d+)\] = {", re.M)


def bytes_in(text):
    """Constant data of a header, without labels and what turns floats into integers."""
    body = text.split("_NO_FLOAT\n")[0]
    return sum(
        BYTES[ctype] * int(n) for ctype, name, n in ARRAY.findall(body) if "_labels" not in name
    )


@pytest.mark.parametrize("dtype", ["float32", "int16", "int8"])
@pytest.mark.parametrize("name", [name for name in CASES if name != "two stages"])
def test_sizes_are_those_of_the_arrays_and_known_before(tmp_path, name, dtype):
    estimator, X, _ = case(name)
    report = export_c(estimator, tmp_path / "m.h", X=X[:150], dtype=dtype, verify=False)
    assert report.flash_bytes == bytes_in((tmp_path / "m.h").read_text())
    before = deployed_bytes(program_of(estimator), dtype)
    assert before.flash_bytes == report.flash_bytes
    assert before.ram_bytes == report.ram_bytes


@pytest.mark.parametrize("dtype", ["float32", "int16", "int8"])
@pytest.mark.parametrize("name", ["cosine", "relu", "table", "shared", "binary", "pairs"])
def test_constants_of_predictors_are_what_max_bytes_counts(name, dtype):
    estimator, _, _ = case(name)
    counted = CERFClassifier(storage=dtype)
    counted.__dict__.update({k: v for k, v in vars(estimator).items() if k != "storage"})
    written = export_sizes(estimator)[dtype].flash_bytes
    # Integers need no scale for each array (4 bytes of up to 3): their scales are shifts in the
    # lowest bits of offsets, multipliers in half of the 4 bytes of an offset, or constants of code.
    scales = 0 if dtype == "float32" else 4 * (2 + bool(estimator.linear_coef_.any()))
    assert 0 <= cost(counted).n_bytes - written <= scales


def test_sizes_of_what_has_no_integers_are_those_of_floats():
    estimator, _, _ = case("two stages")
    assert list(export_sizes(estimator)) == ["float32"]


def test_a_byte_limit_is_kept(tmp_path):
    X, y = np.random.default_rng(0).normal(size=(200, 12)), np.arange(200) % 3
    y = (X[:, 0] + (X[:, 1] > 0) > 0.2).astype(int) + (X[:, 2] > 1)
    model = CERFClassifier(
        macs=200, max_bytes=900, storage="int8", effort=0.03, random_state=0
    ).fit(X, y)
    assert export_sizes(model)["int8"].flash_bytes <= 900


@needs_compiler
@pytest.mark.parametrize("dtype", ["int16", "int8"])
def test_inputs_that_nothing_reads_are_not_stored(dtype, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3_000)) * np.exp(rng.normal(size=3_000)) + 100.0 * np.arange(3_000)
    model = LinearRegression().fit(X[:, :4], X[:, 0])
    read = np.array([2, 700, 701, 2_999])
    model.coef_, model.n_features_in_ = np.zeros(3_000), 3_000
    model.coef_[read] = rng.normal(size=4) / X[:, read].std(axis=0)
    report = export_c(model, tmp_path / "m.h", X=X, dtype=dtype)
    assert report.relative_error < 0.02
    text = (tmp_path / "m.h").read_text()
    assert "m_quantize(const float *x, int16_t *q)" in text
    assert len(text) < 8_000

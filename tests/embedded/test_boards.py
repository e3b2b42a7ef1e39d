"""Exported integers on Cortex-M0, M3, M4 and M33 against the host, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest

from c_samples import CASES, case
from cerflearn.export.c99.c_calibrate import calibrated
from cerflearn.export.c99.c_fold import staged
from cerflearn.export.c99.c_header import header_text
from cerflearn.export.c99.c_integer_header import integer_code
from cerflearn.export.c99.c_output import labels_of
from cerflearn.export.c99.c_verify import compile_and_run, find_compiler
from cerflearn.export.program import program_of
from embedded.boards import (
    BOARDS,
    build,
    emulate,
    instructions_per_row,
    memory,
    missing_tools,
)

ABSENT = missing_tools()
pytestmark = [
    pytest.mark.skipif(
        bool(ABSENT),
        reason=f"{', '.join(ABSENT)} absent (Debian: gcc-arm-none-eabi qemu-system-arm)",
    ),
    pytest.mark.skipif(find_compiler() is None, reason="no C compiler for the host"),
]
NAMES = [name for name in CASES if name != "two stages"]


@pytest.fixture(scope="module")
def images():
    """Header, integer model and rows of each model, made once."""
    made = {}

    def find(name, dtype):
        if (name, dtype) not in made:
            estimator, X, _ = case(name)
            model = staged(program_of(estimator), one_stage=True)
            whole = calibrated(model, dtype, X)
            header = header_text("m", model, integer_code("m", model, whole), ["m"])
            found = compile_and_run("m", header, model, dtype, X, find_compiler())
            made[name, dtype] = (model, whole, header, X, found.scores)
        return made[name, dtype]

    return find


@pytest.mark.parametrize("dtype", ["int8", "int16"])
@pytest.mark.parametrize("name", NAMES)
def test_boards_compute_the_integers_of_the_host(images, tmp_path, name, dtype):
    model, whole, header, X, scores = images(name, dtype)
    for cpu in BOARDS:
        build(tmp_path, header, "m", model.output.kind, cpu)
        classes, found = emulate(tmp_path, cpu, whole.scaling.quantize(X))
        np.testing.assert_array_equal(found, scores)
        if model.output.kind in ("binary", "multiclass", "pairs"):
            np.testing.assert_array_equal(classes, labels_of(model.output, scores))


@pytest.mark.parametrize("name", ["cosine", "relu", "table"])
def test_digits_model_of_500_macs_fits_a_small_microcontroller(images, tmp_path, name):
    model, whole, header, X, _ = images(name, "int8")
    size = memory(tmp_path, header, "m", model.output.kind, "cortex-m0")
    # Tables of ten classes store ten numbers a bin, and do not fit 4 kB.
    assert size["flash"] <= (4096 if name != "table" else 16384)
    assert size["ram"] <= 256
    build(tmp_path, header, "m", model.output.kind, "cortex-m0")
    count = instructions_per_row(tmp_path, "cortex-m0", whole.scaling.quantize(X[:3]))
    assert 500 < count < 20_000


def test_no_board_needs_a_library_but_memset(images, tmp_path):
    model, _, header, _, _ = images("cosine", "int8")
    build(tmp_path, header, "m", model.output.kind, "cortex-m0")
    linked = (tmp_path / "image.map").read_text()
    assert "libgcc.a(" not in linked.split("Memory Configuration")[0]

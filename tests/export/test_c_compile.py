"""Exported headers with GCC and Clang, as C99 and C++17, in two files, without floats."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import RidgeClassifier

from c_samples import case
from cerflearn.export.c99.c_export import export_c
from cerflearn.export.c99.c_verify import STRICT_FLAGS

C_COMPILERS = {"gcc": "g++", "clang": "clang++"}
HOSTILE = [
    "*/ int x; /*",
    "??/",
    "ends in \\",
    "quote \" and ' and %d %s",
    "caf\u00e9 \u4e16\u754c \U0001f600",
    "new\nline",
    "nul\0nul",
    "??=define \\u0041 \\",
]
"""Labels and names that break C where they are not escaped."""

TWICE = """
#include "m.h"
int other(const float *x);
int other(const float *x) { float s[M_N_OUTPUTS]; m_scores(x, s); return s[0] > 0.0f; }
"""

MAIN = """
#include "m.h"
#include "m.h"
int other(const float *x);
int main(void) { float x[M_N_INPUTS] = {0.0f}; return other(x) < 0; }
"""

NO_FLOAT = """
#define float no_float_may_be_here
#define double no_double_may_be_here
#define M_NO_FLOAT
#include "m.h"
int run(const int16_t *x);
int run(const int16_t *x) { int32_t s[M_N_OUTPUTS]; m_scores_q(x, s); return s[0] > 0; }
"""


def compile_all(folder, command, files, *more):
    for name, text in files.items():
        (folder / name).write_text(text)
    done = subprocess.run(
        [*command, *files, *more], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]


@cache
def header(name, dtype):
    """Text of a header, made once."""
    estimator, X, _ = case(name)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "m.h")
        export_c(estimator, path, X=X[:100], dtype=dtype, verify=False)
        return path.read_text()


def headers(folder, names, dtypes=("float32", "int8")):
    for name in names:
        for dtype in dtypes:
            if name != "two stages" or dtype == "float32":
                (folder / "m.h").write_text(header(name, dtype))
                yield dtype


KINDS = ["cosine", "table", "pairs", "multilabel", "values", "prepared", "fastfood", "two stages"]


@pytest.mark.parametrize("compiler", list(C_COMPILERS))
def test_no_warnings_in_two_files(tmp_path, compiler):
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is absent")
    flags = (*STRICT_FLAGS, "-Wdouble-promotion", "-Wshadow", "-Wunused")
    for _ in headers(tmp_path, KINDS):
        compile_all(tmp_path, [compiler, *flags], {"a.c": TWICE, "b.c": MAIN}, "-O1", "-o", "both")


@pytest.mark.parametrize("compiler", list(C_COMPILERS.values()))
def test_no_warnings_in_cpp(tmp_path, compiler):
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is absent")
    flags = ("-std=c++17", "-Wall", "-Wextra", "-Werror")
    for _ in headers(tmp_path, [*KINDS, "dense map", "shared"]):
        files = {"a.cpp": TWICE, "b.cpp": MAIN}
        compile_all(tmp_path, [compiler, *flags], files, "-fsyntax-only")


def test_integer_headers_hold_no_float_where_none_is_wanted(tmp_path):
    if shutil.which("gcc") is None:
        pytest.skip("gcc is absent")
    for _ in headers(
        tmp_path, ["cosine", "relu", "table", "prepared", "values"], ["int8", "int16"]
    ):
        compile_all(tmp_path, ["gcc", *STRICT_FLAGS], {"n.c": NO_FLOAT}, "-c", "-O2")
        undefined = subprocess.run(
            ["nm", "-u", "n.o"], cwd=tmp_path, capture_output=True, text=True, check=True
        ).stdout
        called = {line.split()[-1] for line in undefined.splitlines()}
        assert called <= {"memset", "_GLOBAL_OFFSET_TABLE_", "__stack_chk_fail"}


def test_inputs_that_are_not_finite_are_no_undefined_behaviour(tmp_path):
    if shutil.which("gcc") is None:
        pytest.skip("gcc is absent")
    main = MAIN.replace(
        "= {0.0f}",
        "= {0.0f}; for (int i = 0; i < M_N_INPUTS; i++) "
        "x[i] = i % 3 == 0 ? 1e38f * 1e38f : i % 3 == 1 ? -1e38f * 1e38f : "
        "(1e38f * 1e38f) * 0.0f",
    )
    sanitize = ["gcc", "-std=c99", "-fsanitize=undefined,float-cast-overflow"]
    sanitize += ["-fno-sanitize-recover", "-O1"]
    for _ in headers(tmp_path, ["cosine", "relu", "table", "prepared", "dense map"]):
        compile_all(tmp_path, sanitize, {"a.c": TWICE, "b.c": main}, "-o", "both")
        done = subprocess.run([tmp_path / "both"], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


BEYOND = """
#include "m.h"
int main(void) {
    int16_t q[M_N_INPUTS];
    volatile int32_t sink = 0;
    for (int way = 0; way < 64; way++) {
        for (int i = 0; i < M_N_INPUTS; i++)
            q[i] = way < 2 ? (way ? INT16_MIN : INT16_MAX)
                           : ((i * 7 + way) * (way + 3) / 5 % 2 ? INT16_MIN : INT16_MAX);
        CALL
    }
    return sink == 1;
}
"""
"""Integers beyond the scales of any input."""


@pytest.mark.parametrize("dtype", ["int8", "int16"])
def test_integers_beyond_the_scales_are_no_undefined_behaviour(tmp_path, dtype):
    if shutil.which("gcc") is None:
        pytest.skip("gcc is absent")
    call = "int32_t s[M_N_OUTPUTS]; m_scores_q(q, s); sink = s[0];"
    sanitize = ["gcc", "-std=c99", "-fsanitize=undefined", "-fno-sanitize-recover", "-O1"]
    names = ["linear", "values", "pairs", "table"]
    for name in names:
        for _ in headers(tmp_path, [name], [dtype]):
            more = " sink += m_predict_q(q);" if name == "pairs" else ""
            compile_all(tmp_path, sanitize, {"q.c": BEYOND.replace("CALL", call + more)}, "-o", "q")
            done = subprocess.run([tmp_path / "q"], capture_output=True, text=True, check=False)
            assert done.returncode == 0, (name, done.stderr)


def test_labels_and_names_cannot_break_the_header(tmp_path):
    if shutil.which("gcc") is None:
        pytest.skip("gcc is absent")
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(80, len(HOSTILE))), columns=HOSTILE)
    y = np.array(HOSTILE, dtype=object)[rng.integers(len(HOSTILE), size=80)]
    model = RidgeClassifier().fit(X, y)
    show = (
        '#include <stdio.h>\n#include "m.h"\nint main(void) { for (int i = 0; i < M_N_CLASSES; '
        "i++) { fputs(m_labels[i], stdout); putchar(1); } return 0; }\n"
    )
    for dtype in ("float32", "int8"):
        report = export_c(model, tmp_path / "m.h", X=X, dtype=dtype)
        assert report.label_agreement > 0.95
        for flags in (STRICT_FLAGS, ("-std=c99", "-trigraphs", "-Wtrigraphs", "-Werror")):
            compile_all(tmp_path, ["gcc", *flags], {"s.c": show}, "-o", "show")
            out = subprocess.run([tmp_path / "show"], capture_output=True, check=True).stdout
            labels = out.decode("utf-8").split("\x01")[:-1]
            assert labels == [str(label).split("\0")[0] for label in model.classes_]


def test_names_become_identifiers(tmp_path):
    estimator, X, _ = case("binary")
    for name, wanted in (("9 */ int", "m_9_int"), ("\u00e9", "m"), ("while", "while_model")):
        report = export_c(estimator, tmp_path / "m.h", X=X, name=name, verify=False)
        assert report.name == wanted
        assert f"#ifndef {wanted.upper()}_H" in (tmp_path / "m.h").read_text()

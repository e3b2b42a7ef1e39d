"""Compiling an exported header, running it on rows, and comparing it with Python."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cerflearn._typing import Float64Array
from cerflearn.export.c99.c_lower import StagedModel
from cerflearn.export.c99.c_output import CLASSIFIES, verify_calls

COMPILERS = ("cc", "gcc", "clang")
"""Tried in this order, after the environment variable CC."""

STRICT_FLAGS = ("-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-pedantic")
"""What exported headers compile with."""

LEAST_AGREEMENT, MOST_ERROR = 0.95, 0.2
"""Share of equal labels, error over the deviation of outputs: beyond, there is a warning."""

_SECONDS = 600


class CExportError(RuntimeError):
    """Exported C does not compile, does not run, or does not do what Python does."""


@dataclass(frozen=True, eq=False)
class RunResult:
    """What a compiled model gives.

    Attributes
    ----------
    scores : ndarray of shape (n_samples, n_outputs)
        Floats or integers before the decision.
    labels : ndarray of shape (n_samples,) or None
        Numbers of classes.
    compiler : str
        Its name and version.
    """

    scores: NDArray[Any]
    labels: NDArray[np.int64] | None
    compiler: str


def find_compiler() -> list[str] | None:
    """Return the command of a C compiler: that of CC, or the first that is installed."""
    asked = os.environ.get("CC")
    if asked:
        command = shlex.split(asked)
        if shutil.which(command[0]):
            return command
    found = next((name for name in COMPILERS if shutil.which(name)), None)
    return None if found is None else [found]


def main_text(name: str, header: str, model: StagedModel, dtype: str) -> str:
    """Text of a program from binary rows to binary scores, each after the class."""
    integer = dtype != "float32"
    score = "int32_t" if integer else "float"
    upper = name.upper()
    calls = "\n        ".join(verify_calls(name, model, dtype))
    whole = f"    static int16_t q[{upper}_N_INPUTS];\n" if integer else ""
    return (
        "#include <stdio.h>\n"
        f'#include "{header}"\n'
        "int main(void) {\n"
        f"    static float x[{upper}_N_INPUTS];\n"
        f"{whole}"
        f"    static {score} s[{upper}_N_OUTPUTS];\n"
        "    int32_t label = 0;\n"
        f"    while (fread(x, sizeof x, 1, stdin) == 1) {{\n"
        f"        {calls}\n"
        "        if (fwrite(&label, sizeof label, 1, stdout) != 1) return 1;\n"
        "        if (fwrite(s, sizeof s, 1, stdout) != 1) return 1;\n"
        "    }\n"
        "    return 0;\n"
        "}\n"
    )


def compile_and_run(
    name: str, header: str, model: StagedModel, dtype: str, X: Float64Array, compiler: list[str]
) -> RunResult:
    """Compile a header with a main of its own, and run it on rows.

    Parameters
    ----------
    name : str
        Of the model in C.
    header : str
        Text of the header.
    model : StagedModel
        What it computes.
    dtype : {"float32", "int16", "int8"}
        Its arithmetic.
    X : ndarray of shape (n_samples, n_inputs)
        Rows.
    compiler : list of str
        Command.
    """
    with tempfile.TemporaryDirectory(prefix="cerf_c_") as folder:
        place = Path(folder)
        (place / "model.h").write_text(header, encoding="ascii")
        (place / "main.c").write_text(main_text(name, "model.h", model, dtype), encoding="ascii")
        command = [*compiler, *STRICT_FLAGS, "-O2", "main.c", "-o", "model"]
        _run(command, place, b"", "does not compile")
        rows = np.ascontiguousarray(X, dtype=np.float32).tobytes()
        out = _run([str(place / "model")], place, rows, "does not run")
    kind = np.float32 if dtype == "float32" else np.int32
    record = np.dtype([("label", np.int32), ("scores", kind, (model.n_outputs,))])
    if len(out) != record.itemsize * len(X):
        raise CExportError(f"The exported C gave {len(out)} bytes for {len(X)} rows.")
    found = np.frombuffer(out, dtype=record)
    labels = found["label"].astype(np.int64) if model.output.kind in CLASSIFIES else None
    return RunResult(found["scores"], labels, _version(compiler))


def python_numbers(estimator: Any, X: Any, kind: str) -> Float64Array | None:
    """Scores, values or features (n_samples, n_outputs) that an estimator itself gives, in float64.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    X : array_like or DataFrame
        Rows; floats of any precision are read as float64.
    kind : str
        What comes out, see :class:`~cerflearn.export.steps.Output`. None is returned for votes of
        pairs, and for estimators that give labels alone.
    """
    method = {"features": "transform", "values": "predict"}.get(kind, "decision_function")
    if kind == "pairs" or not hasattr(estimator, method):
        return None
    if hasattr(X, "astype"):  # arrays, sparse matrices, pandas
        X = X.astype(np.float64)
    elif hasattr(X, "cast"):  # polars
        X = X.cast(float)
    else:
        X = np.asarray(X, dtype=np.float64)
    found = getattr(estimator, method)(X)
    found = np.asarray(found.toarray() if hasattr(found, "toarray") else found, dtype=np.float64)
    return found.reshape(len(found), -1)


def _run(command: list[str], folder: Path, given: bytes, what: str) -> bytes:
    try:
        done = subprocess.run(
            command, cwd=folder, input=given, capture_output=True, timeout=_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CExportError(f"The exported C {what}: {error}") from error
    if done.returncode:
        message = done.stderr.decode(errors="replace").strip()[-2000:]
        raise CExportError(f"The exported C {what} ({shlex.join(command)}):\n{message}")
    return done.stdout


def _version(compiler: list[str]) -> str:
    try:
        done = subprocess.run(
            [*compiler, "--version"], capture_output=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return compiler[0]
    lines = done.stdout.decode(errors="replace").splitlines()
    return f"{Path(compiler[0]).name} ({lines[0].strip()})" if lines else compiler[0]


def warn_of_differences(dtype: str, agreement: float | None, error: float | None) -> None:
    """Warn of integers that do not stand for a model on the rows that they were scaled by.

    Parameters
    ----------
    dtype : {"int16", "int8"}
        Of weights.
    agreement : float or None
        Share of equal labels; None: there are none.
    error : float or None
        Of outputs, over their deviation; None: nothing was run.
    """
    if agreement is not None and agreement < LEAST_AGREEMENT:
        what = f"has the labels of the model on {100.0 * agreement:.1f} % of the rows only"
    elif agreement is None and error is not None and error > MOST_ERROR:
        what = f"is off by {error:.2g} of the deviation of the outputs"
    else:
        return
    remedy = "dtype='int16' or 'float32'" if dtype == "int8" else "dtype='float32'"
    warnings.warn(
        f"The exported {dtype} model {what}: pass {remedy}, or look for rows of X or weights of "
        "the model that are far larger than all others.",
        stacklevel=3,
    )

"""Integer models as C: all functions of the header."""

from __future__ import annotations

import numpy as np

from cerflearn.export.c99.c_calibrate import IntegerModel
from cerflearn.export.c99.c_header import ModelCode
from cerflearn.export.c99.c_integer import (
    integer_columns,
    integer_cosine_code,
    integer_part_code,
    quantize_function,
    shifted,
)
from cerflearn.export.c99.c_layout import CArray, Sizes, floats, integers, loop_type, total_bytes
from cerflearn.export.c99.c_lower import StagedModel
from cerflearn.export.c99.c_output import CLASSIFIES, decision_code, output_bytes, predict_code
from cerflearn.export.c99.c_text import float_literal


def integer_code(name: str, model: StagedModel, whole: IntegerModel) -> ModelCode:
    """Write an integer model: entries for integers, and for floats."""
    loop = loop_type(model.stages)
    n, stage = model.n_outputs, whole.stage
    arrays: list[CArray] = []
    lines: list[str] = []
    ram = 0
    if stage.columns:
        columns = integer_columns(f"{name}_s0", whole, loop)
        arrays += columns.arrays
        lines += columns.lines
        ram = columns.ram_bytes
    else:
        lines.append("const int16_t *const c = x;")
    if not any(len(part.projections.values) for part in whole.parts):
        lines.append("(void)c;")
    body, found, extra = _sum_lines(name, whole, loop)
    lines += body
    arrays += found
    functions = []
    if any(part.part.kind in ("cosine", "pair") for part in whole.parts):
        functions += integer_cosine_code(name)
    functions += [
        f"/* The {n} numbers that the prediction is made of, as integers. */",
        f"static inline void {name}_scores_q(const int16_t *x, int32_t *s) {{",
        *(f"    {line}" for line in lines),
        "}",
        *decision_code(name, model, "int32_t", loop),
        *predict_code(name, model, "int32_t", "_q", "const int16_t *"),
    ]
    quantize = quantize_function(name, whole, loop)
    outer, beside = _float_entries(name, model, whole)
    check = f"typedef char {name}_needs_arithmetic_shifts[(-1 >> 1) == -1 ? 1 : -1];"
    text = [check, *(array.text() for array in arrays), "", *functions]
    text += ["", f"#ifndef {name.upper()}_NO_FLOAT"]
    text += [array.text() for array in (*quantize.arrays, *beside)]
    text += [*quantize.lines, *outer, "#endif"]
    sizes = Sizes(total_bytes(arrays), ram + extra + output_bytes(model))
    return ModelCode("\n".join(text), sizes)


def _sum_lines(name: str, whole: IntegerModel, loop: str) -> tuple[list[str], list[CArray], int]:
    """Sum parts into ``s``."""
    n = whole.stage.n_outputs
    arrays: list[CArray] = []
    bias = "0"
    if whole.intercept.any():
        arrays.append(integers(f"{name}_s0_intercept", whole.intercept, "int32"))
        bias = f"{name}_s0_intercept[o]"
    lines: list[str] = []
    each = f"for ({loop} o = 0; o < {n}; o++)"
    # The first part may sum in its own unit: nothing is in s before it.
    alone = any(
        part.part.kind != "linear" and part.part.n_outputs == n and part.exponent != 0
        for part in whole.parts[:1]
    )
    lines.append(f"{each} s[o] = {'0' if alone else bias};")
    ram = 0
    for number, part in enumerate(whole.parts):
        prefix = f"{name}_s0_p{number}"
        own = part.part.kind == "linear" or part.exponent == 0 or (alone and number == 0)
        code = integer_part_code(prefix, name, part, whole, loop, "s" if own else "a")
        arrays += code.arrays
        if own:
            lines += code.lines
        else:
            m, at = part.part.n_outputs, part.part.first
            ram = max(ram, 4 * n)
            lines += [
                "{",
                f"    int32_t a[{n}] = {{0}};",
                *(f"    {line}" for line in code.lines),
                f"    for ({loop} o = {at}; o < {at + m}; o++) "
                f"s[o] += {shifted('a[o]', part.exponent)};",
                "}",
            ]
        if alone and number == 0:
            lines.append(f"{each} s[o] = {shifted('s[o]', part.exponent)} + {bias};")
    if whole.bounds is not None:
        lines.append(f"{each} {{")
        for end, sign, values in zip(("low", "high"), (">", "<"), whole.bounds, strict=True):
            arrays.append(integers(f"{name}_s0_{end}", values, "int32"))
            lines.append(
                f"    s[o] = s[o] {sign} {arrays[-1].name}[o] ? s[o] : {arrays[-1].name}[o];"
            )
        lines.append("}")
    return lines, arrays, ram


def _float_entries(
    name: str, model: StagedModel, whole: IntegerModel
) -> tuple[list[str], list[CArray]]:
    """Functions of rows of floats."""
    n, kind = model.n_outputs, model.output.kind
    upper = name.upper()
    arrays: list[CArray] = []
    scales = whole.scales.astype(np.float32)
    factor = float_literal(float(scales[0]))
    if not (scales == scales[0]).all():
        arrays.append(floats(f"{name}_output_scale", scales))
        factor = f"{name}_output_scale[o]"
    begin = [f"    int16_t q[{upper}_N_INPUTS];", f"    {name}_quantize(x, q);"]
    lines = [
        "/* Scores as floats. */",
        f"static inline void {name}_scores(const float *x, float *scores) {{",
        *begin,
        f"    int32_t s[{n}];",
        f"    {name}_scores_q(q, s);",
        f"    for (int o = 0; o < {n}; o++) scores[o] = (float)s[o] * {factor};",
        "}",
        "/* For rows of floats. */",
    ]
    if kind in CLASSIFIES:
        call = [f"    return {name}_predict_q(q);", "}"]
        return [
            *lines,
            f"static inline int {name}_predict(const float *x) {{",
            *begin,
            *call,
        ], arrays
    if kind == "multilabel":
        call = [f"    {name}_predict_q(q, labels);", "}"]
        head = f"static inline void {name}_predict(const float *x, uint8_t *labels) {{"
        return [*lines, head, *begin, *call], arrays
    if kind == "values" and n == 1:
        call = ["    float y[1];", f"    {name}_scores(x, y);", "    return y[0];", "}"]
        return [*lines, f"static inline float {name}_predict(const float *x) {{", *call], arrays
    verb = "predict" if kind == "values" else "transform"
    head = f"static inline void {name}_{verb}(const float *x, float *out) {{"
    return [*lines, head, f"    {name}_scores(x, out);", "}"], arrays

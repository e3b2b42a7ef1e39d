"""Integer C of a stage."""

from __future__ import annotations

import numpy as np

from cerflearn.export.c99.c_calibrate import IntegerModel
from cerflearn.export.c99.c_float import column_groups
from cerflearn.export.c99.c_layout import (
    CArray,
    PartCode,
    floats,
    indices,
    integers,
    mask_layout,
    row_major,
)
from cerflearn.export.c99.c_quantize import COSINE_TERMS, PACKED, SHIFT_BITS, IntegerPart
from cerflearn.export.c99.c_rounding import MISSING, one_of
from cerflearn.export.c99.c_scales import TABLE_WEIGHTS
from cerflearn.export.c99.c_text import float_literal


def integer_cosine_code(name: str) -> list[str]:
    """Cosine of a phase in 2**-16 turns."""
    a, b, c = COSINE_TERMS
    return [
        "/* cos(2 pi phase / 2^16) times 2^14. */",
        f"static inline int32_t {name}_cosine(uint32_t phase) {{",
        "    const int32_t d = (int32_t)phase - 32768;",
        "    const int32_t z = (d < 0 ? -d : d) - 16384;",
        "    const int32_t s = (z * z) >> 14;",
        f"    return (z * ({a} + ((s * ({b} + ((s * {c}) >> 14))) >> 14))) >> 13;",
        "}",
    ]


def integer_columns(prefix: str, model: IntegerModel, loop: str) -> PartCode:
    """Columns of integer inputs into the array ``c``."""
    stage, scaling = model.stage, model.scaling
    lines: list[str] = [f"int16_t c[{len(stage.columns)}];"]
    arrays: list[CArray] = []
    for number, (start, group) in enumerate(column_groups(stage.columns)):
        own = f"{prefix}_g{number}"
        sources = np.array([column.source for column in group], dtype=np.int64)
        arrays.append(indices(f"{own}_source", sources, stage.n_inputs))
        lines += [
            f"for ({loop} i = 0; i < {len(group)}; i++) {{",
            f"    int16_t v = x[{own}_source[i]];",
        ]
        first = group[0]

        def add(what: str, values: list[float], group=group, own=own) -> None:  # type: ignore[no-untyped-def]
            numbers = [
                scaling.number(column.source, value)
                for column, value in zip(group, values, strict=True)
            ]
            arrays.append(integers(f"{own}_{what}", numbers, "int16"))

        if first.marker is not None:
            add("fill", [column.fill for column in group])
            lines.append(f"    v = v == {MISSING} ? {own}_fill[i] : v;")
        if first.code is not None:
            add("code", [float(column.code or 0.0) for column in group])
            lines.append(f"    v = (int16_t)(v == {own}_code[i] ? {one_of(scaling.limit)} : 0);")
        elif first.clipped:
            add("low", [column.low for column in group])
            add("high", [column.high for column in group])
            lines.append(f"    v = v > {own}_low[i] ? v : {own}_low[i];")
            lines.append(f"    v = v < {own}_high[i] ? v : {own}_high[i];")
        lines += [f"    c[{start} + i] = v;", "}"]
    return PartCode(tuple(arrays), tuple(lines), 2 * len(stage.columns))


def quantize_function(name: str, model: IntegerModel, loop: str) -> PartCode:
    """Return the function from floats to integer inputs, with its arrays."""
    scaling, n = model.scaling, model.stage.n_inputs
    scale, zero = np.ldexp(1.0, scaling.shift[scaling.read]), scaling.zero[scaling.read]
    arrays, value, begin, to = [], "x[i]", [], "q[i]"
    if not scaling.reads_all:
        arrays.append(indices(f"{name}_input_read", scaling.read, n))
        begin = [f"    for ({loop} i = 0; i < {n}; i++) q[i] = 0; /* most are not read */"]
        value, to = f"x[{name}_input_read[i]]", f"q[{name}_input_read[i]]"
    if zero.any():
        arrays.append(floats(f"{name}_input_zero", zero))
        value = f"({value} - {name}_input_zero[i])"
    if (scale == scale[0]).all():
        factor = float_literal(scale[0])
    else:
        arrays.append(floats(f"{name}_input_scale", scale))
        factor = f"{name}_input_scale[i]"
    limit = float_literal(scaling.limit)
    marks: list[str] = []
    for i, marker in scaling.markers.items():
        marks.append(f"    if (x[{i}] == {float_literal(marker)}) q[{i}] = {MISSING};")
    lines = [
        f"/* Integer inputs of a row of {n} floats; what is out of range saturates. */",
        f"static inline void {name}_quantize(const float *x, int16_t *q) {{",
        *begin,
        f"    for ({loop} i = 0; i < {len(scaling.read)}; i++) {{",
        f"        float v = {value} * {factor};",
        "        const int missing = v != v;",
        f"        v = v < {limit} ? v : {limit};",
        f"        v = v > -{limit} ? v : -{limit};",
        "        v += v < 0.0f ? -0.5f : 0.5f;",
        f"        {to} = (int16_t)(missing ? {MISSING} : (int)v);",
        "    }",
        *marks,
        "}",
    ]
    return PartCode(tuple(arrays), tuple(lines), 0)


def integer_part_code(
    prefix: str, name: str, part: IntegerPart, model: IntegerModel, loop: str, into: str
) -> PartCode:
    """Statements that add a part of columns ``c`` to sums ``into``."""
    n_columns, dtype = model.stage.n_columns, model.dtype
    if part.part.kind == "linear" and len(part.projections.values) == 0:
        return PartCode((), (), 0)
    layout = mask_layout(prefix, part.projections, n_columns)
    stored = dtype if part.part.tables is None else TABLE_WEIGHTS
    weights = integers(f"{prefix}_weights", row_major(layout.projections), stored)
    arrays: list[CArray] = [*layout.arrays, weights]
    begin, after, more = _function_lines(prefix, name, part, dtype, loop, into)
    arrays += more
    k_type = loop
    value = f"c[{prefix}_inputs[i]]" if layout.kind != "dense" else "c[i]"
    row = "m" if layout.kind == "shared" else "k"
    span = f"{loop} i = {prefix}_starts[{row}]; i < {prefix}_starts[{row} + 1]"
    if layout.kind == "dense":
        span = f"{loop} i = 0; i < {n_columns}"
    body = [
        *begin,
        f"for ({span}; i++) t += (uint32_t)((int32_t)*w++ * {value});",
        *after,
    ]
    n = part.projections.n_projections
    if layout.kind == "shared":
        n_masks = len(layout.projections.mask_pointers) - 1
        lines = [
            f"for ({loop} m = 0; m < {n_masks}; m++) {{",
            f"    for ({loop} k = {prefix}_first[m]; k < {prefix}_first[m + 1]; k++) {{",
            *("        " + line for line in body),
            "    }",
            "}",
        ]
    else:
        lines = [f"for ({k_type} k = 0; k < {n}; k++) {{", *("    " + line for line in body), "}"]
    lines = [
        "{",
        *("    " + line for line in [f"const {weights.ctype} *w = {weights.name};", *lines]),
        "}",
    ]
    return PartCode(tuple(arrays), tuple(lines), 0)


def _function_lines(
    prefix: str, name: str, part: IntegerPart, dtype: str, loop: str, into: str
) -> tuple[list[str], list[str], list[CArray]]:
    """Write what comes before and after the sum ``t`` of projection ``k``, and arrays."""
    kind, first = part.part.kind, part.part.first
    if kind == "linear":
        # Modulo 2^32, as integers beyond the scales may come in.
        term = f"t * {2**part.exponent}u" if part.exponent > 0 else "t"
        if part.exponent < 0:
            term = f"(uint32_t)((int32_t)t >> {-part.exponent})"
        after = [f"s[{first} + k] = (int32_t)((uint32_t)s[{first} + k] + {term});"]
        return ["uint32_t t = 0;"], after, []
    if kind in ("cosine", "pair"):
        return _cosine_lines(prefix, name, part, dtype, loop, into)
    offsets = integers(f"{prefix}_offsets", part.offsets, "int32")
    if kind == "table":
        return ["uint32_t t = 0;"], *_table_lines(prefix, part, dtype, loop, into)
    begin = [
        f"uint32_t t = (uint32_t){offsets.name}[k];",
        f"const uint32_t shift = t & {PACKED}u;",
    ]
    after = ["const int32_t u = (int32_t)t;"]
    after.append("int32_t f = (u > 0 ? u : 0) >> shift;")
    after.append(f"if (f > {part.most}) f = {part.most};")
    lines, arrays = _head_lines(prefix, part, dtype, loop, into, "k", "f")
    return begin, [*after, *lines], [offsets, *arrays]


def _table_lines(
    prefix: str, part: IntegerPart, dtype: str, loop: str, into: str
) -> tuple[list[str], list[CArray]]:
    offsets = integers(f"{prefix}_offsets", part.offsets, "int32")
    tables = integers(f"{prefix}_tables", part.head, dtype)
    n_bins, first, m = part.head.shape[1], part.part.first, part.part.n_outputs
    whole = 2**part.fraction_bits
    times = f" * ({whole}u + ((p >> {SHIFT_BITS}) & {whole - 1}u))" if whole > 1 else ""
    sums = f"(uint32_t)((int32_t)t >> {part.sum_shift})" if part.sum_shift else "t"
    lines = [
        f"const uint32_t p = (uint32_t){offsets.name}[k];",
        f"const int32_t u = (int32_t)({sums}{times} + p);",
        f"const int32_t place = (u > 0 ? u : 0) >> (p & {PACKED}u);",
        f"const {loop} bin = ({loop})(place < {n_bins} ? place : {n_bins - 1});",
        f"const {tables.ctype} *row = {tables.name} + (k * {n_bins} + bin) * {m};",
        f"for ({loop} o = 0; o < {m}; o++) {into}[{first} + o] += row[o];",
    ]
    return lines, [offsets, tables]


def _cosine_lines(
    prefix: str, name: str, part: IntegerPart, dtype: str, loop: str, into: str
) -> tuple[list[str], list[str], list[CArray]]:
    largest, drop = int(part.multipliers.max(initial=0)), 0
    while largest >> drop >= 2**16:
        drop += 1
    assert not (part.multipliers % 2**drop).any(), "multipliers lose digits"
    arrays = [
        integers(f"{prefix}_multipliers", part.multipliers >> drop, "uint16"),
        integers(f"{prefix}_offsets", part.offsets, "uint16"),
    ]
    turns = f"t * {prefix}_multipliers[k]"
    turns = f"(({turns}) << {drop})" if drop else turns
    after = [f"t = {turns} + ((uint32_t){prefix}_offsets[k] << 16);"]
    cut = f" >> {part.function_shift}" if part.function_shift else ""
    if part.part.kind == "cosine":
        after.append(f"const int32_t f = {name}_cosine(t >> 16){cut};")
        lines, more = _head_lines(prefix, part, dtype, loop, into, "k", "f")
        return ["uint32_t t = 0;"], [*after, *lines], [*arrays, *more]
    n = part.part.n_functions
    lines, more = _head_lines(prefix, part, dtype, loop, into, "j", "f")
    after += [
        f"for ({loop} j = 2 * k; j < 2 * k + 2 && j < {n}; j++) {{",
        f"    const int32_t f = {name}_cosine((t >> 16) & 65535u){cut};",
        *("    " + line for line in lines),
        "    t -= 1073741824u; /* a quarter turn: the sine */",
        "}",
    ]
    return ["uint32_t t = 0;"], after, [*arrays, *more]


def _head_lines(
    prefix: str, part: IntegerPart, dtype: str, loop: str, into: str, column: str, value: str
) -> tuple[list[str], list[CArray]]:
    first, m = part.part.first, part.part.n_outputs
    if part.head.ndim == 1:
        if (part.head == 1).all():
            return [f"{into}[{first} + {column}] += {value};"], []
        factors = integers(f"{prefix}_amplitudes", part.head, "int16")
        return [f"{into}[{first} + {column}] += {factors.name}[{column}] * {value};"], [factors]
    head = integers(f"{prefix}_head", part.head.T, dtype)
    if m == 1:
        return [f"{into}[{first}] += {head.name}[{column}] * {value};"], [head]
    return [
        f"const {head.ctype} *h = {head.name} + {column} * {m};",
        f"for ({loop} o = 0; o < {m}; o++) {into}[{first} + o] += h[o] * {value};",
    ], [head]


def shifted(value: str, exponent: int) -> str:
    """Value times a power of two."""
    if exponent == 0:
        return value
    return f"{value} * {2**exponent}" if exponent > 0 else f"({value} >> {-exponent})"

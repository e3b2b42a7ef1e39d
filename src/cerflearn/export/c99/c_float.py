"""Float C of stages."""

from __future__ import annotations

import math

import numpy as np

from cerflearn.export.c99.c_fastfood import fastfood_code
from cerflearn.export.c99.c_layout import (
    CArray,
    MaskLayout,
    PartCode,
    floats,
    indices,
    mask_layout,
    row_major,
    tiled,
)
from cerflearn.export.c99.c_lower import Column, CPart, CStage
from cerflearn.export.c99.c_text import float_literal

TILE = 16
"""Functions that are computed together: lanes of a vector, where a compiler has vectors."""

_FLOAT = 4  # bytes

_SINE_TERMS = (6.283185, -41.341652, 81.601, -76.54978, 39.536705)
_MOST_TURNS = 1e9  # whole turns fit in 32 bits


def cosine_code(name: str) -> list[str]:
    """Cosine of an angle in turns: an odd polynomial of the distance from a quarter turn."""
    terms = [float_literal(term) for term in _SINE_TERMS]
    return [
        "/* cos(2 pi t) of bounded t; error below 3e-7 beside that of t itself. */",
        f"static inline float {name}_cosine(float t) {{",
        "    const float a = fabsf(t - (float)(int32_t)t) - 0.5f;",
        "    const float q = fabsf(a) - 0.25f;",
        "    const float z = q * q;",
        f"    return q * ({terms[0]} + z * ({terms[1]} + z * ({terms[2]} + z * ({terms[3]} + "
        f"z * {terms[4]}))));",
        "}",
    ]


def column_code(prefix: str, stage: CStage, loop: str) -> PartCode:
    """Columns of a stage into the array ``c``."""
    lines: list[str] = [f"float c[{len(stage.columns)}];"]
    arrays: list[CArray] = []
    for number, (start, group) in enumerate(column_groups(stage.columns)):
        sources = np.array([column.source for column in group], dtype=np.int64)
        own = f"{prefix}_g{number}"
        arrays.append(indices(f"{own}_source", sources, stage.n_inputs))
        first, less = group[0], ""
        if first.zero:
            arrays.append(floats(f"{own}_zero", [column.zero for column in group]))
            less = f" - {own}_zero[i]"
        lines += [
            f"for ({loop} i = 0; i < {len(group)}; i++) {{",
            f"    float v = x[{own}_source[i]]{less};",
        ]
        if first.marker is not None:
            arrays.append(floats(f"{own}_fill", [column.fill for column in group]))
            known = "v == v" if math.isnan(first.marker) else f"v != {float_literal(first.marker)}"
            lines.append(f"    v = {known} ? v : {own}_fill[i];")
        if first.clipped:
            for end, sign in (("low", ">"), ("high", "<")):
                bounds = [getattr(column, end) for column in group]
                largest = float(np.finfo(np.float32).max)
                arrays.append(floats(f"{own}_{end}", np.clip(bounds, -largest, largest)))
                lines.append(f"    v = v {sign} {own}_{end}[i] ? v : {own}_{end}[i];")
        if first.code is not None:
            arrays.append(floats(f"{own}_code", [column.code for column in group]))
            lines.append(f"    v = v == {own}_code[i] ? 1.0f : 0.0f;")
        lines += [f"    c[{start} + i] = v;", "}"]
    return PartCode(tuple(arrays), tuple(lines), _FLOAT * len(stage.columns))


def column_groups(columns: tuple[Column, ...]) -> list[tuple[int, list[Column]]]:
    """List runs of columns that are made in the same way, with the place of the first."""
    groups: list[tuple[int, list[Column]]] = []
    last = None
    for i, column in enumerate(columns):
        way = (column.code is None, column.clipped, repr(column.marker), column.zero != 0.0)
        if way != last:
            groups.append((i, []))
        groups[-1][1].append(column)
        last = way
    return groups


def part_code(prefix: str, name: str, part: CPart, n_columns: int, loop: str) -> PartCode:
    """Statements that add a part of columns ``c`` to outputs ``s``."""
    if part.kind == "table":
        return _table_code(prefix, part, n_columns, loop)
    if part.kind == "linear":
        return _linear_code(prefix, part, n_columns, loop)
    tile = _tile(part)
    sink, arrays, ram = _sink(prefix, name, part, loop, tile)
    # The last tile may have fewer sums: what is behind them is computed and not used.
    before, after = [f"float t[{tile}] = {{0.0f}};"], []
    if part.kind == "pair":
        before.append(f"float sine[{tile}];")
        ram += _FLOAT * tile
    if part.head is not None:
        n = tile if part.n_outputs == 1 else part.n_outputs
        before.append(f"float a[{n}] = {{0.0f}};")
        after = [f"for ({loop} j = 0; j < {n}; j++) s[{part.first} + j] += a[j];"]
        if part.n_outputs == 1:  # their sum first: s may be far larger, and lose their digits
            after = [f"for ({loop} j = 1; j < {n}; j++) a[0] += a[j];", f"s[{part.first}] += a[0];"]
    if part.fastfood is not None:
        inner = fastfood_code(prefix, part, n_columns, loop, sink, tile)
    else:
        inner = _sums_code(prefix, part, n_columns, loop, sink, tile)
    lines = ["{", *_indent([*before, *inner.lines, *after]), "}"]
    return PartCode((*inner.arrays, *arrays), tuple(lines), ram + inner.ram_bytes)


def _tile(part: CPart) -> int:
    """Count sums to compute together: as many as most masks have projections, up to a limit."""
    widths = np.diff(part.projections.projection_pointers)
    common = int(np.bincount(widths).argmax())
    return common if 4 <= common < TILE and part.fastfood is None else TILE


def _indent(lines: list[str], by: int = 1) -> list[str]:
    return ["    " * by + line for line in lines]


def _sums_code(
    prefix: str, part: CPart, n_columns: int, loop: str, sink: list[str], tile: int
) -> PartCode:
    """Write sums ``t`` of a tile of projections from ``k`` on, and what is done with them."""
    layout = mask_layout(prefix, part.projections, n_columns)
    n = part.projections.n_projections
    offsets = floats(f"{prefix}_offsets", part.offsets)
    constant = not part.offsets.any()
    begin = "0.0f" if constant else f"{offsets.name}[k + j]"
    width = f"const {loop} width = %s - k < {tile} ? %s - k : {tile};"
    if layout.kind == "lists":
        weights = floats(f"{prefix}_weights", row_major(layout.projections))
        dot = _dot_code(prefix, loop, "k + j", begin, "t[j]", _longest_list(layout))
        each = [f"for ({loop} j = 0; j < width; j++) {{", *_indent(dot), "}"]
        inner = [width % (n, n), *each, *sink]
        lines = [f"for ({loop} k = 0; k < {n}; k += {tile}) {{", *_indent(inner), "}"]
    else:
        weights = floats(f"{prefix}_weights", tiled(layout.projections, tile))
        shared = layout.kind == "shared"
        value = f"c[{prefix}_inputs[%s]]" if shared else "c[%s]"
        start, stop = ("first", "last") if shared else ("0", str(n))
        span = (
            (f"{prefix}_starts[m]", f"{prefix}_starts[m + 1]") if shared else ("0", str(n_columns))
        )
        lines = [
            f"for ({loop} k = {start}; k < {stop}; k += {tile}) {{",
            f"    {width % (stop, stop)}",
            f"    for ({loop} j = 0; j < width; j++) t[j] = {begin};",
            f"    if (width == {tile}) {{",
            *_indent(_block_code(loop, *span, value, str(tile)), 2),
            "    } else {",
            *_indent(_block_code(loop, *span, value, "width"), 2),
            "    }",
            *_indent(sink),
            "}",
        ]
        if shared:
            n_masks = len(layout.projections.mask_pointers) - 1
            lines = [
                f"for ({loop} m = 0; m < {n_masks}; m++) {{",
                f"    const {loop} first = {prefix}_first[m], last = {prefix}_first[m + 1];",
                *_indent(lines),
                "}",
            ]
        lines = [f"const float *w = {weights.name};", *lines]
    used = (weights,) if constant else (weights, offsets)
    return PartCode((*layout.arrays, *used), tuple(lines), 0)


def _block_code(loop: str, first: str, stop: str, value: str, width: str) -> list[str]:
    """Add columns times weights to sums ``t``, four columns at once: sums wait for each other."""
    values = ", ".join(f"v{u} = {value % f'i + {u}'}" for u in range(4))
    terms = ["w[j] * v0", *(f"w[{u} * {width} + j] * v{u}" for u in (1, 2, 3))]
    return [
        f"{loop} i = {first};",
        f"for (; i + 4 <= {stop}; i += 4) {{",
        f"    const float {values};",
        f"    for ({loop} j = 0; j < {width}; j++)",
        f"        t[j] += ({terms[0]} + {terms[1]}) + ({terms[2]} + {terms[3]});",
        f"    w += 4 * {width};",
        "}",
        f"for (; i < {stop}; i++) {{",
        f"    const float v0 = {value % 'i'};",
        f"    for ({loop} j = 0; j < {width}; j++) t[j] += w[j] * v0;",
        f"    w += {width};",
        "}",
    ]


def _longest_list(layout: MaskLayout) -> int:
    """Columns of the mask that has most."""
    return int(np.diff(layout.projections.mask_pointers).max(initial=0))


def _dot_code(prefix: str, loop: str, k: str, begin: str, out: str, longest: int) -> list[str]:
    """Sum over a list of columns, four at once.

    Where no list has four, compilers would see reads beyond the end of arrays in that loop.
    """
    one = f"{prefix}_weights[i] * c[{prefix}_inputs[i]]"
    if longest < 4:
        return [
            f"const {loop} stop = {prefix}_starts[{k} + 1];",
            f"{out} = {begin};",
            f"for ({loop} i = {prefix}_starts[{k}]; i < stop; i++) {out} += {one};",
        ]
    terms = [f"{prefix}_weights[i + {u}] * c[{prefix}_inputs[i + {u}]]" for u in range(4)]
    return [
        f"const {loop} stop = {prefix}_starts[{k} + 1];",
        f"{loop} i = {prefix}_starts[{k}];",
        f"float a0 = {begin}, a1 = 0.0f, a2 = 0.0f, a3 = 0.0f;",
        "for (; i + 4 <= stop; i += 4) {",
        *(f"    a{u} += {terms[u]};" for u in range(4)),
        "}",
        f"for (; i < stop; i++) a0 += {one};",
        f"{out} = (a0 + a1) + (a2 + a3);",
    ]


def _sink(
    prefix: str, name: str, part: CPart, loop: str, tile: int
) -> tuple[list[str], list[CArray], int]:
    """Functions of the sums ``t``, and where they go."""
    each = f"for ({loop} j = 0; j < width; j++)"
    every = f"for ({loop} j = 0; j < {tile}; j++)"
    lines: list[str] = []
    values = ["t[j]"]
    if part.kind == "relu":
        lines.append(f"{every} t[j] = t[j] > 0.0f ? t[j] : 0.0f;")
    else:
        most = float_literal(_MOST_TURNS)  # loops apart: compilers vectorise each, but not all
        lines.append(f"{every} t[j] = t[j] < {most} ? t[j] : {most}; /* NaN too */")
        lines.append(f"{every} t[j] = t[j] > -{most} ? t[j] : -{most};")
    if part.kind == "pair":
        lines.append(f"{every} sine[j] = {name}_cosine(t[j] - 0.25f);")
        values.append("sine[j]")
    if part.kind != "relu":
        lines.append(f"{every} t[j] = {name}_cosine(t[j]);")
    paired, n, first = len(values) == 2, part.n_functions, part.first
    columns = ["k + j"] if not paired else ["2 * (k + j)", "2 * (k + j) + 1"]
    guard = ["", f"if (2 * (k + j) + 1 < {n}) "] if paired and n % 2 else ["", ""]
    if part.head is None:
        assert part.amplitudes is not None
        equal = (part.amplitudes == part.amplitudes[0]).all()
        array = floats(f"{prefix}_amplitudes", part.amplitudes)
        body = []
        for column, value, only in zip(columns, values, guard, strict=False):
            factor = float_literal(part.amplitudes[0]) if equal else f"{array.name}[{column}]"
            body.append(f"{only}s[{first} + {column}] += {factor} * {value};")
        return [*lines, f"{each} {{", *_indent(body), "}"], [] if equal else [array], _FLOAT * tile
    head = floats(f"{prefix}_head", part.head.T)
    m, body = part.n_outputs, []
    for column, value, only in zip(columns, values, guard, strict=False):
        if m == 1:
            body.append(f"{only}a[j] += {head.name}[{column}] * {value};")
            continue
        body += [
            f"{only}{{",
            f"    const float f = {value};",
            f"    const float *h = {head.name} + ({column}) * {m};",
            f"    for ({loop} o = 0; o < {m}; o++) a[o] += h[o] * f;",
            "}",
        ]
    ram = _FLOAT * (tile + (tile if m == 1 else m))
    some = [f"{each} {{", *_indent(body), "}"]
    if 1 < m <= TILE and tile < TILE and not paired:  # few outputs do not fill vectors
        some = _by_output(head.name, m, tile, loop, some)
    return [*lines, *some], [head], ram


def _by_output(head: str, m: int, tile: int, loop: str, rest: list[str]) -> list[str]:
    """Write a full tile output by output, whose sums stay in registers, and the rest otherwise."""
    return [
        f"if (width == {tile}) {{",
        f"    const float *h = {head} + k * {m};",
        f"    for ({loop} o = 0; o < {m}; o++) {{",
        "        float sum = a[o];",
        f"        for ({loop} j = 0; j < {tile}; j++) sum += h[j * {m} + o] * t[j];",
        "        a[o] = sum;",
        "    }",
        "} else {",
        *_indent(rest),
        "}",
    ]


def _table_code(prefix: str, part: CPart, n_columns: int, loop: str) -> PartCode:
    assert part.tables is not None
    layout = mask_layout(prefix, part.projections.lists, n_columns)
    n_tables, n_bins, m = part.tables.shape
    weights = floats(f"{prefix}_weights", row_major(layout.projections))
    offsets = floats(f"{prefix}_offsets", part.offsets)
    tables = floats(f"{prefix}_tables", part.tables)
    if layout.kind == "dense":
        dot = [
            f"float u = {offsets.name}[k];",
            f"for ({loop} i = 0; i < {n_columns}; i++) u += {weights.name}[k * {n_columns} + i] "
            "* c[i];",
        ]
    else:
        longest = _longest_list(layout)
        dot = ["float u;", *_dot_code(prefix, loop, "k", f"{offsets.name}[k]", "u", longest)]
    most = float_literal(n_bins - 1)
    # Bins of some tables first: their rows are then fetched from memory side by side.
    lines = [
        f"for ({loop} first = 0; first < {n_tables}; first += {TILE}) {{",
        f"    const {loop} last = {n_tables} - first < {TILE} ? {n_tables} : first + {TILE};",
        f"    for ({loop} k = first; k < last; k++) {{",
        *_indent(dot, 2),
        f"        u = u < {most} ? u : {most}; /* NaN too */",
        "        u = u > 0.0f ? u : 0.0f;",
        f"        bins[k - first] = (uint16_t)({loop})u;",
        "    }",
        f"    for ({loop} k = first; k < last; k++) {{",
        f"        const float *row = {tables.name} + (k * {n_bins} + bins[k - first]) * {m};",
        f"        for ({loop} o = 0; o < {m}; o++) a[o] += row[o];",
        "    }",
        "}",
    ]
    before = [f"float a[{m}] = {{0.0f}};", f"uint16_t bins[{TILE}];"]
    after = f"for ({loop} o = 0; o < {m}; o++) s[{part.first} + o] += a[o];"
    lines = ["{", *_indent([*before, *lines, after]), "}"]
    arrays = (*layout.arrays, weights, offsets, tables)
    return PartCode(arrays, tuple(lines), _FLOAT * m + 2 * TILE)


def _linear_code(prefix: str, part: CPart, n_columns: int, loop: str) -> PartCode:
    if len(part.projections.values) == 0:
        return PartCode((), (), 0)
    layout = mask_layout(prefix, part.projections, n_columns)
    weights = floats(f"{prefix}_weights", row_major(layout.projections))
    head = f"for ({loop} o = 0; o < {part.n_outputs}; o++) {{"
    if layout.kind == "dense":
        lines = [
            head,
            "    float a = 0.0f;",
            f"    for ({loop} i = 0; i < {n_columns}; i++) a += {weights.name}[o * {n_columns} + "
            "i] * c[i];",
            f"    s[{part.first} + o] += a;",
            "}",
        ]
    else:
        dot = _dot_code(prefix, loop, "o", "0.0f", "a", _longest_list(layout))
        lines = [head, "    float a;", *_indent(dot), f"    s[{part.first} + o] += a;", "}"]
    return PartCode((*layout.arrays, weights), tuple(lines), 0)

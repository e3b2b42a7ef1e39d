"""Float C of Fastfood blocks: butterflies instead of a dense product."""

from __future__ import annotations

import numpy as np

from cerflearn.export.c99.c_layout import CArray, PartCode, floats, indices, pointers
from cerflearn.export.c99.c_lower import CPart

_TURN = 2.0 * np.pi


def fastfood_code(
    prefix: str, part: CPart, n_columns: int, loop: str, sink: list[str], tile: int
) -> PartCode:
    """Write sums ``t`` of a tile of projections, from the transforms of their block.

    Parameters
    ----------
    prefix : str
        Of the names of arrays.
    part : CPart
        With ``fastfood``.
    n_columns : int
        Columns of the stage.
    loop : str
        Type of counters.
    sink : list of str
        What is done with ``width`` sums from projection ``k`` on.
    tile : int
        Sums at once.
    """
    assert part.fastfood is not None
    found, blocks = part.fastfood, part.fastfood.blocks
    size, n_inputs, shared = blocks.size, blocks.n_features, len(blocks.signs) == 1
    arrays = _block_arrays(prefix, part)
    inputs, value = part.projections.mask_inputs, "c[i]"
    if not np.array_equal(inputs, np.arange(n_columns)):
        arrays.append(indices(f"{prefix}_inputs", inputs, n_columns))
        value = f"c[{prefix}_inputs[i]]"
    whole = "(float)" if part.fastfood_scale is None else ""
    sign = f"{whole}{prefix}_signs[{'' if shared else f'b * {n_inputs} + '}i]"
    begin = [
        f"for ({loop} i = 0; i < {n_inputs}; i++) v[i] = {sign} * {value};",
        f"for ({loop} i = {n_inputs}; i < {size}; i++) v[i] = 0.0f;",
        f"{prefix}_hadamard(v);",
    ]
    places = "" if len(blocks.permutation) == 1 else f"b * {size} + "
    centre = []
    if blocks.centres is not None:
        centre = [
            f"for ({loop} i = 0; i < {n_inputs}; i++) m += {prefix}_centres[b * {n_inputs} + i] * "
            f"{value};"
        ]
    body = [
        *([] if shared else begin),
        "float m = 0.0f;",
        *centre,
        f"for ({loop} i = 0; i < {size}; i++) "
        f"u[i] = {prefix}_diagonal[b * {size} + i] * v[{prefix}_places[{places}i]];",
        f"{prefix}_hadamard(u);",
        f"const {loop} last = {prefix}_first[b + 1];",
        f"for ({loop} k = {prefix}_first[b]; k < last; k += {tile}) {{",
        f"    const {loop} width = last - k < {tile} ? last - k : {tile};",
        f"    for ({loop} j = 0; j < width; j++) t[j] = {prefix}_offsets[k + j] + m + "
        f"{prefix}_scales[k + j] * u[{prefix}_kept[k + j]];",
        *(f"    {line}" for line in sink),
        "}",
    ]
    outer = f"for ({loop} b = 0; b < {found.blocks.n_blocks}; b++) {{"
    lines = [f"float v[{size}], u[{size}];", *(begin if shared else []), outer]
    return PartCode(tuple(arrays), (*lines, *(f"    {line}" for line in body), "}"), 8 * size)


def _block_arrays(prefix: str, part: CPart) -> list[CArray]:
    """Signs, diagonals, permutations, kept rows and centres."""
    assert part.fastfood is not None
    found, blocks = part.fastfood, part.fastfood.blocks
    size, n_inputs = blocks.size, blocks.n_features
    scale = np.ones(n_inputs) if part.fastfood_scale is None else part.fastfood_scale
    signs = blocks.signs[:, :n_inputs] * scale
    rows = blocks.row_scale[found._rows_of(blocks.row_scale), found.kept_rows] / _TURN
    arrays = [
        CArray(f"{prefix}_signs", signs.astype(np.int8).ravel())
        if part.fastfood_scale is None
        else floats(f"{prefix}_signs", signs),
        floats(f"{prefix}_diagonal", blocks.gaussian_diag),
        indices(f"{prefix}_places", blocks.permutation.astype(np.int64), size),
        indices(f"{prefix}_kept", found.kept_rows.astype(np.int64), size),
        floats(f"{prefix}_scales", rows),
        floats(f"{prefix}_offsets", part.offsets),
        pointers(f"{prefix}_first", found.kept_pointers),
    ]
    if blocks.centres is not None:
        arrays.append(floats(f"{prefix}_centres", blocks.centres * scale / _TURN))
    return arrays


def hadamard_code(prefix: str, size: int, loop: str) -> list[str]:
    """Walsh-Hadamard transform of an array of that size in place."""
    return [
        f"static inline void {prefix}_hadamard(float *v) {{",
        f"    for ({loop} h = 1; h < {size}; h *= 2) {{",
        f"        for ({loop} i = 0; i < {size}; i += 2 * h) {{",
        f"            for ({loop} j = i; j < i + h; j++) {{",
        "                const float a = v[j], b = v[j + h];",
        "                v[j] = a + b;",
        "                v[j + h] = a - b;",
        "            }",
        "        }",
        "    }",
        "}",
    ]

"""The header of a model: comment, constants, functions."""

from __future__ import annotations

import importlib.metadata
from dataclasses import dataclass

import numpy as np
import sklearn

from cerflearn.export.c99.c_fastfood import hadamard_code
from cerflearn.export.c99.c_float import column_code, cosine_code, part_code
from cerflearn.export.c99.c_layout import CArray, Sizes, floats, loop_type, total_bytes
from cerflearn.export.c99.c_lower import CStage, StagedModel
from cerflearn.export.c99.c_output import (
    decision_code,
    label_code,
    n_classes_of,
    output_bytes,
    predict_code,
)
from cerflearn.export.c99.c_text import comment_block, comment_text, float_literal


@dataclass(frozen=True, eq=False)
class ModelCode:
    """C of a model without its comment.

    Attributes
    ----------
    body : str
        Definitions of arrays and functions.
    sizes : Sizes
        Memory.
    """

    body: str
    sizes: Sizes


def float_code(name: str, model: StagedModel) -> ModelCode:
    """Write all stages in floats."""
    loop = loop_type(model.stages)
    arrays: list[CArray] = []
    functions: list[str] = []
    ram = 0
    kinds = {part.kind for stage in model.stages for part in stage.parts}
    if kinds & {"cosine", "pair"}:
        functions += cosine_code(name)
    for number, stage in enumerate(model.stages):
        lines, found, most = _stage_code(f"{name}_s{number}", name, stage, loop)
        functions += lines
        arrays += found
        ram = max(ram, most)
    between = [stage.n_outputs for stage in model.stages[:-1]]
    calls, source = [], "x"
    for number, stage in enumerate(model.stages):
        last = number == len(model.stages) - 1
        target = "scores" if last else f"h{number}"
        if not last:
            calls.append(f"    float {target}[{stage.n_outputs}];")
        calls.append(f"    {name}_s{number}_run({source}, {target});")
        source = target
    functions += [
        f"/* The {model.n_outputs} numbers that the prediction is made of. */",
        f"static inline void {name}_scores(const float *x, float *scores) {{",
        *calls,
        "}",
        *decision_code(name, model, "float", loop),
        *predict_code(name, model, "float", "", "const float *"),
    ]
    text = [array.text() for array in arrays]
    sizes = Sizes(total_bytes(arrays), ram + 4 * sum(between) + output_bytes(model))
    return ModelCode("\n".join([*text, "", *functions]), sizes)


def _stage_code(
    prefix: str, name: str, stage: CStage, loop: str
) -> tuple[list[str], list[CArray], int]:
    arrays: list[CArray] = []
    functions: list[str] = []
    lines: list[str] = []
    ram, most = 0, 0
    if stage.columns:
        columns = column_code(prefix, stage, loop)
        arrays += columns.arrays
        lines += columns.lines
        ram = columns.ram_bytes
    else:
        lines.append("const float *const c = x;")
    begin = "0.0f"
    if stage.intercept.any():
        arrays.append(floats(f"{prefix}_intercept", stage.intercept))
        begin = f"{prefix}_intercept[o]"
    lines.append(f"for ({loop} o = 0; o < {stage.n_outputs}; o++) s[o] = {begin};")
    for number, part in enumerate(stage.parts):
        own = f"{prefix}_p{number}"
        if part.fastfood is not None:
            functions += hadamard_code(own, part.fastfood.blocks.size, loop)
        code = part_code(own, name, part, stage.n_columns, loop)
        arrays += code.arrays
        lines += code.lines
        most = max(most, code.ram_bytes)
    if not any(len(part.projections.values) or part.kind != "linear" for part in stage.parts):
        lines.append("(void)c;")
    lines += _bound_lines(prefix, stage, arrays, loop)
    functions += [
        f"static inline void {prefix}_run(const float *x, float *s) {{",
        *(f"    {line}" for line in lines),
        "}",
    ]
    return functions, arrays, ram + most


def _bound_lines(prefix: str, stage: CStage, arrays: list[CArray], loop: str) -> list[str]:
    if stage.bounds is None:
        return []
    lines = [f"for ({loop} o = 0; o < {stage.n_outputs}; o++) {{"]
    largest = float(np.finfo(np.float32).max)
    for end, sign, values in zip(("low", "high"), (">", "<"), stage.bounds, strict=True):
        limit = np.clip(values, -largest, largest)
        text = float_literal(limit[0])
        if stage.n_outputs > 1:
            arrays.append(floats(f"{prefix}_{end}", limit))
            text = f"{prefix}_{end}[o]"
        lines.append(f"    s[o] = s[o] {sign} {text} ? s[o] : {text};")
    return [*lines, "}"]


def header_text(name: str, model: StagedModel, code: ModelCode, comment: list[str]) -> str:
    """Whole header: a comment, a guard, and the code."""
    upper = name.upper()
    output = model.output
    macros = [f"#define {upper}_N_INPUTS {model.n_inputs}"]
    macros.append(f"#define {upper}_N_OUTPUTS {model.n_outputs}")
    if output.classes is not None:
        macros.append(f"#define {upper}_N_CLASSES {n_classes_of(output, model.n_outputs)}")
    lines = [
        comment_block(comment),
        f"#ifndef {upper}_H",
        f"#define {upper}_H",
        "",
        *(["#include <math.h>"] if "fabsf(" in code.body else []),
        "#include <stdint.h>",
        "",
        *macros,
        "",
        *label_code(name, output),
        code.body,
        "",
        f"#endif /* {upper}_H */",
    ]
    return "\n".join(lines) + "\n"


def versions_line() -> str:
    """Versions of what made the file."""
    own = importlib.metadata.version("cerflearn")
    return f"cerflearn {own}, numpy {np.__version__}, scikit-learn {sklearn.__version__}"


def input_lines(model: StagedModel) -> list[str]:
    """Names of inputs, as far as there are any."""
    if model.input_names is None:
        return []
    lines = ["Inputs, in order:"]
    lines += [f'  x[{i}] "{comment_text(name)}"' for i, name in enumerate(model.input_names)]
    return lines

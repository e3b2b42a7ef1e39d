"""The comment at the top of an exported header."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cerflearn.export.c99.c_calibrate import IntegerModel
from cerflearn.export.c99.c_header import ModelCode, input_lines, versions_line
from cerflearn.export.c99.c_lower import StagedModel
from cerflearn.export.c99.c_output import CLASSIFIES
from cerflearn.features.cost import fastfood_macs

if TYPE_CHECKING:
    from cerflearn.export.c99.c_export import CExportReport


def macs_of(model: StagedModel) -> int:
    """Multiply-accumulates as they are written; additions of entries of tables count alike."""
    total = 0
    for stage in model.stages:
        for part in stage.parts:
            if part.fastfood is not None:
                blocks = part.fastfood.blocks
                shared = len(blocks.signs) == 1
                total += fastfood_macs(blocks.n_blocks, blocks.size, shared_signs=shared)
            else:
                total += len(part.projections.values)
            if part.tables is not None:
                total += len(part.tables) * part.n_outputs
            elif part.head is not None:
                total += part.head.size
    return total


def comment_lines(
    estimator: Any,
    model: StagedModel,
    code: ModelCode,
    whole: IntegerModel | None,
    report: CExportReport,
    *,
    no_compiler: bool,
) -> list[str]:
    """Lines about the model, its cost, how it was verified, and how it is used."""
    kind = model.output.kind
    lines = [
        f"{type(estimator).__name__} in {report.dtype}, made by {versions_line()}.",
        "",
        f"{report.macs} multiply-accumulates a row, {code.sizes.flash_bytes} bytes of constants "
        f"(flash), {code.sizes.ram_bytes} bytes of working arrays (RAM) beside the input row.",
        *_verification(report, no_compiler),
        "",
        *_usage(model, report.name, kind, whole is not None),
    ]
    if whole is not None:
        lines += ["", *_integer_lines(whole, report.name)]
    else:
        lines += [
            "Inputs must be finite (missing values where the model fills them may be NaN). Do not",
            "compile with -ffast-math.",
        ]
    blocked = any(part.fastfood is not None for stage in model.stages for part in stage.parts)
    if blocked and whole is not None:
        lines.append("Fastfood blocks are written as dense weights: integers have no butterflies.")
    names = input_lines(model)
    return [*lines, "", *names] if names else lines


def _verification(report: CExportReport, no_compiler: bool) -> list[str]:
    if not report.verified:
        why = "no C compiler was found" if no_compiler else "it was not asked for"
        return [f"NOT VERIFIED: {why}."]
    drawn = "drawn " if report.drawn else ""
    lines = [f"Verified: compiled by {report.compiler}, run on {report.n_rows} {drawn}rows."]
    if report.label_agreement is not None:
        lines.append(
            f"Labels equal to Python's: {100.0 * report.label_agreement:.3f} %; rows within the "
            f"rounding of float32 of another label: {report.near_ties}."
        )
    lines.append(
        f"Largest error of a score or output: {report.largest_error:.4g}; typical: "
        f"{report.relative_error:.2g} of its deviation."
    )
    return lines


def _usage(model: StagedModel, name: str, kind: str, integer: bool) -> list[str]:
    q = f", and {name}_predict_q(q) for integers" if integer else ""
    if kind in CLASSIFIES:
        lines = [
            f"{name}_predict(x){q}: number of the class, whose label is {name}_labels[number]."
        ]
    elif kind == "multilabel":
        lines = [
            f"{name}_predict(x, labels){q.replace('(q)', '(q, labels)')}: 0 or 1 for each label."
        ]
    elif kind == "values":
        args = "(x)" if model.n_outputs == 1 else "(x, out)"
        lines = [f"{name}_predict{args}{q}: predicted values."]
    else:
        lines = [f"{name}_transform(x, out): {model.n_outputs} features."]
    lines.append(f"{name}_scores(x, scores): the {model.n_outputs} numbers behind it.")
    lines.append("All is static: included from two files, the constants are stored twice.")
    return lines


def _integer_lines(whole: IntegerModel, name: str) -> list[str]:
    scaling = whole.scaling
    shift, zero = scaling.shift[scaling.read], scaling.zero[scaling.read]
    lines = [
        f"Integer inputs: q[i] = round((x[i] - zero[i]) * 2^shift[i]), within -{scaling.limit} to "
        f"{scaling.limit}, -32768 where x[i] is missing. {name}_quantize(x, q) makes them of "
        "floats; other integers than these give scores without meaning, but no undefined "
        f"behaviour. Define {name.upper()}_NO_FLOAT before the header to leave all floats out.",
    ]
    if not scaling.reads_all:
        places = ", ".join(str(i) for i in scaling.read)
        lines.append(f"Only these i are read, in this order below; the other q[i] are 0: {places}")
    lines.append(
        f"  shift: {int(shift[0])} for all inputs"
        if (shift == shift[0]).all()
        else "  shift: " + ", ".join(str(int(digits)) for digits in shift)
    )
    lines.append(
        "  zero: " + ", ".join(f"{middle:g}" for middle in zero)
        if zero.any()
        else "  zero: 0 for all inputs"
    )
    scales = np.unique(whole.scales.astype(np.float32))
    lines.append(
        f"A score of 1 as an integer is {scales[0]:.6g}."
        if len(scales) == 1
        else "A score of 1 as an integer is, output by output: "
        + ", ".join(f"{scale:.6g}" for scale in whole.scales.astype(np.float32))
    )
    if any(part.part.kind in ("relu", "table") for part in whole.parts):
        lines.append(
            "The lowest five bits of an offset are the shift that follows the sum; of int8 tables, "
            "the next eight are f, where the sum is multiplied by 256 + f."
        )
    lines.append(
        "Scales chosen on the rows: "
        f"inputs of {whole.options.bits} bits, {100.0 * whole.options.share:g} % of them within "
        f"range, weights up to {100.0 * whole.options.clip:g} % of the largest."
    )
    return lines

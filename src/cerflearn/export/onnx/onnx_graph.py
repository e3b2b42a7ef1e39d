"""The graph of an estimator: what is ours by our converters, the rest by those of skl2onnx."""

from __future__ import annotations

import json
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from sklearn.base import is_classifier
from sklearn.linear_model import SGDClassifier

from cerflearn.estimators.cost import counted_cost
from cerflearn.export.onnx.onnx_nodes import PhaseForm
from cerflearn.export.onnx.onnx_rows import InputRows

_ML_OPSET = 3  # of ai.onnx.ml: scalers, encoders and trees of skl2onnx; as old as opset 15

_CANNOT = (
    AssertionError,
    AttributeError,
    IndexError,
    NotImplementedError,
    RuntimeError,
    TypeError,
)  # what skl2onnx raises in the middle of a conversion


def make_graph(
    estimator: Any, rows: InputRows, opset: int, *, zipmap: bool, form: PhaseForm
) -> Any:
    """Make the ModelProto of a fitted estimator.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    rows : InputRows
        Which give names and types of the inputs.
    opset : int
        Version of the operators.
    zipmap : bool
        Whether probabilities are a list of dictionaries.
    form : {"auto", "dense", "shared"}
        How phases of masked maps are computed.
    """
    from onnx import helper
    from skl2onnx import convert_sklearn
    from skl2onnx.common.exceptions import MissingConverter, MissingShapeCalculator

    from cerflearn.export.onnx.onnx_converters import linear_conversions, register_converters
    from cerflearn.export.onnx.onnx_preparation import as_skl2onnx_reads, preparation_conversions

    register_converters()
    _check_losses(_parts(estimator))
    whole, estimator = estimator, as_skl2onnx_reads(estimator)
    parts = _parts(estimator)
    ours = [*linear_conversions(parts), preparation_conversions(parts, rows.dtype)]
    try:
        model = convert_sklearn(
            estimator,
            name=type(estimator).__name__,
            initial_types=rows.initial_types(),
            target_opset={"": opset, "ai.onnx.ml": _ML_OPSET},
            options=_options(estimator, zipmap, form),
            **_merged(ours),
        )
    except (MissingConverter, MissingShapeCalculator) as error:
        unknown = ", ".join(type(part).__name__ for part in parts if not _alias(part))
        raise ValueError(
            f"{unknown or 'A part'} cannot be exported: neither cerflearn nor skl2onnx has a "
            "converter of it. skl2onnx.update_registered_converter takes one."
        ) from error
    except _CANNOT as error:
        raise RuntimeError(
            f"skl2onnx cannot convert this model: {error} (A ColumnTransformer must be the first "
            "step of a Pipeline; imputers and scalers may stand inside it.)"
        ) from error
    _keep_names(model.graph, [name for name, _ in rows.initial_types()])
    versions = {found.domain: found.version for found in model.opset_import} | {"": opset}
    del model.opset_import[:]
    model.opset_import.extend(helper.make_opsetid(*pair) for pair in sorted(versions.items()))
    model.ir_version = helper.find_min_ir_version_for(model.opset_import, ignore_unknown=True)
    helper.set_model_props(model, _metadata(whole))
    return model


def _check_losses(parts: list[Any]) -> None:
    """Refuse a loss whose probabilities of several classes skl2onnx computes otherwise."""
    for part in parts:
        if (
            isinstance(part, SGDClassifier)
            and part.loss == "modified_huber"
            and len(part.classes_) > 2
        ):
            raise ValueError(
                "SGDClassifier(loss='modified_huber') of more than two classes cannot be exported "
                "to ONNX: choose another loss."
            )


def _merged(conversions: list[dict[str, dict[type, Any]]]) -> dict[str, dict[type, Any]]:
    """Conversions of several kinds of estimators as one, by what skl2onnx calls them."""
    names = {name for found in conversions for name in found}
    return {
        name: {kind: f for found in conversions for kind, f in found.get(name, {}).items()}
        for name in names
    }


def _keep_names(graph: Any, names: list[str]) -> None:
    """Give inputs their names, in which skl2onnx replaces what no identifier may hold.

    All other names are identifiers that skl2onnx made unique: none can be the same.
    """
    made = {value.name: name for value, name in zip(graph.input, names, strict=True)}
    for value in graph.input:
        value.name = made[value.name]
    for node in graph.node:
        node.input[:] = [made.get(name, name) for name in node.input]


def _options(estimator: Any, zipmap: bool, form: PhaseForm) -> dict[Any, Any]:
    """Options of skl2onnx for each part of an estimator that has them."""
    from skl2onnx.common import _registration

    options: dict[Any, Any] = {}
    for part in _parts(estimator):
        alias = _alias(part)
        allowed = (
            {} if alias is None else _registration.get_converter(alias).get_allowed_options() or {}
        )
        asked: dict[str, Any] = {"form": form}
        if is_classifier(part):
            asked["zipmap"] = zipmap
        chosen = {name: value for name, value in asked.items() if name in allowed}
        if chosen:
            options[id(part)] = chosen
    return options


def _alias(part: Any) -> str | None:
    """Name under which skl2onnx knows a kind of estimator."""
    from skl2onnx._supported_operators import sklearn_operator_name_map

    alias: str | None = sklearn_operator_name_map.get(type(part))
    return alias


def _parts(estimator: Any) -> list[Any]:
    """Estimators inside an estimator, itself included."""
    parts = [estimator]
    for name in ("steps", "transformers_", "transformer_list"):
        for entry in getattr(estimator, name, ()):
            if hasattr(entry[1], "get_params"):
                parts += _parts(entry[1])
    for name in ("best_estimator_", "estimator_", "feature_map_"):
        inner = getattr(estimator, name, None)
        if hasattr(inner, "get_params"):
            parts += _parts(inner)
    return parts


def _metadata(estimator: Any) -> dict[str, str]:
    """Make notes for the file: versions, names of the columns, cost of a row."""
    notes = {"cerflearn_version": _package_version(), "estimator": type(estimator).__name__}
    names = getattr(estimator, "feature_names_in_", None)
    if names is not None:
        notes["columns"] = json.dumps([str(name) for name in names])
    try:
        found = counted_cost(estimator)
    except (TypeError, ValueError, AttributeError):  # parts whose operations are not counted
        return notes
    return notes | {"macs": str(found.macs)}


def _package_version() -> str:
    try:
        return version("cerflearn")
    except PackageNotFoundError:  # run from a source tree that is not installed
        return "unknown"

"""Kinds of Pipelines and ColumnTransformers: fitted steps with their names and columns."""

from __future__ import annotations

from collections import UserList
from dataclasses import dataclass
from string import Formatter
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from cerflearn._typing import IntArray
from cerflearn.estimators.not_stored import NotStored
from cerflearn.files.format_error import CerfFormatError
from cerflearn.persistence.estimator_kinds import INPUTS, NAMES
from cerflearn.persistence.kinds import PARAMETER, Kind
from cerflearn.persistence.plain import Plain
from cerflearn.persistence.specs import Json, Part, Reader, Sequence, Switch, Tensor, Writer
from cerflearn.persistence.widths import output_width, pipeline_width

_REMAINDER = "remainder"  # name of the branch of the columns that no other branch has
_WORDS = ("drop", "passthrough")
_NAME_PARTS = ("transformer_name", "feature_name")  # of a pattern of output names
_MOST_JOBS = 1024  # processes that a file may ask for


@dataclass(frozen=True, eq=False)
class PipelineStep:
    """A step of a Pipeline.

    Attributes
    ----------
    name : str
        Name.
    estimator : estimator or "passthrough"
        Fitted.
    """

    name: str
    estimator: Any


@dataclass(frozen=True, eq=False)
class ColumnBranch:
    """A branch of a ColumnTransformer.

    Attributes
    ----------
    name : str
        Name.
    estimator : estimator, "drop" or "passthrough"
        Fitted.
    columns : object
        Columns as they were given: names, numbers, a slice or a mask.
    indices : ndarray of int64
        Their positions.
    """

    name: str
    estimator: Any
    columns: Any
    indices: IntArray


@dataclass(frozen=True)
class _Name:
    """Any text."""

    def encode(self, value: Any, writer: Writer, path: str) -> Json:  # noqa: ARG002
        """Return the text."""
        return str(value)

    def decode(self, value: Json, reader: Reader, path: str) -> str:  # noqa: ARG002
        """Return the text, checked."""
        if not isinstance(value, str) or not value:
            raise CerfFormatError(f"{path} is not a name.")
        return value


@dataclass(frozen=True)
class _WordOrPart:
    """``"drop"``, ``"passthrough"``, None or a fitted estimator; it is written of its step.

    Attributes
    ----------
    part : Part
        The estimator.
    what : str
        What has the estimator and a name, for messages.
    """

    part: Part
    what: str

    def encode(self, value: Any, writer: Writer, path: str) -> Json:
        """Return the word, or JSON of the estimator of a step or branch."""
        if value.estimator is None or isinstance(value.estimator, str):
            return value.estimator
        try:
            return self.part.encode(value.estimator, writer, path)
        except ValueError as error:
            raise ValueError(f"{self.what} {value.name!r}: {error}") from error

    def decode(self, value: Json, reader: Reader, path: str) -> Any:
        """Return the word or the estimator."""
        if value is None or (isinstance(value, str) and value in _WORDS):
            return value
        return self.part.decode(value, reader, path)


def _estimator_of(step: Any) -> dict[str, Any]:
    """Return what is written of a step's estimator: errors name the step."""
    return {"estimator": step}


def _check_branch(fields: dict[str, Any]) -> None:
    if fields["estimator"] is None:
        raise ValueError("a branch has no estimator")


def _steps_of(pipeline: Any) -> dict[str, Any]:
    return {"steps": [PipelineStep(name, step) for name, step in pipeline.steps]}


def _make_pipeline(parameters: dict[str, Any], fields: dict[str, Any]) -> Pipeline:
    steps = [(step.name, step.estimator) for step in fields["steps"]]
    _check_names([name for name, _ in steps])
    return Pipeline(steps, **parameters)


def _are_named(steps: Any) -> bool:
    """Whether steps of an unfitted Pipeline, or branches, are tuples of a name and an estimator."""
    return isinstance(steps, list) and all(
        isinstance(step, tuple)
        and len(step) in (2, 3)
        and isinstance(step[0], str)
        and (step[1] is None or isinstance(step[1], str | NotStored) or hasattr(step[1], "fit"))
        for step in steps
    )


def _check_names(names: list[str]) -> None:
    if not names or len(set(names)) < len(names) or any("__" in name for name in names):
        raise ValueError("steps need names of their own")


def _check_pipeline(pipeline: Any) -> None:
    for _, step in pipeline.steps[:-1]:
        if step is not None and not isinstance(step, str) and not hasattr(step, "transform"):
            raise ValueError("a step before the last has no transform")
    pipeline_width(pipeline.steps)


def _refuse_pipeline(pipeline: Any) -> None:
    if getattr(pipeline, "transform_input", None):
        raise ValueError("A Pipeline with transform_input cannot be stored.")


def _branches_of(transformer: Any) -> dict[str, Any]:
    branches = []
    for name, part, columns in transformer.transformers_:
        indices = np.asarray(transformer._transformer_to_input_indices[name], dtype=np.int64)
        used = part if isinstance(part, str) or len(indices) else "drop"  # which is never fitted
        branches.append(ColumnBranch(name, used, _plain_list(columns), indices))
    return {"branches": branches, "transformers": transformer.transformers}


def _plain_list(columns: Any) -> Any:
    """Return columns as given; scikit-learn before 1.7 has a list of its own for the remainder."""
    return list(columns.data) if isinstance(columns, UserList) else columns


def _make_columns(parameters: dict[str, Any], fields: dict[str, Any]) -> ColumnTransformer:
    """Set what ``fit`` of a ColumnTransformer sets, from its branches."""
    branches, n_inputs = fields["branches"], fields["n_features_in_"]
    _check_names([branch.name for branch in branches])
    transformer = ColumnTransformer(fields["transformers"], **parameters)
    named = {branch.name: branch for branch in branches}
    rest = named.get(_REMAINDER, ColumnBranch(_REMAINDER, "drop", [], np.zeros(0, np.int64)))
    indices = {name: branch.indices.tolist() for name, branch in named.items()}
    transformer.n_features_in_ = n_inputs
    if "feature_names_in_" in fields:
        transformer.feature_names_in_ = fields["feature_names_in_"]
    transformer.sparse_output_ = fields["sparse_output_"]
    transformer.transformers_ = [(b.name, b.estimator, b.columns) for b in branches]
    transformer._columns = [b.columns for b in branches if b.name != _REMAINDER]
    transformer._transformer_to_input_indices = indices | {_REMAINDER: rest.indices.tolist()}
    transformer._remainder = (_REMAINDER, rest.estimator, rest.columns)
    transformer.output_indices_ = _output_slices(branches)
    return transformer


def _output_slices(branches: list[ColumnBranch]) -> dict[str, slice]:
    slices, start = {}, 0
    for branch in branches:
        width = _branch_width(branch)
        slices[branch.name] = slice(start, start + width) if width else slice(0, 0)
        start += width
    return slices | ({} if _REMAINDER in slices else {_REMAINDER: slice(0, 0)})


def _branch_width(branch: ColumnBranch) -> int:
    if len(branch.indices) == 0 or branch.estimator == "drop":
        return 0
    if isinstance(branch.estimator, str):
        return len(branch.indices)
    return output_width(branch.estimator)


def _check_columns(transformer: Any) -> None:
    """Refuse columns that do not exist, and branches that read another number of them."""
    if not _are_named(transformer.transformers):
        raise ValueError("transformers must be a list of names and estimators")
    if transformer.transformer_weights is not None:
        raise ValueError("transformer_weights must be None")
    _check_unfitted(transformer)
    names = vars(transformer).get("feature_names_in_")
    positions = transformer._transformer_to_input_indices
    for name, part, columns in transformer.transformers_:
        indices = np.asarray(positions[name], dtype=np.int64)
        if len(indices) and int(indices.max()) >= transformer.n_features_in_:
            raise ValueError(f"branch {name!r} reads a column that does not exist")
        if not isinstance(part, str) and part.n_features_in_ != len(indices):
            raise ValueError(f"branch {name!r} reads another number of columns")
        _check_given(columns, indices, names, transformer.n_features_in_)
    if output_width(transformer) == 0:
        raise ValueError("there are no output columns")


def _check_unfitted(transformer: Any) -> None:
    """Refuse branches that the parameter does not have: scikit-learn 1.6 looks them up there."""
    fitted = [(name, part) for name, part, _ in transformer.transformers_ if name != _REMAINDER]
    given = [(name, part) for name, part, *_ in transformer.transformers]
    if [name for name, _ in given] != [name for name, _ in fitted]:
        raise ValueError("transformers and branches have other names")
    for (name, unfitted), (_, part) in zip(given, fitted, strict=True):
        if isinstance(unfitted, str) and unfitted == "drop" and not isinstance(part, str):
            raise ValueError(f"branch {name!r} is dropped in transformers")


def _check_given(columns: Any, indices: IntArray, names: Any, n_inputs: int) -> None:
    """Refuse columns, as they were given, that are not those of the positions."""
    if isinstance(columns, str | int):  # one column as a row of numbers, which nothing here takes
        raise ValueError("columns must be a list")
    known = [] if names is None else [str(name) for name in names]
    if isinstance(columns, slice):
        found = np.arange(n_inputs)[_positions(columns, known)]
    else:
        chosen = list(np.atleast_1d(np.asarray(columns, dtype=object)))
        if chosen and all(isinstance(item, bool | np.bool_) for item in chosen):
            found = np.flatnonzero(chosen) if len(chosen) == n_inputs else np.array([-1])
        else:
            found = np.array([_position(item, known, n_inputs) for item in chosen], dtype=np.int64)
    if not np.array_equal(found, indices):
        raise ValueError("columns and their positions do not fit")


def _position(column: Any, known: list[str], n_inputs: int) -> int:
    """Position of a column that is given by name or number."""
    if not isinstance(column, str | int | np.integer):
        raise ValueError("columns must be names or numbers")
    return known.index(column) if isinstance(column, str) else int(column) % n_inputs


def _positions(columns: slice, known: list[str]) -> slice:
    """Slice of numbers for a slice of names, whose end is included."""
    start = known.index(columns.start) if isinstance(columns.start, str) else columns.start
    stop = known.index(columns.stop) + 1 if isinstance(columns.stop, str) else columns.stop
    return slice(start, stop, columns.step)


def _names_outputs(value: Any) -> bool:
    """Whether a value says how outputs are named: a flag, or a pattern of two plain names."""
    if not isinstance(value, str):
        return isinstance(value, bool)
    # Formats may ask for attributes and for widths of any size.
    fields = [part[1:] for part in Formatter().parse(value) if part[1] is not None]
    return all(name in _NAME_PARTS and not width and not kind for name, width, kind in fields)


def _is_n_jobs(value: Any) -> bool:
    whole = isinstance(value, int) and not isinstance(value, bool)
    return value is None or (whole and 0 < abs(value) <= _MOST_JOBS)


def _refuse_columns(transformer: Any) -> None:
    if transformer.transformer_weights is not None:
        raise ValueError(
            "A ColumnTransformer with transformer_weights cannot be stored: scale its columns in "
            "a step of their own."
        )


def _refuse_callable(estimator: Any) -> None:
    if estimator.func is not None or estimator.inverse_func is not None:
        raise ValueError(
            f"{estimator!r} cannot be stored: model files hold no functions. Only a "
            "FunctionTransformer without func, which passes columns on, can be stored."
        )


def _check_identity(estimator: Any) -> None:
    if estimator.func is not None or estimator.inverse_func is not None:
        raise ValueError("func must be None")


_COMPOUND_KINDS: dict[str, Kind] = {
    "Pipeline": Kind(
        Pipeline,
        {"steps": Sequence(Part(("PipelineStep",)))},
        check=_check_pipeline,
        is_estimator=True,
        needed={"transform_input": lambda value: value is None, "steps": _are_named},
        refuse=_refuse_pipeline,
        make=_make_pipeline,
        derived=_steps_of,
    ),
    "ColumnTransformer": Kind(
        ColumnTransformer,
        INPUTS
        | {
            "transformers": PARAMETER,
            "branches": Sequence(Part(("ColumnBranch",))),
            "sparse_output_": Switch(),
        },
        NAMES,
        _check_columns,
        True,
        {
            "transformers": _are_named,
            "verbose_feature_names_out": _names_outputs,
            "n_jobs": _is_n_jobs,
        },
        refuse=_refuse_columns,
        make=_make_columns,
        derived=_branches_of,
    ),
    "FunctionTransformer": Kind(
        FunctionTransformer,
        INPUTS,
        NAMES,
        _check_identity,
        True,
        {
            "feature_names_out": lambda value: value is None or value == "one-to-one",
            "validate": lambda value: isinstance(value, bool),
            "accept_sparse": lambda value: isinstance(value, bool),
            "kw_args": lambda value: value is None,
            "inv_kw_args": lambda value: value is None,
        },
        refuse=_refuse_callable,
    ),
}


def pipeline_kinds(transformers: tuple[str, ...], predictors: tuple[str, ...]) -> dict[str, Kind]:
    """Kinds of compound estimators.

    Parameters
    ----------
    transformers, predictors : tuple of str
        Kinds of steps, and of the last step beside them.
    """
    name = _Name()
    steps = {
        "PipelineStep": Kind(
            PipelineStep,
            {"name": name, "estimator": _WordOrPart(Part(transformers + predictors), "step")},
            derived=_estimator_of,
        ),
        "ColumnBranch": Kind(
            ColumnBranch,
            {
                "name": name,
                "estimator": _WordOrPart(Part(transformers), "branch"),
                "columns": Plain(),
                "indices": Tensor("i8", ("columns",), least=0),
            },
            check=_check_branch,
            derived=_estimator_of,
        ),
    }
    return _COMPOUND_KINDS | steps

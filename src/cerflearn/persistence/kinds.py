"""Classes that a file may hold: a table in code, never a name that is looked up by import."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from cerflearn.estimators.not_stored import NotStored
from cerflearn.files.format_error import CerfFormatError
from cerflearn.persistence.plain import Plain
from cerflearn.persistence.specs import Json, Reader, Spec, Writer

PARAMETER = Plain(names_the_rest=True)
"""How values of parameters are stored."""

_OUTPUT_CONFIG = "_sklearn_output_config"  # where set_output keeps its choice
_CONTAINERS = ("default", "pandas", "polars")


def _nothing(_: Any) -> None:
    """Check nothing."""


def _no_fields(_: Any) -> dict[str, Any]:
    return {}


@dataclass(frozen=True)
class Kind:
    """How objects of one class are stored.

    Attributes
    ----------
    cls : type
        The class; objects of subclasses are of another kind.
    fields : mapping of str to Spec
        Attributes. Of an estimator those that ``fit`` sets, of other classes the arguments of the
        constructor.
    optional : frozenset of str
        Attributes that may be missing.
    check : callable
        Raises a ValueError if the attributes of an object do not fit each other; it is called
        before any kernel sees them. Of an estimator after they are set, of other classes with a
        dictionary of them, before the object is made.
    is_estimator : bool
        Whether it has parameters beside.
    needed : mapping of str to callable
        Parameters of scikit-learn's estimators that ``transform`` or ``predict`` depend on, with
        whether a value is valid; of ours the table beside the class says what is.
    refuse : callable
        Raises a ValueError before an object that cannot be stored is written.
    finish : callable
        Called with an estimator that was read, to set what follows from the rest.
    make : callable, optional
        Makes an estimator of its parameters and attributes, if the constructor needs both.
    derived : callable
        Of an object: values of fields that are not its attributes.
    """

    cls: type
    fields: Mapping[str, Spec]
    optional: frozenset[str] = frozenset()
    check: Callable[[Any], None] = _nothing
    is_estimator: bool = False
    needed: Mapping[str, Callable[[Any], bool]] = field(default_factory=dict)
    refuse: Callable[[Any], None] = _nothing
    finish: Callable[[Any], None] = _nothing
    make: Callable[[dict[str, Any], dict[str, Any]], Any] | None = None
    derived: Callable[[Any], dict[str, Any]] = _no_fields

    @property
    def is_ours(self) -> bool:
        """Whether the class is one of cerflearn's."""
        return self.cls.__module__.startswith("cerflearn.")


@dataclass(frozen=True)
class Kinds:
    """All kinds, by name."""

    table: Mapping[str, Kind]

    def name_of(self, value: Any) -> str | None:
        """Return the name of an object's kind; None if it has none."""
        name = type(value).__name__
        kind = self.table.get(name)
        return name if kind is not None and kind.cls is type(value) else None

    def encode(self, value: Any, writer: Writer, path: str, allowed: tuple[str, ...] = ()) -> Json:
        """Return JSON of an object with all its attributes."""
        name = self.name_of(value)
        if name is None or (allowed and name not in allowed):
            raise ValueError(
                f"{path} cannot be stored: {value!r} is a {type(value).__name__}, which model "
                f"files do not hold. {_advice(value)}"
            )
        kind = self.table[name]
        kind.refuse(value)
        found: dict[str, Json] = {"kind": name}
        if kind.is_estimator:
            _check_needed(kind, value, path)
            found["parameters"] = self._parameters(kind, value, writer, path, set(kind.fields))
            output = vars(value).get(_OUTPUT_CONFIG, {}).get("transform")
            if output is not None:
                found["output"] = output
        derived = kind.derived(value)
        found["fields"] = {
            name: spec.encode(_value(value, name, derived), writer, f"{path}.{name}")
            for name, spec in kind.fields.items()
            if name not in kind.optional or name in vars(value) or name in derived
        }
        return found

    def encode_unfitted(self, value: Any, writer: Writer, path: str) -> Json:
        """Return JSON of an estimator's parameters, or of a whole object that is none."""
        name = self.name_of(value)
        kind = self.table[str(name)]
        if not kind.is_estimator:
            return self.encode(value, writer, path)
        return {"kind": name, "parameters": self._parameters(kind, value, writer, path, set())}

    def _parameters(
        self, kind: Kind, value: Any, writer: Writer, path: str, left_out: set[str]
    ) -> Json:
        """All parameters of ours, those that are not the default of scikit-learn's.

        Steps of a Pipeline, say, are left out where they are stored with what was fitted.
        """
        stored = {}
        defaults = inspect.signature(kind.cls.__init__).parameters  # type: ignore[misc]
        for name, given in value.get_params(deep=False).items():
            default = defaults[name].default if name in defaults else inspect.Parameter.empty
            if name in left_out or (not kind.is_ours and _is_default(given, default)):
                continue
            stored[name] = PARAMETER.encode(given, writer, f"{path}.{name}")
        return stored

    def decode(self, value: Json, reader: Reader, path: str, allowed: tuple[str, ...] = ()) -> Any:
        """Return an object, all of its attributes checked."""
        kind = self._kind(value, path, allowed)
        if not kind.is_estimator:
            _check_keys(value, {"kind", "fields"}, set(), path)
            fields = self._fields(kind, value["fields"], reader, path)
            with _as_format_error(path):
                kind.check(fields)
                return kind.cls(**fields)
        _check_keys(value, {"kind", "parameters", "fields"}, {"output"}, path)
        left_out = set(kind.fields)
        parameters = self._read_parameters(kind, value["parameters"], reader, path, left_out)
        _check_parameters(kind, parameters, set(kind.needed), path)
        fields = self._fields(kind, value["fields"], reader, path)
        with _as_format_error(path):
            estimator = (kind.make or _make(kind))(parameters, fields)
            if "output" in value:
                _set_output(estimator, value["output"], path)
            kind.finish(estimator)
            kind.check(estimator)
        return estimator

    def decode_unfitted(self, value: Json, reader: Reader, path: str) -> Any:
        """Return an estimator that is not fitted, or a whole object that is none."""
        kind = self._kind(value, path, ())
        if not kind.is_estimator:
            return self.decode(value, reader, path)
        _check_keys(value, {"kind", "parameters"}, set(), path)
        parameters = self._read_parameters(kind, value["parameters"], reader, path, set())
        # What only a fitted one depends on, fit itself checks; steps are looked at before.
        _check_parameters(kind, parameters, set(kind.needed) & set(kind.fields), path)
        with _as_format_error(path):
            return _make(kind)(parameters, {})

    def _kind(self, value: Json, path: str, allowed: tuple[str, ...]) -> Kind:
        name = value.get("kind") if isinstance(value, dict) else None
        if not isinstance(name, str) or name not in self.table or (allowed and name not in allowed):
            raise CerfFormatError(
                f"{path} is of a kind that this version of cerflearn does not know, or that "
                "cannot stand there."
            )
        return self.table[name]

    def _fields(self, kind: Kind, value: Json, reader: Reader, path: str) -> dict[str, Any]:
        required = set(kind.fields) - kind.optional
        _check_keys(value, required, set(kind.optional), f"{path}.fields")
        with reader.own_sizes():
            return {
                name: spec.decode(value[name], reader, f"{path}.{name}")
                for name, spec in kind.fields.items()
                if name in value
            }

    def _read_parameters(
        self, kind: Kind, value: Json, reader: Reader, path: str, left_out: set[str]
    ) -> dict[str, Any]:
        """Read parameters; those of scikit-learn that this version does not have are left out."""
        if not isinstance(value, dict):
            raise CerfFormatError(f"{path}.parameters is not an object.")
        known = inspect.signature(kind.cls.__init__).parameters  # type: ignore[misc]
        parameters = {}
        for name, content in value.items():
            decoded = PARAMETER.decode(content, reader, f"{path}.{name}")
            if name in known and name not in left_out and name != "self":
                parameters[name] = decoded
            elif kind.is_ours or name in kind.needed:
                raise CerfFormatError(
                    f"{path} has the parameter {name[:40]!r}, which {kind.cls.__name__} does not "
                    "have in this version."
                )
        return parameters


def _make(kind: Kind) -> Callable[[dict[str, Any], dict[str, Any]], Any]:
    def make(parameters: dict[str, Any], fields: dict[str, Any]) -> Any:
        estimator = kind.cls(**parameters)
        constraints = getattr(kind.cls, "_constraints", {})
        for name, constraint in constraints.items():
            value = getattr(estimator, name)
            if not isinstance(value, NotStored):
                constraint.check(name, value)
        vars(estimator).update(fields)
        return estimator

    return make


def _check_parameters(
    kind: Kind, parameters: Mapping[str, Any], names: set[str], path: str
) -> None:
    """Refuse values that a file must not have."""
    with _as_format_error(path):  # an array is neither equal to a word nor not
        for name in sorted(names & set(parameters)):
            if not kind.needed[name](parameters[name]):
                raise CerfFormatError(f"{path}.{name}={parameters[name]!r} is not valid.")


def _check_needed(kind: Kind, value: Any, path: str) -> None:
    """Refuse to write what could not be read: a parameter that the fitted estimator depends on."""
    for name, given in value.get_params(deep=False).items():
        if name in kind.needed and not kind.needed[name](given):
            raise ValueError(
                f"{path} cannot be stored: {name}={given!r} of {type(value).__name__} is no value "
                "that model files hold."
            )


class _as_format_error:  # noqa: N801  # reads as a statement
    """Turn errors of checks into the error of files."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: Any, _: Any) -> None:
        expected = (ValueError, TypeError, OverflowError, ArithmeticError, AttributeError, KeyError)
        if isinstance(error, expected) and not isinstance(error, CerfFormatError):
            raise CerfFormatError(f"{self.path} is not valid: {error}") from error


def _advice(value: Any) -> str:
    if hasattr(value, "best_estimator_"):
        return "Save its best_estimator_."
    return "See help(cerflearn.save) for what they hold."


def _set_output(estimator: Any, output: Json, path: str) -> None:
    if not isinstance(output, str) or output not in _CONTAINERS:
        raise CerfFormatError(f"{path}.output is not one of {', '.join(_CONTAINERS)}.")
    setattr(estimator, _OUTPUT_CONFIG, {"transform": output})


def _check_keys(value: Json, required: set[str], optional: set[str], path: str) -> None:
    if not isinstance(value, dict):
        raise CerfFormatError(f"{path} is not an object.")
    missing, unknown = required - set(value), set(value) - required - optional
    if missing or unknown:
        names = ", ".join(sorted(name[:40] for name in missing or unknown))
        raise CerfFormatError(f"{path}: {'missing' if missing else 'unknown'}: {names}.")


def _value(value: Any, name: str, derived: dict[str, Any]) -> Any:
    """Return a field of an object; in some versions of scikit-learn it is a property."""
    return derived[name] if name in derived else getattr(value, name)


def _is_default(given: Any, default: Any) -> bool:
    """Whether a parameter is what it would be without being given."""
    if given is default:
        return True
    simple = (str, bool, int, float, type(None))
    if not isinstance(given, simple) or type(given) is not type(default):
        return False
    return bool(given == default) or (given != given and default != default)

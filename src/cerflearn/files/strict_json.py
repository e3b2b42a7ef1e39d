"""JSON without surprises: one text for one value, no NaN, no key twice, bounded depth."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np

from cerflearn.files.format_error import CerfFormatError

DEEPEST = 64
"""Lists and objects inside each other, at most."""

_STRINGS = re.compile(r'"(?:[^"\\]|\\.)*+"')
_LONGEST_INTEGER = 40  # digits: 128 bits


def canonical(value: Any) -> str:
    """Write a value: keys sorted, no spaces, ASCII only."""
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    )


def parse(text: str | bytes, what: str) -> Any:
    """Read strict JSON.

    Parameters
    ----------
    text : str or bytes
        Bytes must be UTF-8.
    what : str
        What it is, for messages.

    Returns
    -------
    object
        ``CerfFormatError`` if it is no JSON, holds a key twice, NaN, infinity, a number that is
        none in double precision, half of a surrogate pair, or is nested too deeply.
    """
    try:
        decoded = text.decode("utf-8") if isinstance(text, bytes) else text
        _check_depth(decoded, what)
        value = json.loads(
            decoded,
            object_pairs_hook=_without_repeats,
            parse_constant=_no_constant,
            parse_float=_finite,
            parse_int=_integer,
        )
        json.dumps(value, ensure_ascii=False).encode("utf-8")  # halves of surrogate pairs
    except CerfFormatError:
        raise
    except (ValueError, RecursionError) as error:
        raise CerfFormatError(f"{what} is not valid JSON: {error}.") from error
    return value


def _check_depth(text: str, what: str) -> None:
    brackets = re.sub(r"[^\[\]{}]+", "", _STRINGS.sub("", text))
    codes = np.frombuffer(brackets.encode("ascii"), dtype=np.uint8)
    steps = np.where((codes == ord("[")) | (codes == ord("{")), 1, -1)
    if len(steps) and int(np.cumsum(steps).max()) > DEEPEST:
        raise CerfFormatError(f"{what} is nested more than {DEEPEST} times.")


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice in one object")
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number")


def _finite(text: str) -> float:
    number = float(text)
    if not np.isfinite(number):
        raise ValueError(f"{text} is beyond double precision")
    return number


def _integer(text: str) -> int:
    if len(text) > _LONGEST_INTEGER:
        raise ValueError("an integer has too many digits")
    return int(text)

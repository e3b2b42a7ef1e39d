"""Checkpoints: a folder of states of a fit, from which the same fit goes on.

Each state is one file, replaced in one step, so that a process may die at any moment. States are
trees of dictionaries, lists, numbers, text and arrays; a fingerprint says what fit they belong to.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from cerflearn._atomic import write_atomically
from cerflearn.files.container import digest_of, header_of, lay_out, raw_bytes, read_bytes, unpack
from cerflearn.files.format_error import CerfFormatError
from cerflearn.files.state_tree import decode_tree, encode_tree
from cerflearn.files.strict_json import canonical, parse

CHECKPOINT_FORMAT = 1
"""Number of the format that is written, and the only one that is read."""

SUFFIX = ".safetensors"
"""End of the names of files."""

MOST_CHECKPOINT_HEADER = 2**28
"""Length of the header, at most: states may have some arrays for each block of rows."""

PAUSE = 9.0
"""Times that a write took, between it and the next one: at most a tenth of the time is spent."""

_FINGERPRINT = "fingerprint"
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_KEYS = {"checkpoint", "digest", "fingerprint", "state"}
_MOST_NAMED = 5  # differences that an error lists
_BEGIN_ANEW = "Pass another folder, or delete this one to begin anew."


class Checkpoint:
    """States of one fit in a folder.

    Parameters
    ----------
    folder : str or path-like
        Made if it does not exist. One process may use it at a time.
    fingerprint : mapping of str to object
        What the states depend on: numbers, text, None, lists and dictionaries by name. The first
        call writes it; ``ValueError``, which names the differences, if another one is there.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     first = Checkpoint(folder, {"macs": 100})
    ...     first.load("stages") is None
    ...     first.save("stages", {"n_done": 2, "weights": np.ones(3)})
    ...     Checkpoint(folder, {"macs": 100}).load("stages")
    True
    {'n_done': 2, 'weights': array([1., 1., 1.])}
    """

    def __init__(self, folder: str | os.PathLike[str], fingerprint: Mapping[str, Any]) -> None:
        self.folder = make_folder(folder)
        self._due: dict[str, float] = {}
        wanted = encode_tree(dict(fingerprint), {})
        self._digest = hashlib.sha256(canonical(wanted).encode("ascii")).hexdigest()
        for draft in self.folder.glob(f".*{SUFFIX}.*"):  # of a process that died while writing
            draft.unlink(missing_ok=True)
        found = self._read(_FINGERPRINT)
        if found is None:
            self.save(_FINGERPRINT, dict(fingerprint))
        else:
            self._compare(encode_tree(found["state"], {})["tree"], wanted["tree"])
            self._digest = found["fingerprint"]  # 1 and 1.0 are equal, their digests are not

    def load(self, name: str) -> Any:
        """Return the state that :meth:`save` has written under a name; None if there is none."""
        document = self._read(name)
        if document is None:
            return None
        if document["fingerprint"] != self._digest:
            raise ValueError(
                f"{str(self._path(name))!r} belongs to another fit than the fingerprint beside it. "
                f"{_BEGIN_ANEW}"
            )
        return document["state"]

    def save(self, name: str, state: Any) -> None:
        """Write a state; if that fails, the one before it stays.

        Parameters
        ----------
        name : str
            Lower-case letters, digits and underscores.
        state : object
            Dictionaries with text as keys, lists, numbers, text, None and arrays of numbers inside
            each other. Arrays come back with the same bits and order in memory.
        """
        tensors: dict[str, Any] = {}
        document: dict[str, Any] = {
            "checkpoint": CHECKPOINT_FORMAT,
            "fingerprint": self._digest,
            "state": encode_tree(state, tensors),
        }
        table, arrays = lay_out(tensors)
        document["digest"] = digest_of(document, table, arrays)
        header = header_of(table, canonical(document), MOST_CHECKPOINT_HEADER)
        try:
            write_atomically({self._path(name): [header, *map(raw_bytes, arrays)]})
        except OSError as error:
            raise type(error)(
                error.errno,
                f"{error.strerror}. What the folder held before is good: when it can be written "
                "to, the same call goes on from there",
            ) from error

    def save_at_times(self, name: str, make_state: Callable[[], Any]) -> None:
        """Write a state unless most of the time would be spent on writing it.

        Parameters
        ----------
        name : str
            As in :meth:`save`.
        make_state : callable
            Returns the state; called if it is to be written.
        """
        start = time.monotonic()
        if start >= self._due.get(name, start):
            self.save(name, make_state())
            end = time.monotonic()
            self._due[name] = end + PAUSE * (end - start)

    def remove(self, *names: str) -> None:
        """Delete states, if they are there."""
        for name in names:
            self._path(name).unlink(missing_ok=True)

    def _path(self, name: str) -> Path:
        if not _NAME.fullmatch(name):
            raise ValueError(f"name={name!r} must be lower-case letters, digits and underscores.")
        return self.folder / f"{name}{SUFFIX}"

    def _read(self, name: str) -> dict[str, Any] | None:
        """Document of a file, its state decoded; None if there is no file."""
        path = self._path(name)
        try:
            return _decoded(read_bytes(path))
        except FileNotFoundError:
            return None
        except CerfFormatError as error:
            raise CerfFormatError(
                f"The checkpoint {str(path)!r} cannot be read: {error} {_BEGIN_ANEW}"
            ) from error

    def _compare(self, found: dict[str, Any], wanted: dict[str, Any]) -> None:
        """Refuse states of another fit."""
        if found == wanted:
            return
        absent = object()
        differ = [
            f"{name}: {_text(found, name)} there, {_text(wanted, name)} here"
            for name in sorted(found.keys() | wanted.keys())
            if found.get(name, absent) != wanted.get(name, absent)
        ]
        more = len(differ) - _MOST_NAMED
        told = "; ".join(differ[:_MOST_NAMED]) + (f"; and {more} more" if more > 0 else "")
        raise ValueError(
            f"The checkpoint in {str(self.folder)!r} is of another fit ({told}). {_BEGIN_ANEW}"
        )


def make_folder(folder: str | os.PathLike[str]) -> Path:
    """Return the path of a folder, which is made if it does not exist."""
    if not isinstance(folder, str | os.PathLike) or not os.fspath(folder):
        raise ValueError(f"checkpoint={folder!r} is not valid: it must be the path of a folder.")
    path = Path(folder)
    if path.exists() and not path.is_dir():
        raise NotADirectoryError(
            f"checkpoint={str(folder)!r} is a file: pass the path of a folder."
        )
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise type(error)(
            error.errno, f"The folder {str(folder)!r} cannot be made: {error.strerror}"
        ) from error
    return path


def _decoded(buffer: memoryview) -> dict[str, Any]:
    """Document of the bytes of a file, with its state; ``CerfFormatError`` if they are not good."""
    content = unpack(buffer, MOST_CHECKPOINT_HEADER)
    document = parse(content.document, "Its JSON")
    if not isinstance(document, dict) or "checkpoint" not in document:
        raise CerfFormatError("It is no checkpoint.")
    number = document["checkpoint"]
    if number != CHECKPOINT_FORMAT:
        raise CerfFormatError(
            f"It has format {number!r}, and this version of cerflearn reads format "
            f"{CHECKPOINT_FORMAT}."
        )
    if set(document) != _KEYS:
        raise CerfFormatError("Its JSON lacks an entry, or has one too many.")
    if digest_of(document, content.table, content.data) != document["digest"]:
        raise CerfFormatError("Its checksum is wrong: the file was damaged or changed.")
    return document | {"state": decode_tree(document["state"], content.tensors)}


def _text(fingerprint: Mapping[str, Any], name: str) -> str:
    """Value of a fingerprint, as an error shows it."""
    return repr(decode_tree(fingerprint[name], {})) if name in fingerprint else "nothing"

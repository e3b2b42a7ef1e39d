"""Files that are almost models: structured changes of JSON, arrays and bytes of a good file.

In three of four changes the checksum is made right again, so that the checks behind it are reached.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from cerflearn.files.container import (
    DTYPES,
    METADATA_KEY,
    digest_of,
    unpack,
)
from cerflearn.files.strict_json import canonical, parse

ODD_VALUES: tuple[Any, ...] = (
    None, True, False, -1, 0, 1, 2, 3, 7, 2**31, 2**53, 2**63, -(2**63), 0.5, -0.5, 1e308, 1e-308,
    "", "x", "auto", "nan", "__class__", "os.system", [], [0], [[]], {}, {"tensor": "x"},
    {"float": "nan"}, {"float": "inf"}, {"kind": "MaskedMap"}, {"object": {"kind": "CVEM"}},
    {"not_stored": "x"}, {"tuple": [1, 2]}, {"pairs": [[1, 2]]}, {"pairs": [[[], 2]]},
    {"slice": [1]}, {"dtype": "float64"}, {"dtype": "V8"}, {"array": ["a"]},
)  # fmt: skip

ODD_NUMBERS = (np.nan, np.inf, -np.inf, 1e308, -1e308, 1e-320, 0.0, -1.0, 2.0)
ODD_INTEGERS = (-1, 0, 1, 2, 5, 6, 7, 100, 2**31 - 1, -(2**31))


class Mutator:
    """Changes of one good file.

    Parameters
    ----------
    content : bytes
        The file.
    seed : int
        Of the changes.
    """

    def __init__(self, content: bytes, seed: int) -> None:
        found = unpack(memoryview(content))
        self.content = content
        self.document = parse(found.document, "document")
        self.tensors = {name: np.array(array) for name, array in found.tensors.items()}
        self.rng = np.random.default_rng(seed)

    def mutate(self) -> bytes:
        """Return a file with one to three changes."""
        rng = self.rng
        if rng.random() < 0.15:
            return self._bytes()
        document, tensors = copy.deepcopy(self.document), dict(self.tensors)
        table_changes: list[Any] = []
        for _ in range(int(rng.integers(1, 4))):
            action = rng.random()
            if action < 0.45:
                model = document.get("model")
                whole = rng.random() < 0.1 or not isinstance(model, dict)
                self._json(document if whole else model)
            elif action < 0.9 and tensors:
                self._tensor(tensors)
            else:
                table_changes.append(rng.random())
        return self._file(document, tensors, table_changes)

    def _bytes(self) -> bytes:
        """Cut off, flip bits, insert or repeat bytes."""
        rng, raw = self.rng, bytearray(self.content)
        kind = int(rng.integers(4))
        if kind == 0:
            return bytes(raw[: int(rng.integers(len(raw)))])
        place = int(rng.integers(len(raw)))
        if kind == 1:
            raw[place] ^= 1 << int(rng.integers(8))
        elif kind == 2:
            raw[place:place] = rng.bytes(int(rng.integers(1, 9)))
        else:
            raw[:8] = int(rng.integers(0, 2**62)).to_bytes(8, "little")
        return bytes(raw)

    def _json(self, root: Any) -> None:
        """Replace, drop or add one value somewhere."""
        rng = self.rng
        places = list(_places(root))
        if not places:
            return
        parent, key = places[int(rng.integers(len(places)))]
        action = rng.random()
        if action < 0.15:
            del parent[key]
        elif action < 0.25 and isinstance(parent, dict):
            parent[str(rng.choice(["extra", "n_jobs", "kind", "fields", key]))] = self._odd()
        elif action < 0.4:
            other, name = places[int(rng.integers(len(places)))]
            parent[key] = copy.deepcopy(other[name])
        elif action < 0.6 and isinstance(parent[key], int) and not isinstance(parent[key], bool):
            parent[key] += int(rng.choice([-2, -1, 1, 2]))
        else:
            parent[key] = self._odd()

    def _odd(self) -> Any:
        return copy.deepcopy(ODD_VALUES[int(self.rng.integers(len(ODD_VALUES)))])

    def _tensor(self, tensors: dict[str, Any]) -> None:
        """Change an entry, the shape, the dtype or the name of one array, or drop it."""
        rng = self.rng
        name = sorted(tensors)[int(rng.integers(len(tensors)))]
        array = np.array(tensors[name])
        action = rng.random()
        if action < 0.6 and array.size:
            flat = array.reshape(-1)
            odd = ODD_NUMBERS if array.dtype.kind == "f" else ODD_INTEGERS
            place, value = int(rng.integers(flat.size)), odd[int(rng.integers(len(odd)))]
            with np.errstate(all="ignore"):
                flat[place] = np.array(value).astype(array.dtype)
            tensors[name] = array
        elif action < 0.75:
            tensors[name] = array[:-1] if array.ndim and len(array) else array[None]
        elif action < 0.85 and array.ndim:
            tensors[name] = np.concatenate([array, array[:1]]) if len(array) else array.reshape(-1)
        elif action < 0.9:
            with np.errstate(all="ignore"):
                tensors[name] = array.astype(rng.choice(["<f4", "<i8", "<i4", "|u1"]))
        elif action < 0.95:
            tensors[f"{name}.x"] = tensors.pop(name)
        else:
            tensors[name] = (
                array.reshape(-1) if array.ndim > 1 else array[:, None] if array.ndim else array
            )

    def _file(self, document: Any, tensors: dict[str, Any], table_changes: list[Any]) -> bytes:
        """Bytes of a file; three of four have a right checksum."""
        table, data, begin = {}, b"", 0
        names = {np.dtype(dtype): name for name, dtype in DTYPES.items()}
        for name in sorted(tensors, key=lambda n: (-tensors[n].dtype.itemsize, n)):
            raw = tensors[name].tobytes()
            shape = list(tensors[name].shape)
            dtype = names[tensors[name].dtype]
            table[name] = {
                "dtype": dtype, "shape": shape, "data_offsets": [begin, begin + len(raw)]
            }  # fmt: skip
            data, begin = data + raw, begin + len(raw)
        for chance in table_changes:
            self._table(table, chance)
        if self.rng.random() < 0.75 and isinstance(document, dict):
            document["digest"] = digest_of(document, table, data)
        header = {"__metadata__": {METADATA_KEY: canonical(document)}, **table}
        text = canonical(header).encode("ascii")
        text += b" " * (-len(text) % 8)
        return len(text).to_bytes(8, "little") + text + data

    def _table(self, table: dict[str, Any], chance: float) -> None:
        """Change what the header says of one array."""
        if not table:
            return
        entry = table[sorted(table)[int(self.rng.integers(len(table)))]]
        key = ("dtype", "shape", "data_offsets")[int(chance * 3)]
        if self.rng.random() < 0.5 and isinstance(entry.get(key), list) and entry[key]:
            entry[key][int(self.rng.integers(len(entry[key])))] = self._odd()
        elif self.rng.random() < 0.2:
            entry.pop(key, None)
        else:
            entry[key] = self._odd() if key != "dtype" else str(self.rng.choice(list(DTYPES)))


def _places(root: Any) -> Any:
    """All containers and keys below a value."""
    stack = [root]
    while stack:
        value = stack.pop()
        keys = list(value) if isinstance(value, dict) else range(len(value))
        for key in keys:
            yield value, key
            if isinstance(value[key], dict | list):
                stack.append(value[key])

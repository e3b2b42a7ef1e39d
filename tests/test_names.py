"""One name, one meaning: modules, classes and constants of the package."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "cerflearn"
SOURCES = sorted(PACKAGE.rglob("*.py"))

# Module names that several rooms have, since the concept is the same.
SHARED_MODULES = {
    "base": "what all classes of a room share",
    "cost": "the rules of counting; cost(estimator), which applies them",
    "fastfood": "structured blocks as arrays; the estimator of them",
    "frontier": "the function; the command that calls it",
    "picture": "the picture of a frontier; the command that writes it",
    "masked": "maps with masks as arrays; the estimator of them",
}


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def test_modules_of_a_room_have_different_names():
    rooms = defaultdict(list)
    for path in SOURCES:
        if path.stem != "__init__":
            rooms[room_of(path)].append(path.stem)
    for room, names in rooms.items():
        assert len(names) == len(set(names)), (room, sorted(names))


def test_rooms_share_module_names_only_where_the_concept_is_the_same():
    rooms = defaultdict(set)
    for path in SOURCES:
        if path.stem != "__init__":
            rooms[path.stem.lstrip("_")].add(room_of(path))
    shared = {name for name, owners in rooms.items() if len(owners) > 1}
    assert shared == set(SHARED_MODULES)


def defined_names(path: Path) -> list[str]:
    """Classes and constants at the top of a module, without leading underscores."""
    names = []
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef):
            names.append(node.name)
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                elements = target.elts if isinstance(target, ast.Tuple) else [target]
                names += [e.id for e in elements if isinstance(e, ast.Name)]
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.append(node.target.id)
    constants_and_classes = (name.lstrip("_") for name in names)
    return [name for name in constants_and_classes if name[:1].isupper()]


def test_no_two_classes_or_constants_share_a_name():
    owners = defaultdict(set)
    for path in SOURCES:
        for name in defined_names(path):
            owners[name].add(str(path.relative_to(PACKAGE)))
    twins = {name: sorted(paths) for name, paths in owners.items() if len(paths) > 1}
    assert not twins


def test_no_two_public_functions_share_a_name():
    owners = defaultdict(set)
    for path in SOURCES:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                owners[node.name].add(str(path.relative_to(PACKAGE)))
    del owners["command"]  # of each file of the command line
    twins = {name: sorted(paths) for name, paths in owners.items() if len(paths) > 1}
    assert not twins


@pytest.mark.parametrize("folder", ["src", "cpp", "tests"])
def test_no_file_is_long(folder):
    suffixes = {".py", ".pyi", ".h", ".cpp"}
    for path in sorted((ROOT / folder).rglob("*")):
        if path.suffix in suffixes and "build" not in path.parts:
            assert len(path.read_text(encoding="utf-8").splitlines()) <= 400, path

"""Who may import what: the imports of every file against the allowed arrows."""

from __future__ import annotations

import ast
import re
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "cerflearn"

# Rooms of ours that a room may import, beside itself and _typing, which is open to all.
ARROWS = {
    "_typing": set(),
    "_atomic": set(),
    "files": {"_atomic"},
    "_validation": set(),
    "_native": set(),
    "spectral": {"linalg"},
    "features": {"_native", "spectral"},
    "learning": set(),
    "linalg": set(),
    "engine": set(),
    "blocks": set(),
    "training": {"_native", "engine", "linalg"},
    "estimators": {
        "features",
        "files",
        "learning",
        "linalg",
        "blocks",
        "engine",
        "spectral",
        "training",
        "_atomic",
        "_validation",
    },
    "comparison": {"estimators", "features", "linalg", "training", "_validation"},
    "rivals": {"estimators", "features", "engine", "linalg", "spectral", "training", "_validation"},
    "persistence": {"", "_atomic", "estimators", "features", "files", "linalg", "spectral"},
    "export": {"", "_atomic", "estimators", "features", "spectral"},
    "onnx": {"export"},
    "cli": {"", "_native", "_validation", "estimators", "export", "features", "persistence"},
    "plotting": {"linalg"},
    # The package itself: lazy public names.
    "": {"blocks", "comparison", "estimators", "export", "files", "persistence"},
}

# Packages that a room may import when its modules are imported; everything may use the standard
# library and NumPy.
PACKAGES = {
    "_native": {"joblib", "threadpoolctl"},
    "spectral": {"scipy"},
    "features": {"scipy"},
    "learning": {"scipy"},
    "linalg": {"scipy"},
    "engine": {"threadpoolctl"},
    "training": {"scipy"},
    "estimators": {"scipy", "sklearn", "joblib", "threadpoolctl"},
    "comparison": {"scipy", "sklearn", "threadpoolctl"},
    "rivals": {"scipy", "sklearn"},
    "persistence": {"scipy", "sklearn"},
    "export": {"scipy", "sklearn"},
    "cli": {"click"},
}

# Never, not even inside a function.
FORBIDDEN = {
    "features": {"sklearn", "dask", "distributed", "joblib"},
    "learning": {"sklearn", "dask", "distributed", "joblib", "threadpoolctl"},
    "linalg": {"sklearn", "dask", "distributed", "joblib", "threadpoolctl"},
    "engine": {"sklearn", "scipy"},
    "training": {"sklearn", "dask", "distributed", "joblib", "threadpoolctl"},
    "spectral": {"sklearn", "dask", "distributed"},
}

OUTSIDE = ("experiments", "benchmarks", "examples", "docs")


@dataclass(frozen=True)
class Import:
    module: str  # in full, "cerflearn.features.base"
    at_top: bool  # runs when the module is imported

    @property
    def package(self) -> str:
        return self.module.split(".")[0]

    @property
    def room(self) -> str:
        return room_of(self.module)


def room_of(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


def is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")


def modules_of(node: ast.Import | ast.ImportFrom) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    assert node.level == 0, "relative import"
    if node.module == "cerflearn":  # a name of the package may be a room
        rooms = {path.stem for path in PACKAGE.iterdir()}
        return [f"cerflearn.{a.name}" if a.name in rooms else "cerflearn" for a in node.names]
    return [node.module or ""]


def imports_of(path: Path) -> list[Import]:
    found = []

    def visit(node: ast.AST, at_top: bool) -> None:
        if isinstance(node, ast.Import | ast.ImportFrom):
            found.extend(Import(module, at_top) for module in modules_of(node))
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            at_top = False
        elif is_type_checking(node):
            return
        for child in ast.iter_child_nodes(node):
            visit(child, at_top)

    visit(ast.parse(path.read_text(encoding="utf-8")), True)
    return found


SOURCES = sorted(PACKAGE.rglob("*.py"))
ESTIMATORS = sorted((PACKAGE / "estimators").rglob("*.py"))
IDS = [str(path.relative_to(PACKAGE)) for path in SOURCES]


def room_of_file(path: Path) -> str:
    first = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    return "" if first == "__init__" else first


def test_every_room_is_on_the_map():
    assert {room_of_file(path) for path in SOURCES} <= set(ARROWS)
    built = {
        "features",
        "files",
        "learning",
        "linalg",
        "blocks",
        "engine",
        "training",
        "estimators",
        "comparison",
        "rivals",
        "persistence",
        "export",
        "onnx",
        "spectral",
        "plotting",
        "_native",
        "",
    }
    assert built <= set(map(room_of_file, SOURCES))


@pytest.mark.parametrize("path", SOURCES, ids=IDS)
def test_rooms_import_along_the_arrows_only(path):
    room = room_of_file(path)
    ours = {i.room for i in imports_of(path) if i.package == "cerflearn"}
    assert ours <= ARROWS[room] | {room, "_typing"}


# Folders of estimators that one of them may import, beside itself; modules that lie in none are
# shared by all and import none of them.
SUBROOMS = {
    "maps": set(),
    "cerf": {"maps"},
    "applications": {"maps"},
    "predictors": set(),
}


def subroom_of(module: str) -> str:
    """Folder of estimators that a module lies in; empty for shared modules and other rooms."""
    parts = module.split(".")
    inside = parts[:2] == ["cerflearn", "estimators"] and len(parts) > 2
    return parts[2] if inside and parts[2] in SUBROOMS else ""


@pytest.mark.parametrize("path", ESTIMATORS, ids=[path.stem for path in ESTIMATORS])
def test_folders_of_estimators_import_along_the_arrows_only(path):
    module = "cerflearn." + ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
    here = subroom_of(module)
    used = {subroom_of(i.module) for i in imports_of(path)} - {""}
    assert used <= SUBROOMS.get(here, set()) | {here}


@pytest.mark.parametrize("path", SOURCES, ids=IDS)
def test_modules_with_an_underscore_are_seen_in_their_room_only(path):
    room = room_of_file(path)
    for found in imports_of(path):
        hidden = [part for part in found.module.split(".")[2:] if part.startswith("_")]
        assert not hidden or found.room == room, found.module


@pytest.mark.parametrize("path", SOURCES, ids=IDS)
def test_packages_are_imported_where_they_belong(path):
    room = room_of_file(path)
    known = sys.stdlib_module_names | {"cerflearn", "numpy"} | PACKAGES.get(room, set())
    assert {i.package for i in imports_of(path) if i.at_top} <= known
    assert not {i.package for i in imports_of(path)} & FORBIDDEN.get(room, set())


@pytest.mark.parametrize("path", SOURCES, ids=IDS)
def test_only_the_native_room_sees_the_extension(path):
    if room_of_file(path) != "_native":
        modules = {i.module for i in imports_of(path)}
        assert not any(module.startswith("cerflearn._native.") for module in modules)
        nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        assert "_core" not in {getattr(n, "attr", getattr(n, "name", None)) for n in nodes}


@pytest.mark.parametrize("path", SOURCES, ids=IDS)
def test_the_package_knows_nothing_of_what_uses_it(path):
    assert not {i.package for i in imports_of(path)} & {*OUTSIDE, "tests", "oracle"}


def test_what_surrounds_the_package_uses_its_public_api():
    # Laws are parameters of the estimators; benchmarks may ask the core for level and peak, and
    # compare with the direct fit of Eq. 5, which is for few rows and behind no estimator. The suite
    # runs the methods of a comparison with parameters and splits that frontier does not take.
    public = {"cerflearn", "cerflearn.blocks", "cerflearn.rivals", "cerflearn.spectral"}
    compared = {f"cerflearn.comparison.{name}" for name in ("dataset", "methods", "runs", "trees")}
    own = {"cerflearn._native", "cerflearn.learning.direct", *compared}
    for folder in OUTSIDE:
        for path in sorted((ROOT / folder).rglob("*.py")):
            allowed = public | (own if folder == "benchmarks" else set())
            ours = {i.module for i in imports_of(path) if i.package == "cerflearn"}
            assert ours <= allowed, path


def test_files_and_functions_stay_small():
    for path in SOURCES:
        text = path.read_text(encoding="utf-8")
        assert len(text.splitlines()) <= 400, path
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef):
                body = node.body[1:] if ast.get_docstring(node) else node.body
                lines = body[-1].end_lineno - body[0].lineno + 1 if body else 0
                assert lines <= 50, f"{path}: {node.name}"


def test_files_that_the_page_names_exist():
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    names = set(re.findall(r"`([\w/]+\.(?:py|h|cpp|md))`", page))
    folders = [ROOT / name for name in ("src", "cpp", "tests", "docs")]
    there = [path.as_posix() for folder in folders for path in folder.rglob("*.*")]
    assert len(names) > 80
    assert not {name for name in names if not any(path.endswith(f"/{name}") for path in there)}


@pytest.mark.parametrize(
    ("source", "module", "at_top"),
    [
        ("import scipy.sparse", "scipy.sparse", True),
        ("from cerflearn import _native", "cerflearn._native", True),
        ("from cerflearn import cost", "cerflearn", True),
        ("def f():\n    import dask", "dask", False),
        ("class A:\n    import dask", "dask", True),
        ("try:\n    import dask\nexcept ImportError:\n    pass", "dask", True),
    ],
)
def test_the_reader_of_imports_reads(tmp_path, source, module, at_top):
    path = tmp_path / "module.py"
    path.write_text(source)
    assert imports_of(path) == [Import(module, at_top)]


def test_imports_for_types_are_no_imports(tmp_path):
    path = tmp_path / "module.py"
    path.write_text("if TYPE_CHECKING:\n    import dask")
    assert imports_of(path) == []

"""Which version of the code made results: a digest of the sources that measure, and the commit.

Results that another version would make are told apart by the digest. It is of the library, its
compiled core, and the modules that an experiment's pieces call, with what these import: a change
of a page's text does not alter it. The commit is for reading.
"""

from __future__ import annotations

import ast
import hashlib
import subprocess
from collections.abc import Iterable
from pathlib import Path

from experiments.pieces import Piece
from experiments.store import versions

ROOT = Path(__file__).resolve().parents[1]
LIBRARY = (
    "src/cerflearn/**/*.py",
    "cpp/*.cpp",
    "cpp/include/**/*",
    "cpp/src/**/*",
    "CMakeLists.txt",
)
SHOWING = ("page", "picture", "summary")
"""Last word of the names of modules that show results and measure nothing."""
DIGITS = 16  # of the digest that are kept
CHANGED = " with uncommitted changes"


def provenance(pieces: Iterable[Piece], root: Path = ROOT) -> dict[str, str]:
    """Return the commit, and the digest of the sources that these pieces are measured by."""
    paths = sources(pieces, root)
    return {"commit": commit(paths, root), "sources": digest(paths, root)}


def sources(pieces: Iterable[Piece], root: Path = ROOT) -> list[Path]:
    """Files of the library and of the modules that measure, sorted."""
    library = [path for pattern in LIBRARY for path in root.glob(pattern) if path.is_file()]
    waiting = [_path_of(piece.function.__module__, root) for piece in pieces]
    found: set[Path] = set()
    while waiting:
        path = waiting.pop()
        if path is None or path in found or path.stem.rsplit("_", 1)[-1] in SHOWING:
            continue
        found.add(path)
        waiting += [_path_of(name, root) for name in _imports(path)]
    return sorted({*library, *found})


def digest(paths: Iterable[Path], root: Path = ROOT) -> str:
    """Return a digest of the names and contents of files."""
    total = hashlib.sha256()
    for path in paths:
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        total.update(f"{path.relative_to(root).as_posix()} {content}\n".encode())
    return total.hexdigest()[:DIGITS]


def commit(paths: Iterable[Path], root: Path = ROOT) -> str:
    """Return the commit that is checked out, and whether the files differ from it."""
    head = _git(root, "rev-parse", "--short=12", "HEAD")
    if not head:
        return "unknown"
    names = [path.relative_to(root).as_posix() for path in paths]
    return head + (CHANGED if _git(root, "status", "--porcelain", "--", *names) else "")


def made_by(*files: str, root: Path = ROOT) -> dict[str, str]:
    """Return versions, machine and commit of what was measured: the library and more files."""
    paths = [root / name for name in ("src", "cpp", *files)]
    return versions() | {"commit": commit(paths, root)}


def _git(root: Path, *arguments: str) -> str:
    """Return what git says; nothing without git or a repository."""
    command = ["git", "-C", str(root), *arguments]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def _path_of(module: str, root: Path) -> Path | None:
    """File of a module of ours; None of others and of packages."""
    path = root.joinpath(*module.split(".")).with_suffix(".py")
    return path if module.startswith("experiments.") and path.exists() else None


def _imports(path: Path) -> list[str]:
    """Names of all modules, or members of packages, that a file imports."""
    names = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return names

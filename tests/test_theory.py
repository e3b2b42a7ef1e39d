"""The page on theory names tests that exist, and its example prints what it shows."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "theory.md").read_text()


def functions_of(path):
    tree = ast.parse((ROOT / path).read_text())
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_every_test_named_on_the_page_exists():
    named = set(re.findall(r"(tests/[\w/]+\.py)::(test_\w+)", PAGE))
    assert len(named) > 50
    missing = [f"{path}::{name}" for path, name in named if name not in functions_of(path)]
    assert not missing


def test_examples_run():
    for block in re.findall(r"```python\n(.*?)```", PAGE, re.S):
        exec(compile(block, "theory.md", "exec"), {})

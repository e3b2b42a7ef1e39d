"""The page on theory names tests that exist, and its examples give the figures that it shows."""

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


EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def test_examples_hold_and_each_ends_with_a_comparison():
    assert EXAMPLES
    for block in EXAMPLES:
        last = ast.parse(block).body[-1]
        assert isinstance(last, ast.Assert)
        assert isinstance(last.test, ast.Compare)
        exec(compile(block, "theory.md", "exec"), {})


def test_the_table_below_the_example_has_its_figures():
    (example,) = (block for block in EXAMPLES if "fit_cvem" in block)
    names: dict = {}
    exec(compile(example, "theory.md", "exec"), names)
    header = PAGE.index("| `normalize` | $E[\\pi]$")
    rows = [line.split("|")[1:4] for line in PAGE[header:].split("\n\n")[0].splitlines()[2:]]
    shown = {
        ast.literal_eval(name.split("`")[1]): [float(cell.strip(" *")) for cell in cells]
        for name, *cells in rows
    }
    assert shown == names["found"]

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


def test_the_example_prints_the_numbers_of_the_table_below_it(capsys):
    (example,) = re.findall(r"```python\n(.*?)```\n\n((?:\|[^\n]*\n)+)", PAGE, re.S)
    code, table = example
    exec(compile(code, "theory.md", "exec"), {})
    printed = capsys.readouterr().out.splitlines()
    wanted = [line.split("|")[1:4] for line in table.splitlines()[2:]]
    assert len(printed) == len(wanted) == 3
    for line, (normalize, *values) in zip(printed, wanted, strict=True):
        assert line.split()[0] in normalize
        assert [float(text.strip(" *")) for text in values] == [
            float(text) for text in re.findall(r"\d*\.\d*", line)
        ]

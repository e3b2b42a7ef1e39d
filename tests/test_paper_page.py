"""The page on the paper names files, tests, calls and figures that exist, and all equations."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from pathlib import Path

import pytest

import cerflearn
from cerflearn._validation import check_effects, check_parameters

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "paper.md").read_text()
LAST_EQUATION = 36
HEADER = "| paper | it says | code | test | measured | differs |"

CODE = sorted(set(re.findall(r"`([^`]+)`", PAGE)))
LINKS = re.findall(r"\[([^]]+)\]\(([^)]+)\)", PAGE)
FIGURES = re.findall(r'"([^"]+)"(?: and "([^"]+)")?[^|"\[]*\(\[[^]]+\]\(([^)#]+)[^)]*\)\)', PAGE)


def is_path(text):
    return "/" in text and "(" not in text


def rows():
    """Cells of all tables of equations, claims and methods."""
    found, inside = [], False
    for line in PAGE.splitlines():
        if line == HEADER:
            inside = True
        elif not line.startswith("|"):
            inside = False
        elif inside and not line.startswith("|---"):
            found.append([cell.strip() for cell in line.split("|")[1:-1]])
    return found


def call_of(text):
    """Object that a public call names, and the keywords it is given."""
    name, _, arguments = text.partition("(")
    keywords = {}
    if arguments:
        given = ast.parse(text, mode="eval").body.keywords
        keywords = {word.arg: ast.literal_eval(word.value) for word in given}
    if not name.startswith("cerflearn."):
        return attribute(cerflearn, name), keywords
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        try:
            module = importlib.import_module(".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        return attribute(module, ".".join(parts[end:])), keywords
    raise AssertionError(text)


def attribute(found, dotted):
    for part in filter(None, dotted.split(".")):
        found = getattr(found, part)
    return found


def functions_of(path):
    tree = ast.parse(path.read_text())
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("path", [text for text in CODE if is_path(text)])
def test_every_file_exists(path):
    assert (ROOT / path).exists() or (ROOT / "src" / "cerflearn" / path).exists()


@pytest.mark.parametrize("text", [text for text in CODE if not is_path(text)])
def test_every_call_is_public_and_has_its_parameters(text):
    called, keywords = call_of(text)
    if not keywords:
        return
    parameters = inspect.signature(called).parameters
    open_ended = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    if open_ended:  # a setting of the paper: keywords go to the class or to the selector
        parameters = {
            **parameters,
            **inspect.signature(called.__self__).parameters,
            **inspect.signature(cerflearn.CVEM).parameters,
        }
    assert set(keywords) <= set(parameters)
    made = called(**keywords)
    check_parameters(made, made._constraints)
    check_effects(made, made._without_effect)


@pytest.mark.parametrize(("words", "target"), LINKS)
def test_every_link_leads_somewhere_and_every_test_exists(words, target):
    path = (ROOT / "docs" / target.partition("#")[0]).resolve()
    assert path.exists()
    if path.name.startswith("test_"):
        assert "test_" + re.sub(r"\W+", "_", words) in functions_of(path)


@pytest.mark.parametrize(("first", "second", "target"), FIGURES)
def test_figures_stand_on_the_page_that_is_named(first, second, target):
    page = " ".join((ROOT / "docs" / target).read_text().replace("*", "").split())
    for figure in filter(None, (first, second)):
        assert figure in page


def test_figures_are_found():
    assert len(FIGURES) > 20


def test_every_equation_has_a_row():
    found: set[int] = set()
    for first, *_ in rows():
        if "Eq" in first:
            found |= {int(number) for number in re.findall(r"\d+", first.partition("Eq")[2])}
    assert found == set(range(1, LAST_EQUATION + 1))


@pytest.mark.parametrize(
    "name",
    [
        *(f"Def. {number}" for number in (1, 2, 4)),
        *(f"Prop. {number}" for number in (3, 5)),
        *(f"Table {number}" for number in (1, 2, 3, 4, 5)),
        *(f"Figure {number}" for number in (1, 2, 3)),
    ],
)
def test_definitions_tables_and_figures_have_rows(name):
    assert any(first.startswith(name) for first, *_ in rows())


@pytest.mark.parametrize("row", rows(), ids=lambda row: f"{row[0]}: {row[1][:40]}")
def test_what_is_in_the_code_is_reached_by_a_call_and_has_a_test(row):
    paper, says, code, test, *_ = row
    assert len(row) == 6
    assert paper
    assert says
    if code.startswith("none"):
        return
    calls = [text for text in re.findall(r"`([^`]+)`", code) if not is_path(text)]
    assert calls
    assert test

"""What carries the experiments: pieces, their store, verdicts, the page's Markdown."""

from __future__ import annotations

import json
import math
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments import classification, markdown, table4
from experiments.pieces import Piece
from experiments.provenance import CHANGED, digest, provenance, sources
from experiments.runner import run
from experiments.store import OTHERS, ROOT, OtherResultsError, Store, plain
from experiments.verdicts import count, is_above, mean, paired, verdict

# --- pieces, runner, store ---------------------------------------------------------------------


def double(number, given=None):
    if number < 0:
        raise RuntimeError("no negative numbers")
    return {"twice": 2 * number + (given or {}).get("twice", 0)}


def run_quietly(pieces, store, **options):
    said = []
    return run(pieces, store, say=said.append, **options), "\n".join(said)


def test_a_piece_waits_for_the_one_that_it_needs(tmp_path):
    pieces = [
        Piece(("late",), double, {"number": 1}, needs=("first", "of two")),
        Piece(("first", "of two"), double, {"number": 10}),
    ]
    for jobs in (1, 2):
        store = Store(tmp_path / f"{jobs}.json", {"size": "tiny"})
        complete, _ = run_quietly(pieces, store, jobs=jobs)
        assert complete
        results = json.loads(store.path.read_text())["results"]
        assert results == {"first": {"of two": {"twice": 20}}, "late": {"twice": 22}}


def test_a_piece_that_fails_is_reported_and_stops_no_other(tmp_path):
    pieces = [
        Piece(("bad",), double, {"number": -1}),
        Piece(("needs bad",), double, {"number": 1}, needs=("bad",)),
        Piece(("good",), double, {"number": 1}),
    ]
    store = Store(tmp_path / "x.json", {})
    complete, said = run_quietly(pieces, store)
    assert not complete
    assert "no negative numbers" in said
    assert store.results == {"good": {"twice": 2}}


def test_no_piece_is_started_after_the_deadline(tmp_path):
    store = Store(tmp_path / "x.json", {})
    pieces = [Piece(("a",), double, {"number": 1})]
    assert not run_quietly(pieces, store, deadline=time.monotonic() - 1.0)[0]
    assert store.results == {}
    assert run_quietly(pieces, store)[0]


def test_what_is_there_is_not_run_again(tmp_path):
    store = Store(tmp_path / "x.json", {"size": "tiny"})
    store.put(("a",), {"twice": "kept"}, 1.0)
    again = Store(store.path, {"size": "tiny"})
    assert run_quietly([Piece(("a",), double, {"number": 1})], again)[0]
    assert again.get(("a",)) == {"twice": "kept"}


def test_results_of_another_configuration_are_refused(tmp_path):
    store = Store(tmp_path / "x.json", {"size": "tiny", "seeds": 1})
    store.put(("a",), {"value": 1}, 1.0)
    with pytest.raises(OtherResultsError, match=r"seeds differ.*--again"):
        Store(store.path, {"size": "tiny", "seeds": 2})
    assert Store(store.path).get(("a",)) == {"value": 1}


def test_a_write_that_is_cut_short_leaves_the_old_file(tmp_path, monkeypatch):
    store = Store(tmp_path / "x.json", {})
    store.put(("a",), {"value": 1}, 1.0)
    monkeypatch.setattr(Path, "replace", lambda *_: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        store.put(("b",), {"value": 2}, 1.0)
    assert json.loads(store.path.read_text())["results"] == {"a": {"value": 1}}


def test_results_are_plain_json_with_six_digits():
    found = plain({1: np.float32(0.1), "b": np.arange(2), "c": (np.bool_(True), math.nan, 2 / 3)})
    assert found == {"1": 0.1, "b": [0, 1], "c": [True, None, 0.666667]}


# --- which version of the code made results ----------------------------------------------------


def piece_of(function):
    return Piece(("a",), function, {})


def test_sources_are_the_library_and_what_measures_and_no_page():
    found = {p.relative_to(ROOT).as_posix() for p in sources([piece_of(classification.measure)])}
    assert {"experiments/classification.py", "experiments/methods.py"} <= found
    assert {"src/cerflearn/learning/cvem.py", "CMakeLists.txt", "cpp/bindings.cpp"} <= found
    assert not any(name.startswith("experiments/table") for name in found)
    found = {p.name for p in sources([piece_of(table4.measure)])}
    assert {"table4.py", "tuned.py", "heads.py", "datasets.py"} <= found
    assert not {"table4_page.py", "classification.py", "store.py"} & found


def test_the_digest_sees_names_and_contents(tmp_path):
    first, second = (tmp_path / name for name in ("a.py", "b.py"))
    for path in (first, second):
        path.write_text("x = 1\n")
    before = digest([first, second], tmp_path)
    assert digest([first], tmp_path) != before
    assert digest([first, first], tmp_path) != before
    second.write_text("x = 2\n")
    assert digest([first, second], tmp_path) != before
    second.write_text("x = 1\n")
    assert digest([first, second], tmp_path) == before


def test_the_commit_tells_whether_what_measures_has_changed(tmp_path):
    def git(*arguments):
        name = ["-c", "user.name=a", "-c", "user.email=a@b"]
        command = ["git", "-C", str(tmp_path), *name, *arguments]
        subprocess.run(command, check=True, capture_output=True)

    piece = [piece_of(classification.measure)]
    (tmp_path / "experiments").mkdir()
    measuring, page = (
        tmp_path / "experiments" / f"{name}.py" for name in ("classification", "table3_page")
    )
    for path in (measuring, page):
        path.write_text("x = 1\n")
    assert provenance(piece, tmp_path)["commit"] == "unknown"
    git("init", "-q")
    git("add", "-A")
    git("commit", "-qm", "first")
    page.write_text("x = 2\n")
    before = provenance(piece, tmp_path)
    assert len(before["commit"]) == 12
    measuring.write_text("x = 2\n")
    after = provenance(piece, tmp_path)
    assert after["commit"] == before["commit"] + CHANGED
    assert after["sources"] != before["sources"]


def test_results_of_another_version_of_the_code_are_refused(tmp_path):
    here, later = ({"commit": name, "sources": 16 * name} for name in ("a", "b"))
    store = Store(tmp_path / "x.json", {"seeds": 1}, here)
    store.put(("a",), {"value": 1}, 1.0)
    assert Store(store.path, {"seeds": 1}, here).get(("a",)) == {"value": 1}
    assert Store(store.path).content["versions"]["sources"] == 16 * "a"
    with pytest.raises(OtherResultsError, match=r"another version.*commit a.*commit b.*--again"):
        Store(store.path, {"seeds": 1}, later)
    kept = Store(store.path, {"seeds": 1}, later, keep=True)
    kept.put(("b",), {"value": 2}, 1.0)
    versions = json.loads(store.path.read_text())["versions"]
    assert (versions["sources"], versions[OTHERS]) == (16 * "b", 16 * "a")
    kept.put(("c",), {"value": 2}, 1.0)
    assert kept.content["versions"][OTHERS] == 16 * "a"


def test_results_that_name_no_version_are_refused(tmp_path):
    store = Store(tmp_path / "x.json", {})
    store.put(("a",), {"value": 1}, 1.0)
    with pytest.raises(OtherResultsError, match="sources not named"):
        Store(store.path, {}, {"commit": "a", "sources": "b"})


# --- verdicts ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ours", "error", "better", "expected"),
    [
        (61.9, 0.1, "higher", "reproduced"),
        (62.1, 0.1, "higher", "better"),
        (57.9, 0.1, "higher", "worse"),
        (57.9, 0.1, "lower", "better"),
        (62.1, 0.1, "lower", "worse"),
        (57.0, 3.5, "higher", "reproduced"),
        (57.0, math.nan, "higher", "worse"),
    ],
)
def test_a_verdict_allows_the_tolerance_or_one_standard_error(ours, error, better, expected):
    assert verdict(ours, error, 60.0, better=better, tolerance=2.0) == expected


def test_what_cannot_be_judged_says_why():
    assert verdict(1.0, 0.1, None, tolerance=1.0).startswith("not compared: the paper")
    text = verdict(1.0, 0.1, 1.0, tolerance=1.0, reason="other data")
    assert text == "not compared: other data"
    assert count([text, "better", "better"]) == {
        "reproduced": 0,
        "better": 2,
        "worse": 0,
        "not compared": 1,
    }


@given(st.lists(st.floats(-100, 100), min_size=2, max_size=8), st.floats(-100, 100))
def test_a_paired_difference_does_not_see_what_both_share(values, shift):
    gain = paired(np.array(values) + shift, values)
    assert gain.value == pytest.approx(shift, abs=1e-9)
    assert gain.error == pytest.approx(0.0, abs=1e-9)


def test_standard_errors_have_one_degree_of_freedom_less():
    found = mean([1.0, 2.0, 3.0, 6.0])
    assert found.error == pytest.approx(math.sqrt(14.0 / 3.0 / 4.0))
    assert math.isnan(mean([1.0]).error)
    assert is_above(mean([-1.0, 0.9]), errors=1.0)
    assert not is_above(mean([-1.0, 0.9]))
    assert not is_above(mean([-1.0]), errors=1.0)


# --- page ----------------------------------------------------------------------------------------


def test_markdown_becomes_safe_html():
    text = "# A & B\n\n## [C d](e.md)\n\n"
    text += "- **x** < `<b>`\n- [y](z.md)\n\n| a | b |\n| --- | --- |\n| 1 | <i> |\n\n"
    text += "```\nx\n\n<y>\n```\n\n![c](p.svg)\n"
    assert markdown.to_html(text, lambda address: f"[{address}]") == (
        '<h1 id="a--b">A &amp; B</h1>\n<h2 id="c-d"><a href="e.md">C d</a></h2>\n'
        "<ul><li><strong>x</strong> &lt; <code>&lt;b&gt;</code></li>"
        '<li><a href="z.md">y</a></li></ul>\n'
        "<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>&lt;i&gt;</td></tr></table>\n"
        "<pre>x\n\n&lt;y&gt;</pre>\n"
        "<figure>[p.svg]<figcaption>c</figcaption></figure>"
    )

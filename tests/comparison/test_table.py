"""What ``frontier`` returns: rows, a table to read, a data frame, a picture."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from cerflearn.comparison.table import Frontier


def row(method, budget, score, macs=None, error=0.01, note=""):
    left_out = score is None
    return {
        "method": method,
        "budget": budget,
        "macs": None if left_out else macs or budget,
        "score": score,
        "error": None if left_out else error,
        "scores": None if left_out else [score],
        "microseconds": None if left_out else 0.001 * (macs or budget),
        "fit_seconds": None if left_out else 1.5,
        "size": None if left_out else 12,
        "n_bytes": None if left_out else 400,
        "note": note,
    }


@pytest.fixture
def found():
    rows = [
        row("linear", 100, None, note="a linear model costs 150 MACs"),
        row("linear", 200, 0.9, macs=150),
        row("cerf", 100, 0.8),
        row("cerf", 200, 0.95, macs=190),
        row("rff", 100, 0.5, macs=99),
        row("rff", 200, 0.95),
    ]
    return Frontier(rows, "accuracy", "some data")


def test_best_is_the_most_accurate_that_is_paid_for(found):
    assert found.best(100)["score"] == 0.8
    assert found.best(150)["method"] == "linear"
    assert found.best(10_000)["macs"] == 190  # the cheaper of two equals
    with pytest.raises(
        ValueError, match="macs=50 is too small for any model: the cheapest costs 99"
    ):
        found.best(50)
    with pytest.raises(ValueError, match="macs='a' is not valid"):
        found.best("a")
    with pytest.raises(ValueError, match="no model was fitted"):
        Frontier(found.rows[:1], "accuracy").best(100)


def test_table_shows_every_row_the_best_of_a_budget_first(found):
    lines = [line for line in str(found).splitlines() if line]
    assert lines[0] == "some data"
    assert lines[1].split() == [
        "budget",
        "method",
        "MACs",
        "accuracy",
        "%",
        "us/row",
        "fit",
        "s",
        "size",
    ]
    assert [tuple(line.split()[:2]) for line in lines[2:]] == [
        ("100", "cerf"), ("100", "rff"), ("100", "linear"),
        ("200", "cerf"), ("200", "rff"), ("200", "linear"),
    ]  # fmt: skip
    assert lines[2].split()[2:] == ["100", "80.00", "±", "1.00", "0.100", "1.5", "12"]
    assert lines[4].endswith("left out: a linear model costs 150 MACs")


def test_large_numbers_widen_their_column():
    rows = [row("rff", 10**12, 0.5, macs=10**11), row("cerf", 10**12, None, note="x")]
    header, _, first, second = str(Frontier(rows, "R2")).splitlines()
    assert header.index("method") == first.index("rff") == second.index("cerf")
    assert header.index("MACs") + 4 == first.index("100,000,000,000") + 15
    assert header.index("size") + 4 == len(first)


def test_one_seed_has_no_standard_error():
    text = str(Frontier([row("rff", 10, 0.5, error=float("nan"))], "R2"))
    assert "±" not in text
    assert "0.5000" in text


def test_rows_become_a_data_frame(found):
    frame = found.to_pandas()
    assert list(frame["method"]) == [r["method"] for r in found.rows]
    assert frame["macs"].max() == 200
    assert frame["score"].isna().sum() == 1


@pytest.mark.parametrize(
    ("package", "call", "extra"),
    [("pandas", "to_pandas", "data"), ("matplotlib.figure", "plot", "report")],
)
def test_missing_packages_are_named_with_their_extra(found, monkeypatch, package, call, extra):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=rf"cerflearn\[{extra}\]"):
        getattr(found, call)()


@pytest.mark.parametrize("against", ["macs", "time"])
def test_picture_has_a_line_for_each_method(found, against, tmp_path):
    path = tmp_path / "frontier.png"
    axes = found.plot(path, against=against)
    assert path.read_bytes().startswith(b"\x89PNG")
    lines = {c.get_label(): c.lines[0].get_xydata() for c in axes.containers}
    assert set(lines) == {"linear", "cerf", "rff"}
    unit = 1.0 if against == "macs" else 0.001
    np.testing.assert_allclose(lines["cerf"], [[100 * unit, 20.0], [190 * unit, 5.0]])
    np.testing.assert_allclose(lines["linear"], [[150 * unit, 10.0]])
    marks = [text.get_text() for text in axes.get_yticklabels()]
    places = axes.get_yticks()
    assert all(100.0 - place == float(mark) for place, mark in zip(places, marks, strict=True))


@pytest.mark.parametrize("scores", [(1.0, 0.9), (1.0, 1.0), (0.0, 0.5), (None, None)])
def test_every_point_is_inside_the_picture(scores):
    axes = Frontier(
        [row("rff", 9 + i, s, note="x") for i, s in enumerate(scores)], "accuracy"
    ).plot()
    axes.figure.canvas.draw()
    (left, right), (bottom, top) = axes.get_xlim(), sorted(axes.get_ylim())
    for container in axes.containers:
        for x, y in container.lines[0].get_xydata():
            assert left < x < right
            assert bottom < y < top


def test_accuracies_that_are_nearly_equal_are_marked():
    axes = Frontier([row("rff", 9, 0.9621), row("mlp", 9, 0.9643)], "accuracy").plot()
    assert [text.get_text() for text in axes.get_yticklabels()] == ["96.21", "96.43"]


def test_picture_goes_where_it_is_told(found):
    from matplotlib.figure import Figure

    panels = Figure().subplots(1, 2)
    assert found.plot(ax=panels[1]) is panels[1]
    assert not panels[0].containers


def test_regression_is_drawn_as_explained_share(found):
    axes = Frontier(found.rows, "R2").plot()
    assert "R²" in axes.get_ylabel()
    assert axes.containers[1].lines[0].get_ydata().max() == 0.95


def test_picture_refuses_another_axis(found):
    with pytest.raises(ValueError, match="against='bytes' is not valid"):
        found.plot(against="bytes")


def test_it_shows_as_its_table_at_the_prompt_too(found):
    assert repr(found) == str(found)


def test_a_limited_model_says_so_in_its_line(found):
    found.rows[2]["note"] = "limited to 12 features for 10 training rows"
    (line,) = (line for line in repr(found).splitlines() if "limited" in line)
    assert line.split()[:3] == ["100", "cerf", "100"]
    assert line.endswith("  limited to 12 features for 10 training rows")


def test_notebooks_show_a_table_with_every_row_escaped(found):
    found.rows[0]["note"] = "failed with ValueError: <b> & 'c'"
    html = Frontier(found.rows, "accuracy", "a < b")._repr_html_()
    assert html.startswith("<table>")
    assert html.endswith("</table>")
    assert "<caption>a &lt; b</caption>" in html
    assert "failed with ValueError: &lt;b&gt; &amp; &#x27;c&#x27;" in html
    assert html.count("<tr>") == html.count("</tr>") == 1 + len(found.rows)
    assert html.count("<td ") == 8 * len(found.rows)
    assert html.index(">cerf<") < html.index(">rff<") < html.index(">linear<")


def test_methods_without_a_model_are_named_in_the_picture(found):
    rows = [*found.rows, row("mlp", 100, None, note="failed with ValueError: x")]
    axes = Frontier(rows, "accuracy").plot()
    names = [text.get_text() for text in axes.get_legend().get_texts()]
    assert sorted(names) == ["cerf", "linear", "mlp (no model)", "rff"]

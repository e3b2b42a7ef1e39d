"""The protocol of section 4.1: its errors, its rules, a tiny run, and the pages."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest


@pytest.fixture
def protocol(load, monkeypatch):
    """The protocol on made-up data, with four blocks of candidates."""
    protocol = load("experiments.blocked_protocol")
    data = np.random.default_rng(0).normal(size=(150, 20)), np.zeros(150, dtype=np.int64)
    monkeypatch.setattr(protocol, "read", lambda *_: data)
    monkeypatch.setattr(protocol, "N_CANDIDATES", 64)
    protocol.problem_of.cache_clear()
    protocol.reduced.cache_clear()
    yield protocol
    protocol.problem_of.cache_clear()
    protocol.reduced.cache_clear()


def test_the_pages_show_what_was_measured(call):
    assert call("blocked", "--check") == ""


def test_settings_are_those_that_the_rules_choose_on_satimage(load):
    blocked, rules = load("blocked"), load("_blocked_rules")
    results = blocked.json.loads(blocked.RESULTS.read_text())
    for stage in ("searched", "learned", "variants", "others"):
        assert {r["row"]["data"] for r in results[stage]} == {"satimage"}
    assert results["chosen"] == rules.choices(results)
    assert {r["row"]["data"] for r in results["cells"]} == {"raw", "hog"}


def test_every_stage_names_the_version_that_it_was_measured_with(load):
    blocked, tasks = load("blocked"), load("_blocked_tasks")
    results = blocked.json.loads(blocked.RESULTS.read_text())
    assert {*results["commits"]} == {*tasks.STAGES, "shares"}
    assert all(results["commits"].values())
    assert results["versions"]["commit"]


def test_errors_are_mean_differences_of_gram_matrices_of_held_out_rows(protocol):
    problem = protocol.problem_of(protocol.TABLE[0], protocol.Reading(2.0), 0, 60, 30)
    side = protocol.Side("cerf", "center", spread=0.5)
    found = problem.errors(side, 0.4, "equal")
    again = side.estimator(
        problem.law, 26, 0, teacher=problem.teacher, weights="equal", random_state=1000
    ).fit(problem.X)
    assert found["columns"] == 26
    assert found["macs"] == again.n_macs_
    learner = np.cos(problem.X_test @ again.frequencies_ + again.offsets_) * np.sqrt(2 / 26)
    dense = problem.teacher.estimator
    teacher = np.cos(problem.X_test @ dense.frequencies_ + dense.offsets_) * np.sqrt(2 / 64)
    gaps = np.subtract.outer(problem.X_test, problem.X_test).diagonal(axis1=1, axis2=3)
    scale = 2.0 * problem.law.scale
    exact = np.prod(1.0 / np.sqrt(1.0 + np.square(scale * gaps)), axis=2)
    for name, truth in (("teacher", teacher @ teacher.T), ("exact", exact)):
        expected = 1e3 * np.abs(learner @ learner.T - truth).mean()
        assert found["errors"]["equal"][name] == pytest.approx(expected, abs=0.006)  # rounded


def test_test_rows_are_not_training_rows(protocol):
    problem = protocol.problem_of(protocol.TABLE[0], protocol.Reading(1.0), 3, 120, 30)
    assert problem.X.shape == (120, 16)
    assert problem.X_test.shape == (30, 16)
    distances = np.abs(problem.X[:, None] - problem.X_test[None]).max(axis=2)
    assert distances.min() > 1e-6


def test_one_factor_brings_the_training_gram_matrix_nearest(protocol):
    problem = protocol.problem_of(protocol.TABLE[0], protocol.Reading(1.0), 0, 60, 60)
    problem.X_test = problem.X  # judged where the factor is fitted
    found = problem.errors(protocol.Side("fastfood", selector="random"), 0.2, "equal")
    assert found["errors"]["scaled"]["teacher"] < found["errors"]["equal"]["teacher"]


def test_a_parameter_means_what_its_reading_says(protocol):
    X = np.random.default_rng(1).normal(size=(50, 16))
    small, large, cauchy = protocol.TABLE[0], protocol.TABLE[1], protocol.TABLE[2]
    distances = [np.linalg.norm(a - b) for i, a in enumerate(X) for b in X[:i]]
    median, printed, gamma = (protocol.Reading(3.0, 0.5, m) for m in ("median", "scale", "gamma"))
    assert small.scale(X, median) == pytest.approx(0.5 / np.median(distances))
    assert large.scale(X, median) == pytest.approx(1 / np.median(distances))
    city = [np.abs(a - b).sum() for i, a in enumerate(X) for b in X[:i]]
    assert cauchy.scale(X, median) == pytest.approx(0.5 / np.median(city))
    assert small.scale(X, printed) == 2.5e-5
    assert small.scale(X, gamma) == pytest.approx(np.sqrt(5e-5))


def test_rivals_cost_no_more_than_the_blocks(protocol):
    problem = protocol.problem_of(protocol.TABLE[2], protocol.Reading(1.0), 0, 60, 30)
    costs = {}
    for kind in ("cerf", "fastfood", "dense"):
        side = protocol.Side(kind, selector="random")
        costs[kind] = problem.errors(side, 0.25, "equal")["macs"]
    assert costs == {"cerf": 192, "fastfood": 176, "dense": 192}


def record(kind, errors, **side):
    """Record of a side with one seed: errors by weights of one cell."""
    cell = {"fraction": 0.4, "errors": {w: {"teacher": [e]} for w, e in errors.items()}}
    row = {"data": "satimage", "law": "Gauss", "parameter": 1.0}
    side = {"kind": kind, "factor": 1.0, "spread": 1.0, "scale_spread": 0.0, **side}
    return {"row": row, "side": side, "cells": [cell]}


def searched_record(rules, p1, parameter, p2_scale, place, times):
    """Record with the errors that the paper prints for digits-raw at a unit of .5, times a factor.

    ``place``: 0 for CERF, 1 for RFF. The paper's smaller parameter is .5 here, its larger 1, and a
    parameter of 2, beyond them, has the larger one's errors.
    """
    small, large = (rules.PAPER[key] for key in rules.PAPER if key[:2] == ("raw", p1))
    printed = small if parameter == 0.5 else large
    cells = [
        {"fraction": f, "errors": {"equal": {"teacher": [times * errors[place]]}}}
        for f, errors in zip((0.4, 0.2), printed, strict=True)
    ]
    side = {"kind": ("cerf", "fastfood")[place], "factor": 1.0}
    row = {"data": "satimage", "law": p1, "parameter": parameter}
    return {"row": row, "side": side, "reading": {"p2_scale": p2_scale}, "cells": cells}


def test_the_reading_nearest_to_the_papers_table_is_chosen(load):
    rules = load("_blocked_rules")
    # At scale 2 as printed times 7; at scale 1 RFF is too low beside CERF.
    searched = [
        searched_record(rules, p1, parameter, p2_scale, place, factors[place])
        for p2_scale, factors in ((1.0, (7.0, 3.5)), (2.0, (7.0, 7.0)))
        for p1 in ("Gauss", "Cauchy")
        for parameter in (0.5, 1.0, 2.0)
        for place in (0, 1)
    ]
    assert rules.searched_readings(searched) == [(0.5, 1.0), (0.5, 2.0), (1.0, 1.0), (1.0, 2.0)]
    assert rules.distance_to_paper(searched, 0.5, 2.0) == pytest.approx(0.0, abs=1e-12)
    assert rules.distance_to_paper(searched, 0.5, 1.0) == pytest.approx(np.log(2) / 2)
    assert rules.choose_reading(searched) == {"p2_scale": 2.0, "unit": 0.5, "meaning": "median"}


def test_the_gap_between_methods_can_be_left_out_of_the_distance(load):
    rules = load("_blocked_rules")
    # At scale 1 RFF is half as high beside CERF as printed, at scale 2 Cauchy is twice too high.
    searched = [
        searched_record(rules, p1, parameter, p2_scale, place, factor)
        for p1 in ("Gauss", "Cauchy")
        for parameter in (0.5, 1.0, 2.0)
        for place in (0, 1)
        for p2_scale, factor in (
            (1.0, (4.0, 1.0)[place]),
            (2.0, {"Gauss": 1.0, "Cauchy": 2.0}[p1]),
        )
    ]
    distances = [
        rules.distance_to_paper(searched, 0.5, p2_scale, with_gap=with_gap)
        for p2_scale in (1.0, 2.0)
        for with_gap in (True, False)
    ]
    np.testing.assert_allclose(distances, np.log(2) * np.array([1.0, 0.0, 0.5, 0.5]), atol=1e-12)
    assert rules.choose_reading(searched)["p2_scale"] == 2.0
    assert rules.choose_reading(searched, with_gap=False)["p2_scale"] == 1.0


def test_every_side_gets_the_setting_with_its_own_least_error(load):
    rules = load("_blocked_rules")
    learned = [
        record("cerf", {"equal": 3, "nnls": 1}, spread=1.0),
        record("cerf", {"equal": 2, "nnls": 2}, spread=2.0),
        record("fastfood", {"equal": 9, "nnls": 9}),
        record("fastfood", {"equal": 1, "nnls": 1}, factor=2.0),
        record("dense", {"equal": 5, "nnls": 5}),
    ]
    cauchy = [
        {**r, "row": {**r["row"], "law": "Cauchy"}} for r in learned if r["side"]["spread"] == 1.0
    ]
    by_law = {law: rules.of_law(learned + cauchy, law) for law in ("Gauss", "Cauchy")}
    sides = rules.best_sides(by_law["Cauchy"])
    assert sides["equal"]["cerf"]["spread"] == 1.0  # laws are apart
    sides = rules.best_sides(by_law["Gauss"])
    assert [sides[w]["cerf"]["spread"] for w in ("equal", "nnls")] == [2.0, 1.0]
    assert sides["equal"]["fastfood"]["factor"] == 1.0
    assert sides["equal"]["rescaled"]["factor"] == 2.0


def test_a_tiny_run_goes_on_where_it_stopped_and_makes_pages(protocol, load, monkeypatch):
    blocked, tables, tasks = (load(n) for n in ("blocked", "_blocked_tables", "_blocked_tasks"))
    rows = [protocol.TABLE[0], protocol.TABLE[6]]
    for name in (protocol, tasks):
        monkeypatch.setattr(name, "TABLE", rows)
    monkeypatch.setattr(tables, "CELLS", [(rows[0], f) for f in protocol.FRACTIONS])
    saved = []
    results = {}
    assert not blocked.measure(tasks.QUICK, results, -np.inf, saved.append)
    assert saved == []
    assert blocked.measure(tasks.QUICK, results, np.inf, saved.append)
    n_tasks = len(saved)
    assert n_tasks == 1 + sum(len(results[s]) for s in tasks.STAGES)  # one for what is shared
    assert blocked.measure(tasks.QUICK, results, np.inf, saved.append)
    assert len(saved) == n_tasks
    pages = blocked.pages(results)
    assert not any("nan" in text for text in pages.values())
    table2 = tables.Table2(results, results["chosen"]["reading"])
    for truth, name in (("exact", "blocked_tables.md"), ("teacher", "blocked.md")):
        mean = table2.errors("cerf", tables.CELLS[0], "nnls", truth).mean()
        assert f"{mean:.1f} ±" in pages[name]
    assert dataclasses.asdict(rows[0]) in [r["row"] for r in results["cells"]]


@pytest.mark.parametrize("selector", ["cvem", "shared", "greedy"])
@pytest.mark.parametrize("normalize", ["standardize", "center", None])
def test_every_normalisation_fits_every_selector(protocol, selector, normalize):
    problem = protocol.problem_of(protocol.TABLE[0], protocol.Reading(2.0), 0, 60, 30)
    side = protocol.Side("cerf", normalize, selector=selector)
    assert problem.errors(side, 0.4, "equal")["errors"]["equal"]["teacher"] > 0.0

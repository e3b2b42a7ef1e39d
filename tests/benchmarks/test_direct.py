"""The benchmark of Eq. 5: its measures, and a run on few rows."""

from __future__ import annotations

import json

import numpy as np
import pytest


@pytest.fixture(name="module")
def fixture_module(load):
    return load("direct")


def test_measures_are_those_of_their_names(module):
    rng = np.random.default_rng(0)
    features, kernel = rng.normal(size=(5, 3)), np.eye(5)
    pairs = [(i, j) for i in range(5) for j in range(5) if i != j]
    mean = np.mean([(features[i] @ features[j]) ** 2 for i, j in pairs])
    np.testing.assert_allclose(module.kernel_error(features, kernel), np.sqrt(mean))
    middle = features - features.mean(axis=0)
    np.testing.assert_allclose(module.centred(features @ features.T), middle @ middle.T, atol=1e-14)
    other = 9.0 * features @ features.T
    np.testing.assert_allclose(module.best_scale(features, other), 3.0)


def test_all_methods_choose_from_the_same_candidates(call, module, monkeypatch):
    for name, value in {"N_CANDIDATES": 20, "N_COMPONENTS": 8, "N_ROWS": 60, "STARTS": 2}.items():
        monkeypatch.setattr(module, name, value)
    shown = call("direct", "--tiny")
    assert "| digits | " in shown
    header = shown.splitlines()[-len(module.MEASURES) * len(module.SHOWN) - 2]
    assert header.count("|") == len(module.METHODS) + 2
    for kind in module.SHOWN.values():
        for measure in module.MEASURES.values():
            assert f"| {kind}, {measure} | " in shown


def test_published_results_are_whole_and_name_their_commit(module):
    results = json.loads(module.RESULTS.read_text())
    commit = results["versions"]["commit"]
    assert len(commit) == 12
    assert int(commit, 16) >= 0
    keys = {(row["data"], row["seed"], row["paired"]) for row in results["rows"]}
    assert len(keys) == len(results["rows"]) == len(module.DATA) * module.SEEDS * 2


def test_the_page_on_theory_shows_the_published_results(module):
    results = json.loads(module.RESULTS.read_text())
    page = (module.ROOT / "docs" / "theory.md").read_text()
    assert module.table(results) in page
    assert module.means(results) in page


def test_the_page_on_the_paper_says_how_often_cvem_converged(module):
    rows = json.loads(module.RESULTS.read_text())["rows"]
    found = {name: sum(row["converged"][name] for row in rows) for name in ("cvem", "literal")}
    page = (module.ROOT / "docs" / "paper.md").read_text()
    told = f"standardised in {found['cvem']} of 50 fits, as printed in {found['literal']} of 50"
    assert told in page

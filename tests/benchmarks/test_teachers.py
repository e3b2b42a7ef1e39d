"""The benchmark of teachers runs at a small size, takes itself up, and its page is up to date."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier, RandomForestRegressor

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "teachers.md"
RNG = np.random.default_rng(0)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory, load, call):
    """Results of two seeds on few rows, with few boosted trees."""
    path = tmp_path_factory.mktemp("results") / "teachers.json"
    smaller = {"N_BOOSTED": 10, "BOOSTING_ROUNDS": 3}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(load("_teachers_data"), "TRAINING_ROWS", 150)
        for name, value in smaller.items():
            patch.setattr(load("_teachers_maps"), name, value)
        call("teachers", "--tiny", "--seeds", 2, "--output", path)
    return path


@pytest.fixture
def results(tiny, load):
    return load("_teachers_tables").complete(json.loads(tiny.read_text())["results"])


@pytest.fixture
def published():
    return json.loads((ROOT / "benchmarks" / "results" / "teachers.json").read_text())


def test_maps_of_all_teachers_have_the_same_size_within_the_budget(results, load):
    teachers, selectors = (getattr(load("_teachers_maps"), n) for n in ("TEACHERS", "SELECTORS"))
    budgets = load("_teachers_data").TINY["few digits"].macs
    for seed, drawn in results["few digits"]["untrained"].items():
        for teacher in teachers:
            cell = results["few digits"][teacher][seed]
            for selector in selectors:
                record = cell[selector]
                assert all(m <= most for m, most in zip(record["macs"], budgets, strict=True))
                assert record["macs"] == drawn["random"]["macs"]
                assert record["outputs"] == drawn["random"]["outputs"]
                assert all(10.0 < score <= 100.0 for score in record["score"])
                assert all(s >= cell["teacher seconds"] for s in record["seconds"])
    assert len(teachers) == 11


def test_what_was_measured_is_not_measured_again(tiny, call):
    before = tiny.read_bytes()
    said = call("teachers", "--tiny", "--seeds", 2, "--output", tiny)
    assert said.splitlines() == [f"all there {tiny}"]
    assert tiny.read_bytes() == before


def test_results_of_other_code_are_not_added_to(tiny, call, tmp_path):
    content = json.loads(tiny.read_text())
    del content["results"]["few digits"]["rff"]["0"]
    content["versions"]["commit"] = "other"
    path = tmp_path / "teachers.json"
    path.write_text(json.dumps(content))
    with pytest.raises(SystemExit, match="with --again"):
        call("teachers", "--tiny", "--seeds", 2, "--output", path)


def test_records_of_a_seed_are_compared_with_that_seed(results, load):
    tables = load("_teachers_tables")
    mixed = copy.deepcopy(results)
    cells = mixed["few digits"]["labels"]
    mixed["few digits"]["labels"] = {seed: cells[seed] for seed in ("1", "0")}
    mixed = {name: mixed[name] for name in reversed(mixed)}
    assert tables.of_classes(tables.complete(mixed)) == tables.of_classes(results)
    assert [*tables.complete(mixed)] == [*results]


def test_a_seed_that_is_not_measured_in_full_is_left_out(results, load):
    partly = copy.deepcopy(results)
    del partly["few patients"]["labels"]["0"]
    kept = load("_teachers_tables").complete(partly)
    assert all([*cells] == ["1"] for cells in kept["few digits"].values())


def test_standard_errors_are_over_seeds_and_over_datasets(load):
    differences = np.zeros((2, 5, 3))
    differences[:, :, 0] = [[0.0, 3.0, 6.0, 9.0, 12.0], [6.0, 3.0, 0.0, 3.0, 6.0]]
    mean, seeds, datasets = load("_teachers_tables").mean_and_errors(differences)
    by_seed = np.array([1.0, 1.0, 1.0, 2.0, 3.0])
    assert mean == pytest.approx(1.6)
    assert seeds == pytest.approx(np.sqrt(by_seed.var() / 4.0))
    assert datasets == pytest.approx(0.4)  # means of 2 and 1.2


@pytest.mark.parametrize(
    "estimator",
    [
        RandomForestRegressor(5, max_leaf_nodes=4, random_state=0),
        GradientBoostingClassifier(n_estimators=2, random_state=0),
    ],
    ids=["forest", "boosting"],
)
def test_rows_of_encoded_leaves_are_alike_as_often_as_they_share_a_leaf(estimator, load):
    X, y = RNG.normal(size=(60, 3)), np.arange(60) % 3
    encoder = load("_teachers_maps").LeafEncoder(estimator).fit(X[:40], y[:40])
    rows = encoder.transform(X)
    leaves = encoder.estimator_.apply(X).reshape(60, -1)
    shared = (leaves[:, None] == leaves[None]).sum(axis=2)
    np.testing.assert_array_equal((rows @ rows.T).toarray(), shared)
    assert rows.nnz == leaves.size


def test_only_refitted_features_show_that_there_is_nothing_to_learn(load):
    penalty, split = load("_teachers_penalty"), load("datasets").Split
    rng = np.random.default_rng(0)
    X, noise = rng.normal(size=(200, 20)), rng.normal(size=200)
    rows = split(X[:100], noise[:100], X[100:], noise[100:])
    found = penalty.measure_penalty("labels", rows, 100, 0)
    given, whole = (found[name] for name in (penalty.LEAVE_ONE_OUT, penalty.WHOLE))
    assert given["alpha"] < whole["alpha"]
    assert given["score"] < whole["score"]


def test_tables_and_picture_can_be_made_of_any_results(results, tiny, load, tmp_path):
    tables, pieces = load("_teachers_tables"), load("render_teachers").PIECES
    for name, make in pieces.items():
        text = make(results)
        assert "nan" not in text, name
        for part in text.split("\n\n"):
            widths = {line.count("|") for line in part.splitlines() if line.startswith("|")}
            assert len(widths) <= 1, name
    penalty = json.loads(tiny.read_text())["penalty"]
    text = tables.penalties(tables.complete(penalty, ("rff", "labels")))
    assert len({line.count("|") for line in text.splitlines()}) == 1
    load("_teachers_picture").draw(results, tmp_path / "a.svg")
    assert "labels" in (tmp_path / "a.svg").read_text()
    assert tables.numbers(results) == ["few patients"]


def test_page_shows_what_was_measured_with_five_seeds(call, published, load):
    call("render_teachers", "--check")
    results = load("_teachers_tables").complete(published["results"])
    assert {len(cells) for teachers in results.values() for cells in teachers.values()} == {5}
    assert len(load("_teachers_tables").classes(results)) >= 6


def test_page_would_not_match_other_results(published, load):
    render = load("render_teachers")
    page = render.PAGE.read_text()
    other = copy.deepcopy(published)
    other["results"]["HOG"]["labels"]["0"]["greedy"]["score"][0] -= 20.0
    assert render.filled(page, other) != page


@pytest.mark.parametrize("block", re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S))
def test_python_examples_of_the_page_run(block):
    exec(compile(block, str(PAGE), "exec"), {})

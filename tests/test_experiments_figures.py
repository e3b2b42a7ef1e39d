"""Figures 1 to 3 of the reproduction: what is measured, and what their page says of it."""

from __future__ import annotations

import copy
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments import curves, curves_page, paper, pictures
from experiments.catalogue import config_of, module_of
from experiments.datasets import Split
from experiments.runner import run
from experiments.store import Store

FIGURES = ("figure1", "figure2", "figure3")
DATA = "few digits"
TINY_SIZES = {"figure1": [20, 25], "figure3": [20, 40]}


@pytest.fixture(scope="module", name="figures")
def fixture_figures(tmp_path_factory):
    """Results and configuration of a run of two figures that is still smaller than tiny."""
    folder = tmp_path_factory.mktemp("figures")
    found = {}
    for name, sizes in TINY_SIZES.items():
        config = config_of(name, "tiny") | {"sizes": sizes}
        if "also" in config:
            config["also_sizes"] = sizes[:1]
        store = Store(folder / f"{name}.json", config)
        assert run(module_of(name).pieces(config), store, say=lambda _: None)
        found[name] = json.loads(store.path.read_text())
    return found


def made_up(errors):
    """Results of two seeds at K = 40 with these errors, and their configuration."""
    methods = [*errors]
    seeds = {}
    for seed, shift in (("0", 0.0), ("1", 0.02)):
        record = {m: {"error": e + shift, "macs": 1, "outputs": 1} for m, e in errors.items()}
        seeds[seed] = {"40": record, "width": {"linear": {"error": 0.1 + shift, "macs": 1}}}
    config = {"datasets": [DATA], "sizes": [40], "methods": methods, "mask_density": 0.4}
    return {DATA: seeds}, config


# --- what is measured --------------------------------------------------------------------------


def test_completion_sees_none_of_the_inputs_that_it_is_judged_by():
    inputs, targets = curves.problem(DATA, "completion", 3, [150, 80], False)
    whole, _ = curves.problem(DATA, "reconstruction", 3, [150, 80], False)
    assert [part.shape for part in (*inputs, *targets)] == [
        (150, 51),
        (80, 51),
        (150, 13),
        (80, 13),
    ]
    for part, kept, hidden in zip(whole, inputs, targets, strict=True):
        columns = {tuple(column) for column in kept.T}
        missing = {tuple(column) for column in hidden.T if column.any()}
        assert not columns & missing
        assert columns | missing | {(0.0,) * len(part)} >= {tuple(column) for column in part.T}
    again = curves.problem(DATA, "completion", 4, [150, 80], False)[1]
    assert not np.array_equal(again[0], targets[0])


def test_inputs_are_standardised_by_the_training_rows(monkeypatch):
    rng = np.random.default_rng(0)
    split = Split(
        3.0 + 2.0 * rng.normal(size=(60, 4)), None, 100.0 + rng.normal(size=(20, 4)), None
    )
    monkeypatch.setattr(curves, "split_of", lambda *_: split)
    inputs, targets = curves.problem("any", "reconstruction", 0, [50, 20], True)
    assert np.allclose(inputs[0].mean(axis=0), 0.0)
    assert np.allclose(inputs[0].std(axis=0), 1.0)
    assert inputs[1].mean() > 10.0
    assert np.array_equal(inputs[1], targets[1])


def test_methods_cost_at_most_as_much_as_the_masked_cosines(figures):
    for name, n_inputs, density in (("figure1", 64, 0.2), ("figure3", 51, 0.4)):
        for seed in figures[name]["results"][DATA].values():
            for size in TINY_SIZES[name]:
                budget = size * round(density * n_inputs)
                record = seed[str(size)]
                assert record["cerf"]["macs"] == record["untrained"]["macs"] == budget
                assert record["cerf"]["outputs"] == record["greedy"]["outputs"] == size
                least = 0.98 * budget
                assert least < record["default"]["macs"] <= budget
                for method in ("rff", "orthogonal", "nystroem"):
                    assert budget - 2 * n_inputs < record[method]["macs"] <= budget


def test_dense_features_that_are_enough_are_shown_where_equal_macs_pay_for_fewer(figures):
    for name, expected in (("figure1", {"20", "25"}), ("figure3", {"20"})):
        for seed in figures[name]["results"][DATA].values():
            for size in map(str, TINY_SIZES[name]):
                record = seed[size]
                assert (curves.ENOUGH in record) == (size in expected)
                if curves.ENOUGH in record:
                    assert record["rff"]["outputs"] < record[curves.ENOUGH]["outputs"] == 15


def test_the_error_is_that_of_ridge_regression_from_principal_components():
    """Against plain linear algebra on the features of the same map."""
    common = {"data": DATA, "task": "completion", "seed": 1, "density": 0.4}
    rows = {"most_rows": [150, 80], "standardise": False}
    given = {"inputs": 51, "gamma": 0.02}
    found = curves.measure(size=40, methods=["untrained"], given=given, **common, **rows)
    inputs, targets = curves.problem(DATA, "completion", 1, [150, 80], False)
    sampler = curves.make_map(
        "untrained", size=40, density=0.4, n_inputs=51, gamma=0.02, seed=1
    ).fit(inputs[0])
    F, G = (
        np.sqrt(2 / 40) * np.cos(part @ sampler.frequencies_ + sampler.offsets_) for part in inputs
    )
    centre = F.mean(axis=0)
    axes = np.linalg.svd(F - centre, full_matrices=False)[2][:15].T
    codes, codes_test = (F - centre) @ axes, (G - centre) @ axes
    penalty = 1e-3 * len(codes) * codes.var(axis=0).mean()
    mean = targets[0].mean(axis=0)
    weights = np.linalg.solve(codes.T @ codes + penalty * np.eye(15), codes.T @ (targets[0] - mean))
    left = np.square(codes_test @ weights + mean - targets[1]).sum()
    expected = left / np.square(mean - targets[1]).sum()
    assert 0.1 < expected < 0.9
    assert found["untrained"]["error"] == pytest.approx(expected, rel=1e-6)


def test_the_width_is_the_one_that_suits_dense_features_best():
    arguments = {"data": DATA, "task": "reconstruction", "seed": 0, "size": 40, "density": 0.4}
    rows = {"most_rows": [150, 80], "standardise": False}
    found = curves.choose(widths=[1e3, 0.1, 1e2], **arguments, **rows)
    assert found["width"] == 0.1
    assert found["inputs"] == 64
    assert 0.0 < found["linear"]["error"] < 0.5
    assert found["linear"]["macs"] == 15 * 64


@pytest.mark.parametrize("size", ["tiny", "quick", "full"])
@pytest.mark.parametrize("name", FIGURES)
def test_pieces_of_figures_need_the_width_of_their_own_seed(name, size):
    config = config_of(name, size)
    pieces = list(module_of(name).pieces(config))
    keys = [piece.key for piece in pieces]
    assert len({*keys}) == len(keys)
    per_seed = len(config["datasets"]) * (1 + len(config["sizes"]))
    per_seed += len(config.get("also", [])) * (1 + len(config.get("also_sizes", [])))
    assert len(keys) == config["seeds"] * per_seed
    assert all(p.needs in ((), (*p.key[:2], "width")) for p in pieces)
    tasks = {piece.arguments["task"] for piece in pieces}
    assert tasks == {"completion" if name == "figure3" else "reconstruction"}
    scaled = {piece.key[0] for piece in pieces if piece.arguments["standardise"]}
    assert scaled == {d for d in config["datasets"] if d in config["standardised"]} | {
        *config.get("also", [])
    }
    densities = {piece.arguments["density"] for piece in pieces}
    assert densities == {0.2 if name == "figure1" else 0.4}


def test_the_full_grid_of_widths_is_wider():
    first = [next(curves.pieces(config_of("figure1", "full", full_grid=g), "x")) for g in (0, 1)]
    widths = [piece.arguments["widths"] for piece in first]
    assert min(widths[1]) < min(widths[0])
    assert max(widths[1]) > max(widths[0])


# --- what the page says ------------------------------------------------------------------------


def test_a_point_is_worse_only_beyond_one_standard_error():
    errors = {"rff": 0.5, "untrained": 0.4, "cerf": 0.3, "default": 0.2}
    results, config = made_up(errors)
    assert curves_page.exceptions(results, config) == []
    worse = copy.deepcopy(results)
    worse[DATA]["1"]["40"]["cerf"]["error"] = 0.50  # gains 0.1 and -0.08
    assert curves_page.exceptions(worse, config) == []
    slightly = copy.deepcopy(results)
    slightly[DATA]["0"]["40"]["cerf"]["error"] = 0.405  # gains -0.005 and -0.03
    slightly[DATA]["1"]["40"]["cerf"]["error"] = 0.45
    assert len(curves_page.exceptions(slightly, config)) == 1
    worse[DATA]["0"]["40"]["cerf"]["error"] = 0.45  # gains -0.05 and -0.08
    assert curves_page.exceptions(worse, config) == [
        f"{DATA}, K = 40: trained CERF above untrained CERF by 0.065 ± 0.015"
    ]


def test_the_summary_counts_points_and_says_which_the_paper_shows():
    results, config = made_up({"rff": 0.5, "untrained": 0.6, "cerf": 0.3, "default": 0.2})
    claim, table, text = curves_page.summary("figure2", results, config)
    assert claim.startswith("The paper: trained CERF is below untrained CERF")
    assert f"| {DATA} | 0.510 ± 0.010 | 0.610 ± 0.010 | 0.310 ± 0.010 |" in table
    line, ours = text.splitlines()
    assert "Untrained CERF below RFF in 0 of 1 points;" in line
    assert "trained CERF below untrained CERF in 1 of 1 points;" in line
    assert "trained CERF below RFF in 1 of 1 points (not shown in the paper)" in line
    assert ours.startswith("- Our default is below trained CERF in 1 of 1 points; linear PCA,")
    assert ours.endswith("is below our default in 1.")
    results[DATA]["0"]["40"]["default"]["error"] = 0.0
    results[DATA]["1"]["40"]["default"]["error"] = 0.0
    assert curves_page.summary("figure2", results, config)[-1].endswith("default in 0.")


def test_sections_show_the_errors_and_change_with_them(figures, tmp_path):
    found = copy.deepcopy(figures["figure3"])
    text = module_of("figure3").section(found["results"], found["config"], tmp_path)
    errors = [s["40"]["cerf"]["error"] for s in found["results"][DATA].values()]
    half = abs(errors[0] - errors[1]) / 2
    assert f" {np.mean(errors):.3f} ± {half:.3f} |" in text
    assert (tmp_path / "figure3.svg").read_text().lstrip().startswith("<?xml")
    assert "(figure3.svg)" in text
    assert "nan" not in text
    for seed in found["results"][DATA].values():
        seed["40"]["cerf"]["error"] = 2.0
    changed = module_of("figure3").section(found["results"], found["config"], tmp_path)
    assert f"{DATA}, K = 40: trained CERF above RFF by" in changed
    assert "| 2.000 ± 0.000 |" in changed


def test_standardised_histograms_are_beside_the_count(figures, tmp_path):
    found = copy.deepcopy(figures["figure1"])
    (also,) = found["config"]["also"]
    for seed in found["results"][also].values():
        seed["20"]["cerf"]["error"] = 2.0
    text = module_of("figure1").section(found["results"], found["config"], tmp_path)
    assert f"| {also} | 20 |" in text
    assert "| 2.000 ± 0.000 |" in text
    assert "| worse | worse |" in text
    plain = module_of("figure1").summary(figures["figure1"]["results"], found["config"])
    assert module_of("figure1").summary(found["results"], found["config"]) == plain


def test_one_seed_is_shown_without_a_standard_error(figures, tmp_path):
    found = copy.deepcopy(figures["figure1"])
    for seeds in found["results"].values():
        del seeds["1"]
    text = module_of("figure1").section(found["results"], found["config"], tmp_path)
    error = found["results"][DATA]["0"]["20"]["cerf"]["error"]
    assert f"| {error:.3f} |" in text
    assert "nan" not in text


def test_the_substitute_is_called_so(tmp_path):
    config = config_of("figure1", "full")
    assert all(name.startswith("substitute ") for name in config["datasets"])
    assert "our substitute" in curves_page._substitute(config)
    assert curves_page._substitute(config_of("figure2", "full")) == ""
    assert "substitute" in module_of("figure1").TITLE


def test_claims_of_the_paper_are_among_the_steps():
    for name in FIGURES:
        assert {tuple(step) for step in paper.numbers(name)["steps"]} <= {*curves_page.STEPS}


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=8))
def test_labels_are_apart_and_in_the_order_of_their_curves(values):
    places = pictures.spread(values, least=0.1, bounds=(0.0, 1.0))
    assert np.diff(np.sort(places)).min(initial=1.0) >= 0.1 - 1e-9
    assert max(places) <= 1.0 + 1e-9
    assert min(places) >= -1e-9
    for i, a in enumerate(values):
        for j, b in enumerate(values):
            assert a >= b or places[i] < places[j]

"""Networks trained within a budget, beside the figures: a tiny run and its page."""

from __future__ import annotations

import copy

import pytest

from experiments import curves_picture, figures_trained
from experiments.catalogue import config_of
from experiments.curves_picture import levels, trained_beside
from experiments.figures_trained import measure


@pytest.fixture(scope="module", name="tiny")
def fixture_tiny():
    """Results of the tiny size, by figure, dataset and seed."""
    config = config_of("figures_trained", "tiny")
    results: dict = {}
    for piece in figures_trained.pieces(config):
        figure, data, seed = piece.key
        results.setdefault(figure, {}).setdefault(data, {})[seed] = measure(**piece.arguments)
    return results, config


def test_networks_are_within_their_fractions_of_the_macs_of_linear_pca(tiny):
    results, _ = tiny
    for found in results["figure2"]["few digits"].values():
        assert found["linear"]["macs"] == 15 * 64
        assert found["1/4"]["macs"] <= 15 * 16
        assert found["1/16"]["macs"] <= 15 * 4
        assert found["linear"]["error"] < found["1/4"]["error"] < found["1/16"]["error"] < 1.0


def test_completion_counts_everything(tiny):
    results, _ = tiny
    for found in results["figure3"]["few digits"].values():
        assert found["K = 20"]["macs"] <= 20 * round(0.4 * 51)
        assert found["K = 20"]["error"] < 1.0
        assert found["linear"]["macs"] == 51 * 13


def test_the_page_shows_the_errors_and_changes_with_them(tiny, tmp_path):
    results, config = tiny
    section = figures_trained.section(results, config, tmp_path)
    assert "## Figure 2" in section
    assert "trained, 1/16" in section
    other = copy.deepcopy(results)
    other["figure2"]["few digits"]["0"]["1/4"]["error"] += 0.5
    assert figures_trained.section(other, config, tmp_path) != section
    assert len(figures_trained.summary(results, config)) >= 4


def test_points_below_the_published_curves_are_counted(tiny):
    results, _ = tiny
    config = config_of("figures_trained", "full")
    errors = {"1/4": {"error": 0.0}, "linear": {"error": 0.0}}
    best = {"figure1": {data: {"0": errors, "1": errors} for data in
                        config["figures"]["figure1"]["datasets"]}}  # fmt: skip
    assert "at 20 of 20 points of Figure 1" in figures_trained._lower("figure1", best, config)
    assert figures_trained._lower("figure2", results, config) == ""  # other data


def linear_seeds(*errors):
    """Results of a figure that have linear PCA alone."""
    return {
        str(i): {"width": {"linear": {"error": error, "macs": 960}}}
        for i, error in enumerate(errors)
    }


def test_level_lines_name_their_macs_and_have_errors_over_seeds(tiny):
    results, _ = tiny
    trained = {str(i): {"linear": {"error": 0.9, "macs": 700}, "K = 40": {"error": e, "macs": 800}}
               for i, e in enumerate((0.1, 0.3))}  # fmt: skip
    lines = levels(linear_seeds(0.2, 0.4, 0.6), trained, predicts_inputs=True)
    assert [line.label for line in lines] == [
        "linear PCA, 960 MACs", "linear regression, 700 MACs", "trained network, 800 MACs",
    ]  # fmt: skip
    assert [line.error.value for line in lines] == pytest.approx([0.4, 0.9, 0.2])
    assert lines[2].error.error == pytest.approx(0.1)
    assert len({line.colour for line in lines}) == 3
    # Linear PCA stands once; the networks of the other figures have two budgets.
    found = levels(linear_seeds(0.2), results["figure2"]["few digits"], predicts_inputs=False)
    assert [line.label.split(",")[0] for line in found] == ["linear PCA", *2 * ["trained network"]]
    assert found[1].error.value < found[2].error.value
    assert len(levels(linear_seeds(0.2), {}, predicts_inputs=True)) == 1


def test_the_pictures_have_trained_networks_of_the_same_data_and_seeds_only():
    for figure, task in (("figure1", "reconstruction"), ("figure3", "completion")):
        config = config_of(figure, "full")
        every = {data: {str(seed): {} for seed in range(5)} for data in config["datasets"]}
        assert trained_beside(figure, every, config)[1] == task
        assert [*trained_beside(figure, every, config)[0]] == config["datasets"]
        first, *others = every
        every[first] = {"4": {}}
        assert [*trained_beside(figure, every, config)[0]] == others
        assert trained_beside(figure, {}, config) == ({}, "")


def test_a_picture_changes_with_the_error_of_a_trained_network(tmp_path):
    config = {"datasets": ["any"], "sizes": [20, 40], "methods": ["cerf"]}
    seed = {str(k): {"cerf": {"error": 9.0 / k, "macs": 10 * k}} for k in (20, 40)}
    results = {"any": {"0": seed | linear_seeds(0.2)["0"]}}
    made = []
    for number, error in enumerate((0.3, 0.3, 0.5)):
        trained = {"any": {"0": {"1/4": {"error": error, "macs": 240}}}}
        path = tmp_path / f"{number}.svg"
        curves_picture.draw(results, config, path, trained, predicts_inputs=False)
        made.append(path.read_bytes())
    assert made[0] == made[1] != made[2]

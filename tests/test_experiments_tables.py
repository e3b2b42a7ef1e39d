"""Tables 2 and 4 of the reproduction: what is measured, and what their page says of it."""

from __future__ import annotations

import copy
import json

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from cerflearn import CVEM, Greedy, MaskedCERF, RandomFourierFeatures, cost
from experiments import blocked_protocol, paper, table2, table2_page, table4, table4_page, tuned
from experiments.blocked_protocol import TABLE, Problem, Reading, Row, published
from experiments.catalogue import config_of, module_of
from experiments.datasets import Split, few_halves, split_of
from experiments.runner import run
from experiments.store import Store

HALVES = "few digits, two classes"
GRID = {
    "n_components": 24,
    "inner_folds": 3,
    "widths": [0.03, 0.3],
    "C": [1.0, 100.0],
    "C_svm": [1.0, 10.0],
    "classifier_macs": 60,
}


@pytest.fixture(scope="module", name="tables")
def fixture_tables(tmp_path_factory):
    """Results and configuration of small runs of both tables."""
    folder = tmp_path_factory.mktemp("tables")
    smaller = {
        "table2": {"rows": [80, 60], "sides": ["cerf", "fastfood", "untrained", "nystroem"]},
        "table4": {"n_components": 24},
    }
    found = {}
    with pytest.MonkeyPatch.context() as patch:
        for module in (blocked_protocol, table2):
            patch.setattr(module, "N_CANDIDATES", 64)
        for name, changes in smaller.items():
            config = config_of(name, "tiny") | changes
            store = Store(folder / f"{name}.json", config)
            assert run(module_of(name).pieces(config), store, say=lambda _: None)
            found[name] = json.loads(store.path.read_text())
    return found


@pytest.fixture(name="training")
def fixture_training():
    split = few_halves(0)
    X = StandardScaler().fit_transform(split.X_train[:, 20:40])
    return X, split.y_train


@pytest.mark.parametrize("size", ["tiny", "quick", "full"])
@pytest.mark.parametrize("name", ["table2", "table4"])
def test_pieces_of_tables_have_keys_of_their_own_and_what_they_need(name, size):
    pieces = list(module_of(name).pieces(config_of(name, size)))
    keys = [piece.key for piece in pieces]
    assert len({*keys}) == len(keys) >= 2
    assert all(not piece.needs or piece.needs in keys for piece in pieces)
    json.dumps([piece.arguments for piece in pieces])


# --- Table 2 -----------------------------------------------------------------------------------


def test_rows_of_table_2_are_those_of_the_paper():
    numbers = paper.numbers("table2")
    labels = [row.label for row in TABLE if row.data != "satimage"]
    assert labels == [*numbers["CERF"]] == [*numbers["RFF"]]
    pairs = [
        pair
        for label in labels
        for pair in zip(numbers["CERF"][label], numbers["RFF"][label], strict=True)
    ]
    assert (len(pairs), sum(ours < theirs for ours, theirs in pairs)) == (12, 10)


def test_settings_of_table_2_are_those_chosen_on_satimage():
    problem = Problem(Row("digits", "Gauss", 1.0), Reading(3.0), 0, 60, 40)
    for weights in table2.WEIGHTS:
        sampler = table2.estimator(problem, "cerf", 0.4, weights)
        side = published()["chosen"]["sides"]["Gauss"][weights]["cerf"]
        assert sampler.spread == side["spread"]
        assert sampler.selector.normalize == side["normalize"]
        assert isinstance(sampler.selector, CVEM)
        assert (sampler.n_components, sampler.n_candidates) == (128, 320)
    paired = table2.estimator(problem, "default", 0.2, "nnls")
    assert (paired.paired, paired.n_components, paired.n_candidates) == (True, 128, 640)
    assert table2.estimator(problem, "untrained", 0.4, "equal").selector == "random"
    assert isinstance(table2.estimator(problem, "greedy", 0.4, "equal").selector, Greedy)


def test_nystroem_is_exact_on_its_own_rows_and_within_the_macs():
    problem = Problem(Row("digits", "Gauss", 1.0), Reading(1.0), 0, 32, 32)
    problem.X_test = problem.X
    found = table2.nystroem(problem, 0.4)
    assert (found["columns"], found["macs"]) == (32, 32 * 48)
    assert found["errors"]["nnls"]["exact"] < 1e-3
    assert table2.nystroem(problem, 0.2)["errors"]["nnls"]["exact"] > 1.0


def test_orthogonal_features_need_an_isotropic_law():
    gauss = Problem(Row("digits", "Gauss", 1.0), Reading(1.0), 0, 40, 20)
    cauchy = Problem(Row("digits", "Cauchy", 1.0), Reading(1.0), 0, 40, 20)
    assert table2.orthogonal(gauss, "", 0.4, "").n_components == 96
    assert table2.orthogonal(cauchy, "", 0.4, "") is None
    assert table2.judge(cauchy, "orthogonal", 0.4, "equal") == {}


def test_the_order_in_a_cell_is_compared_with_the_papers():
    cell, turned = ("raw, Gauss, 5e-05", "0.4"), ("raw, Gauss, 5e-05", "0.2")
    below, above = (table2_page.mean(values) for values in ([3.0, 1.0], [-3.0, -1.0]))
    assert table2_page.same_order(below, cell)
    assert not table2_page.same_order(above, cell)
    assert not table2_page.same_order(below, turned)
    assert table2_page.same_order(above, turned)
    assert not table2_page.same_order(below, ("other", "0.2"))


def test_the_page_of_table_2_counts_what_was_measured(tables):
    found = copy.deepcopy(tables["table2"])
    results, config = found["results"], found["config"]
    seeds = results["digits, Gauss, 1"]
    errors = [s["0.4"]["cerf"]["equal"]["errors"]["equal"] for s in seeds.values()]
    teacher, exact = (np.mean([e[truth] for e in errors]) for truth in ("teacher", "exact"))
    text = table2_page.section(results, config)
    assert f"| digits, Gauss, 1 | 0.4 | {teacher:.1f} / {exact:.1f} |" in text
    assert "nan" not in text
    for seed in seeds.values():
        for fraction in ("0.4", "0.2"):
            seed[fraction]["cerf"]["equal"]["errors"]["equal"] = {"teacher": 0.1, "exact": exact}
            seed[fraction]["fastfood"]["equal"]["errors"]["equal"]["exact"] = 2 * exact
    assert "in 2 of 2 cells against the teacher" in table2.summary(results, config)[0]
    for seed in seeds.values():
        seed["0.4"]["cerf"]["equal"]["errors"]["equal"]["teacher"] = 5000.0
    text = table2_page.section(results, config)
    assert f"| digits, Gauss, 1 | 0.4 | 5000.0 / {exact:.1f} |" in text
    assert "in 1 of 2 cells against the teacher, in 2 against" in table2.summary(results, config)[0]


# --- Table 4 -----------------------------------------------------------------------------------


def test_gamma_and_c_have_the_least_cross_validated_log_loss(training):
    X, y = training

    def make(**parameters):
        return RandomFourierFeatures(n_components=40, paired=False, **parameters)

    gamma, C = tuned.choose(make, X, y, 3, GRID)
    losses = {}
    for width in GRID["widths"]:
        candidate = width * tuned.median_gamma(X)
        features = make(gamma=candidate, random_state=3).fit_transform(X)
        for value in GRID["C"]:
            total = 0.0
            for train, test in tuned.folds_of(y, 3, GRID):
                total_variance = features.var(axis=0).sum()
                model = LogisticRegression(C=value / total_variance, solver="newton-cholesky")
                model.fit(features[train], y[train])
                total += log_loss(y[test], model.predict_proba(features[test]))
            losses[candidate, value] = total
    best = min(losses, key=losses.get)
    assert sorted(losses.values())[1] - losses[best] > 1e-3  # no tie
    assert (gamma, C) == pytest.approx(best)


def test_the_scale_of_features_does_not_change_the_head(training):
    X, y = training
    small, large = (tuned.ScaledHead(10.0).fit(factor * X, y) for factor in (1e-4, 1.0))
    assert np.array_equal(small.predict(1e-4 * X), large.predict(X))
    assert small.coef_ * 1e-4 == pytest.approx(large.coef_, rel=1e-6)
    plain = LogisticRegression(C=10.0, max_iter=1000)
    pipeline = make_pipeline(StandardScaler(with_std=False), plain)
    pipeline.fit(X / np.sqrt(X.var(axis=0).sum()), y)
    assert np.array_equal(pipeline.predict(X / np.sqrt(X.var(axis=0).sum())), large.predict(X))


@pytest.mark.parametrize(
    "method", ["untrained", "default", "rff", "nystroem", "svm", "linear", "mlp"]
)
def test_methods_of_table_4_learn_and_can_be_counted(method, training):
    X, y = training
    model = tuned.METHODS[method](X, y, 0, GRID)
    assert np.mean(model.predict(X) == y) > 0.6
    macs = tuned.macs_of(model)
    if method == "svm":
        assert macs == len(model.best_estimator_.support_) * (X.shape[1] + 1)
    else:
        assert macs == cost(model).macs
    limits = {"linear": 20, "mlp": 60, "rff": 24 * 21, "nystroem": 24 * 21, "untrained": 24 * 9}
    assert macs <= limits.get(method, 10_000)


def test_the_linear_model_takes_the_best_c(training):
    X, y = training
    model = tuned.METHODS["linear"](X, y, 0, GRID | {"C": [1e-6, 30.0, 1e-7]})
    assert model.C == 30.0


def test_the_svm_is_tuned_by_accuracy_on_the_same_folds(training):
    X, y = training
    model = tuned.METHODS["svm"](X, y, 0, GRID)
    scores = {
        (width, C): cross_val_score(
            SVC(gamma=width * tuned.median_gamma(X), C=C), X, y, cv=tuned.folds_of(y, 0, GRID)
        ).mean()
        for width in GRID["widths"]
        for C in GRID["C_svm"]
    }
    assert model.best_score_ == pytest.approx(max(scores.values()))


def test_learned_maps_take_the_settings_of_the_map_they_choose_from(training):
    X, y = training
    for name, density in (("cerf", 0.4), ("greedy", "auto")):
        setting = {"gamma": 0.0123, "C": 7.0}
        model = tuned.fit_learned(name, X, y, 0, GRID, setting)
        assert tuned.setting_of(model) == setting
        assert isinstance(model[0], MaskedCERF)
        assert model[0].mask_density == density
        assert model[0].n_candidates_ == 24
        assert model[0].n_components_ == 10  # .4 of 24, in pairs


def test_nothing_is_chosen_by_the_test_rows(monkeypatch):
    arguments = {"data": HALVES, "method": "default", "repeat": 0, "config": GRID}
    before = table4.measure(**arguments)

    def turned(data, seed):
        split = split_of(data, seed)
        return Split(split.X_train, split.y_train, split.X_test, 1 - split.y_test)

    monkeypatch.setattr(table4, "split_of", turned)
    after = table4.measure(**arguments)
    assert after["settings"] == before["settings"]
    assert np.array(after["errors"]) == pytest.approx(100.0 - np.array(before["errors"]))


def made_up():
    """Two repetitions with known errors; logistic regression is the best of all."""
    means = {
        "RKS": (30.0, 32.0),
        "BaNK": (26.0, 27.0),
        "cerf": (26.5, 26.5),
        "untrained": (27.0, 29.0),
        "linear": (23.0, 24.0),
    }
    results = {
        name: {
            str(repeat): {
                "errors": [error - 1.0, error + 1.0],
                "macs": [1000 if name == "BaNK" else 100, 200],
                "fit_seconds": [1.0, 3.0],
                "microseconds": 2.0,
            }
            for repeat, error in enumerate(errors)
        }
        for name, errors in means.items()
    }
    config = {"datasets": ["Pima"], "methods": [*means], "repeats": 2, "repeats_of": {}}
    return {"Pima": results}, config | {"inner_folds": 3}


def test_the_page_of_table_4_compares_with_the_paper_and_the_best_rival(tmp_path):
    results, config = made_up()
    text = table4.section(results, config, tmp_path)
    assert "| 26.5 ± 0.0 | 23.6 | worse | 0.0 ± 0.5 | 150 | 2.0 | 2.00 |" in text
    assert "| 31.0 ± 1.0 | 33.2 | better | 4.5 ± 0.5 |" in text
    assert "| 26.5 ± 0.5 | 26.3 | reproduced |  | 600 |" in text
    assert "| cerf | 2.9 ± 0.0 | 0.0 ± 0.5 | 4 | 3.0 ± 0.5 | 1 |" in text
    assert "| untrained | 4.4 ± 1.0 | 1.5 ± 0.5 | 4 | 4.5 ± 0.5 | 1 |" in text
    results["Pima"]["cerf"]["0"]["errors"] = [20.0, 20.4]
    results["Pima"]["cerf"]["1"]["errors"] = [20.0, 20.4]
    text = table4.section(results, config, tmp_path)
    assert "| 20.2 ± 0.0 | 23.6 | better |" in text
    assert "| cerf | -3.4 ± 0.0 | -6.3 ± 0.5 | 4 | -3.3 ± 0.5 | 1 |" in text
    table, line = table4.summary(results, config)
    assert "| cerf | 23.6 | 20.2 ± 0.0 | 150 |" in table
    assert "| linear |  | 23.5 ± 0.5 | 150 |" in table
    assert line.startswith("- Pima: best of ours cerf 20.2 ± 0.0 (150 MACs), best rival")
    assert "best rival of the paper's BaNK 26.5 ± 0.5 (600 MACs)" in line
    line, trained = line.splitlines()
    assert line.endswith("cerf minus linear, over the repetitions that both have: -3.3 ± 0.5.")
    assert trained.startswith("- Pima: trained masks are better than untrained ones (error -7.80")


def test_differences_are_over_repetitions_that_both_have():
    results, _ = made_up()
    del results["Pima"]["cerf"]["1"]
    found = table4_page.difference(results, "Pima", "cerf", "BaNK")
    assert (found.value, found.count) == (0.5, 1)


def test_a_tiny_table_4_is_complete(tables, tmp_path):
    found = tables["table4"]
    methods = found["results"][HALVES]
    assert {*methods} == {*found["config"]["methods"]}
    settings = methods["cerf"]["0"]["settings"]
    assert settings == methods["untrained"]["0"]["settings"]
    assert {*methods["cerf"]["0"]["macs"]} == {10 * 26 + 10}  # .4 of 24, .4 of 64 inputs, scores
    assert all(len(run["errors"]) == 5 for runs in methods.values() for run in runs.values())
    text = table4.section(found["results"], found["config"], tmp_path)
    assert str(table4_page.mean(table4_page.errors(found["results"], HALVES, "rff"))) in text
    assert "nan" not in text

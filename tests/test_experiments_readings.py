"""Further readings of the paper's setting, and kernel CCA: what is measured, what pages say."""

from __future__ import annotations

import copy
import json

import numpy as np
import pytest
from sklearn.cross_decomposition import CCA
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from cerflearn import MaskedCERF, RandomFourierFeatures
from experiments import (
    cca,
    cca_page,
    classification,
    figures_process,
    heads,
    methods,
    page,
    table3_full_grid,
    table3_variants,
    table4_heads,
    table4_page,
    tuned,
)
from experiments.catalogue import config_of, module_of
from experiments.classification import LINEAR, MEDIAN
from experiments.datasets import few, few_halves
from experiments.headline import headline
from experiments.runner import run
from experiments.store import Store
from experiments.verdicts import mean, paired

READINGS = ("table3_variants", "table3_full_grid", "table4_heads", "figures_process", "cca")
DATA = "bundled digits"


@pytest.fixture(scope="module", name="tiny")
def fixture_tiny(tmp_path_factory):
    """Stores of tiny runs."""
    folder = tmp_path_factory.mktemp("readings")
    found = {}
    for name in READINGS:
        config = config_of(name, "tiny")
        found[name] = Store(folder / f"{name}.json", config)
        assert run(module_of(name).pieces(config), found[name], say=lambda _: None)
    return found


@pytest.mark.parametrize("size", ["tiny", "quick", "full"])
@pytest.mark.parametrize("name", READINGS)
def test_pieces_of_readings_have_keys_of_their_own_and_what_they_need(name, size):
    pieces = list(module_of(name).pieces(config_of(name, size)))
    keys = [piece.key for piece in pieces]
    assert len({*keys}) == len(keys) >= 1
    assert all(not piece.needs or piece.needs in keys for piece in pieces)
    json.dumps([piece.arguments for piece in pieces])


# --- Table 3 -----------------------------------------------------------------------------------


def test_masks_are_of_the_law_that_the_name_says():
    common = {"macs": 640, "n_inputs": 64, "gamma": 0.01, "seed": 0}
    laws = {name: methods.feature_map(name, **common).mask_law for name in ("cerf", "cerf bbp")}
    assert laws == {"cerf": "fixed", "cerf bbp": "beta_bernoulli"}
    assert methods.feature_map("untrained bbp", **common).selector == "random"
    fifth = methods.feature_map("cerf 20 %", **common)
    assert (fifth.selected_fraction, fifth.mask_density) == (0.2, 0.4)


def test_without_cosines_features_are_the_projections():
    split = few(0)
    sampler = methods.feature_map("cerf bbp", macs=640, n_inputs=64, gamma=0.1, seed=0)
    plain = methods.fit_quietly(methods.Projections(sampler), split.X_train)
    expected = split.X_test @ sampler.frequencies_
    assert np.array_equal(plain.transform(split.X_test), expected)
    cosines = np.cos(expected + sampler.offsets_) * np.sqrt(2 / expected.shape[1])
    assert sampler.transform(split.X_test) == pytest.approx(cosines, abs=1e-6)
    assert methods.n_macs(plain) == methods.n_macs(sampler) <= 640


def test_a_cosine_of_a_wide_kernel_is_linear():
    given = {"gamma": 1e-9, "C": 0.1, "median_gamma": 0.1, "median_C": 1.0}
    arguments = {"split": "few digits", "seed": 0, "dense": [12], "given": given}
    wide, linear = (
        classification.measure(method=f"rff{ending}", **arguments) for ending in ("", LINEAR)
    )
    assert wide["svc"] == linear["svc"]
    narrow = classification.measure(method=f"rff{MEDIAN}", **arguments)
    given = {"gamma": 0.1, "C": 1.0}
    same = classification.measure(method="rff", **(arguments | {"given": given}))
    assert narrow["svc"] == same["svc"] != wide["svc"]


def test_large_c_is_not_tried_where_a_width_is_hopeless():
    arguments = {"split": "few digits", "seed": 0, "n_dense": 14, "C": [0.1, 10.0]}
    found = classification.choose(**arguments, widths=[1e-2, 1.0, 1e3], give_up=20.0)
    scores = found["accuracy"]
    assert np.isnan(scores[2, 1])
    assert np.isfinite(scores[:2]).all()
    assert np.isfinite(classification.choose(**arguments, widths=[1e-2, 1e3])["accuracy"]).all()
    assert found["median_C"] == (0.1, 10.0)[int(np.argmax(scores[1]))]
    assert found["median_gamma"] * found["width"] == pytest.approx(found["gamma"])


def test_the_full_grid_is_the_papers():
    config = config_of("table3_full_grid", "full")
    assert config["widths"] == [10.0**power for power in range(-6, 4)]
    short = config_of("table3_variants", "full")
    for name, entry in short["datasets"].items():
        assert {*short["widths"], *(short | entry)["C"]} <= {*config["widths"], *config["C"]}
        full = config["datasets"][name]
        assert [full[key] for key in ("split", "dense")] == [entry[k] for k in ("split", "dense")]


def test_a_choice_for_all_seeds_is_made_once():
    pieces = list(table3_full_grid.pieces(config_of("table3_full_grid", "full")))
    choices = [piece.key for piece in pieces if piece.key[0] == "choice"]
    assert [key[2] for key in choices if key[1] == "RAW"] == ["0"]
    assert [key[2] for key in choices if key[1] == "MNIST"] == ["0", "1", "2", "3", "4"]
    assert {p.needs for p in pieces if p.key[:2] == ("maps", "RAW")} == {("choice", "RAW", "0")}


def test_pages_of_the_readings_change_with_the_results(tiny, tmp_path):
    store = copy.deepcopy(tiny["table3_variants"])
    for seed in ("0", "1"):
        runs = store.results["maps"][DATA]
        runs["rff"][seed]["svc"], runs["cerf bbp"][seed]["svc"] = [50.0, 60.0], [52.0, 61.0]
    text, table, lines = table3_variants.summary(store.results, store.config)
    assert "Beta-Bernoulli process (Prop. 3)" in text
    assert f"| {DATA} | 55.0 ± 0.0 |" in table
    assert "| 56.5 ± 0.0 |" in table
    assert "- CERF, Beta-Bernoulli is above RFF in 2 of 2 cells (linear SVM, one against" in lines
    assert "+1.5 points on average)" in lines
    for seed in ("0", "1"):
        store.results["maps"][DATA]["cerf bbp"][seed]["svc"] = [52.0, 59.0]
    assert (
        "in 1 of 2 cells (linear SVM, one against one; +0.5 points on average; not: "
        in (table3_variants.summary(store.results, store.config)[-1])
    )
    assert "| 52.0 / " in table3_variants.section(store.results, store.config, tmp_path)


def test_the_wide_grid_stands_beside_the_short_one(tiny, tmp_path):
    wide, short = (copy.deepcopy(tiny[name]) for name in ("table3_full_grid", "table3_variants"))
    runs = short.results["maps"][DATA]
    gain = paired(
        *(np.mean([runs[m][s]["svc"] for s in ("0", "1")], axis=1) for m in ("cerf", "rff"))
    )
    texts = table3_full_grid.summary(wide.results, wide.config, short.results)
    assert f"| {DATA} | {gain} |" in texts[2]
    assert len(table3_full_grid.summary(wide.results, wide.config)) == len(texts) - 1
    stores = {"table3_variants": short, "table3_full_grid": wide}
    made = page.pages(stores, tmp_path, "tiny")["reproduction.md"]
    assert texts[2] in made
    del short.results["maps"][DATA]["cerf"]["1"]
    assert texts[2] not in page.pages(stores, tmp_path, "tiny")["reproduction.md"]


def test_the_top_of_the_page_says_where_cerf_does_not_win(tiny):
    store = copy.deepcopy(tiny["table3_variants"])
    found = {"table3_variants": (store.results, store.config)}
    runs = store.results["maps"][DATA]
    for seed in ("0", "1"):
        runs["rff"][seed]["svc"], runs["cerf bbp"][seed]["svc"] = [50.0, 60.0], [52.0, 59.0]
        runs["untrained bbp"][seed]["svc"] = [52.0, 60.0]
    text = headline(found)
    row = f"| 1 of 2 | +0.5 | 0 of 2 | -0.5 | {DATA} (-0.5 ± 0.0) |"
    assert f"| short grid, Beta-Bernoulli masks {row}" in text
    assert "the paper's grid" not in text
    for seed in ("0", "1"):
        runs["untrained bbp"][seed]["svc"] = [50.0, 50.0]
    assert "| 1 of 2 | +0.5 | 2 of 2 | +5.5 | none |" in headline(found)
    assert headline({}) == ""


def test_choices_on_the_edges_of_a_grid_are_counted(tiny):
    store = copy.deepcopy(tiny["table3_full_grid"])
    chosen = store.results["choice"][DATA]
    chosen["0"] |= {"width": 1e-2, "C": 0.1}
    chosen["1"] |= {"width": 0.1, "C": 1.0}
    lines = table3_full_grid.summary(store.results, store.config)[-1]
    assert "Of 2 choices of the width, 1 lie on the lower and 0 on the upper edge" in lines
    assert "of C, 1 and 1." in lines


# --- Table 4 -----------------------------------------------------------------------------------


@pytest.fixture(name="training")
def fixture_training():
    split = few_halves(0)
    return StandardScaler().fit_transform(split.X_train[:, 20:40]), split.y_train


def test_the_svm_on_features_is_libsvms_at_total_variance_one(training):
    X, y = training
    scaled = X / np.sqrt(X.var(axis=0).sum())
    plain = SVC(kernel="linear", C=10.0, tol=1e-6).fit(scaled, y)
    ours = heads.ScaledHead(10.0, "svm").fit(1e-3 * X, y)
    assert np.mean(ours.predict(1e-3 * X) == plain.predict(scaled)) > 0.98
    folds = [(np.arange(100), np.arange(100, 200)), (np.arange(100, 200), np.arange(100))]
    errors = [
        sum(
            np.mean(SVC(kernel="linear", C=C).fit(scaled[a], y[a]).predict(scaled[b]) != y[b])
            for a, b in folds
        )
        for C in (0.1, 10.0)
    ]
    assert heads.svm_losses(X, y, folds, (0.1, 10.0)) == pytest.approx(errors, abs=0.011)


def test_heads_and_laws_are_those_that_the_name_says(training):
    X, y = training
    grid = {"n_components": 24, "inner_folds": 3, "widths": [0.1], "C": [1.0], "C_svm": [5.0]}
    model = tuned.METHODS["untrained bbp svm"](X, y, 0, grid)
    assert (model[0].mask_law, model[1].head, model[1].C) == ("beta_bernoulli", "svm", 5.0)
    model = tuned.METHODS["rff svm"](X, y, 0, grid)
    assert isinstance(model[0], RandomFourierFeatures)
    assert tuned.LEARNED["cerf bbp svm"][0] == "untrained bbp svm"
    setting = {"gamma": 0.01, "C": 3.0}
    model = tuned.fit_learned("cerf bbp svm", X, y, 0, grid, setting)
    assert isinstance(model[0], MaskedCERF)
    assert (model[0].mask_law, model[1].head, model[1].C) == ("beta_bernoulli", "svm", 3.0)
    model = tuned.fit_learned("cerf", X, y, 0, grid, setting)
    assert (model[0].mask_law, model[1].head) == ("fixed", "logistic")


def test_the_page_of_heads_says_what_ties(tiny, tmp_path):
    store = copy.deepcopy(tiny["table4_heads"])
    (data,) = store.config["datasets"]
    for method, error in (("cerf svm", 20.0), ("untrained svm", 20.0), ("rff svm", 25.0)):
        for repeat in ("0", "1"):
            store.results[data][method][repeat]["errors"] = [error, error + float(repeat)]
    lines = table4_heads.summary(store.results, store.config)[-1]
    assert "trained masks tie with untrained ones (+0.00 ± 0.00)" in lines
    assert "trained masks are better than dense features (-5.00 ± 0.00)" in lines
    assert "as in the paper" not in lines  # which has no number for these data
    for repeat in ("0", "1"):
        store.results[data]["cerf bbp svm"][repeat]["errors"] = [24.0, 24.4]
    paper = store.config | {"datasets": ["Pima"]}
    lines = table4_heads.summary({"Pima": store.results[data]}, paper)[-1]
    assert "the error of CERF is 24.2 ± 0.0, the paper's 23.6: reproduced." in lines
    found = str(mean(table4_page.errors(store.results, data, "cerf bbp svm")))
    assert found in table4_heads.section(store.results, store.config, tmp_path)


# --- figures -----------------------------------------------------------------------------------


def test_figures_with_both_laws_count_points(tiny, tmp_path):
    store = copy.deepcopy(tiny["figures_process"])
    assert "figure2" in store.results
    text, table, line = figures_process.summary(store.results, store.config)
    assert "K = 20" in text
    assert "| figure2 | few digits |" in table
    for seed in store.results["figure2"]["few digits"].values():
        seed["20"]["cerf bbp"]["error"] = 0.9
        seed["20"]["cerf"]["error"] = 0.8
    line = figures_process.summary(store.results, store.config)[-1]
    assert "trained CERF below RFF in 0 of 1" in line
    assert "is +0.100 on average, below zero in 0 of 1 points; it is below untrained masks" in line
    assert line.endswith("of equal size in 0.")
    section = figures_process.section(store.results, store.config, tmp_path)
    assert "trained CERF, Beta-Bernoulli above RFF by" in section
    assert "nan" not in section


# --- kernel CCA --------------------------------------------------------------------------------


def test_views_whose_rows_differ_are_refused(monkeypatch):
    X, Y = cca.pair(cca.HALVES)
    assert X.shape == Y.shape == (1797, 32)
    monkeypatch.setattr(cca, "view", lambda name: (np.zeros((2, 1)), np.array([0, len(name)])))
    with pytest.raises(ValueError, match="rows of a and bb differ"):
        cca.pair(["a", "bb"])


def test_retrieval_and_correlations_of_known_variates():
    rng = np.random.default_rng(0)
    first = rng.normal(size=(50, 3))
    assert cca.retrieval(first, 2.0 * first) == 1.0
    assert cca.correlations(first, -2.0 * first + 1.0) == pytest.approx([-1.0] * 3)
    turned = np.roll(first, 1, axis=0)
    assert cca.retrieval(first, turned) == 0.0
    second = first.copy()
    second[0] = first[1]
    assert cca.retrieval(first, second) == pytest.approx((49 / 50 + 49 / 50) / 2, abs=0.011)


def test_linear_cca_without_a_ridge_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5))
    Y = X[:, :3] @ rng.normal(size=(3, 4)) + rng.normal(size=(300, 4))
    config = {"n_pairs": 2, "n_outputs": 8}
    model = cca.make("linear", (X, Y), 0, config, {"alpha": 0.0, "width": 1.0}).fit(X, Y)
    theirs = CCA(n_components=2).fit(X, Y).transform(X, Y)
    expected = cca.correlations(*theirs)
    assert cca.correlations(*model.transform(X, Y)) == pytest.approx(expected, abs=1e-4)
    assert cca.macs_of(model) == 2 * 5 + 2 * 4


def test_settings_are_chosen_on_held_out_rows_and_judged_on_others(monkeypatch):
    seen = []
    original = cca._judge

    def spy(method, both, train, test, *rest):
        seen.append((method, {*train}, {*test}))
        return original(method, both, train, test, *rest)

    monkeypatch.setattr(cca, "_judge", spy)
    (piece, *_) = cca.pieces(config_of("cca", "tiny"))
    found = cca.measure(**piece.arguments)
    *chosen, (_, train, test) = [entry for entry in seen if entry[0] == "rff"]
    assert len(chosen) == 2
    for _, fitted, held in chosen:
        assert not test & (fitted | held)
        assert fitted | held == train
    assert [found["cerf bbp"][key] for key in ("alpha", "width")] == [
        found["untrained bbp"][key] for key in ("alpha", "width")
    ]


def test_the_page_of_cca_compares_with_linear_cca(tiny, tmp_path):
    store = copy.deepcopy(tiny["cca"])
    (views,) = store.results
    for seed, shift in (("0", 0.0), ("1", 0.2)):
        store.results[views][seed]["linear"] |= {"correlation": 2.0, "retrieval": 10.0}
        store.results[views][seed]["rff"] |= {"correlation": 2.5 + shift, "retrieval": 9.0}
    text, table, lines = cca.summary(store.results, store.config)
    assert "MACs" in text
    assert "| rff | 2.60 ± 0.10 | 0.60 ± 0.10 | 9.0 ± 0.0 | -1.0 ± 0.0 |" in table
    assert "- rff is above linear CCA in 1 of 1 pairs of views by the correlations (1 by" in lines
    assert "in 0 by retrieval (0)." in lines.splitlines()[0]
    assert lines.splitlines()[-1].startswith("- Chosen masks (cerf bbp) minus those as drawn")
    for seed in ("0", "1"):
        store.results[views][seed]["rff"]["correlation"] = 1.0
    lines = cca.summary(store.results, store.config)[-1]
    assert f"in 0 by retrieval (0); below by the correlations: {views}." in lines
    assert "| left half, right half | 2.00 ± 0.00 |" in cca.section(
        store.results, store.config, tmp_path
    )
    assert {*store.config["methods"]} <= {*cca_page.MEANING}

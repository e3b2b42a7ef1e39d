"""Selectors as objects: parameters, copies, searches, and what they leave alone."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from cerflearn import CVEM, BlockedCERF, Greedy, MaskedCERF, Shared
from cerflearn.estimators.cerf.selectors import SELECTORS
from learned_maps import learned

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 8))
Y = (X[:, 0] * X[:, 1] > 0.0).astype(int)
OTHERS = [
    Greedy(normalize=None, cache_bytes=0),
    Shared(normalize=None, max_stages=3, learning_offset=1.0, learning_decay=1.0, cache_bytes=10),
    CVEM(schedule="incremental", learning_offset=1.0, learning_decay=1.0, tol=0.5),
    CVEM(
        solver="admm",
        e_step="literal",
        normalize=None,
        prior_concentration=3.0,
        noise_std=0.7,
        scale=0.9,
        initial_proba=0.4,
        spectral_penalty=0.5,
        max_stages=4,
        n_closing_stages=2,
        tol=0.5,
        cache_bytes=1,
    ),
]
MAPS = [MaskedCERF, BlockedCERF]


@pytest.mark.parametrize("selector", OTHERS, ids=repr)
def test_selectors_are_cloned_with_all_their_parameters(selector):
    copy = clone(selector)
    assert type(copy) is type(selector)
    assert copy is not selector
    assert copy.get_params() == selector.get_params()
    assert pickle.loads(pickle.dumps(selector)).get_params() == selector.get_params()


@pytest.mark.parametrize("cls", SELECTORS.values())
def test_every_parameter_of_a_selector_is_changed_in_one_of_them(cls):
    defaults, own = cls().get_params(), [s.get_params() for s in OTHERS if type(s) is cls]
    changed = {name for values in own for name in values if values[name] != defaults[name]}
    assert changed == set(defaults)


def test_selectors_print_what_was_changed():
    assert repr(Greedy()) == "Greedy()"
    assert repr(Shared(max_stages=3)) == "Shared(max_stages=3)"
    assert repr(CVEM(solver="admm", tol=0.5)) == "CVEM(solver='admm', tol=0.5)"
    assert "selector=CVEM(solver='admm')" in repr(MaskedCERF(selector=CVEM(solver="admm")))


@pytest.mark.parametrize("estimator", MAPS)
def test_parameters_of_a_selector_are_reached_through_the_map(estimator):
    sampler = estimator(selector=CVEM())
    assert sampler.get_params()["selector__solver"] == "procrustes"
    assert "selector__solver" not in sampler.get_params(deep=False)
    sampler.set_params(selector__solver="admm", selector__max_stages=5)
    assert sampler.selector.solver == "admm"
    assert sampler.selector.max_stages == 5
    with pytest.raises(ValueError, match="Invalid parameter 'solver' for estimator Greedy"):
        estimator(selector=Greedy()).set_params(selector__solver="admm")
    copy = clone(sampler)
    assert copy.selector is not sampler.selector
    assert copy.get_params()["selector__solver"] == "admm"


@pytest.mark.parametrize("estimator", MAPS)
@pytest.mark.parametrize("name", SELECTORS)
def test_a_name_stands_for_the_defaults_of_its_class(estimator, name):
    parameters = {"n_components": 10, "random_state": 0}
    by_name = estimator(selector=name, **parameters).fit(X)
    by_object = estimator(selector=SELECTORS[name](), **parameters).fit(X)
    np.testing.assert_array_equal(by_name.selected_, by_object.selected_)
    np.testing.assert_array_equal(by_name.lower_bounds_, by_object.lower_bounds_)
    np.testing.assert_array_equal(by_name.transform(X), by_object.transform(X))


@pytest.mark.parametrize("estimator", MAPS)
def test_maps_learn_greedily_by_default(estimator):
    parameters = {"n_components": 10, "random_state": 0}
    by_default = estimator(**parameters).fit(X)
    greedy = estimator(selector="greedy", **parameters).fit(X)
    drawn = estimator(selector="random", **parameters).fit(X)
    np.testing.assert_array_equal(by_default.transform(X), greedy.transform(X))
    assert by_default.n_candidates_ > 10 == drawn.n_candidates_
    assert not np.array_equal(by_default.transform(X), drawn.transform(X))


@pytest.mark.parametrize("estimator", MAPS)
@pytest.mark.parametrize("selector", OTHERS, ids=repr)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_fit_leaves_the_selector_as_it_is(estimator, selector):
    given = clone(selector)
    before = dict(vars(given))
    sampler = estimator(n_components=10, selector=given, random_state=0).fit(X)
    assert sampler.selector is given
    assert vars(given) == before
    # So one object can serve several maps.
    again = estimator(n_components=10, selector=given, random_state=0).fit(X)
    np.testing.assert_array_equal(again.selected_, sampler.selected_)


@pytest.mark.parametrize("estimator", MAPS)
def test_settings_of_a_selector_can_be_searched_over(estimator):
    model = make_pipeline(
        estimator(n_components=10, selector=CVEM(tol=1.0), random_state=0), RidgeClassifier()
    )
    step = model.steps[0][0]
    grid = {f"{step}__selector__normalize": ["standardize", "center", None]}
    search = GridSearchCV(model, grid, cv=2).fit(X, Y)
    scores = search.cv_results_["mean_test_score"]
    assert len(scores) == 3
    assert np.isfinite(scores).all()
    best = search.best_params_[f"{step}__selector__normalize"]
    assert search.best_estimator_[0].selector.normalize == best
    assert model[0].selector.normalize == "standardize"


@pytest.mark.parametrize("estimator", MAPS)
def test_selectors_themselves_can_be_searched_over(estimator):
    model = make_pipeline(estimator(n_components=10, random_state=0), RidgeClassifier())
    selectors = ["greedy", Shared(max_stages=3), CVEM(tol=1.0), "random"]
    grid = {f"{model.steps[0][0]}__selector": selectors}
    search = GridSearchCV(model, grid, cv=2).fit(X, Y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    alone = clone(model).set_params(**{next(iter(grid)): selectors[search.best_index_]}).fit(X, Y)
    np.testing.assert_array_equal(alone[0].selected_, search.best_estimator_[0].selected_)


@pytest.mark.parametrize("estimator", MAPS)
@pytest.mark.parametrize("selector", [None, 3, Greedy, "Greedy", RidgeClassifier(), ["cvem"]])
def test_what_is_no_selector_is_refused(estimator, selector):
    more = "'trained', 'auto', " if estimator is MaskedCERF else ""
    message = (
        f"selector=.* is not valid: it must be 'greedy', 'shared', 'cvem', {more}'random', or a C"
    )
    with pytest.raises(ValueError, match=message):
        estimator(selector=selector).fit(X)


def test_parameters_are_checked_in_fit_and_not_before():
    sampler = MaskedCERF(selector=CVEM(solver="svd", max_stages=-1))
    with pytest.raises(ValueError, match="solver='svd' is not valid"):
        clone(sampler).set_params(selector__max_stages=1).fit(X)


def test_flat_keywords_go_to_the_selector_that_knows_them():
    sampler = learned(selector="shared", tol=1.0, max_stages=3, n_components=4)
    assert sampler.selector.get_params() == Shared(max_stages=3).get_params()
    assert sampler.n_components == 4
    assert learned(selector="random", tol=1.0).selector == "random"


@pytest.mark.parametrize("estimator", MAPS)
@pytest.mark.parametrize(
    ("name", "value"), [("noise_std", 1e-308), ("noise_std", 1e308), ("scale", 1e308)]
)
def test_scales_whose_squares_are_no_numbers_are_refused(estimator, name, value):
    selector = CVEM(**{name: value})
    with pytest.raises(
        ValueError, match=rf"{name}=.* is not valid: it must be a number from 1e-50"
    ):
        estimator(selector=selector).fit(X)


@pytest.mark.parametrize("estimator", MAPS)
@pytest.mark.parametrize("max_stages", [10**9, 10**20])
def test_stages_without_end_are_refused(estimator, max_stages):
    message = f"max_stages={max_stages} is not valid: it must be a positive integer of at most 10,0"
    with pytest.raises(ValueError, match=message):
        estimator(selector=CVEM(max_stages=max_stages)).fit(X)
    with pytest.raises(ValueError, match="it must be an integer from 2 to 10,000"):
        estimator(selector=Shared(max_stages=max_stages)).fit(X)


def test_lower_bounds_are_gains_of_the_log_likelihood():
    rows = X[:20]
    sampler = MaskedCERF(n_components=60, teacher="labels", random_state=0).fit(rows, Y[:20])
    n_values = 20 * len(np.unique(Y[:20]))
    assert sampler.errors_.min() < 1e-8  # more outputs than rows
    explained = -np.log(sampler.errors_)
    np.testing.assert_allclose(sampler.lower_bounds_, 0.5 * n_values * explained, rtol=1e-12)


def test_the_most_candidates_are_not_too_many():
    MaskedCERF()._check_candidates(16_384)
    with pytest.raises(ValueError, match="16,385 candidate columns are too many"):
        MaskedCERF()._check_candidates(16_385)

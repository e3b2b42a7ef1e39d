"""Counting: the rules for each map, and for the estimators of scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import (
    LinearRegression,
    LogisticRegression,
    Ridge,
    RidgeClassifier,
    SGDClassifier,
)
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from cerflearn import (
    FastfoodFeatures,
    MaskedCERF,
    MaskedFourierFeatures,
    RandomFourierFeatures,
    cost,
)
from cerflearn.features.blocked import draw_blocked_map
from cerflearn.features.cost import Cost, fastfood_macs
from cerflearn.features.dense import draw_dense_map
from cerflearn.spectral import Gaussian
from map_samples import N_FEATURES, draw_masked

LAW = Gaussian(1.0)
RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 7))
LABELS = np.arange(60) % 3


def test_costs_add_up():
    assert Cost(1, 2, 3, 4) + Cost(10, 20, 30, 40) == Cost(11, 22, 33, 44)
    with pytest.raises(TypeError):
        _ = Cost() + 1


def test_a_dense_projection_costs_its_inputs():
    single = draw_dense_map(N_FEATURES, 30, LAW, RNG, paired=False).cost()
    # 30 offsets and one common amplitude beside the frequencies.
    assert single == Cost(40 * 30, 30, 40 * 30 + 31, 4 * (40 * 30 + 31))
    paired = draw_dense_map(N_FEATURES, 30, LAW, RNG, paired=True).cost()
    assert paired == Cost(40 * 15, 30, 40 * 15 + 1, 4 * (40 * 15 + 1))


def test_amplitudes_count_one_by_one_only_if_they_differ():
    feature_map = draw_dense_map(N_FEATURES, 6, LAW, RNG)
    unequal = feature_map.with_amplitudes([1.0, 2.0, 3.0])
    assert unequal.cost().n_parameters == feature_map.cost().n_parameters + 2


def test_a_masked_projection_costs_its_active_inputs():
    feature_map = draw_masked(N_FEATURES, 30, LAW, RNG, per_mask=4)  # 15 projections, 4 masks
    counted = feature_map.cost()
    assert counted.macs == feature_map.masks.sum() == 15 * 12
    assert counted.trig == 30
    # Values and an amplitude; 4 masks of 12 inputs, and two lists of 5 pointers.
    assert counted.n_bytes == 4 * (15 * 12 + 1 + 4 * 12 + 10)


@pytest.mark.parametrize("size", [2, 64, 1024])
def test_a_fastfood_block_costs_two_transforms_and_three_diagonals(size):
    levels = int(np.log2(size))
    assert fastfood_macs(1, size) == 2 * size * levels + 3 * size
    assert fastfood_macs(5, size) == 5 * fastfood_macs(1, size)
    once = size * levels + size
    assert fastfood_macs(5, size, shared_signs=True) == 5 * fastfood_macs(1, size) - 4 * once
    assert fastfood_macs(1, size, n_centre_inputs=7) == fastfood_macs(1, size) + 7


@pytest.mark.parametrize("n_features", [20, 40])  # run as a dense matrix, and as transforms
def test_blocks_are_counted_whole_however_few_rows_are_kept(n_features):
    size = {20: 32, 40: 64}[n_features]
    feature_map = draw_blocked_map(n_features, 3 * size, LAW, RNG, paired=False)
    assert feature_map.cost().macs == fastfood_macs(3, size)
    assert feature_map.select([0, size]).cost().macs == fastfood_macs(2, size)
    assert feature_map.select([0, size]).cost().trig == 2


def test_blocks_share_the_first_half_if_they_share_signs():
    feature_map = draw_blocked_map(N_FEATURES, 256, LAW, RNG, share=("signs",), paired=False)
    assert feature_map.cost().macs == fastfood_macs(4, 64, shared_signs=True)


def test_only_centres_that_are_not_zero_are_counted():
    centres = np.zeros((3, N_FEATURES))
    centres[1, 5] = 1.0
    feature_map = draw_blocked_map(N_FEATURES, 3 * 128, LAW, RNG, centres=centres)
    assert feature_map.cost().macs == fastfood_macs(3, 64) + N_FEATURES


@settings(deadline=None, max_examples=50, derandomize=True)
@given(
    st.integers(1, 30),
    st.integers(1, 60),
    st.booleans(),
    st.integers(1, 9),
    st.floats(0.01, 1.0),
    st.data(),
)
def test_macs_are_the_active_inputs_of_the_selected_masks(
    n_features, n_outputs, paired, per_mask, density, data
):
    rng = np.random.default_rng(0)
    feature_map = draw_masked(
        n_features, n_outputs, LAW, rng, paired=paired, per_mask=per_mask, density=density
    )
    chosen = data.draw(st.sets(st.integers(0, feature_map.n_projections - 1), min_size=1))
    selected = feature_map.select(sorted(chosen))
    assert selected.cost().macs == feature_map.masks[:, sorted(chosen)].sum()


@pytest.mark.parametrize(
    "estimator",
    [RandomFourierFeatures(), FastfoodFeatures(), MaskedFourierFeatures(), MaskedCERF()],
    ids=repr,
)
def test_estimators_cost_what_their_map_costs(estimator):
    fitted = estimator.set_params(n_components=30).fit(X)
    assert cost(fitted) == fitted.feature_map_.cost()
    assert cost(fitted).macs == fitted.n_macs_


@pytest.mark.parametrize(
    ("estimator", "macs", "n_parameters"),
    [
        (LogisticRegression(solver="newton-cg"), 21, 24),
        (RidgeClassifier(), 21, 24),
        (RidgeClassifier(fit_intercept=False), 21, 21),
        (LinearSVC(), 21, 24),
        (SVC(kernel="linear"), 21, 24),  # one-against-one: C (C - 1) / 2 = 3 scores
        (Ridge(), 7, 8),
        (LinearRegression(), 7, 8),
        (MLPClassifier(hidden_layer_sizes=(5,), max_iter=500), 7 * 5 + 5 * 3, 7 * 5 + 5 * 3 + 8),
        (MLPRegressor(hidden_layer_sizes=(5, 2), max_iter=5_000), 35 + 10 + 2, 35 + 10 + 2 + 8),
        (StandardScaler(), 7, 14),
        (StandardScaler(with_std=False), 7, 7),
        (StandardScaler(with_mean=False, with_std=False), 0, 0),
        (Nystroem(n_components=10), 7 * 10 + 100, 171),
    ],
    ids=repr,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_scikit_learn_is_counted_by_the_same_rules(estimator, macs, n_parameters):
    counted = cost(estimator.fit(X, LABELS))
    assert counted == Cost(macs, 0, n_parameters, 4 * n_parameters)


def test_rbf_sampler_costs_what_unpaired_features_cost():
    ours = RandomFourierFeatures(n_components=20, paired=False).fit(X)
    assert cost(RBFSampler(n_components=20).fit(X)) == cost(ours)


def test_a_binary_head_has_one_score():
    assert cost(LogisticRegression(solver="newton-cg").fit(X, LABELS > 0)).macs == 7


def test_sparse_weights_cost_those_that_are_stored():
    model = SGDClassifier(random_state=0).fit(X, LABELS)
    model.coef_[:, ::2] = 0.0
    counted = cost(model.sparsify())
    assert counted.macs == 9
    assert counted.n_bytes == 4 * (9 + 3 + 9 + 4)


def test_a_pipeline_costs_the_sum_of_its_steps():
    model = make_pipeline(
        StandardScaler(), "passthrough", RandomFourierFeatures(n_components=20), RidgeClassifier()
    ).fit(X, LABELS)
    parts = [cost(model[0]), cost(model[2]), cost(model[3])]
    assert cost(model) == sum(parts, start=Cost())
    assert cost(model).macs == 7 + 70 + 60


def test_searches_and_frozen_estimators_cost_what_is_inside():
    search = GridSearchCV(Ridge(), {"alpha": [1.0]}, cv=2).fit(X, LABELS)
    assert cost(search).macs == 7
    assert cost(FrozenEstimator(Ridge().fit(X, LABELS))).macs == 7


def test_what_is_not_fitted_or_unknown_is_refused():
    with pytest.raises(NotFittedError):
        cost(RandomFourierFeatures())
    with pytest.raises(ValueError, match=r"KNeighborsClassifier\(\) cannot be counted: pass an"):
        cost(KNeighborsClassifier().fit(X, LABELS))

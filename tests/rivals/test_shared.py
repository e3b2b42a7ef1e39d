"""What all rivals share: seeds, containers, probabilities, cost, laziness."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, make_moons
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import RidgeClassifierCV
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import cerflearn
from cerflearn import cost, rivals
from cerflearn.rivals import ALaCarte, BaNK, MultipleKernelLearning, RandomKitchenSinks

RIVALS = [
    RandomKitchenSinks(n_components=60, random_state=0),
    RandomKitchenSinks(n_components=60, bound=100.0, random_state=0),
    MultipleKernelLearning(random_state=0),
    MultipleKernelLearning(single_inputs=True, random_state=0),
    ALaCarte(n_components=60, max_iter=5, random_state=0),
    ALaCarte(n_components=61, max_iter=5, random_state=0),
    BaNK(n_components=60, n_sweeps=5, random_state=0),
    BaNK(n_components=61, n_sweeps=5, n_average=3, random_state=0),
]
IDS = [f"{i}-{type(rival).__name__}" for i, rival in enumerate(RIVALS)]


@pytest.fixture(params=RIVALS, ids=IDS)
def rival(request):
    return clone(request.param)


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


def test_same_seed_gives_the_same_bits(rival, iris):
    X, y = iris
    one, other = rival.fit(X, y).decision_function(X), rival.fit(X, y).decision_function(X)
    assert np.array_equal(one, other)


def test_another_seed_draws_another_model(rival, iris):
    X, y = iris
    first = rival.fit(X, y).decision_function(X)
    rng = np.random.default_rng(5)
    params = rival.get_params()
    second = type(rival)(**{**params, "random_state": rng}).fit(X, y).decision_function(X)
    if isinstance(rival, MultipleKernelLearning):  # 150 rows are fewer than are drawn
        np.testing.assert_allclose(first, second, atol=1e-6)
    else:
        assert np.abs(first - second).max() > 1e-3


def test_scaling_and_shifting_an_input_changes_nothing(rival, iris):
    X, y = iris
    moved = X * [1.0, 100.0, 0.01, 3.0] + [0.0, 5.0, -1.0, 20.0]
    scores = rival.fit(X, y).decision_function(X)
    np.testing.assert_allclose(rival.fit(moved, y).decision_function(moved), scores, atol=2e-4)


def test_three_classes_and_their_probabilities(rival, iris):
    X, y = iris
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = rival.fit(X, names)
    proba = model.predict_proba(X)
    assert proba.shape == (150, 3)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert (model.classes_[proba.argmax(axis=1)] == model.predict(X)).all()
    assert model.score(X, names) > 0.94


def test_probabilities_of_two_classes_are_calibrated_on_rows_not_seen(rival):
    X, y = make_moons(600, noise=0.35, random_state=0)
    model = rival.fit(X[:300], y[:300])
    proba = model.predict_proba(X[300:])
    assert (proba[:, 1] > 0.5).tolist() == (model.decision_function(X[300:]) > 0).tolist()
    wrong = 1.0 - model.score(X[300:], y[300:])
    # Binary entropy of the error rate: what one constant confidence would cost.
    constant = -(wrong * np.log(wrong) + (1 - wrong) * np.log(1 - wrong))
    assert log_loss(y[300:], proba) < constant + 0.05


def test_sparse_and_single_precision_agree_with_dense(rival, iris):
    X, y = iris
    model = rival.fit(X, y)
    scores = model.decision_function(X)
    np.testing.assert_allclose(model.decision_function(sp.csr_array(X)), scores, atol=1e-9)
    single = model.decision_function(X.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, scores, atol=1e-3 * np.abs(model.head_coef_).sum())


def test_the_head_has_a_name_that_selectors_of_inputs_do_not_read(rival, iris):
    model = rival.fit(*iris)
    assert not hasattr(model, "coef_")
    assert not hasattr(model, "intercept_")
    assert model.head_coef_.shape[0] == len(model.head_intercept_) == 3


@pytest.mark.parametrize(
    "estimator",
    [
        RandomKitchenSinks(n_components=40, random_state=0),
        RandomKitchenSinks(n_components=40, bound=20.0, random_state=0),
        MultipleKernelLearning(random_state=0),
        MultipleKernelLearning(gamma="median", single_inputs=True, random_state=0),
    ],
)
def test_an_alpha_that_is_reported_refits_to_the_same_model(estimator, iris):
    X, y = iris
    chosen = clone(estimator).fit(X, y)
    again = clone(estimator).set_params(alpha=chosen.alpha_).fit(X, y)
    assert again.alpha_ == chosen.alpha_
    np.testing.assert_array_equal(again.head_coef_, chosen.head_coef_)
    np.testing.assert_array_equal(again.decision_function(X), chosen.decision_function(X))
    np.testing.assert_array_equal(again.predict_proba(X), chosen.predict_proba(X))


def test_constant_inputs_are_harmless(rival, iris):
    X, y = iris
    model = rival.fit(np.column_stack([X, np.full(150, 7.0)]), y)
    assert model.score(np.column_stack([X, np.full(150, 7.0)]), y) > 0.94


def edge_cases():
    rng = np.random.default_rng(0)
    normal, labels = rng.normal(size=(50, 3)), np.arange(50) % 3
    return {
        "two rows": (np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([0, 1])),
        "equal rows": (np.ones((6, 2)), np.array([0, 1] * 3)),
        "rows given twice": (np.repeat(normal, 2, axis=0), np.repeat(labels, 2)),
        "far away": (1e12 * normal + 1e13, labels),
        "tiny": (1e-12 * normal, labels),
        "apart": (normal + 50.0 * labels[:, None], labels),
        "a class of one row": (normal, np.arange(50) // 49),
        "an outlier": (np.vstack([normal, [[1e9, 0.0, 0.0]]]), np.append(labels, 0)),
    }


@pytest.mark.parametrize("case", edge_cases())
def test_odd_data_gives_finite_probabilities(rival, case):
    X, y = edge_cases()[case]
    proba = rival.fit(X, y).predict_proba(X)
    assert np.isfinite(proba).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)


@pytest.mark.parametrize(
    ("estimator", "macs"),
    [
        (RandomKitchenSinks(n_components=60), 60 * 4 + 60 * 3),
        (BaNK(n_components=60, n_sweeps=2), 30 * 4 + 60 * 3),
        (BaNK(n_components=60, n_sweeps=4, n_average=3), 3 * (30 * 4 + 60 * 3)),
        (BaNK(n_components=61, n_sweeps=2), 31 * 4 + 61 * 3),
        # 8 blocks of 4 rows: 2 * 4 * 2 + 3 * 4 operations and 4 for the centre; the head.
        (ALaCarte(n_components=60, max_iter=1), 8 * (28 + 4) + 60 * 3),
    ],
)
def test_cost_counts_features_and_head(estimator, macs, iris):
    model = clone(estimator).fit(*iris)
    assert cost(model).macs == macs == model.n_macs_


def test_cost_of_multiple_kernels_counts_all_rows(iris):
    model = MultipleKernelLearning(widths=(1.0,)).fit(*iris)
    assert cost(model).macs == 4 + 150 * (4 + 1 + 3)


@pytest.mark.parametrize("kind", [RandomKitchenSinks, MultipleKernelLearning, ALaCarte, BaNK])
def test_digits_are_learned_as_by_scikit_learn(kind):
    X, y = load_digits(return_X_y=True)
    train, test = slice(0, 600), slice(600, None)
    size = {} if kind is MultipleKernelLearning else {"n_components": 200}
    quick = {"n_sweeps": 5} if kind is BaNK else {}
    model = kind(random_state=0, **size, **quick).fit(X[train], y[train])
    reference = make_pipeline(
        StandardScaler(),
        RBFSampler(gamma=model.gamma_, n_components=200, random_state=0),
        RidgeClassifierCV(alphas=np.logspace(-4, 2, 13)),
    ).fit(X[train], y[train])
    share = reference.score(X[test], y[test])
    error = np.sqrt(share * (1.0 - share) / len(y[test]))
    assert model.score(X[test], y[test]) > share - error


@pytest.mark.parametrize("name", rivals.__all__)
def test_rivals_are_marked_as_baselines(name):
    assert "Baseline of the comparison" in getattr(rivals, name).__doc__
    assert name in dir(rivals)
    assert name not in cerflearn.__all__


def test_importing_the_room_is_lazy():
    code = "import sys, cerflearn.rivals; print('sklearn' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
    with pytest.raises(AttributeError, match="no attribute 'Nobody'"):
        _ = rivals.Nobody


def test_standardised_input_needs_no_preparation():
    X, y = load_breast_cancer(return_X_y=True)
    model = RandomKitchenSinks(n_components=80, random_state=0)
    prepared = StandardScaler().fit_transform(X)
    scores = model.fit(X, y).decision_function(X)
    np.testing.assert_allclose(
        model.fit(prepared, y).decision_function(prepared), scores, atol=1e-6
    )

"""RandomizedKernelCCA: correlations of two views, linear and not."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.linalg import eigh
from sklearn.base import clone
from sklearn.cross_decomposition import CCA
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from cerflearn import MaskedFourierFeatures, RandomFourierFeatures, RandomizedKernelCCA, cost


def circles(n_samples, seed, noise=0.1):
    """Two views of an angle t, as t and as 3 t: no linear relation between them."""
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0, 2 * np.pi, n_samples)
    first = np.c_[np.cos(angle), np.sin(angle)]
    second = np.c_[np.cos(3 * angle), np.sin(3 * angle), np.zeros(n_samples)]
    return [view + noise * rng.normal(size=view.shape) for view in (first, second)]


X, Y = circles(800, 0)


@pytest.fixture(name="fitted", scope="module")
def fixture_fitted():
    return RandomizedKernelCCA(random_state=0).fit(X, Y)


@pytest.mark.parametrize("alpha", [0.01, 1.0])
def test_correlations_are_those_of_the_generalised_eigenvalue_problem(alpha):
    feature_map = RandomFourierFeatures(n_components=20, random_state=0)
    model = RandomizedKernelCCA(n_components=3, feature_map=feature_map, alpha=alpha).fit(X, Y)
    views = [clone(feature_map).fit(view).transform(view) for view in (X, Y)]
    first, second = (view - view.mean(axis=0) for view in views)
    blocks = [view.T @ view / 800 for view in (first, second)]
    blocks = [b + alpha * np.trace(b) / 20 * np.eye(20) for b in blocks]
    cross, zero = first.T @ second / 800, np.zeros((20, 20))
    values = eigh(
        np.block([[zero, cross], [cross.T, zero]]),
        np.block([[blocks[0], zero], [zero, blocks[1]]]),
        eigvals_only=True,
    )
    np.testing.assert_allclose(model.correlations_, values[::-1][:3], rtol=1e-8)
    scores = model.transform(X, Y)
    np.testing.assert_allclose(scores[0], first @ model.x_components_.T, atol=1e-8)
    np.testing.assert_allclose(scores[1], second @ model.y_components_.T, atol=1e-8)
    products = scores[0].T @ scores[1] / 800
    np.testing.assert_allclose(products, np.diag(model.correlations_), atol=1e-8)


def test_with_the_inputs_as_features_it_is_linear_cca():
    rng = np.random.default_rng(1)
    shared = rng.normal(size=(500, 2))
    first = np.hstack([shared, rng.normal(size=(500, 2))])
    second = np.hstack([shared + rng.normal(size=(500, 2)), rng.normal(size=(500, 1))])
    model = RandomizedKernelCCA(feature_map=StandardScaler(), alpha=0.0).fit(first, second)
    oracle = CCA(n_components=2, max_iter=5000, tol=1e-10).fit(first, second)
    scores = oracle.transform(first, second)
    wanted = [np.corrcoef(scores[0][:, i], scores[1][:, i])[0, 1] for i in range(2)]
    np.testing.assert_allclose(model.correlations_, wanted, rtol=1e-4)


def test_a_relation_that_linear_cca_misses_is_found(fitted):
    new = circles(600, 1)
    linear = CCA(n_components=2).fit(X, Y).transform(*new)
    missed = np.mean([np.corrcoef(linear[0][:, i], linear[1][:, i])[0, 1] for i in range(2)])
    assert abs(missed) < 0.2
    assert fitted.score(*new) > 0.9
    assert (fitted.correlations_ > 0.8).all()


def test_views_of_nothing_in_common_do_not_correlate_on_new_rows():
    rng = np.random.default_rng(2)
    views = rng.normal(size=(1500, 4)), rng.normal(size=(1500, 3))
    model = RandomizedKernelCCA(random_state=0).fit(views[0][:1000], views[1][:1000])
    # Two correlations of 500 independent rows each have a standard error of 0.045.
    assert abs(model.score(views[0][1000:], views[1][1000:])) < 4 * 0.045


def test_halves_of_digits_correlate_more_than_linear_cca_sees():
    digits = load_digits().data / 16
    top, bottom = digits[:, :32], digits[:, 32:]
    model = RandomizedKernelCCA(random_state=0).fit(top[:1000], bottom[:1000])
    linear = CCA(n_components=2).fit(top[:1000], bottom[:1000])
    scores = linear.transform(top[1000:], bottom[1000:])
    rival = np.mean([np.corrcoef(scores[0][:, i], scores[1][:, i])[0, 1] for i in range(2)])
    assert model.score(top[1000:], bottom[1000:]) > rival


def test_score_is_the_mean_correlation(fitted):
    new = circles(300, 3)
    first, second = fitted.transform(*new)
    wanted = np.mean([np.corrcoef(first[:, i], second[:, i])[0, 1] for i in range(2)])
    np.testing.assert_allclose(fitted.score(*new), wanted)
    np.testing.assert_array_equal(fitted.transform(new[0]), first)


@pytest.mark.parametrize("n_jobs", [2, -1])
def test_bits_do_not_depend_on_the_threads(n_jobs):
    rows = circles(4000, 4)
    serial, threads = (
        RandomizedKernelCCA(random_state=0, n_jobs=n).fit(*rows) for n in (None, n_jobs)
    )
    np.testing.assert_array_equal(serial.x_components_, threads.x_components_)
    for found, wanted in zip(threads.transform(*rows), serial.transform(*rows), strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_views_may_have_maps_and_containers_of_their_own(fitted):
    model = RandomizedKernelCCA(
        feature_map=PolynomialFeatures(3),
        y_feature_map=MaskedFourierFeatures(n_components=30),
        random_state=0,
    )
    assert model.fit(X, Y).x_components_.shape == (2, 10)
    assert model.y_components_.shape == (2, 30)
    sparse = RandomizedKernelCCA(random_state=0).fit(sp.csr_array(X), sp.csc_array(Y))
    np.testing.assert_allclose(sparse.correlations_, fitted.correlations_, atol=1e-8)
    single = fitted.transform(X.astype(np.float32), Y.astype(np.float32))
    assert single[0].dtype == single[1].dtype == np.float32
    frame = pd.DataFrame(X, columns=["a", "b"])
    framed = RandomizedKernelCCA(random_state=0).set_output(transform="pandas").fit(frame, Y)
    names = ["randomizedkernelcca0", "randomizedkernelcca1"]
    assert list(framed.transform(frame).columns) == names
    np.testing.assert_allclose(framed.score(frame, Y), fitted.score(X, Y))
    flat = RandomizedKernelCCA(n_components=1, random_state=0).fit(X, Y[:, 0])
    assert flat.n_features_y_ == 1
    assert flat.transform(X, Y[:, 0])[1].shape == (800, 1)


def test_the_ridge_can_be_tuned_by_the_score():
    model = RandomizedKernelCCA(feature_map=MaskedFourierFeatures(n_components=128), random_state=0)
    search = GridSearchCV(model, {"alpha": [0.1, 1e6]}, cv=3)
    assert search.fit(X[:300], Y[:300]).best_score_ > 0.8


def test_cost_counts_the_first_view(fitted):
    assert cost(fitted).macs == cost(fitted.feature_map_).macs + 512 * 2


def test_bad_input_is_refused_with_a_reason(fitted):
    for parameters, message in [
        ({"n_components": 0}, "n_components=0 is not valid"),
        ({"n_components": 600}, "n_components=600 is not valid: it must be at most 512"),
        ({"alpha": -0.1}, "alpha=-0.1 is not valid"),
        ({"feature_map": "rff"}, "feature_map='rff' is not valid"),
        ({"y_feature_map": 1}, "y_feature_map=1 is not valid"),
    ]:
        with pytest.raises(ValueError, match=message):
            RandomizedKernelCCA(**parameters).fit(X, Y)
    for views, message in [
        ((X, Y[:-1]), "inconsistent numbers of samples.* X and y must have as many rows"),
        ((X, None), "requires y to be passed"),
        ((X[:1], Y[:1]), "one sample"),
        ((X, np.ones((800, 2))), "y is constant"),
        ((np.ones((800, 2)), Y), "X is constant"),
        ((X, np.where(Y > 1, np.nan, Y)), "y contains NaN.* Fill missing values first, or drop"),
        ((X, np.zeros((800, 0))), "y has no columns"),
        ((X, Y[:, 0].astype(str) + "a"), "y must be numeric: encode text"),
        ((X[:3], Y[:3]), "n_components=3 is not valid: it must be at most 2"),
    ]:
        with pytest.raises(ValueError, match=message):
            RandomizedKernelCCA(n_components=3).fit(*views)
    with pytest.raises(NotFittedError):
        RandomizedKernelCCA().transform(X)
    with pytest.raises(ValueError, match="expecting 2 features"):
        fitted.transform(Y)
    with pytest.raises(ValueError, match=r"y has shape \(800, 2\), expected \(800, 3\)"):
        fitted.transform(X, X)
    with pytest.raises(ValueError, match=r"y has shape \(9, 3\), expected \(800, 3\)"):
        fitted.score(X, Y[:9])

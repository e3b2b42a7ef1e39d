"""Laws of frequencies: closed forms against quadrature, scikit-learn and their own draws."""

from __future__ import annotations

import copy
import math
import pickle
from functools import partial

import numpy as np
import pytest
from scipy.special import gamma, kv
from scipy.stats import ks_2samp
from sklearn.base import BaseEstimator, clone
from sklearn.gaussian_process.kernels import Matern
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel

from cerflearn.spectral import (
    KERNELS,
    Cauchy,
    Gaussian,
    GaussianMixture,
    Laplace,
    Product,
    StudentT,
    law_from_kernel,
)
from oracle.laws import (
    cauchy_density,
    fourier_kernel,
    inputwise_gram,
    laplace_density,
    mixture_gram,
    normal_density,
    product_kernel,
    radial_gram,
    student_density,
)

N_FEATURES = 3
CENTRES = np.random.default_rng(5).normal(size=(7, N_FEATURES))
LAWS = [
    Gaussian(0.8),
    Cauchy(0.5),
    Laplace(0.9),
    StudentT(0.7, 1),
    StudentT(0.7, 3),
    StudentT(0.7, 5),
    StudentT(0.7, 2.5),
    Product(Gaussian(0.8), Gaussian(1.1)),
    Product(Cauchy(0.5), Gaussian(0.9)),
    Product(Gaussian(0.9), Cauchy(0.5)),
    GaussianMixture(CENTRES, 0.3),
]
ISOTROPIC = [Gaussian(0.8), StudentT(0.7, 1), StudentT(1.3, 3), StudentT(0.7, 5)]
each_law = pytest.mark.parametrize("law", LAWS, ids=repr)


def samples(seed, n_samples=6):
    return np.random.default_rng(seed).normal(size=(n_samples, N_FEATURES))


@each_law
def test_mean_cosine_of_draws_converges_to_the_kernel(law):
    X, Y, n_draws = samples(0), samples(1), 40_000
    frequencies = law.sample(N_FEATURES, n_draws, np.random.default_rng(2))
    phases = (X[:, None, :] - Y[None, :, :]) @ frequencies
    exact = law.kernel(X, Y)
    # Var[cos a] = (1 + E[cos 2a]) / 2 - E[cos a]^2; a balanced mixture has less.
    variance = (1.0 + law.kernel(2 * X, 2 * Y)) / 2.0 - exact**2
    error = np.abs(np.cos(phases).mean(axis=2) - exact)
    assert (error < 5.0 * np.sqrt(variance / n_draws)).all()


@pytest.mark.parametrize(
    ("law", "oracle"),
    [
        (Gaussian(0.8), partial(normal_density, scale=0.8)),
        (Cauchy(0.5), partial(cauchy_density, scale=0.5)),
        (Laplace(0.9), partial(laplace_density, scale=0.9)),
    ],
    ids=["normal", "cauchy", "laplace"],
)
def test_kernel_of_independent_inputs_is_the_fourier_integral(law, oracle):
    X, Y = samples(0, 3), samples(1, 2)
    expected = inputwise_gram(X, Y, partial(fourier_kernel, oracle))
    np.testing.assert_allclose(law.kernel(X, Y), expected, atol=1e-8)


@pytest.mark.parametrize("degrees", [1, 3, 5, 7, 2.5, 2, 0.8])
def test_student_kernel_is_the_fourier_integral(degrees):
    # A one-dimensional marginal of the multivariate t is a t: k depends on |x - y|_2 only.
    X, Y = samples(0, 3), samples(1, 2)
    density = partial(student_density, scale=0.7, degrees=degrees)
    expected = radial_gram(X, Y, partial(fourier_kernel, density))
    np.testing.assert_allclose(StudentT(0.7, degrees).kernel(X, Y), expected, atol=1e-7)


@pytest.mark.parametrize("degrees", [1, 4.3, 21, 60])
def test_student_kernel_is_the_bessel_form(degrees):
    X, Y = samples(0), samples(1)
    order = degrees / 2

    def bessel(distance):
        u = math.sqrt(degrees) * 0.7 * distance
        return 2 ** (1 - order) / gamma(order) * u**order * kv(order, u)

    expected = radial_gram(X, Y, bessel)
    np.testing.assert_allclose(StudentT(0.7, degrees).kernel(X, Y), expected, rtol=1e-11)


def test_student_kernel_approaches_the_gaussian():
    # The log densities differ by O(1 / degrees).
    X = samples(0)
    gap = np.abs(StudentT(0.7, 1000).kernel(X) - Gaussian(0.7).kernel(X)).max()
    assert 0.0 < gap < 1e-3


@pytest.mark.parametrize("degrees", [0.5, 1, 2, 3, 1000])
def test_student_kernel_has_its_limits(degrees):
    gram = StudentT(1.0, degrees).kernel([[0.0]], [[0.0], [1e-250], [1e300 ** (1 / 2)]])
    assert gram[0, 0] == pytest.approx(1.0, abs=1e-12)
    assert gram[0, 1] == pytest.approx(1.0, abs=1e-12)
    assert gram[0, 2] == 0.0


def test_product_kernels_are_expectations_over_the_second_law():
    X, Y = samples(0, 3), samples(1, 2)
    gauss = partial(product_kernel, lambda t: math.exp(-0.5 * (0.8 * t) ** 2), 1.1)
    cauchy = partial(product_kernel, lambda t: math.exp(-0.5 * abs(t)), 0.9)
    np.testing.assert_allclose(
        Product(Gaussian(0.8), Gaussian(1.1)).kernel(X, Y), inputwise_gram(X, Y, gauss), atol=1e-8
    )
    expected = inputwise_gram(X, Y, cauchy)
    np.testing.assert_allclose(
        Product(Cauchy(0.5), Gaussian(0.9)).kernel(X, Y), expected, atol=1e-8
    )
    np.testing.assert_allclose(
        Product(Gaussian(0.9), Cauchy(0.5)).kernel(X, Y), expected, atol=1e-8
    )


def test_mixture_kernel_matches_loops():
    X, Y = samples(0), samples(1)
    expected = mixture_gram(X, Y, CENTRES, 0.3)
    np.testing.assert_allclose(GaussianMixture(CENTRES, 0.3).kernel(X, Y), expected, atol=1e-13)


def test_named_kernels_match_scikit_learn():
    X, Y, gamma = samples(0), samples(1), 0.37
    for name, expected in {
        "rbf": rbf_kernel(X, Y, gamma=gamma),
        "laplacian": laplacian_kernel(X, Y, gamma=gamma),
        "matern32": Matern(length_scale=1 / np.sqrt(2 * gamma), nu=1.5)(X, Y),
        "matern52": Matern(length_scale=1 / np.sqrt(2 * gamma), nu=2.5)(X, Y),
        "cauchy": np.prod(1 / (1 + gamma**2 * (X[:, None] - Y[None]) ** 2), axis=2),
    }.items():
        law = law_from_kernel(name, gamma)
        np.testing.assert_allclose(law.kernel(X, Y), expected, rtol=1e-12, err_msg=name)


@each_law
def test_gram_of_one_set_is_symmetric_with_unit_diagonal(law):
    X = samples(3, 20) + 1e3
    gram = law.kernel(X)
    np.testing.assert_allclose(np.diag(gram), 1.0, rtol=1e-12)
    np.testing.assert_allclose(gram, gram.T, rtol=1e-12)
    np.testing.assert_allclose(gram, law.kernel(X - 1e3), atol=1e-9)


def test_duplicate_rows_far_from_the_origin_keep_a_kernel_of_at_most_one():
    X = np.repeat(samples(3, 5) * 1e6, 2, axis=0)
    for law in ISOTROPIC:
        gram = law.kernel(X, X.copy())
        assert np.isfinite(gram).all()
        assert gram.max() <= 1.0


def test_blocked_product_gram_matches_single_rows(monkeypatch):
    X, Y = samples(0, 11), samples(1, 5)
    expected = np.vstack([Laplace(0.9).kernel(x[None], Y) for x in X])
    monkeypatch.setattr("cerflearn.spectral.laws.BLOCK_ELEMENTS", 20)
    np.testing.assert_array_equal(Laplace(0.9).kernel(X, Y), expected)


@each_law
def test_rescaled_law_is_the_kernel_of_rescaled_inputs(law):
    X, Y = samples(0), samples(1)
    rescaled = law.rescaled(1.7)
    np.testing.assert_allclose(rescaled.kernel(X, Y), law.kernel(1.7 * X, 1.7 * Y), atol=1e-12)
    assert rescaled.stability_index == law.stability_index
    with pytest.raises(ValueError, match=r"factor=-1\.0"):
        law.rescaled(-1.0)


@pytest.mark.parametrize("law", ISOTROPIC, ids=repr)
@pytest.mark.parametrize("n_features", [1, 6])
def test_radii_are_the_norms_of_draws(law, n_features):
    assert law.is_isotropic
    radii = law.sample_radii(n_features, 3_000, np.random.default_rng(0))
    drawn = law.sample(n_features, 3_000, np.random.default_rng(1))
    assert ks_2samp(radii, np.linalg.norm(drawn, axis=0)).pvalue > 1e-3


@pytest.mark.parametrize("law", [law for law in LAWS if not law.is_isotropic], ids=repr)
def test_radii_of_other_laws_are_refused(law):
    with pytest.raises(ValueError, match="matern32"):
        law.sample_radii(3, 4, np.random.default_rng(0))


@pytest.mark.parametrize(
    "law", [Gaussian(0.8), Cauchy(0.5), Laplace(1.0), StudentT(1.0, 1), StudentT(1.0, 3)], ids=repr
)
def test_stability_index_keeps_the_size_of_a_sum(law):
    # The sum over 64 inputs, divided by 64^(1/index), is as large as one over 4, by its median.
    rng = np.random.default_rng(0)

    def median(n_features):
        sums = law.sample(n_features, 20_000, rng).sum(axis=0)
        return np.median(np.abs(sums)) / n_features ** (1 / law.stability_index)

    # Relative error of the sample median m of |sum|: 1 / (2 sqrt(20,000) m p(m)), .8 % for a
    # normal sum and 1.1 % for a Cauchy sum; five errors of the ratio of two.
    assert median(64) / median(4) == pytest.approx(1.0, abs=5 * np.sqrt(2) * 0.0112)


def test_stability_index_of_products():
    assert Product(Gaussian(1.0), Laplace(1.0)).stability_index == 2.0
    assert Product(Gaussian(1.0), Cauchy(1.0)).stability_index == 1.0
    assert Product(Product(Cauchy(1.0), Gaussian(1.0)), Gaussian(1.0)).stability_index == 1.0


def test_product_without_closed_form_says_so_but_draws():
    law = Product(Cauchy(1.0), Cauchy(1.0))
    assert not law.has_kernel
    assert law.sample(3, 5, np.random.default_rng(0)).shape == (3, 5)
    with pytest.raises(ValueError, match="no closed-form kernel"):
        law.kernel(samples(0))
    assert all(law.has_kernel for law in LAWS)


@pytest.mark.parametrize("n_projections", [0, 1, 6, 7, 23])
def test_mixture_draws_use_components_in_order_and_evenly(n_projections):
    centres = 100.0 * np.arange(7.0)[:, None]
    law = GaussianMixture(centres, 1e-3)
    drawn = law.sample(1, n_projections, np.random.default_rng(0))
    component = np.rint(drawn[0] / 100.0).astype(int)
    assert (np.diff(component) >= 0).all()
    counts = np.bincount(component, minlength=7)
    assert counts.max() - counts.min() <= 1


def test_mixture_around_draws_its_centres_from_the_law():
    law = GaussianMixture.around(Cauchy(0.5), 4, 3, 0.2, np.random.default_rng(0))
    expected = Cauchy(0.5).sample(3, 4, np.random.default_rng(0)).T
    np.testing.assert_array_equal(law.centres, expected)


def test_mixture_copies_protects_and_compares_its_centres():
    centres = CENTRES.copy()
    law = GaussianMixture(centres, 0.3)
    centres[0, 0] = 9.0
    assert law == GaussianMixture(CENTRES, 0.3)
    assert law != GaussianMixture(centres, 0.3)
    assert law != GaussianMixture(CENTRES, 0.4)
    assert law != Gaussian(0.3)
    for same in (copy.deepcopy(law), pickle.loads(pickle.dumps(law)), law.rescaled(1.0)):
        assert same == law
        assert hash(same) == hash(law)
        with pytest.raises(ValueError, match="read-only"):
            same.centres[0, 0] = 1.0


class _Holder(BaseEstimator):
    def __init__(self, kernel="rbf"):
        self.kernel = kernel


@each_law
def test_laws_survive_clone_and_have_short_names(law):
    holder = clone(_Holder(law))
    assert holder.kernel == law
    assert len(repr(law)) < 80
    assert pickle.loads(pickle.dumps(law)) == law


@each_law
def test_draws_repeat_with_the_seed_and_are_float64(law):
    first = law.sample(N_FEATURES, 5, np.random.default_rng(3))
    assert first.shape == (N_FEATURES, 5)
    assert first.dtype == np.float64
    np.testing.assert_array_equal(first, law.sample(N_FEATURES, 5, np.random.default_rng(3)))


@pytest.mark.parametrize("value", [0.0, -1.0, np.inf, np.nan, "wide", None, True])
def test_scales_that_are_not_positive_numbers_are_refused(value):
    for build in (Gaussian, Cauchy, Laplace, partial(StudentT, degrees_of_freedom=3)):
        with pytest.raises(ValueError, match="scale="):
            build(value)
    with pytest.raises(ValueError, match="spread="):
        GaussianMixture(CENTRES, value)
    with pytest.raises(ValueError, match="degrees_of_freedom="):
        StudentT(1.0, value)
    with pytest.raises(ValueError, match="gamma="):
        law_from_kernel("rbf", value)


def test_other_wrong_values_are_refused_with_a_remedy():
    with pytest.raises(ValueError, match="use Gaussian"):
        StudentT(1.0, 1001)
    with pytest.raises(ValueError, match=r"first=1\.0 is not a law"):
        Product(1.0, Gaussian(1.0))
    with pytest.raises(ValueError, match=r"\(n_components, n_features\)"):
        GaussianMixture([1.0, 2.0], 1.0)
    with pytest.raises(ValueError, match="finite"):
        GaussianMixture([[np.nan]], 1.0)
    with pytest.raises(ValueError, match="4 features"):
        GaussianMixture(CENTRES, 1.0).sample(4, 2, np.random.default_rng(0))
    with pytest.raises(ValueError, match="equally many columns"):
        Laplace(1.0).kernel(np.zeros((2, 3)), np.zeros((2, 4)))
    with pytest.raises(ValueError, match="rbf, laplacian, cauchy, matern32, matern52"):
        law_from_kernel("poly", 1.0)


def test_numpy_scalars_and_integers_become_plain_floats():
    assert repr(Gaussian(np.float32(2.0))) == "Gaussian(scale=2.0)"
    assert repr(law_from_kernel("matern52", 2)) == "StudentT(scale=2.0, degrees_of_freedom=5.0)"
    assert set(KERNELS) == {"rbf", "laplacian", "cauchy", "matern32", "matern52"}


@pytest.mark.parametrize("n_projections", [1, 2, 5])
def test_mixture_is_unbiased_with_fewer_draws_than_components(n_projections):
    centres = np.array([[0.0], [2.0], [5.0]])
    law = GaussianMixture(centres, 0.1)
    X = np.array([[0.0], [0.8]])
    rng = np.random.default_rng(0)
    means = [
        np.cos(law.sample(1, n_projections, rng)[0] * 0.8).mean() for _ in range(4_000)
    ]  # cosines are within 1: five standard errors of a mean of 4,000
    assert abs(np.mean(means) - law.kernel(X)[0, 1]) < 5 / np.sqrt(4_000)


def test_kernel_refuses_what_is_not_finite():
    with pytest.raises(ValueError, match="NaN or infinity"):
        Gaussian(1.0).kernel([[np.nan]])

"""A la carte: gradient of the evidence, the kernel of the mixture, what is learned."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.stats import multivariate_normal

from cerflearn.rivals import ALaCarte
from cerflearn.rivals._evidence import EvidenceProblem, Spectrum, negative_evidence


def small_problem(n_outputs: int, n_scores: int = 2, seed: int = 0):
    rng = np.random.default_rng(seed)
    n_projections = -(-n_outputs // 2)
    problem = EvidenceProblem(
        X=rng.normal(size=(9, 3)),
        targets=rng.normal(size=(9, n_scores)),
        directions=rng.normal(size=(3, n_projections)),
        groups=np.arange(n_projections) * 2 // n_projections,
        n_outputs=n_outputs,
    )
    n_groups = int(problem.groups.max()) + 1
    spectrum = Spectrum(
        0.3 * rng.normal(size=(n_groups, 3)),
        rng.normal(size=(n_groups, 3)),
        rng.normal(size=n_groups),
        -0.5,
    )
    return problem, spectrum


def slow_features(problem, spectrum):
    """Features column by column, from the formula."""
    counts = np.bincount(problem.groups)
    columns = {}
    for p, q in enumerate(problem.groups):
        frequency = np.exp(spectrum.log_scale[q]) * problem.directions[:, p] + spectrum.centre[q]
        amplitude = np.sqrt(np.exp(spectrum.log_weight[q]) / counts[q])
        columns[p, 0] = amplitude * np.cos(problem.X @ frequency)
        columns[p, 1] = amplitude * np.sin(problem.X @ frequency)
    order = [(p, 0) for p in range(len(problem.groups))] + [
        (p, 1) for p in range(len(problem.groups))
    ]
    return np.column_stack([columns[key] for key in order[: problem.n_outputs]])


@pytest.mark.parametrize("n_outputs", [1, 2, 5, 8, 30])
@pytest.mark.parametrize("n_scores", [1, 3])
def test_value_is_the_density_of_the_targets(n_outputs, n_scores):
    problem, spectrum = small_problem(n_outputs, n_scores)
    features = slow_features(problem, spectrum)
    covariance = features @ features.T + np.exp(spectrum.log_noise) * np.eye(9)
    expected = -sum(
        multivariate_normal.logpdf(column, mean=np.zeros(9), cov=covariance)
        for column in problem.targets.T
    )
    assert problem.objective(spectrum)[0] * 9 == pytest.approx(expected)


@pytest.mark.parametrize("n_outputs", [1, 4, 7, 30])
@pytest.mark.parametrize("n_scores", [1, 3])
def test_gradient_matches_finite_differences(n_outputs, n_scores):
    problem, spectrum = small_problem(n_outputs, n_scores)
    values = spectrum.pack()
    step = 1e-6
    expected = [
        (
            problem.objective(spectrum.unpack(values + step * unit))[0]
            - problem.objective(spectrum.unpack(values - step * unit))[0]
        )
        / (2.0 * step)
        for unit in np.eye(len(values))
    ]
    # Central differences: error step^2 from the third derivative, eps / step from rounding.
    np.testing.assert_allclose(problem.objective(spectrum)[1].pack(), expected, atol=1e-8)


def test_gradient_by_features_matches_finite_differences():
    rng = np.random.default_rng(1)
    features, targets = rng.normal(size=(6, 4)), rng.normal(size=(6, 2))

    def value(flat):
        return negative_evidence(flat.reshape(6, 4), targets, 0.7)[0]

    slopes = negative_evidence(features, targets, 0.7)[1]
    np.testing.assert_allclose(slopes.ravel(), approx_fprime(features.ravel(), value), atol=1e-5)


def test_packing_and_unpacking_are_inverse():
    _, spectrum = small_problem(8)
    values = spectrum.pack()
    np.testing.assert_array_equal(spectrum.unpack(values).pack(), values)


@pytest.mark.parametrize(("n_features", "n_groups"), [(3, 2), (40, 1)])
def test_gram_converges_to_the_mixture_kernel(n_features, n_groups):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(30, n_features)) * 2.0 + 1.0
    y = (X[:, 0] > 1.0).astype(int)
    errors = {}
    for n_components in (64, 1024):
        model = ALaCarte(
            n_components=n_components,
            n_groups=n_groups,
            gamma=0.3 / n_features,
            max_iter=0,
            random_state=0,
        )
        features = model.fit(X, y).feature_map_.transform(X)
        scaled = (X - X.mean(axis=0)) / X.std(axis=0)
        gaps = scaled[:, None] - scaled[None]
        kernel = sum(
            weight * np.cos(gaps @ centre) * np.exp(-0.5 * np.square(gaps * scale).sum(axis=2))
            for weight, centre, scale in zip(
                model.weights_, model.centres_, model.scales_, strict=True
            )
        )
        error = np.sqrt(np.square(features @ features.T - kernel).mean())
        errors[n_components] = error / model.weights_.sum()
    # A mean of as many cosines as projections, of variance at most 1/2 within a group.
    assert errors[1024] < 1.5 * np.sqrt(0.5 / 512)
    assert 2.0 < errors[64] / errors[1024] < 8.0  # 4 expected


@pytest.mark.parametrize("n_features", [3, 40])
def test_the_map_has_the_learned_frequencies(n_features):
    """Scales folded into the blocks, also where the transform runs as blocks (over 32 inputs)."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, n_features)) * 3.0 - 2.0
    y = X[:, 0] + X[:, 1] > -4.0
    model = ALaCarte(n_components=151, n_groups=2, max_iter=3, random_state=0).fit(X, y)
    feature_map = model.feature_map_
    phases = X @ feature_map.frequencies + feature_map.offsets
    expected = np.empty((60, 2 * feature_map.n_projections))
    expected[:, ::2] = feature_map.amplitudes * np.cos(phases)
    expected[:, 1::2] = feature_map.amplitudes * np.sin(phases)
    np.testing.assert_allclose(feature_map.transform(X), expected[:, :151], atol=1e-10)
    # Frequencies of standardised inputs have the learned centres and scales, group by group.
    standardised = feature_map.frequencies * X.std(axis=0)[:, None]
    block_of = feature_map.block_of_projection
    n_blocks = int(block_of.max()) + 1
    groups = block_of * min(2, n_blocks) // n_blocks
    for q in range(len(model.scales_)):
        mine = (standardised[:, groups == q] - model.centres_[q][:, None]).T / model.scales_[q]
        assert np.abs(np.square(mine).mean() - 1.0) < 6.0 * np.sqrt(2.0 / mine.size)


def test_learning_raises_the_evidence_at_every_budget():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(150, 4))
    y = np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1] > 0
    evidence = [
        ALaCarte(n_components=40, max_iter=n, random_state=0).fit(X, y).log_evidence_
        for n in (0, 3, 15)
    ]
    assert evidence[0] < evidence[1] < evidence[2]


def test_inputs_that_say_nothing_lose_their_scale():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(400, 6))
    y = np.sin(2.0 * X[:, 0]) * X[:, 1] > 0
    model = ALaCarte(n_components=128, n_groups=1, max_iter=40, random_state=0).fit(X, y)
    assert model.scales_[0, :2].min() > 2.0 * model.scales_[0, 2:].max()
    start = ALaCarte(n_components=128, n_groups=1, max_iter=0, random_state=0).fit(X, y)
    fresh = rng.normal(size=(1000, 6))
    truth = np.sin(2.0 * fresh[:, 0]) * fresh[:, 1] > 0
    assert model.score(fresh, truth) > start.score(fresh, truth) + 0.05


def test_few_blocks_mean_few_groups():
    X = np.random.default_rng(6).normal(size=(40, 40))
    model = ALaCarte(n_components=100, n_groups=9, max_iter=2, random_state=0)
    assert model.fit(X, X[:, 0] > 0).scales_.shape == (1, 40)  # 50 projections, blocks of 64

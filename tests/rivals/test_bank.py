"""BaNK: every conditional draw against its law, the chain against the joint law of the model."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import beta, ks_2samp, kstest, multivariate_normal, norm, t

from cerflearn.rivals import BaNK, RandomKitchenSinks
from cerflearn.rivals._dirichlet import (
    Mixture,
    MixturePrior,
    draw_components,
    draw_log_weights,
    gibbs_sweep,
    log_densities,
)
from cerflearn.rivals._sampler import _VARIANCE_RATE, _VARIANCE_SHAPE, Chain, ChainState

PRIOR = MixturePrior(n_components=4, concentration=0.8, shape=3.0, rate=2.0, centre_strength=0.7)
LEVEL = 1e-4  # of each test of a law: seeds are fixed, so that it passes or fails for good


def test_densities_are_normal():
    rng = np.random.default_rng(0)
    points, centres = rng.normal(size=(5, 3)), rng.normal(size=(2, 3))
    variances = rng.uniform(0.5, 2.0, size=(2, 3))
    expected = [
        [
            multivariate_normal.logpdf(p, c, np.diag(v))
            for c, v in zip(centres, variances, strict=True)
        ]
        for p in points
    ]
    np.testing.assert_allclose(log_densities(points, centres, variances), expected)


def test_weights_sum_to_one_and_their_sticks_follow_the_posterior():
    rng = np.random.default_rng(1)
    counts = np.array([5, 0, 2, 1])
    weights = np.exp([draw_log_weights(counts, PRIOR, rng) for _ in range(4000)])
    np.testing.assert_allclose(weights.sum(axis=1), 1.0)
    assert kstest(weights[:, 0], beta(6.0, 0.8 + 3.0).cdf).pvalue > LEVEL
    second = weights[:, 1] / (1.0 - weights[:, 0])
    assert kstest(second, beta(1.0, 0.8 + 3.0).cdf).pvalue > LEVEL


def test_centres_and_variances_follow_the_posterior():
    """The centre's posterior is a Student t whose parameters are worked out by hand."""
    rng = np.random.default_rng(2)
    points = np.array([[1.0], [2.5], [0.3], [7.0]])
    assignments = np.array([0, 0, 0, 1])
    draws = [draw_components(points, assignments, PRIOR, rng) for _ in range(4000)]
    centres = np.array([centre[:, 0] for centre, _ in draws])
    variances = np.array([variance[:, 0] for _, variance in draws])
    for component, mine in ((0, points[:3, 0]), (1, points[3:, 0]), (2, np.empty(0))):
        n, total = len(mine), mine.sum()
        strength, shape = 0.7 + n, 3.0 + n / 2.0
        # sum x^2 - (sum x)^2 / kappa_n, the other way to write scatter and pull.
        rate = 2.0 + 0.5 * (np.square(mine).sum() - total**2 / strength)
        law = t(2.0 * shape, loc=total / strength, scale=np.sqrt(rate / (shape * strength)))
        assert kstest(centres[:, component], law.cdf).pvalue > LEVEL
        mean = rate / (shape - 1.0)
        spread = variances[:, component].std() / np.sqrt(len(variances))
        assert abs(variances[:, component].mean() - mean) < 5.0 * spread


def test_assignments_follow_weights_and_densities(monkeypatch):
    rng = np.random.default_rng(3)
    point = np.array([[0.4]])
    centres, variances = np.array([[0.0], [1.0]]), np.array([[1.0], [0.5]])
    weights = np.array([0.3, 0.7])
    module = "cerflearn.rivals._dirichlet"
    monkeypatch.setattr(f"{module}.draw_log_weights", lambda *_: np.log(weights))
    monkeypatch.setattr(f"{module}.draw_components", lambda *_: (centres, variances))
    prior = MixturePrior(2, 1.0, 3.0, 2.0, 1.0)
    drawn = [gibbs_sweep(point, np.zeros(1, int), prior, rng).assignments[0] for _ in range(4000)]
    likely = weights * norm.pdf(0.4, centres[:, 0], np.sqrt(variances[:, 0]))
    expected = likely[1] / likely.sum()
    assert abs(np.mean(drawn) - expected) < 4.5 * np.sqrt(expected * (1 - expected) / 4000)


def test_proposals_follow_the_components():
    rng = np.random.default_rng(4)
    mixture = Mixture(
        np.log([0.5, 0.5]),
        np.array([[0.0], [10.0]]),
        np.array([[1.0], [4.0]]),
        np.repeat([0, 1], 3000),
    )
    drawn = mixture.propose(rng)[:, 0]
    assert kstest(drawn[:3000], norm(0.0, 1.0).cdf).pvalue > LEVEL
    assert kstest(drawn[3000:], norm(10.0, 2.0).cdf).pvalue > LEVEL


def draw_from_the_model(X, n_outputs, rng):
    """State from the prior, and targets given the state: from the formulas, sharing no code."""
    n_projections, n_features = -(-n_outputs // 2), X.shape[1]
    sticks = np.append(rng.beta(1.0, PRIOR.concentration, PRIOR.n_components - 1), 1.0)
    weights = sticks * np.append(1.0, np.cumprod(1.0 - sticks[:-1]))
    shape = (PRIOR.n_components, n_features)
    variances = 1.0 / rng.gamma(PRIOR.shape, 1.0 / PRIOR.rate, size=shape)
    centres = rng.normal(size=shape) * np.sqrt(variances / PRIOR.centre_strength)
    assignments = rng.choice(PRIOR.n_components, p=weights / weights.sum(), size=n_projections)
    frequencies = rng.normal(centres[assignments], np.sqrt(variances[assignments]))
    noise, head_variance = 1.0 / rng.gamma(_VARIANCE_SHAPE, 1.0 / _VARIANCE_RATE, size=2)
    head = rng.normal(size=(2 * n_projections, 2)) * np.sqrt(head_variance)
    head[n_outputs:] = 0.0
    phases = X @ frequencies.T
    features = np.hstack([np.cos(phases), np.sin(phases)]) / np.sqrt(n_projections)
    targets = features @ head + np.sqrt(noise) * rng.normal(size=(len(X), 2))
    mixture = Mixture(np.log(weights), centres, variances, assignments)
    return ChainState(frequencies, mixture, head, noise, head_variance), targets


def statistics(state: ChainState, X, targets):
    phases = X @ state.frequencies.T
    features = np.hstack([np.cos(phases), np.sin(phases)]) / np.sqrt(len(state.frequencies))
    residual = targets - features @ state.head
    return [
        np.square(residual).sum() / state.noise,
        np.square(state.head).sum() / state.head_variance,
        np.log(state.noise),
        np.log(state.head_variance),
        state.frequencies[0, 0],
        np.abs(state.frequencies).max(),
        float(np.vdot(features @ state.head, targets) / np.square(targets).sum()),
        len(np.unique(state.mixture.assignments)),
        state.mixture.variances[0, 0],
    ]


@pytest.mark.parametrize("n_outputs", [4, 3])
def test_sweeps_leave_the_joint_law_of_state_and_targets_as_it_is(n_outputs):
    """A state drawn together with its targets has the same law after sweeps given the targets."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(5, 1))
    before, after = [], []
    for _ in range(1500):
        state, targets = draw_from_the_model(X, n_outputs, rng)
        chain = Chain(X, targets, n_outputs, PRIOR)
        for _ in range(2):
            state = chain.sweep(state, rng)
        after.append(statistics(state, X, targets))
        fresh, own_targets = draw_from_the_model(X, n_outputs, rng)
        before.append(statistics(fresh, X, own_targets))
    before, after = np.array(before), np.array(after)
    for column in range(before.shape[1]):
        found = ks_2samp(before[:, column], after[:, column], method="asymp")
        assert found.pvalue > LEVEL, column


def test_moves_are_accepted_by_the_ratio_of_likelihoods():
    """The same proposals and uniform draws, decided by the whole likelihood from scratch."""
    rng = np.random.default_rng(10)
    X, targets = rng.normal(size=(30, 3)), rng.normal(size=(30, 2))
    frequencies, head, noise = rng.normal(size=(60, 3)), rng.normal(size=(120, 2)), 0.6
    mixture = Mixture(np.zeros(1), np.zeros((1, 3)), np.ones((1, 3)), np.zeros(60, dtype=int))
    chain = Chain(X, targets, 120, PRIOR)
    waves = chain.waves(frequencies)
    residual = targets - np.hstack([waves[0], waves[1]]) @ head
    draws = np.random.default_rng(11)
    moved, n_accepted = chain._move(frequencies, waves, mixture, head, residual, noise, draws)

    def log_likelihood(omega):
        features = np.hstack([np.cos(X @ omega.T), np.sin(X @ omega.T)]) / np.sqrt(60)
        return norm.logpdf(targets, features @ head, np.sqrt(noise)).sum()

    draws = np.random.default_rng(11)
    proposed, uniform = mixture.propose(draws), 1.0 - draws.random(60)
    expected = frequencies.copy()
    for j in range(60):
        candidate = expected.copy()
        candidate[j] = proposed[j]
        if np.log(uniform[j]) <= log_likelihood(candidate) - log_likelihood(expected):
            expected = candidate
    np.testing.assert_array_equal(moved, expected)
    assert n_accepted == (moved != frequencies).any(axis=1).sum()
    assert 10 < n_accepted < 50


@pytest.mark.parametrize(
    ("weights", "noise", "hard"),
    [
        ([0.2, 0.2, 1.5, 1.5], 0.3, False),  # both do the same work
        ([-0.5, 1.2, 0.8, -1.0], 0.15, True),  # what they cannot do
    ],
)
def test_moves_of_frequencies_follow_their_posterior(weights, noise, hard):
    """Two frequencies given all else, against the posterior on a grid."""
    rng = np.random.default_rng(9)
    X = rng.normal(size=(6, 1))
    head = np.array(weights)[:, None]
    mixture = Mixture(
        np.zeros(2), np.array([[0.5], [-1.0]]), np.array([[1.0], [2.0]]), np.array([0, 1])
    )
    targets = rng.normal(size=(6, 1)) if hard else np.sin(X)

    def misfit(first, second):
        waves = [np.cos(X * first), np.cos(X * second), np.sin(X * first), np.sin(X * second)]
        scores = sum(w * wave for w, wave in zip(head[:, 0], waves, strict=True)) / np.sqrt(2.0)
        return np.square(targets - scores).sum(axis=0)

    grid = np.linspace(-9.0, 9.0, 400)
    first, second = (axis.ravel() for axis in np.meshgrid(grid, grid, indexing="ij"))
    log_density = norm.logpdf(first, 0.5, 1.0) + norm.logpdf(second, -1.0, np.sqrt(2.0))
    log_density = log_density - misfit(first, second) / (2.0 * noise)
    density = np.exp(log_density - log_density.max())
    density /= density.sum()

    chain = Chain(X, targets, 4, PRIOR)
    frequencies, draws = np.array([[0.5], [-1.0]]), []
    for _ in range(12_000):
        waves = chain.waves(frequencies)
        residual = targets - np.hstack([waves[0], waves[1]]) @ head
        frequencies, _ = chain._move(frequencies, waves, mixture, head, residual, noise, rng)
        draws.append(frequencies[:, 0])
    one, other = np.transpose(draws)
    for expected, values in (
        (density @ first, one),
        (density @ second, other),
        (density @ (first * second), one * other),
        (density @ misfit(first, second), misfit(one, other)),
    ):
        batches = values.reshape(50, -1).mean(axis=1)
        assert abs(values.mean() - expected) < 4.0 * batches.std(ddof=1) / np.sqrt(50)


def test_the_chain_moves():
    X = np.random.default_rng(6).normal(size=(80, 2))
    model = BaNK(n_components=20, n_sweeps=10, random_state=0).fit(X, X[:, 0] * X[:, 1] > 0)
    assert 0.05 < model.acceptance_ <= 1.0
    assert model.assignments_.shape == (10,)
    assert model.centres_.shape == model.variances_.shape == (20, 2)


def test_frequencies_that_a_single_gaussian_lacks_are_found():
    """Labels of one frequency: the mixture moves there, which fixed Gaussian frequencies cannot."""
    rng = np.random.default_rng(7)
    X = rng.uniform(-3.0, 3.0, size=(1300, 2))
    y = np.sin(4.0 * X[:, 0] + X[:, 1]) > 0
    train, test = slice(0, 300), slice(300, None)
    setting = {"n_components": 40, "gamma": 1.5, "random_state": 0}
    learned = BaNK(n_sweeps=40, **setting).fit(X[train], y[train])
    fixed = BaNK(n_sweeps=1, **setting).fit(X[train], y[train])
    sinks = RandomKitchenSinks(**setting).fit(X[train], y[train])
    scores = [model.score(X[test], y[test]) for model in (learned, fixed, sinks)]
    assert scores[0] > max(scores[1:]) + 0.05


def test_averaging_sweeps_is_the_mean_of_their_models():
    X = np.random.default_rng(8).normal(size=(60, 2))
    y = X[:, 0] > 0
    setting = {"n_components": 10, "random_state": 0, "gamma": 0.5}
    both = BaNK(n_sweeps=4, n_average=2, **setting).fit(X, y)
    singles = [BaNK(n_sweeps=n, **setting).fit(X, y) for n in (3, 4)]
    expected = np.mean([model.decision_function(X) for model in singles], axis=0)
    np.testing.assert_allclose(both.decision_function(X), expected, atol=1e-10)
    assert both.n_macs_ == 2 * singles[0].n_macs_

"""Networks before their first step: masks, frequencies and moments."""

from __future__ import annotations

import numpy as np
import pytest

from cerflearn.training.policy import LEAST_CLAMPED, TABLE_END
from cerflearn.training.pruning import Budget
from cerflearn.training.settings import TrainingSettings
from cerflearn.training.start import draw_network, set_moments
from cerflearn.training.task import problem_of
from training_samples import dense_parts, make_network, make_task

KINDS = ("cosine", "relu", "table")


def drawn(settings, budget, usable=None, n_features=20, n_rows=500, n_scores=2, seed=0):
    rng = np.random.default_rng(3)
    X = rng.uniform(-1.0, 1.0, size=(n_rows, n_features)) * rng.uniform(0.2, 4.0, n_features)
    X += rng.normal(size=n_features)
    problem = problem_of("regression", X, rng.normal(size=(n_rows, n_scores)), np.ones(n_rows))
    usable = np.ones(n_features, dtype=bool) if usable is None else usable
    bias = np.arange(n_scores, dtype=float)
    network = draw_network(problem, settings, budget, usable, bias, np.random.default_rng(seed))
    return network, problem


@pytest.mark.parametrize("kind", KINDS)
def test_projections_have_mean_zero_and_deviation_one(kind):
    network, problem = drawn(TrainingSettings(kind, 12, 1e-3), Budget(80, 2))
    z = problem.X.astype(float) @ dense_parts(network)["W"]
    y = (z - network.means) / np.sqrt(network.variances)
    assert y.mean(axis=0) == pytest.approx(np.zeros(12), abs=1e-3)
    assert y.std(axis=0) == pytest.approx(np.ones(12), rel=1e-3)
    # So do the weights themselves make them.
    assert z.std(axis=0) == pytest.approx(np.ones(12), rel=1e-3)


def test_masks_are_whole_groups_shared_by_features_and_of_usable_inputs():
    usable = np.ones(18, dtype=bool)
    usable[[4, 5, 6, 7, 12, 13, 14, 15]] = False
    budget = Budget(200, 2, group_size=4, features_per_mask=3)
    settings = TrainingSettings("cosine", 10, 1e-3, learn="features")
    network, _ = drawn(settings, budget, usable, n_features=18)
    mask = dense_parts(network)["W"] != 0.0
    assert mask.shape == (18, 10)
    assert not mask[~usable].any()
    for start in range(0, 18, 4):
        block = mask[start : start + 4]
        assert (block.all(axis=0) | ~block.any(axis=0)).all()
    for first in range(0, 10, 3):
        shared = mask[:, first : first + 3]
        assert (shared == shared[:, :1]).all()
        assert shared.any()
    assert len({tuple(column) for column in mask.T}) > 1


def test_features_start_with_more_inputs_than_they_keep_unless_masks_stay():
    # A budget of 16 inputs and 4 scores for each of ten features.
    budget = Budget(10 * 20, 4)
    start, _ = drawn(TrainingSettings("relu", 10, 1e-3), budget, n_features=200, n_scores=4)
    assert (np.diff(start.pointers) == 64).all()
    fixed = TrainingSettings("relu", 10, 1e-3, learn="features")
    network, _ = drawn(fixed, budget, n_features=200, n_scores=4)
    assert (np.diff(network.pointers) == 16).all()
    assert network.n_macs == 200
    few, _ = drawn(TrainingSettings("relu", 10, 1e-3), budget, n_features=30, n_scores=4)
    assert (np.diff(few.pointers) == 30).all()


def test_a_linear_part_reads_all_usable_inputs_and_starts_at_zero():
    usable = np.arange(20) != 7
    settings = TrainingSettings("table", 3, 1e-3, linear_part=True)
    network, _ = drawn(settings, Budget(60, 2), usable)
    assert network.linear_inputs.tolist() == 2 * np.flatnonzero(usable).tolist()
    assert network.linear_pointers.tolist() == [0, 19, 38]
    assert not network.parts()[4].any()
    without, _ = drawn(TrainingSettings("table", 3, 1e-3), Budget(60, 2), usable)
    assert len(without.linear_inputs) == 0


def test_a_linear_model_has_no_features():
    settings = TrainingSettings("table", 0, 1e-3, linear_part=True)
    network, _ = drawn(settings, Budget(40, 2))
    assert network.n_components == 0
    assert network.n_macs == 40
    assert network.parts()[5].tolist() == [0.0, 1.0]


def test_frequencies_of_a_given_gamma_are_those_of_the_gaussian_kernel():
    gamma = 0.3
    settings = TrainingSettings("cosine", 400, 1e-3, learn="features", gamma=gamma)
    network, problem = drawn(settings, Budget(400 * 22, 2))
    weights, scales, offsets, _, _, _ = network.parts()
    assert weights.var() == pytest.approx(2.0 * gamma, rel=4 * np.sqrt(2 / len(weights)))
    # The phase grows with w . x as it is: scale over deviation is one.
    assert scales == pytest.approx(np.sqrt(network.variances), rel=1e-6)
    assert offsets.min() >= 0.0
    assert offsets.max() <= 2.0 * np.pi + 1e-6
    X, parts = problem.X[:40].astype(float), dense_parts(network)
    phases = (X @ parts["W"] - network.means) / np.sqrt(network.variances + 1e-8) * scales
    between = (X[1:] - X[:1]) @ parts["W"]
    assert phases[1:] - phases[:1] == pytest.approx(between, abs=1e-4)


def test_cosines_start_with_phases_of_all_angles_and_scales_near_one():
    settings = TrainingSettings("cosine", 2000, 1e-3, learn="features", frequency_scale=2.0)
    network, _ = drawn(settings, Budget(2000 * 3, 2), n_rows=50)
    _, scales, offsets, _, _, _ = network.parts()
    assert scales.min() >= 1.0
    assert scales.max() <= 3.0
    assert scales.mean() == pytest.approx(2.0, abs=0.1)
    assert np.abs(np.exp(1j * offsets).mean()) < 4 / np.sqrt(2000)


def test_tables_start_nearly_straight_with_padding_of_zeros():
    network, _ = drawn(TrainingSettings("table", 50, 1e-3), Budget(500, 3), n_scores=3)
    heads = network.parts()[3].reshape(50, network.n_knots, 4)
    assert not heads[:, :, 3].any()
    knots = np.linspace(-TABLE_END, TABLE_END, network.n_knots)
    slopes = np.einsum("m,kmo->ko", knots, network.tables()) / (knots @ knots)
    rest = network.tables() - slopes[:, None, :] * knots[None, :, None]
    assert slopes.std() == pytest.approx(0.1, rel=0.3)
    assert rest.std() == pytest.approx(0.02, rel=0.1)


def test_the_same_seed_draws_the_same_bits():
    settings, budget = TrainingSettings("table", 8, 1e-3), Budget(60, 2)
    first, second = (drawn(settings, budget, n_features=60)[0] for _ in range(2))
    other, _ = drawn(settings, budget, n_features=60, seed=1)
    assert first.parameters.tobytes() == second.parameters.tobytes()
    assert first.inputs.tobytes() == second.inputs.tobytes()
    assert other.inputs.tobytes() != first.inputs.tobytes()


def test_moments_are_weighted_and_ignore_how_far_outliers_are():
    network = make_network("table", np.ones((2, 1)), np.zeros((2, 1)))
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, size=(1000, 2)).astype(np.float32)
    weights = rng.uniform(0.5, 2.0, size=1000).astype(np.float32)
    set_moments(network, X, weights)
    z = X.astype(float) @ dense_parts(network)["W"][:, 0]
    mean = np.average(z, weights=weights)
    assert network.means[0] == pytest.approx(mean, abs=1e-5)
    variance = np.average((z - mean) ** 2, weights=weights)
    assert network.variances[0] == pytest.approx(variance, rel=1e-5)
    X[:5] = 1e3
    set_moments(network, X, weights)
    far = network.means.copy(), network.variances.copy()
    assert np.sqrt(far[1][0] / variance) < 1.1
    X[:5] = 1e6
    set_moments(network, X, weights)
    assert network.variances == pytest.approx(far[1], rel=0.05)


@pytest.mark.parametrize("kind", ["cosine", "relu", "table"])
def test_variances_of_nearly_constant_projections_vanish_but_for_relu(kind):
    network = make_network(kind, np.ones((1, 1)), np.zeros((1, 1)))
    X = np.zeros((1000, 1), dtype=np.float32)
    X[[3, 700]] = 22.0
    set_moments(network, X, np.ones(1000, dtype=np.float32))
    z = X.astype(float) @ dense_parts(network)["W"][:, 0]
    least = LEAST_CLAMPED * z.var() if kind == "relu" else 0.0
    assert network.variances[0] == pytest.approx(least, rel=1e-3, abs=1e-6)


def test_constant_rows_give_finite_moments():
    task = make_task()
    network = make_network("cosine", np.ones((6, 2)), np.zeros((6, 1)))
    set_moments(network, np.ones_like(task.X), np.ones(120, dtype=np.float32))
    assert np.isfinite(network.means).all()
    assert (network.variances >= 0.0).all()
    assert np.isfinite(network.scores(np.ones_like(task.X))).all()

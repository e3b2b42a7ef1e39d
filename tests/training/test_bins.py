"""Bins of deployed tables: their number, and values fitted to the targets."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cerflearn.training import policy, search, trials
from cerflearn.training.deployed import (
    bin_indicators,
    deploy,
    deploy_fitted,
    first_bins,
    fit_tables,
)
from cerflearn.training.policy import TABLE_END
from cerflearn.training.settings import SettingsRequest, TrainingSettings
from cerflearn.training.start import set_moments
from cerflearn.training.trials import HeldOutResult, choose_bins, fewest_bins
from training_samples import make_network, make_task, random_network, run_search

TABLES = TrainingSettings("table", 4, 1e-3)


def trained(kind, n_samples=150, n_components=3):
    """Task, and a network of tables of its inputs that is not fitted to it."""
    task = make_task(kind, n_samples)
    network = random_network(
        "table", task.n_scores, n_features=task.X.shape[1], n_components=n_components
    )
    set_moments(network, task.X, np.ones(n_samples, dtype=np.float32))
    return task, network


def test_indicators_have_a_one_for_the_bin_of_each_table():
    task, network = trained("multiclass")
    deployed = deploy(network, 8)
    found = bin_indicators(deployed, task.X)
    assert found.shape == (150, 3 * 8)
    expected = deployed.scores(task.X) - task.X @ deployed.linear - deployed.bias
    assert found @ deployed.tables.reshape(24, -1) == pytest.approx(expected, abs=1e-9)
    np.testing.assert_array_equal(found.sum(axis=1), 3.0)


@pytest.mark.parametrize("n_prior_rows", [0.5, 30.0])
def test_numbers_are_fitted_as_by_ridge_regression(n_prior_rows, monkeypatch):
    monkeypatch.setattr(policy, "REFIT_STEPS", 2000)
    task, network = trained("regression")
    weights = np.random.default_rng(0).uniform(0.5, 2.0, size=150)
    task = replace(task, weights=weights / weights.sum())
    deployed = deploy(network, 8)
    fitted = fit_tables(deployed, task, task.X, n_prior_rows / 150)
    Z = bin_indicators(deployed, task.X).toarray()
    residual = task.targets - deployed.scores(task.X)
    W = task.weights[:, None]
    change = np.linalg.solve(
        Z.T @ (W * Z) + n_prior_rows / 150 * np.eye(Z.shape[1]), Z.T @ (W * residual)
    )
    expected = deployed.tables + change.reshape(deployed.tables.shape)
    assert fitted == pytest.approx(expected, abs=2e-3)


@pytest.mark.parametrize("kind", ["binary", "multiclass", "multilabel", "regression"])
def test_fitted_bins_have_less_loss_and_more_prior_rows_change_less(kind):
    task, network = trained(kind)
    deployed = deploy(network, 16)
    losses, changes = [], []
    for n_prior_rows in (3.0, 30.0, 1e6):
        tables = fit_tables(deployed, task, task.X, n_prior_rows / 150)
        losses.append(task.loss(replace(deployed, tables=tables).scores(task.X)))
        changes.append(np.abs(tables - deployed.tables).max())
    assert losses[0] < losses[1] < losses[2] <= task.loss(deployed.scores(task.X)) + 1e-12
    assert changes[0] > changes[1] > 100.0 * changes[2]


def test_bins_that_no_row_has_keep_their_values():
    task, network = trained("regression")
    deployed = deploy(network, 64)
    fitted = fit_tables(deployed, task, task.X, 0.02)
    empty = bin_indicators(deployed, task.X).sum(axis=0).reshape(3, 64) == 0
    assert empty.any()
    np.testing.assert_array_equal(fitted[empty], deployed.tables[empty])
    assert (fitted[~empty] != deployed.tables[~empty]).all()


def test_a_jump_is_learned_that_knots_cannot_follow():
    task = make_task(n_samples=2000, n_features=2)
    task.targets[:] = np.sign(task.X[:, :1] - 0.4)
    network = make_network("table", [[1], [0]], [[0], [0]], n_knots=5)
    network.parts()[0][:] = 1.0
    set_moments(network, task.X, np.ones(2000, dtype=np.float32))
    settings = replace(TABLES, n_bins=128, refit=3.0)
    deployed = deploy_fitted(network, settings, task)
    knots = np.linspace(-TABLE_END, TABLE_END, 5)
    y = (task.X[:, 0] - network.means[0]) / np.sqrt(network.variances[0])
    hats = np.stack([np.interp(y, knots, row) for row in np.eye(5)], axis=1)
    best = hats @ np.linalg.lstsq(hats, task.targets, rcond=None)[0]
    errors = [np.square(found - task.targets).mean() for found in (best, deployed.scores(task.X))]
    assert errors[1] < 0.5 * errors[0]
    plain = deploy_fitted(network, replace(settings, refit=0.0), task)
    np.testing.assert_array_equal(plain.tables, deploy(network, 128).tables)


def test_no_table_is_left_alone():
    task = make_task(n_samples=50)
    network = make_network("table", np.zeros((6, 0)), np.ones((6, 1)))
    settings = TrainingSettings("table", 0, 1e-3, linear_part=True)
    assert deploy_fitted(network, settings, task).tables.shape == (0, 2, 1)


def evaluated(losses):
    """Evaluate settings by a function of bins and prior rows; what was asked."""
    asked = []

    def evaluate(settings):
        asked.append((settings.n_bins, settings.refit))
        empty = np.zeros((4, 1))
        value = np.full(4, losses(settings.n_bins, settings.refit))
        return HeldOutResult(settings, empty, empty, np.ones(4), value, [], 1)

    return evaluate, asked


def test_prior_rows_are_chosen_first_then_the_fewest_bins_that_lose_little():
    little = 0.1 * policy.BIN_LOSS[0]
    by_bins = {16: 0.1 + 2.0 * little, 32: 0.1 + 0.5 * little, 64: 0.1, 128: 0.1, 256: 0.1}
    evaluate, asked = evaluated(lambda n_bins, refit: by_bins[n_bins] + (refit != 3.0))
    # Constant scores have so little loss that their share allows no more than 64 bins do.
    much = 0.1 * little / policy.BIN_LOSS[1]
    assert choose_bins(TABLES, evaluate, 1, 2000, much).settings.n_bins == 64
    asked.clear()
    found = choose_bins(TABLES, evaluate, 1, 2000, 1.0)
    assert (found.settings.n_bins, found.settings.refit) == (32, 3.0)
    assert asked[: len(policy.REFITS)] == [(policy.FIRST_BINS, refit) for refit in policy.REFITS]
    assert {refit for _, refit in asked[len(policy.REFITS) :]} == {3.0}
    assert len(asked) == len(policy.REFITS) + len(policy.N_BINS) - 1


def test_given_bins_are_kept():
    evaluate, asked = evaluated(lambda _, refit: refit)
    found = choose_bins(replace(TABLES, n_bins=64), evaluate, 1, 2000, 1.0)
    assert (found.settings.n_bins, found.settings.refit) == (64, 0.0)
    assert {n_bins for n_bins, _ in asked} == {64}


def test_large_networks_and_many_rows_are_not_fitted():
    assert first_bins(TABLES, 1, 2000).refit == policy.REFITS[1]
    assert first_bins(replace(TABLES, n_components=5000), 10, 2000).refit == 0.0
    assert first_bins(TABLES, 1, policy.SEARCH_ROWS + 1).refit == 0.0
    evaluate, asked = evaluated(lambda n_bins, _: 1.0 / n_bins)
    choose_bins(TABLES, evaluate, 1, policy.SEARCH_ROWS + 1, 1.0)
    assert {refit for _, refit in asked} == {0.0}


def test_held_out_scores_are_those_of_the_chosen_bins(short):
    request = SettingsRequest(settings=TABLES)
    task = make_task(n_samples=160)
    found = run_search(task, request=request)
    settings = found.settings
    assert settings.n_bins in policy.N_BINS
    assert settings.refit in policy.REFITS
    # The first fold's held-out rows, by their distinct targets.
    n = len(found.held_out.targets) // len(found.held_out.networks)
    rows = [int(np.flatnonzero(task.targets[:, 0] == t)[0]) for t in found.held_out.targets[:n, 0]]
    train = task.rows(np.setdiff1d(np.arange(160), rows))
    deployed = deploy_fitted(found.held_out.networks[0], settings, train)
    expected = train.bounded(deployed.scores(task.X[rows]))
    assert found.held_out.scores[:n] == pytest.approx(expected, abs=1e-12)


def test_the_penalty_of_training_holds_for_bins_and_a_teacher_that_is_asked_for_is_followed(short):
    task, network = trained("regression")
    settings = replace(TABLES, n_bins=16, refit=3.0, alpha=1e12)
    plain = deploy(network, 16).tables
    assert deploy_fitted(network, settings, task).tables == pytest.approx(plain, abs=1e-9)
    request = SettingsRequest(activation="table", teacher="kernel")
    assert run_search(make_task(), request=request).settings.refit in (0.0, None)


def test_fewest_bins_lose_little_of_the_least_loss_and_of_that_of_constant_scores():
    of_least, of_constant = policy.BIN_LOSS
    losses = {16: 1.0 + 2.0 * of_least, 32: 1.0 + 0.9 * of_least, 64: 1.0, 128: 1.2}
    assert fewest_bins(losses, 1e3) == 32
    assert fewest_bins(losses, 1.0) == (32 if of_constant > 0.9 * of_least else 64)
    assert fewest_bins(dict.fromkeys((16, 32), np.nan), 1.0) == 32


def test_bins_of_the_network_of_all_rows_are_chosen_on_rows_of_early_stopping(short, monkeypatch):
    task, seen = make_task("multiclass", 400), []

    def most_bins(losses, constant_loss):
        seen.append((losses, constant_loss))
        return max(losses) if len(seen) > 1 else min(losses)

    for module in (trials, search):
        monkeypatch.setattr(module, "fewest_bins", most_bins)
    request = SettingsRequest(activation="table", teacher="labels", linear_part=False)
    monkeypatch.setattr(policy, "REFITS", (0.0, 0.0))
    found = run_search(task, request=request, early_stopping=True)
    assert len(seen) == 2  # in the folds, and with all rows
    assert found.settings.n_bins == max(policy.N_BINS)
    losses, constant = seen[1]
    assert set(losses) == set(policy.N_BINS)
    assert np.isfinite(constant)
    # Settings that are given have their bins: they are not chosen again.
    again = run_search(task, request=SettingsRequest(settings=found.settings), early_stopping=True)
    assert len(seen) == 2
    np.testing.assert_array_equal(again.network.parameters, found.network.parameters)

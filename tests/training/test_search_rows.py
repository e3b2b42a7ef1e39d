"""Rows of a search: what is trained on, held out, scaled and scored."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cerflearn.training import policy, search
from cerflearn.training.search import Search
from cerflearn.training.search_options import SearchOptions
from cerflearn.training.settings import SettingsRequest
from cerflearn.training.task import scaled_inputs
from training_samples import (
    RELU,
    make_task,
    numbered,
    numbers,
    run_search,
)


def test_held_out_rows_are_never_trained_on(trainings, monkeypatch):
    task = numbered("multiclass", 160)
    scored = []
    plain = search.HeldOutResult

    def recorded(settings, scores, targets, weights, losses, networks, n_trained):
        scored.append((targets, networks))
        return plain(settings, scores, targets, weights, losses, networks, n_trained)

    monkeypatch.setattr(search, "HeldOutResult", recorded)
    run_search(task)
    assert scored
    everything = frozenset(range(160))
    for targets, networks in scored:
        if not networks:  # only those of the last round are kept
            continue
        held_out = [everything - network.trained_on for network in networks]
        assert all(len(rows) == 40 for rows in held_out)
        expected = np.concatenate([task.targets[sorted(rows)] for rows in held_out])
        np.testing.assert_array_equal(targets, expected)
        # Each class has its share.
        for rows in held_out:
            counts = np.bincount(task.strata[sorted(rows)])
            assert counts.max() - counts.min() <= 2
    # The folds' held-out rows have nothing in common.
    final = [everything - network.trained_on for network in scored[-1][1]]
    assert sum(map(len, final)) == len(frozenset().union(*final))


@pytest.mark.parametrize(("n_rare", "n_rows"), [(2, 62), (3, 63), (3, 60), (2, 400), (1, 61)])
def test_the_rows_that_all_rounds_see_have_those_of_a_rare_class(n_rare, n_rows):
    task = make_task("binary", n_rows)
    task.targets[:] = 0.0
    task.targets[: 7 * n_rare : 7] = 1.0
    task = replace(task, strata=task.targets[:, 0].astype(np.int64))
    for seed in range(4):
        folds = Search(task, SearchOptions(SettingsRequest()), np.random.SeedSequence(seed))._folds
        assert len(folds) == 3
        if n_rare > 1:
            assert folds[0].test.targets.sum() == 1.0
            assert folds[0].train.targets.sum() == n_rare - 1
        # One row alone is held out or trained on: the order of the parts stays.
        held_out = [set(map(tuple, fold.test.X)) for fold in folds]
        assert not set.intersection(*held_out)


@pytest.mark.parametrize("scaling", ["column", "common"])
def test_scores_of_held_out_rows_are_those_of_the_network_of_their_fold(short, scaling):
    factors = np.linspace(0.5, 3.0, 6).astype(np.float32)
    task = replace(make_task(), input_factors={"common": factors})
    request = SettingsRequest(settings=replace(RELU, scaling=scaling))
    found = run_search(task, True, request=request).held_out
    assert found.settings.scaling == scaling
    assert found.scores.shape == found.targets.shape
    # Targets are distinct numbers: they tell the rows.
    rows = [int(np.flatnonzero(task.targets[:, 0] == t)[0]) for t in found.targets[:, 0]]
    parts = np.array_split(rows, len(found.networks))
    inputs = scaled_inputs(task, found.settings)
    for network, part, scores in zip(
        found.networks, parts, np.array_split(found.scores, len(parts)), strict=True
    ):
        np.testing.assert_array_equal(network.scores(inputs[part]), scores)
    assert found.losses == pytest.approx(0.5 * (found.scores - found.targets)[:, 0] ** 2)


def held_out_rows(call):
    """Rows that the early stopping of a call asks a network about."""
    asked = []

    class Asked:
        def scores(self, X):
            asked.append(numbers(X))
            return np.zeros((len(X), 1), dtype=np.float32)

    call["held_out_loss"](Asked())
    return asked[0]


def test_early_stopping_holds_out_a_tenth_that_no_network_has_seen(trainings, two_candidates):
    found = run_search(numbered(n_samples=200), early_stopping=True)
    last = [call for call in trainings.calls if call["held_out_loss"] is not None]
    assert len(last) == 1 + len(found.held_out.networks)
    for call in last:
        held_out = held_out_rows(call)
        assert len(held_out) == 20
        assert call["rows"] == frozenset(range(200)) - held_out
        # Neither has the network of the search that it starts from.
        if call["start"] is not None:
            assert not call["start"].trained_on & held_out
    assert sum(call["start"] is not None for call in last) == len(found.held_out.networks)


def test_early_stopping_holds_out_no_more_rows_than_it_needs(
    trainings, two_candidates, monkeypatch
):
    monkeypatch.setattr(policy, "MOST_HELD_OUT", 8)
    run_search(numbered(n_samples=200), early_stopping=True)
    assert len(held_out_rows(trainings.calls[-1])) == 8


def test_without_early_stopping_all_rows_are_trained_on(trainings, two_candidates):
    found = run_search(numbered(n_samples=200))
    assert all(call["held_out_loss"] is None for call in trainings.calls)
    last = trainings.calls[-1 - len(found.held_out.networks) :]
    assert {call["rows"] for call in last} == {frozenset(range(200))}
    assert [call["start"] for call in last] == [None, *found.held_out.networks]


@pytest.mark.parametrize("early_stopping", [False, True])
def test_of_several_starts_the_one_with_the_least_loss_is_taken(
    trainings, two_candidates, early_stopping
):
    task = numbered(n_samples=200)
    task.targets[:] = 0.0
    values = iter(np.linspace(1.0, 0.8, 4))

    def score(settings, rows):
        return next(values) if len(rows) > 150 else 0.5

    trainings.score = score
    found = run_search(task, early_stopping=early_stopping)
    assert found.network.parts()[5][0] == pytest.approx(0.8)


def test_a_start_without_a_number_as_loss_never_wins(trainings, two_candidates):
    values = iter([np.nan, 0.9, np.nan, 0.7])

    def score(settings, rows):
        return next(values) if len(rows) == 200 else 0.5

    trainings.score = score
    task = numbered(n_samples=200)
    task.targets[:] = 0.0
    assert run_search(task).network.parts()[5][0] == pytest.approx(0.7)


def test_many_rows_are_compared_on_a_part(trainings, monkeypatch):
    monkeypatch.setattr(policy, "SEARCH_ROWS", 60)
    monkeypatch.setattr(policy, "HELD_OUT_ROWS", 15)
    found = run_search(numbered(n_samples=500))
    assert len(found.held_out.networks) == 1
    compared = [call["rows"] for call in trainings.calls if call["start"] is None][:-1]
    assert {len(rows) for rows in compared} == {45}
    assert len(frozenset().union(*compared)) == 45  # always the same
    assert max(max(rows) for rows in compared) > 300  # from all of the data
    assert len(trainings.calls[-1]["rows"]) == 500


def test_inputs_are_scaled_as_the_settings_say(trainings):
    task = numbered()
    factors = np.full(6, 2.0, dtype=np.float32)
    task = replace(task, input_factors={"common": factors})
    settings = replace(RELU, scaling="common")
    np.testing.assert_array_equal(scaled_inputs(task, settings), 2.0 * task.X)
    assert scaled_inputs(task, RELU) is task.X
    run_search(task, request=SettingsRequest(settings=settings))
    assert trainings.calls[0]["rows"] == frozenset(range(0, 240, 2))


def test_teachers_are_fitted_to_the_rows_of_their_fold(trainings):
    fitted = []

    def fit_teacher(task, rng):
        fitted.append(numbers(task.X))
        return lambda X: np.zeros((len(X), 1))

    settings = replace(RELU, teacher="estimator")
    request = SettingsRequest(settings=settings)
    found = run_search(numbered(), True, request=request, fit_teachers={"estimator": fit_teacher})
    assert found.settings.teacher == "estimator"
    assert [len(rows) for rows in fitted] == [90, 90, 90, 120]
    assert len(frozenset(fitted)) == 4


def test_heads_that_are_fitted_later_are_judged_as_such(trainings, two_candidates):
    seen = []

    def rescore(network, settings, train, test):
        seen.append((numbers(train.X), numbers(test.X)))
        worse = settings.activation == "table"
        return test.targets + (1.0 if worse else 0.1)

    found = run_search(numbered(n_samples=200), rescore=rescore)
    assert found.settings.activation == "relu"
    assert found.held_out.mean == pytest.approx(0.005)
    assert all(len(train) == 150 and not train & test for train, test in seen)

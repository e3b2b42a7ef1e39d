"""Choice of settings: what is compared, in how many trainings, and that it repeats itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cerflearn.training import policy, trials
from cerflearn.training.compared import candidate_settings
from cerflearn.training.scores import losses_of_rows
from cerflearn.training.search import Search
from cerflearn.training.settings import SettingsRequest, TrainingSettings
from cerflearn.training.sizes import n_steps_for, work_of
from cerflearn.training.trainer import train_network
from cerflearn.training.trials import HeldOutResult, best_of_kinds, finalists_of
from training_samples import (
    RELU,
    by_kind,
    make_task,
    numbered,
    numbers,
    run_search,
)


def bits(network):
    arrays = network.parameters, network.inputs, network.pointers, network.means, network.variances
    return [array.tobytes() for array in arrays]


@pytest.mark.parametrize("kind", ["regression", "multiclass"])
def test_any_number_of_threads_gives_the_same_bits(kind, short):
    results = [
        run_search(make_task(kind), n_threads=n, request=SettingsRequest()) for n in (1, 2, 2)
    ]
    for other in results[1:]:
        assert other.settings == results[0].settings
        assert bits(other.network) == bits(results[0].network)
        np.testing.assert_array_equal(other.held_out.scores, results[0].held_out.scores)
    assert results[0].network.n_macs <= 40
    different = run_search(make_task(kind), seed=1, request=SettingsRequest())
    assert bits(different.network) != bits(results[0].network)


def test_finalists_are_judged_on_all_folds(trainings, two_candidates):
    task = numbered(n_samples=200)
    task.targets[:] = 0.0
    first = []

    def score(settings, rows):
        first.append(rows)
        in_first_fold = rows == first[0]
        # Relu is perfect in the fold that all rounds see, and bad in the others.
        return 1.0 if settings.activation == "table" else (0.0 if in_first_fold else 2.0)

    trainings.score = score
    found = run_search(task)
    assert found.settings.activation == "table"
    assert len(found.held_out.networks) == 3
    assert found.held_out.mean == pytest.approx(0.5)
    assert len(found.held_out.scores) == 150  # three of four parts


def test_early_rounds_use_the_first_fold_and_fewer_steps(two_candidates, monkeypatch):
    monkeypatch.setattr(policy, "WORK_PER_ROW", 1e12)
    seen = []

    def recorded(problem, settings, budget, usable, bias, n_steps, rng, **options):
        seen.append((n_steps, numbers(problem.X)))
        return train_network(problem, settings, budget, usable, bias, 1, rng, **options)

    monkeypatch.setattr(trials, "train_network", recorded)
    task = numbered()
    run_search(task)
    steps = [n for n, _ in seen]
    full = n_steps_for(TrainingSettings("relu", 2, 0.1), task.budget, 5, 90)
    assert steps[:4] == [round(full / 6)] * 2 + [round(full / 3)] * 2
    assert len({rows for _, rows in seen[:4]}) == 1
    assert steps[4:10] == [full] * 6
    assert len({rows for _, rows in seen[4:10]}) == 3


def recorded_finalists(monkeypatch, task, effort, **options):
    found = []
    halve = Search._halve

    def recorded(self, *arguments):
        results = halve(self, *arguments)
        found.append(results)
        return results

    with monkeypatch.context() as patched:
        patched.setattr(Search, "_halve", recorded)
        run_search(task, effort=effort, **options)
    return found


def test_twice_the_effort_has_the_finalists_of_once_the_effort_and_more(short, monkeypatch):
    task = make_task(n_samples=80)
    once, twice, four = (
        recorded_finalists(monkeypatch, task, effort) for effort in (1.0, 2.0, 4.0)
    )
    assert [len(found) for found in (once, twice, four)] == [1, 2, 3]
    for more in (twice, four):
        for expected, result in zip(once[0], more[0], strict=True):
            assert result.settings == expected.settings
            assert result.mean == expected.mean
        # The others start from other random numbers.
        draws = {result.settings.draw for result in more[0]}
        assert not draws & {result.settings.draw for result in more[1]}
    least = [min(r.mean for part in found for r in part) for found in (once, twice, four)]
    assert least[1] <= least[0]


def test_finalists_of_different_numbers_of_folds_can_be_compared(
    trainings, two_candidates, monkeypatch
):
    counts = iter([2, 2, 2, 2, 2, 2, 2, 6])  # trainings of the finals: two, then six

    monkeypatch.setattr(Search, "_n_within", lambda *_: next(counts))
    task = numbered(n_samples=200)
    task.targets[:] = 0.0
    trainings.score = by_kind(1.0, 0.5)
    assert run_search(task, effort=2.0).settings.activation == "table"


@pytest.mark.parametrize("kind", ["regression", "multiclass"])
@pytest.mark.parametrize("options", [{}, {"effort": 2.0}, {"early_stopping": True}])
def test_given_settings_give_the_network_that_the_search_has_found(kind, options, short):
    task = make_task(kind, n_samples=160)
    needs_held_out = kind != "regression"
    found = run_search(task, needs_held_out, **options)
    lines = []
    request = SettingsRequest(settings=found.settings)
    again = run_search(task, needs_held_out, request=request, report=lines.append, **options)
    assert again.settings == found.settings
    assert bits(again.network) == bits(found.network)
    np.testing.assert_array_equal(again.held_out.scores, found.held_out.scores)
    assert sum("held-out loss" in line for line in lines) == 1


def test_a_single_candidate_is_compared_with_nothing_unless_held_out_scores_are_needed(trainings):
    request = SettingsRequest(settings=RELU)
    found = run_search(numbered(), request=request)
    assert found.held_out is None
    assert len(trainings.calls) == 1
    found = run_search(numbered(), True, request=request)
    assert found.held_out.settings == RELU
    assert found.settings == replace(RELU, n_resumed=3)
    assert len(found.held_out.networks) == 3


def result(losses, settings=RELU, weights=None):
    losses = np.asarray(losses, dtype=float)
    weights = np.ones(len(losses)) if weights is None else np.asarray(weights, dtype=float)
    empty = np.zeros((len(losses), 1))
    return HeldOutResult(settings, empty, empty, weights, losses, [], 1)


def test_the_mean_loss_is_weighted_and_infinite_if_it_is_not_a_number():
    assert result([1.0, 4.0], weights=[3.0, 1.0]).mean == pytest.approx(1.75)
    assert result([1.0, np.nan]).mean == np.inf


def test_a_loss_within_a_part_of_its_paired_standard_error_is_as_good():
    rng = np.random.default_rng(0)
    base = rng.uniform(size=400)
    noise = rng.normal(size=400)
    noise -= noise.mean()
    error = np.sqrt((noise**2).sum()) / 400
    least = result(base)
    within, beyond = 0.9 * policy.SIMPLER_WITHIN, 1.1 * policy.SIMPLER_WITHIN
    assert result(base + noise + within * error).is_as_good_as(least)
    assert not result(base + noise + beyond * error).is_as_good_as(least)
    assert result(base - 0.01).is_as_good_as(least)
    # Differences of the same rows count, not the spread of the losses.
    assert not result(base + 1e-3).is_as_good_as(least)


def test_of_two_that_cannot_be_told_apart_the_simpler_is_taken(trainings, two_candidates):
    task = numbered(n_samples=200)
    task.strata[:] = np.arange(200) % 2
    task.targets[:] = 2.0 * task.strata[:, None] - 1.0
    # Differences of .01 in a row, of either sign; their mean is .00005.
    trainings.score = by_kind(0.01, 0.0)
    assert run_search(task).settings.activation == "relu"
    # Where the other one is clearly better, it is taken.
    task.targets[:] = 1.0
    trainings.score = by_kind(0.0, 1.0)
    assert run_search(task).settings.activation == "table"


def test_the_number_of_trainings_is_bounded_by_work(trainings, monkeypatch):
    def count(work):
        monkeypatch.setattr(policy, "WORK_PER_ROW", work)
        trainings.calls.clear()
        found = run_search(numbered(n_samples=400))
        return len(trainings.calls) - 1 - len(found.held_out.networks)

    few, usual, many = count(0.0), count(6e6), count(1e12)
    # Fewest of the rounds; finalists in one fold.
    assert few == 6 + 4 + 2
    assert few < usual < many
    candidates = candidate_settings(SettingsRequest(), make_task().budget, 6, 400)
    starts = [1 if c.n_components == 0 else policy.N_DRAWS for c in candidates]
    assert many == sum(starts) + 24 + 12


def test_the_search_is_reported(short):
    lines = []
    found = run_search(make_task(), report=lines.append)
    assert any(str(found.settings.activation) in line and "held-out loss" in line for line in lines)
    assert any("100% of training" in line for line in lines)
    assert "starts" in lines[-1]


def test_the_best_of_each_kind_becomes_a_finalist_if_it_may_be_the_best_of_all():
    rng = np.random.default_rng(0)
    base, noise = rng.uniform(size=400), rng.normal(size=400)
    table, relu = TrainingSettings("table", 2, 0.1), TrainingSettings("relu", 2, 0.1)
    others = [replace(table, draw=draw) for draw in (1, 2, 3)]
    results = [result(base, table)] + [result(base + 1e-4, other) for other in others]
    near = result(base + 0.02 * noise + 5e-4, relu)  # half a standard error of the difference
    assert finalists_of([*results, near])[:2] == [table, relu]
    far = result(base + 0.01, relu)
    assert finalists_of([*results, far])[-1] == relu


def test_kinds_come_in_the_order_of_their_best_settings():
    table, cosine = TrainingSettings("table", 2, 0.1), TrainingSettings("cosine", 2, 0.1)
    linear, worse = TrainingSettings("relu", 0, 0.1), replace(table, draw=1)
    assert best_of_kinds([table, cosine, linear, worse]) == [table, cosine, linear]
    assert best_of_kinds([cosine, table, worse, replace(cosine, draw=1)]) == [cosine, table]


def test_variants_of_the_best_of_each_kind_are_compared(trainings, monkeypatch):
    monkeypatch.setattr(policy, "WORK_PER_ROW", 1e12)
    trainings.score = by_kind(1.0, 0.5)
    run_search(numbered(n_samples=200))
    scalings = {(c["settings"].activation, c["settings"].scaling) for c in trainings.calls}
    assert {(kind, "robust") for kind in ("table", "cosine", "relu")} <= scalings


def test_cheap_networks_have_several_starts_and_the_least_training_loss_decides(
    trainings, two_candidates, monkeypatch
):
    monkeypatch.setattr(policy, "FOLD_STARTS", (1e12, 3))
    monkeypatch.setattr(policy, "LAST_STARTS", (1e12, 5))
    values = iter(np.linspace(1.0, 0.1, 200))
    trainings.score = lambda *_: next(values)
    task = numbered(n_samples=200)
    task.targets[:] = 0.0
    found = run_search(task)
    n_folds = len(found.held_out.networks)
    # Two rounds of two; two finalists; five new starts, and those of the folds.
    assert len(trainings.calls) == 2 + 2 + 2 * n_folds * 3 + 5 + n_folds
    # Scores fall with each training: the last start of each has the least loss.
    scores = [call["network"].parts()[5][0] for call in trainings.calls]
    firsts = 4 + 3 * n_folds * (found.settings.activation == "table")
    expected = [scores[firsts + 3 * fold + 2] for fold in range(n_folds)]
    assert [network.parts()[5][0] for network in found.held_out.networks] == expected
    assert found.network.parts()[5][0] == min(scores)
    numbers_of_starts = [call["start"] is None for call in trainings.calls[-5 - n_folds :]]
    assert numbers_of_starts == [True] * 5 + [False] * n_folds


def test_starts_are_as_many_as_there_is_work_for(trainings, monkeypatch):
    def count(work):
        monkeypatch.setattr(policy, "LAST_STARTS", (work, 20))
        trainings.calls.clear()
        run_search(numbered(), request=SettingsRequest(settings=RELU))
        return len(trainings.calls)

    one = policy.TRAINING_OVERHEAD + work_of(RELU, numbered().budget, 6, 120)
    assert [count(work / 120) for work in (0.0, 1.5 * one, 3.5 * one, 1e3 * one)] == [1, 1, 3, 20]


@pytest.mark.parametrize("kind", ["binary", "multiclass", "regression"])
def test_scores_of_classes_are_scaled_before_their_losses_are_compared(kind, short):
    task = make_task(kind, n_samples=160)
    found = run_search(task, True, request=SettingsRequest(settings=RELU)).held_out
    factors = policy.TEMPERATURES if kind != "regression" else (1.0,)
    losses = [losses_of_rows(factor * found.scores, found.targets, kind) for factor in factors]
    best = min(losses, key=lambda each: each.mean())
    np.testing.assert_allclose(found.losses, best, rtol=1e-12)
    assert 1.0 in factors

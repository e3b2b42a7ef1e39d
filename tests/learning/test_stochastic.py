"""Stochastic EM: weights, averages, bits of the first mini-batch, streams that change."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from cerflearn.engine.blocks import ArraySource
from cerflearn.engine.engines import SerialEngine
from cerflearn.learning.cvem import fit_cvem
from cerflearn.learning.normalization import Normalizer
from cerflearn.learning.orthogonal import project_to_orthogonal
from cerflearn.learning.shared import choose_shared, fit_shared
from cerflearn.learning.stats import UniformTask, uniform_block
from cerflearn.learning.stochastic import (
    RunningStats,
    start_cvem_stream,
    start_shared_stream,
    update_cvem_stream,
    update_shared_stream,
)
from oracle.problems import planted_problem, random_orthogonal

WEIGHTS = {"learning_offset": 10.0, "learning_decay": 0.7}


def rows_of(teacher, learner, block_rows=64):
    return SerialEngine(ArraySource(teacher, learner, block_rows=block_rows))


def batches_of(teacher, learner, size):
    starts = range(0, len(teacher), size)
    return [rows_of(teacher[i : i + size], learner[i : i + size]) for i in starts]


def streamed(batches, **weights):
    stream = start_cvem_stream(batches[0])
    for rows in batches:
        stream, bound = update_cvem_stream(stream, rows, **(WEIGHTS | weights))
    return stream, bound


def sums_of(sizes):
    """Sums of random mini-batches of these sizes, and their rows of L."""
    rng = np.random.default_rng(0)
    normalizer = Normalizer(np.zeros(2), 1.0, np.zeros(3), np.ones(3), np.ones(3, dtype=bool))
    learners = [rng.normal(size=(size, 3)) for size in sizes]
    task = UniformTask(normalizer)
    return [uniform_block(task, rng.normal(size=(len(L), 2)), L) for L in learners], learners


@pytest.mark.parametrize(("offset", "decay"), [(10.0, 0.7), (1.0, 1.0), (0.0, 0.6)])
def test_rows_of_a_mini_batch_have_its_weight_whatever_its_size(offset, decay):
    sizes = [5, 40, 1, 7]
    stats, learners = sums_of(sizes)
    running = None
    for part in stats:
        running = RunningStats.add(running, part, offset, decay)
    weights = [1.0]
    for t in (1, 2, 3):
        rate = (t + offset) ** -decay
        weights = [weight * (1.0 - rate) for weight in weights] + [rate]
    per_row = np.repeat(weights, sizes)
    squares = np.concatenate(learners) ** 2
    wanted = 53 * (per_row @ squares) / per_row.sum()
    np.testing.assert_allclose(running.sums().selected_energy, wanted, rtol=1e-12)
    assert running.sums().n_samples == running.n_samples == 53
    assert running.n_batches == 4


def test_with_offset_and_decay_of_one_all_mini_batches_weigh_the_same():
    stats, learners = sums_of([5, 40, 1, 7])
    running = None
    for part in stats:
        running = RunningStats.add(running, part, 1.0, 1.0)
    np.testing.assert_allclose(
        running.sums().selected_energy, (np.concatenate(learners) ** 2).sum(axis=0), rtol=1e-12
    )


def test_the_first_mini_batch_is_the_first_stage_of_batch_cvem_to_the_bit():
    teacher, learner, _ = planted_problem(0)
    rows = rows_of(teacher, learner)
    batch = fit_cvem(rows, max_stages=1, n_closing_stages=0)
    stream, bound = streamed([rows])
    assert stream.state.rotation.tobytes() == batch.rotation.tobytes()
    assert stream.state.feature_proba.tobytes() == batch.feature_proba.tobytes()
    assert (stream.state.scale, stream.state.noise_std) == (batch.scale, batch.noise_std)
    assert bound.total == batch.lower_bounds[0]


def test_the_m_step_is_on_the_averages_and_the_rows_seen():
    teacher, learner, _ = planted_problem(1, n_samples=600)
    stream, bound = streamed(batches_of(teacher, learner, 100))
    sums, state = stream.run.running.sums(), stream.state
    np.testing.assert_array_equal(state.rotation, project_to_orthogonal(sums.cross))
    # Eq. 26: N rows and the prior.
    np.testing.assert_allclose(state.beta_posterior.sum(axis=1), 600 + 1 + 1.0, rtol=1e-12)
    np.testing.assert_allclose(state.beta_posterior[:, 0], sums.selected + 1.0, rtol=1e-12)
    assert np.isfinite(bound.total)


def test_mini_batches_select_what_batch_cvem_selects():
    teacher, learner, planted = planted_problem(2, n_samples=6000, noise=1.0)
    batch = fit_cvem(rows_of(teacher, learner), tol=0.0, max_stages=50)
    stream, _ = streamed(batches_of(teacher, learner, 100))
    proba = stream.state.feature_proba
    assert np.corrcoef(proba, batch.feature_proba)[0, 1] > 0.99
    assert np.sort(np.argsort(proba)[-8:]).tolist() == planted.tolist()


def test_fixed_scale_and_noise_stay_fixed():
    teacher, learner, _ = planted_problem(3)
    stream = start_cvem_stream(rows_of(teacher, learner), scale=0.8, noise_std=0.9)
    stream, _ = update_cvem_stream(stream, rows_of(teacher, learner), **WEIGHTS)
    assert (stream.state.scale, stream.state.noise_std) == (0.8, 0.9)


def changing_stream():
    """Mini-batches whose teacher is made of the first 6 of 18 columns, later of the last 6."""
    rng = np.random.default_rng(0)
    turn = random_orthogonal(6, 6, rng)
    batches = []
    for t in range(150):
        learner = rng.normal(size=(60, 18))
        part = learner[:, :6] if t < 50 else learner[:, 12:]
        batches.append(rows_of(part @ turn + 0.3 * rng.normal(size=(60, 6)), learner))
    return batches


def test_a_stream_that_changes_is_followed():
    batches = changing_stream()
    before, _ = streamed(batches[:50])
    after, _ = streamed(batches)
    assert np.sort(np.argsort(before.state.feature_proba)[-6:]).tolist() == [*range(6)]
    assert np.sort(np.argsort(after.state.feature_proba)[-6:]).tolist() == [*range(12, 18)]
    # A slower decay forgets later.
    slow, _ = streamed(batches, learning_decay=1.0, learning_offset=1.0)
    old = [stream.state.feature_proba[:6].mean() for stream in (after, slow)]
    assert old[0] < old[1]


def test_the_shared_selector_chooses_from_averages():
    teacher, learner, planted = planted_problem(4, n_samples=1000)
    whole = rows_of(teacher, learner)
    choose = partial(choose_shared, n_components=8)
    stream, result = update_shared_stream(start_shared_stream(whole), whole, choose, **WEIGHTS)
    batch = fit_shared(whole, 8)
    assert result.ranking.tobytes() == batch.ranking.tobytes()
    assert result.errors.tobytes() == batch.errors.tobytes()
    # Mini-batches of equal weight, normalised as all rows are, have the sums of all rows.
    equal = {"learning_offset": 1.0, "learning_decay": 1.0}
    stream = start_shared_stream(whole)
    for rows in batches_of(teacher, learner, 120):
        stream, result = update_shared_stream(stream, rows, choose, **equal)
    np.testing.assert_allclose(result.errors, batch.errors, rtol=1e-9)
    np.testing.assert_array_equal(result.ranking, batch.ranking)
    assert np.sort(result.ranking[:8]).tolist() == planted.tolist()


def test_the_shared_selector_follows_a_stream_that_changes():
    batches = changing_stream()
    stream = start_shared_stream(batches[0])
    chosen = []
    for rows in batches:
        choose = partial(choose_shared, n_components=6)
        stream, result = update_shared_stream(stream, rows, choose, **WEIGHTS)
        chosen.append(sorted(result.ranking[:6].tolist()))
    assert chosen[49] == [*range(6)]
    assert chosen[-1] == [*range(12, 18)]


@pytest.mark.filterwarnings("ignore:overflow")
def test_teachers_that_cannot_be_summed_are_refused_and_nothing_changes():
    teacher, learner, _ = planted_problem(5)
    rows = rows_of(teacher, learner)
    stream, _ = streamed([rows, rows])
    before = stream.run.running.averages.cross.copy()
    with pytest.raises(ValueError, match="too large to be summed"):
        update_cvem_stream(stream, rows_of(teacher * 1e300, learner), **WEIGHTS)
    np.testing.assert_array_equal(stream.run.running.averages.cross, before)

"""Incremental EM: the bound, bits, sums of blocks, memory."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cerflearn.engine.blocks import ArraySource
from cerflearn.engine.engines import SerialEngine, ThreadsEngine
from cerflearn.learning import incremental
from cerflearn.learning.bound import lower_bound
from cerflearn.learning.cvem import fit_cvem, start_state
from cerflearn.learning.incremental import start_blocks, update_blocks
from cerflearn.learning.m_step import Fixed
from cerflearn.learning.normalization import fit_normalizer
from oracle.problems import planted_problem


def rows_of(teacher, learner, block_rows=16):
    return SerialEngine(ArraySource(teacher, learner, block_rows=block_rows))


def related_problem(seed, n_samples, n_outputs, n_candidates):
    """Cosines of common inputs."""
    rng = np.random.default_rng(seed)
    inputs = rng.normal(size=(n_samples, 6))
    teacher = np.cos(inputs @ rng.normal(size=(6, n_outputs)) * 0.5 + 6 * rng.random(n_outputs))
    phase = inputs @ rng.normal(size=(6, n_candidates)) * 0.7
    return teacher, np.cos(phase + 6 * rng.random(n_candidates))


@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_samples=st.integers(2, 80),
    n_outputs=st.integers(1, 14),
    n_candidates=st.integers(1, 12),
    block_rows=st.integers(1, 40),
    normalize=st.sampled_from(["standardize", "center", None]),
    fixed=st.sampled_from([Fixed(), Fixed(0.7, None), Fixed(None, 0.6), Fixed(1.0, 1.0)]),
    initial_proba=st.sampled_from([0.1, 0.5, 0.9]),
)
def test_the_bound_never_falls(
    seed, n_samples, n_outputs, n_candidates, block_rows, normalize, fixed, initial_proba
):
    teacher, learner = related_problem(seed, n_samples, n_outputs, n_candidates)
    rows = rows_of(teacher, learner, block_rows)
    bounds, sizes = [], []

    def note(state, stats):
        bound = lower_bound(state, stats)
        bounds.append(bound.total)
        # Terms are sums that some hundred operations have rounded, see test_cvem.py.
        size = abs(bound.likelihood) + abs(bound.selector) + bound.entropy
        sizes.append(size + stats.teacher_energy / state.noise_std**2)

    real = incremental.m_step

    def noted(state, stats, solver, fixed):
        state = real(state, stats, solver, fixed)
        note(state, stats)
        return state

    normalizer = fit_normalizer(rows, normalize)
    state = start_state(rows, normalizer, initial_proba, None, fixed)
    blocks = start_blocks(rows, normalizer, initial_proba)
    incremental.m_step = noted  # after each block
    try:
        for _ in range(5):
            state, _ = update_blocks(rows, normalizer, state, blocks, fixed)
    finally:
        incremental.m_step = real
    assert len(bounds) == 5 * rows.n_blocks
    assert (np.diff(bounds) >= -1e-12 * max(sizes)).all()
    assert np.isfinite(bounds).all()


@pytest.mark.parametrize("max_stages", [1, 7])
def test_one_block_gives_the_bits_of_batch_cvem(max_stages):
    teacher, learner = related_problem(0, 500, 20, 25)
    rows = rows_of(teacher, learner, block_rows=500)
    batch, incremental_ = (
        fit_cvem(rows, schedule=schedule, max_stages=max_stages, tol=0.0)
        for schedule in ("batch", "incremental")
    )
    for name in ("feature_proba", "rotation", "lower_bounds"):
        assert getattr(batch, name).tobytes() == getattr(incremental_, name).tobytes()
    assert (batch.scale, batch.noise_std) == (incremental_.scale, incremental_.noise_std)


def test_the_sums_of_all_rows_are_those_of_their_blocks():
    teacher, learner = related_problem(1, 300, 8, 9)
    rows = rows_of(teacher, learner)
    normalizer = fit_normalizer(rows, "standardize")
    state = start_state(rows, normalizer, 0.5, None, Fixed())
    blocks = start_blocks(rows, normalizer, 0.5)
    for _ in range(30):
        state, stats = update_blocks(rows, normalizer, state, blocks, Fixed())
    assert stats.n_samples == 300
    for name in ("selected", "selected_energy", "cross", "entropy", "teacher_energy"):
        wanted = sum(getattr(block, name) for block in blocks)
        np.testing.assert_allclose(getattr(stats, name), wanted, rtol=1e-11, atol=1e-11)


def test_a_pass_raises_the_bound_further_than_one_of_batch_cvem():
    rows = rows_of(*related_problem(2, 1000, 20, 20), block_rows=100)
    batch, blocks = (
        fit_cvem(rows, schedule=schedule, max_stages=8, n_closing_stages=0, tol=0.0)
        for schedule in ("batch", "incremental")
    )
    assert (blocks.lower_bounds > batch.lower_bounds).all()


def test_planted_features_are_selected_as_by_batch_cvem():
    teacher, learner, planted = planted_problem(0)
    result = fit_cvem(rows_of(teacher, learner, 64), schedule="incremental")
    others = np.delete(result.feature_proba, planted)
    assert result.feature_proba[planted].min() > 0.5 + others.max()
    assert result.converged


def test_threads_have_the_same_bits():
    source = ArraySource(*related_problem(3, 500, 10, 10), block_rows=64)
    one, two = (
        fit_cvem(rows, schedule="incremental").rotation.tobytes()
        for rows in (SerialEngine(source), ThreadsEngine(source, 2))
    )
    assert one == two


def test_sums_of_too_many_blocks_are_refused(monkeypatch):
    rows = rows_of(*related_problem(4, 160, 5, 6))
    monkeypatch.setattr(incremental, "MOST_BLOCK_BYTES", 8 * 10 * 5 * 6)
    fit_cvem(rows, schedule="incremental", max_stages=1)
    monkeypatch.setattr(incremental, "MOST_BLOCK_BYTES", 8 * 10 * 5 * 6 - 1)
    with pytest.raises(
        ValueError, match=r"10 blocks of rows: 10 x 5 x 6 numbers.*schedule='batch'"
    ):
        fit_cvem(rows, schedule="incremental", max_stages=1)


def test_unknown_schedules_and_other_solvers_are_refused():
    rows = rows_of(*related_problem(4, 50, 3, 3))
    with pytest.raises(ValueError, match="schedule='online' must be"):
        fit_cvem(rows, schedule="online")
    with pytest.raises(ValueError, match="schedule='incremental' needs solver='procrustes'"):
        fit_cvem(rows, schedule="incremental", solver="admm")

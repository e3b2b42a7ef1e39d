"""Sufficient statistics: merging is adding, and blocks add up to the whole."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import digamma, entr, expit

from cerflearn.learning.normalization import Normalizer
from cerflearn.learning.state import VariationalState
from cerflearn.learning.stats import (
    EStepTask,
    SufficientStats,
    UniformTask,
    e_step_block,
    uniform_block,
)
from oracle.problems import SHAPES, small_problem

quick = settings(max_examples=30, deadline=None, derandomize=True)
seeds = st.integers(0, 2**32 - 1)
FIELDS = ("n_samples", "teacher_energy", "selected", "selected_energy", "alignment", "entropy")


def as_bytes(stats):
    values = [getattr(stats, name) for name in (*FIELDS, "cross", "gram")]
    return [None if value is None else np.asarray(value).tobytes() for value in values]


def dyadic_stats(rng, with_gram):
    """Whole multiples of 2^-10 below 2^20: sums of a few are exact in float64."""

    def draw(*shape):
        return rng.integers(-(2**30), 2**30, size=shape) / 2.0**10

    return SufficientStats(
        n_samples=int(rng.integers(1, 100)),
        teacher_energy=float(draw()),
        selected=draw(4),
        selected_energy=draw(4),
        alignment=draw(4),
        entropy=float(draw()),
        cross=draw(3, 4),
        gram=draw(4, 4) if with_gram else None,
    )


@quick
@given(seed=seeds, with_gram=st.booleans())
def test_merge_is_associative_and_commutative_where_sums_are_exact(seed, with_gram):
    rng = np.random.default_rng(seed)
    a, b, c = (dyadic_stats(rng, with_gram) for _ in range(3))
    expected = as_bytes(a.merge(b).merge(c))
    assert as_bytes(a.merge(b.merge(c))) == expected
    assert as_bytes(c.merge(a).merge(b)) == expected


@quick
@given(seed=seeds)
def test_merge_changes_neither_side(seed):
    rng = np.random.default_rng(seed)
    a, b = dyadic_stats(rng, True), dyadic_stats(rng, True)
    before = as_bytes(a), as_bytes(b)
    a.merge(b)
    assert (as_bytes(a), as_bytes(b)) == before


def problem_tasks(seed, n_samples, shape, with_gram):
    p = small_problem(seed, n_samples, *shape)
    n_outputs, n_candidates = shape
    usable = np.ones(n_candidates, dtype=bool)
    normalizer = Normalizer(
        np.full(n_outputs, 0.1),
        1.3,
        np.full(n_candidates, -0.2),
        np.full(n_candidates, 0.7),
        usable,
    )
    state = VariationalState(p.rotation, p.scale, p.noise, p.tau, p.concentration, usable)
    e_step = EStepTask(normalizer, state, with_gram=with_gram)
    return p, [(uniform_block, UniformTask(normalizer, 0.3, with_gram)), (e_step_block, e_step)]


@quick
@given(seed=seeds, shape=st.sampled_from(SHAPES), cut=st.integers(1, 19), with_gram=st.booleans())
def test_statistics_of_two_parts_merge_to_those_of_the_whole(seed, shape, cut, with_gram):
    p, tasks = problem_tasks(seed, 20, shape, with_gram)
    for function, task in tasks:
        whole = function(task, p.teacher, p.learner)
        first = function(task, p.teacher[:cut], p.learner[:cut])
        merged = first.merge(function(task, p.teacher[cut:], p.learner[cut:]))
        for name in (*FIELDS, "cross", *(["gram"] if with_gram else [])):
            # Sums of 20 terms of order 10.
            np.testing.assert_allclose(getattr(merged, name), getattr(whole, name), atol=1e-12)


@quick
@given(seed=seeds, shape=st.sampled_from(SHAPES))
def test_block_sums_are_what_their_names_say(seed, shape):
    p, tasks = problem_tasks(seed, 9, shape, True)
    T, L = (p.teacher - 0.1) * 1.3, (p.learner + 0.2) * 0.7
    for function, task in tasks:
        stats = function(task, p.teacher, p.learner)
        if function is uniform_block:
            nu = np.full(L.shape, 0.3)
        else:
            Y = T @ p.rotation
            odds = digamma(p.tau[:, 0]) - digamma(p.tau[:, 1])
            nu = expit(odds - (p.scale**2 * L**2 - 2 * p.scale * L * Y) / (2 * p.noise**2))
            np.testing.assert_allclose(stats.alignment, (nu * L * Y).sum(axis=0), atol=1e-12)
            np.testing.assert_allclose(
                stats.alignment.sum(), np.vdot(p.rotation, stats.cross), atol=1e-12
            )
        assert stats.n_samples == 9
        np.testing.assert_allclose(stats.teacher_energy, (T**2).sum(), rtol=1e-14)
        np.testing.assert_allclose(stats.selected, nu.sum(axis=0), atol=1e-13)
        np.testing.assert_allclose(stats.selected_energy, (nu * L**2).sum(axis=0), atol=1e-12)
        np.testing.assert_allclose(stats.cross, T.T @ (nu * L), atol=1e-12)
        np.testing.assert_allclose(stats.gram, (nu * L).T @ (nu * L), atol=1e-12)
        entropy = (entr(nu) + entr(1 - nu)).sum()
        np.testing.assert_allclose(stats.entropy, entropy, atol=1e-11)


def test_unusable_candidates_are_not_counted_as_selected():
    usable = np.array([True, False, True])
    normalizer = Normalizer(np.zeros(2), 1.0, np.zeros(3), usable * 1.0, usable)
    rng = np.random.default_rng(0)
    stats = uniform_block(
        UniformTask(normalizer, 0.5), rng.normal(size=(10, 2)), rng.normal(size=(10, 3))
    )
    assert stats.selected.tolist() == [5.0, 0.0, 5.0]
    assert stats.selected_energy[1] == 0.0
    np.testing.assert_allclose(stats.entropy, 20 * np.log(2.0))


def test_tiles_within_a_block_change_nothing_but_rounding():
    # 40,000 columns make tiles of one row, 3 columns tiles of 512 rows.
    for n_candidates, n_samples in ((40_000, 3), (3, 1200)):
        rng = np.random.default_rng(0)
        learner, teacher = (
            rng.normal(size=(n_samples, n_candidates)),
            rng.normal(size=(n_samples, 2)),
        )
        usable = np.ones(n_candidates, dtype=bool)
        normalizer = Normalizer(np.zeros(2), 1.0, np.zeros(n_candidates), usable * 1.0, usable)
        rotation = np.linalg.qr(rng.normal(size=(n_candidates, 2)))[0].T
        state = VariationalState(
            rotation, 1.0, 1.0, np.ones((n_candidates, 2)), float(n_candidates), usable
        )
        task = EStepTask(normalizer, state)
        whole = e_step_block(task, teacher, learner)
        rows = [
            e_step_block(task, teacher[i : i + 1], learner[i : i + 1]) for i in range(n_samples)
        ]
        np.testing.assert_allclose(whole.entropy, sum(r.entropy for r in rows), rtol=1e-12)
        np.testing.assert_allclose(whole.cross, sum(r.cross for r in rows), atol=1e-10)

"""The outer loop: bound, bits, recovery of planted features, ill cases."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from cerflearn.engine.blocks import ArraySource, CachedSource, ComputedSource
from cerflearn.engine.engines import SerialEngine, ThreadsEngine
from cerflearn.learning.cvem import fit_cvem
from cerflearn.learning.greedy import fit_greedy
from cerflearn.learning.ranking import rank_candidates
from cerflearn.learning.shared import fit_shared
from oracle.orthogonality import orthogonality_defect
from oracle.problems import planted_problem

SOLVERS = [
    {"solver": "procrustes"},
    {"solver": "admm"},
    {"solver": "admm", "e_step": "literal"},
    {"solver": "admm", "spectral_penalty": 0.05},
]


def rows_of(teacher, learner, block_rows=64):
    return SerialEngine(ArraySource(teacher, learner, block_rows=block_rows))


def related_problem(seed, n_samples, n_outputs, n_candidates):
    """Cosine features of common inputs, the teacher with more of them."""
    rng = np.random.default_rng(seed)
    inputs = rng.normal(size=(n_samples, 6))
    teacher = np.cos(inputs @ rng.normal(size=(6, n_outputs)) * 0.5 + 6 * rng.random(n_outputs))
    mask = rng.random((6, n_candidates)) < 0.5
    mask[0] = True  # no candidate is constant
    phase = inputs @ (rng.normal(size=(6, n_candidates)) * mask) * 0.7
    return teacher, np.cos(phase + 6 * rng.random(n_candidates))


@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_samples=st.integers(2, 80),
    n_outputs=st.integers(1, 14),
    n_candidates=st.integers(1, 12),
    normalize=st.sampled_from(["standardize", "center", None]),
    fixed=st.sampled_from(
        [{}, {"scale": 0.7}, {"noise_std": 0.6}, {"scale": 1.0, "noise_std": 1.0}]
    ),
    initial_proba=st.sampled_from([0.1, 0.5, 0.9]),
)
def test_bound_never_falls_with_exact_steps(
    seed, n_samples, n_outputs, n_candidates, normalize, fixed, initial_proba
):
    teacher, learner = related_problem(seed, n_samples, n_outputs, n_candidates)
    stages = []
    result = fit_cvem(
        rows_of(teacher, learner),
        normalize=normalize,
        initial_proba=initial_proba,
        max_stages=12,
        tol=0.0,
        on_stage=stages.append,
        **fixed,
    )
    # Terms are sums of values that some hundred operations have rounded to 2^-52; the error is a
    # difference of sums as large as the teacher's energy, divided by the noise.
    energy = (result.normalizer.apply(teacher, learner)[0] ** 2).sum()
    sizes = [
        abs(stage.bound.likelihood)
        + abs(stage.bound.selector)
        + stage.bound.entropy
        + energy / stage.state.noise_std**2
        for stage in stages
    ]
    assert (np.diff(result.lower_bounds) >= -1e-12 * max(sizes)).all()
    assert np.isfinite(result.lower_bounds).all()
    assert orthogonality_defect(result.rotation) < 1e-12
    assert ((result.feature_proba >= 0.0) & (result.feature_proba <= 1.0)).all()


@pytest.mark.parametrize("options", SOLVERS)
@pytest.mark.parametrize("n_outputs", [8, 24])
def test_planted_features_are_selected(options, n_outputs):
    teacher, learner, planted = planted_problem(0)
    teacher = np.hstack([teacher, 1e-3 * teacher[:, :1].repeat(n_outputs - 8, axis=1)])
    result = fit_cvem(rows_of(teacher, learner), **options)
    selector = np.sort(rank_candidates(result.feature_proba)[: len(planted)])
    assert selector.tolist() == planted.tolist()
    others = np.delete(result.feature_proba, planted)
    assert result.feature_proba[planted].min() > 0.5 + others.max()
    assert orthogonality_defect(result.rotation) < 1e-12
    assert result.rotation.shape == (n_outputs, 24)


def test_admm_raises_the_bound_nearly_as_far_as_the_exact_step_and_ranks_alike():
    for seed in range(4):
        rows = rows_of(*related_problem(seed, 300, 10, 10))
        exact = fit_cvem(rows, tol=0.0)
        relaxed = fit_cvem(rows, solver="admm", tol=0.0)
        gains = [np.ptp(result.lower_bounds) for result in (exact, relaxed)]
        # Measured: .75 to .94, and correlations of .96 and more.
        assert 0.5 * gains[0] < gains[1] < gains[0]
        assert np.corrcoef(exact.feature_proba, relaxed.feature_proba)[0, 1] > 0.9


def nearly_constant_and_informative(seed):
    """Candidate 0 is 1 plus dust, candidate 1 the only part of the teacher that varies."""
    rng = np.random.default_rng(seed)
    signal, dust = rng.choice([-1.0, 1.0], 1000), rng.normal(size=1000)
    teacher = np.stack([np.ones(1000), 0.5 * signal], axis=1) + 0.3 * rng.normal(size=(1000, 2))
    return rows_of(teacher, np.stack([1.0 + 0.01 * dust, 0.5 * signal], axis=1))


@pytest.mark.parametrize("options", SOLVERS[:2])
def test_as_printed_a_nearly_constant_feature_wins_and_standardising_mends_it(options):
    for seed in range(5):
        rows = nearly_constant_and_informative(seed)
        printed, centred, standardised = (
            fit_cvem(rows, normalize=normalize, **options).feature_proba
            for normalize in (None, "center", "standardize")
        )
        assert printed[0] > printed[1]
        assert printed[0] > 0.99
        assert centred[1] > 0.9 > 0.6 > centred[0]
        assert standardised[1] > 0.9 > 0.1 > standardised[0]


def test_copies_are_judged_alike():
    teacher, learner = related_problem(0, 300, 10, 10)
    proba = fit_cvem(rows_of(teacher, np.hstack([learner, learner]))).feature_proba
    # The teacher is no wider than the number of different columns, so that W is unique.
    np.testing.assert_allclose(proba[:10], proba[10:], atol=1e-9)
    assert np.ptp(proba) > 0.5


def fit_bytes(rows, **options):
    result = fit_cvem(rows, max_stages=4, tol=0.0, **options)
    parts = (result.feature_proba, result.rotation, result.lower_bounds)
    return (
        b"".join(part.tobytes() for part in parts) + repr((result.scale, result.noise_std)).encode()
    )


@pytest.mark.parametrize("options", SOLVERS)
def test_same_bits_for_any_threads_cache_and_layout(options):
    teacher, learner = related_problem(0, 1000, 70, 60)
    arrays = ArraySource(teacher, learner, block_rows=128)

    def compute(start, stop):
        return teacher[start:stop] * 1.0, learner[start:stop] * 1.0

    computed = ComputedSource(compute, 1000, block_rows=128)
    expected = fit_bytes(SerialEngine(arrays), **options)
    half = (teacher.nbytes + learner.nbytes) // 2
    for rows in (
        ThreadsEngine(arrays, 1),
        ThreadsEngine(arrays, 2),
        ThreadsEngine(computed, 3),
        SerialEngine(CachedSource(computed)),
        SerialEngine(CachedSource(computed, max_bytes=half)),
        ThreadsEngine(CachedSource(computed, max_bytes=half), 2),
        SerialEngine(
            ArraySource(np.asfortranarray(teacher), np.asfortranarray(learner), block_rows=128)
        ),
    ):
        assert fit_bytes(rows, **options) == expected
    with threadpool_limits(limits=2, user_api="blas"):
        assert fit_bytes(SerialEngine(arrays), **options) == expected


@pytest.mark.parametrize("fit", [fit_greedy, fit_shared])
def test_rivals_have_the_same_bits_for_any_threads_and_cache(fit):
    teacher, learner = related_problem(0, 1000, 70, 60)
    arrays = ArraySource(teacher, learner, block_rows=128)
    expected = fit(SerialEngine(arrays), 20)
    with threadpool_limits(limits=2, user_api="blas"):
        for source in (arrays, CachedSource(arrays)):
            result = fit(ThreadsEngine(source, 2), 20)
            assert result.ranking.tobytes() == expected.ranking.tobytes()
            assert result.errors.tobytes() == expected.errors.tobytes()


@pytest.mark.parametrize("n_candidates", [10, 40])
def test_automatic_values_leave_the_selectors_of_samples_undecided(n_candidates):
    teacher, learner = related_problem(0, 500, 40, n_candidates)
    stages = []
    result = fit_cvem(rows_of(teacher, learner), on_stage=stages.append)
    # In nats for each selector, of ln 2 = .69 at most: if all were 0 or 1 there would be none.
    assert stages[-1].bound.entropy / (500 * n_candidates) > 0.1
    assert 0.05 < result.feature_proba.mean() < 0.95
    assert np.ptp(result.feature_proba) > 0.3
    assert result.converged


def test_blocks_equal_the_whole_in_memory():
    teacher, learner = related_problem(1, 500, 12, 12)
    whole = fit_cvem(rows_of(teacher, learner, block_rows=500), max_stages=5, tol=0.0)
    blocks = fit_cvem(rows_of(teacher, learner, block_rows=37), max_stages=5, tol=0.0)
    # Rounding differs by block; five stages amplify it little.
    np.testing.assert_allclose(blocks.feature_proba, whole.feature_proba, rtol=0, atol=1e-9)
    np.testing.assert_allclose(blocks.lower_bounds, whole.lower_bounds, rtol=1e-11)


def test_float32_input_is_accumulated_in_float64():
    teacher, learner = (a.astype(np.float32) for a in related_problem(1, 500, 12, 12))
    single = fit_cvem(rows_of(teacher, learner), max_stages=3, tol=0.0)
    double = fit_cvem(
        rows_of(teacher.astype(np.float64), learner.astype(np.float64)), max_stages=3, tol=0.0
    )
    assert single.rotation.dtype == np.float64
    assert single.feature_proba.tobytes() == double.feature_proba.tobytes()


def test_a_narrow_teacher_equals_one_padded_with_zeros():
    teacher, learner = related_problem(2, 200, 3, 8)
    padded = np.hstack([teacher, np.zeros((200, 5))])
    narrow = fit_cvem(rows_of(teacher, learner), normalize="center", max_stages=6, tol=0.0)
    square = fit_cvem(rows_of(padded, learner), normalize="center", max_stages=6, tol=0.0)
    assert narrow.rotation.shape == (3, 8)
    np.testing.assert_allclose(narrow.feature_proba, square.feature_proba, atol=1e-9)
    np.testing.assert_allclose(narrow.lower_bounds, square.lower_bounds, rtol=1e-10)
    np.testing.assert_allclose(narrow.rotation, square.rotation[:3], atol=1e-8)


def test_a_rotated_teacher_selects_the_same():
    teacher, learner = related_problem(3, 200, 9, 6)
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(9, 9)))[0]
    plain = fit_cvem(rows_of(teacher, learner))
    turned = fit_cvem(rows_of(teacher @ turn, learner))
    np.testing.assert_allclose(turned.feature_proba, plain.feature_proba, atol=1e-9)


def test_standardised_selection_ignores_shifts_and_scales_of_the_learner():
    teacher, learner = related_problem(3, 200, 9, 6)
    moved = learner * np.array([1.0, 10.0, 0.1, 3.0, 7.0, 0.5]) + np.arange(6)
    plain = fit_cvem(rows_of(teacher, learner))
    other = fit_cvem(rows_of(teacher * 5.0 - 1.0, moved))
    np.testing.assert_allclose(other.feature_proba, plain.feature_proba, atol=1e-9)


@pytest.mark.parametrize("options", SOLVERS)
def test_fewer_samples_than_candidates_work(options):
    teacher, learner = related_problem(4, 15, 40, 40)
    result = fit_cvem(rows_of(teacher, learner), **options)
    assert np.isfinite(result.feature_proba).all()
    assert np.isfinite(result.lower_bounds).all()


@pytest.mark.parametrize("options", SOLVERS)
def test_constant_candidates_have_probability_zero_and_disturb_nothing(options):
    teacher, learner = related_problem(5, 100, 6, 6)
    extended = np.insert(learner, [2, 6], 0.25, axis=1)
    result = fit_cvem(rows_of(teacher, extended), **options)
    assert result.feature_proba[[2, 7]].tolist() == [0.0, 0.0]
    assert (np.delete(result.feature_proba, [2, 7]) > 0.0).all()
    assert np.isfinite(result.lower_bounds).all()


def test_a_teacher_that_can_be_matched_exactly_is_no_trouble():
    _, learner = related_problem(6, 100, 6, 6)
    result = fit_cvem(rows_of(learner, learner), max_stages=50, tol=0.0)
    sizes = np.abs(result.lower_bounds).max()
    assert (np.diff(result.lower_bounds) >= -1e-9 * sizes).all()
    assert np.isfinite(result.lower_bounds).all()
    assert result.noise_std > 0.0


def test_stages_stop_at_tolerance_and_are_reported():
    teacher, learner = related_problem(7, 300, 8, 8)
    stages = []
    result = fit_cvem(
        rows_of(teacher, learner),
        max_stages=200,
        n_closing_stages=2,
        tol=1e-3,
        on_stage=stages.append,
    )
    assert result.converged
    assert result.n_iter == len(stages) == len(result.lower_bounds) < 200
    assert [stage.fixed_rotation for stage in stages[-3:]] == [False, True, True]
    assert [stage.index for stage in stages] == list(range(result.n_iter))
    assert stages[-1].bound.total == result.lower_bounds[-1]
    moving = result.lower_bounds[: result.n_iter - 2]
    assert abs(moving[-1] - moving[-2]) < 1e-3 * 300 * 8
    assert (np.abs(np.diff(moving[:-1])) >= 1e-3 * 300 * 8).all()
    short = fit_cvem(rows_of(teacher, learner), max_stages=2, n_closing_stages=0, tol=0.0)
    assert not short.converged
    assert short.n_iter == 2


def test_last_stages_keep_the_rotation_which_is_then_orthogonal():
    teacher, learner = related_problem(8, 200, 7, 7)
    stages = []
    fit_cvem(
        rows_of(teacher, learner),
        solver="admm",
        e_step="literal",
        max_stages=3,
        n_closing_stages=2,
        tol=0.0,
        on_stage=stages.append,
    )
    assert not stages[2].state.orthogonal
    assert orthogonality_defect(stages[2].state.rotation) > 1e-3
    assert orthogonality_defect(stages[3].state.rotation) < 1e-12
    np.testing.assert_array_equal(stages[3].state.rotation, stages[4].state.rotation)


def test_fixed_scale_and_noise_stay_fixed():
    teacher, learner = related_problem(9, 100, 5, 5)
    result = fit_cvem(rows_of(teacher, learner), scale=0.8, noise_std=0.9)
    assert (result.scale, result.noise_std) == (0.8, 0.9)


def test_unknown_solver_is_refused_before_any_pass():
    with pytest.raises(ValueError, match="solver='svd' must be"):
        fit_cvem(rows_of(np.ones((3, 1)), np.ones((3, 1))), solver="svd")


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_are_not_finite_are_refused(value):
    teacher, learner = related_problem(9, 100, 5, 5)
    teacher[99, 0] = value
    with pytest.raises(ValueError, match="teacher contains NaN or infinity"):
        fit_cvem(ThreadsEngine(ArraySource(teacher, learner, block_rows=16), 2))


def test_what_a_callback_raises_ends_learning():
    teacher, learner = related_problem(9, 100, 5, 5)

    def stop(stage):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit_cvem(rows_of(teacher, learner), on_stage=stop)

"""M-step: Procrustes is the best rotation, scale and noise are the best given the rest."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given, settings
from hypothesis import strategies as st

from cerflearn.learning.m_step import ProcrustesSolver
from cerflearn.learning.orthogonal import project_to_orthogonal, thin_svd
from oracle.cvem import pad
from oracle.orthogonality import orthogonality_defect
from oracle.problems import SHAPES, random_orthogonal, small_problem

quick = settings(max_examples=40, deadline=None, derandomize=True)
seeds = st.integers(0, 2**32 - 1)


@pytest.mark.parametrize("shape", SHAPES)
def test_procrustes_beats_a_thousand_random_orthogonal_matrices(shape):
    p = small_problem(1, 30, *shape)
    expected = p.proba * p.learner
    best = project_to_orthogonal(p.teacher.T @ expected)

    def error(rotation):
        padded, square = pad(p.teacher, rotation)
        return np.linalg.norm(padded - p.scale * expected @ square.T) ** 2

    rng = np.random.default_rng(2)
    errors = [error(random_orthogonal(*shape, rng)) for _ in range(1000)]
    # A single row or column offers few directions, so equality up to rounding may be met.
    assert error(best) <= min(errors) + 1e-9


@pytest.mark.parametrize("shape", [(5, 5), (7, 4)])
def test_procrustes_cannot_be_improved_by_small_rotations(shape):
    rng = np.random.default_rng(0)
    cross = rng.normal(size=shape)
    best = project_to_orthogonal(cross)
    for _ in range(200):
        skew = 1e-3 * rng.normal(size=(shape[0], shape[0]))
        nearby = project_to_orthogonal(best + (skew - skew.T) @ best)
        assert np.vdot(nearby, cross) <= np.vdot(best, cross) + 1e-12


def narrow_problem():
    """One teacher column, two candidates: cross matrix (1, 1), Gram matrix diag(1, 4)."""
    learner = np.diag([1.0, 2.0])
    return np.array([[1.0], [0.5]]), learner


def test_one_svd_does_not_solve_the_problem_of_a_narrow_teacher_without_padding():
    teacher, learner = narrow_problem()

    def error(rotation):
        return np.linalg.norm(teacher - learner @ rotation.T) ** 2

    by_svd = project_to_orthogonal(teacher.T @ learner)
    np.testing.assert_allclose(by_svd, np.array([[1.0, 1.0]]) / np.sqrt(2.0))
    # w^T G w - 2 C w + |T|^2: 2.5 - 2 sqrt(2) against -1, both plus 1.25.
    assert error(by_svd) == pytest.approx(1.25 + 2.5 - np.sqrt(8.0))
    assert error(np.array([[1.0, 0.0]])) == pytest.approx(1.25 - 1.0)


def test_one_svd_solves_the_problem_of_a_narrow_teacher_padded_with_zeros():
    teacher, learner = narrow_problem()
    padded = np.hstack([teacher, np.zeros((2, 1))])

    def error(rotation):
        return np.linalg.norm(padded - learner @ rotation.T) ** 2

    square = pad(teacher, project_to_orthogonal(teacher.T @ learner))[1]
    angles = np.linspace(0.0, 2.0 * np.pi, 3601)
    turns = [np.array([[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]]) for a in angles]
    everything = [turn @ np.diag([1.0, side]) for turn in turns for side in (1.0, -1.0)]
    least = min(error(rotation) for rotation in everything)
    # The grid holds the solution, at 45 degrees, on one side or the other.
    assert error(square) == pytest.approx(least, abs=1e-12)


@quick
@given(seed=seeds, shape=st.sampled_from(SHAPES))
def test_projection_is_orthogonal_and_idempotent(seed, shape):
    matrix = np.random.default_rng(seed).normal(size=shape)
    rotation = project_to_orthogonal(matrix)
    assert orthogonality_defect(rotation) < 1e-14 * 10
    np.testing.assert_allclose(project_to_orthogonal(rotation), rotation, atol=1e-13)
    # The alignment with its own source is the sum of the singular values: no other reaches it.
    np.testing.assert_allclose(np.vdot(rotation, matrix), np.linalg.norm(matrix, "nuc"))


def test_projection_of_a_singular_matrix_is_still_orthogonal():
    assert orthogonality_defect(project_to_orthogonal(np.zeros((4, 3)))) < 1e-14
    assert orthogonality_defect(project_to_orthogonal(np.ones((3, 4)))) < 1e-14


def test_defect_measures_the_distance_from_orthonormal_columns_or_rows():
    assert orthogonality_defect(np.eye(3) * 2.0) == 3.0
    assert orthogonality_defect(np.eye(4)[:2]) == 0.0
    assert orthogonality_defect(np.eye(4)[:, :2]) == 0.0


def test_svd_falls_back_when_divide_and_conquer_does_not_converge(monkeypatch):
    real = scipy.linalg.svd

    def failing(matrix, lapack_driver="gesdd", **options):
        if lapack_driver == "gesdd":
            raise scipy.linalg.LinAlgError("SVD did not converge")
        return real(matrix, lapack_driver=lapack_driver, **options)

    monkeypatch.setattr(scipy.linalg, "svd", failing)
    matrix = np.random.default_rng(0).normal(size=(4, 3))
    left, values, right = thin_svd(matrix)
    np.testing.assert_allclose((left * values) @ right, matrix, atol=1e-14)


def test_procrustes_solver_needs_only_the_cross_matrix():
    assert not ProcrustesSolver().needs_gram
    assert ProcrustesSolver().orthogonal

"""The selector shared by all samples, against a direct computation on the data."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cerflearn.engine.blocks import ArraySource
from cerflearn.engine.engines import SerialEngine
from cerflearn.learning.shared import fit_shared
from oracle.cvem import shared_selector
from oracle.orthogonality import orthogonality_defect
from oracle.problems import planted_problem


def rows_of(teacher, learner, block_rows=32):
    return SerialEngine(ArraySource(teacher, learner, block_rows=block_rows))


@settings(max_examples=20, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_outputs=st.integers(1, 12),
    n_components=st.integers(1, 10),
    max_stages=st.integers(2, 8),
    normalize=st.sampled_from(["standardize", "center", None]),
)
def test_selection_equals_the_direct_computation(
    seed, n_outputs, n_components, max_stages, normalize
):
    rng = np.random.default_rng(seed)
    teacher, learner = rng.normal(size=(60, n_outputs)), rng.normal(size=(60, 10))
    learner += teacher[:, :1]
    learner *= np.geomspace(0.1, 10.0, 10)  # matters unless they are standardised
    seen = []
    result = fit_shared(
        rows_of(teacher, learner),
        n_components,
        normalize=normalize,
        max_stages=max_stages,
        on_stage=lambda *a: seen.append(a),
    )
    counts = [round(10 ** (1 - s) * n_components**s) for s in np.linspace(0, 1, max_stages)]
    T = teacher - (0.0 if normalize is None else teacher.mean(axis=0))
    L = learner - (0.0 if normalize is None else learner.mean(axis=0))
    L = L / (learner.std(axis=0) if normalize == "standardize" else 1.0)
    # The last entry of counts is ranked but not shortened further.
    expected = shared_selector(T, L, counts[1:])
    assert sorted(result.ranking[:n_components].tolist()) == expected.tolist()
    assert [index for index, _ in seen] == list(range(max_stages))
    assert result.n_iter == max_stages


def test_rotation_scale_and_error_describe_the_kept_columns():
    teacher, learner, planted = planted_problem(0)
    result = fit_shared(rows_of(teacher, learner), len(planted))
    assert sorted(result.ranking[: len(planted)].tolist()) == planted.tolist()
    assert orthogonality_defect(result.rotation) < 1e-13
    kept = learner[:, result.ranking[: len(planted)]]
    T = (teacher - teacher.mean(axis=0)) / np.sqrt(teacher.var(axis=0).mean())
    L = (kept - kept.mean(axis=0)) / kept.std(axis=0)
    error = np.linalg.norm(T - result.scale * L @ result.rotation.T) ** 2 / np.linalg.norm(T) ** 2
    assert result.errors[-1] == pytest.approx(error, abs=1e-12)
    assert result.errors[-1] == pytest.approx(0.09 / 1.09, rel=0.1)  # the planted noise


@pytest.mark.parametrize("seed", range(5))
def test_columns_of_the_rotation_are_in_the_order_of_the_ranking(seed):
    rng = np.random.default_rng(seed)
    teacher, learner = rng.normal(size=(60, 6)), rng.normal(size=(60, 9))
    result = fit_shared(rows_of(teacher, learner), 5, normalize=None, max_stages=2)
    fitted = result.scale * learner[:, result.ranking[:5]] @ result.rotation.T
    error = np.linalg.norm(teacher - fitted) ** 2 / np.linalg.norm(teacher) ** 2
    assert result.errors[-1] == pytest.approx(error, abs=1e-12)


@pytest.mark.parametrize(
    ("max_stages", "counts"), [(5, [64, 32, 16, 8, 4]), (2, [64, 4]), (1, [64, 4])]
)
def test_the_numbers_kept_fall_geometrically(max_stages, counts):
    columns, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(80, 64)))
    # A teacher of all columns: those that are left explain their share of it.
    result = fit_shared(rows_of(columns, columns), 4, normalize=None, max_stages=max_stages)
    assert result.errors == pytest.approx(1.0 - np.array(counts) / 64, abs=1e-12)
    assert result.rotation.shape == (64, 4)


def test_all_candidates_may_be_kept():
    teacher, learner, _ = planted_problem(0)
    n_candidates = learner.shape[1]
    result = fit_shared(rows_of(teacher, learner), n_candidates)
    assert sorted(result.ranking.tolist()) == list(range(n_candidates))


def test_groups_are_kept_whole():
    teacher, learner, _ = planted_problem(2)
    groups = np.arange(24) // 4
    result = fit_shared(rows_of(teacher, learner), 10, groups=groups, units=np.arange(24) // 2)
    kept = groups[result.ranking[:10]]
    assert sorted(np.bincount(kept)[np.unique(kept)].tolist()) == [2, 4, 4]


def test_the_score_is_the_fall_of_the_squared_error():
    # Orthonormal columns that the teacher has with factors a: each explains a^2 of its energy. The
    # first pair explains 3^2 + .1^2, the second 2^2 + 2^2, though its sum of |a| is larger.
    columns, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(40, 4)))
    teacher = columns * [3.0, 0.1, 2.0, 2.0]
    pairs = np.array([0, 0, 1, 1])
    for options in ({"groups": pairs}, {"units": pairs}):
        result = fit_shared(rows_of(teacher, columns), 2, normalize=None, **options)
        assert sorted(result.ranking[:2].tolist()) == [0, 1]
    # As wide columns explain as much: the scale of a candidate does not matter, that of a does.
    wide = columns * [1.0, 1.0, 1.0, 100.0]
    result = fit_shared(rows_of(columns * [3.0, 0.1, 2.0, 1.0], wide), 2, normalize=None)
    assert sorted(result.ranking[:2].tolist()) == [0, 2]


def test_constant_candidates_come_last_and_few_samples_suffice():
    rng = np.random.default_rng(0)
    teacher, learner = rng.normal(size=(6, 5)), rng.normal(size=(6, 20))
    learner[:, 3] = 1.0
    result = fit_shared(rows_of(teacher, learner), 12)
    assert 3 not in result.ranking[:19]
    assert sorted(result.ranking.tolist()) == list(range(20))


@pytest.mark.parametrize("n_components", [0, 25])
def test_impossible_numbers_of_components_are_refused(n_components):
    teacher, learner, _ = planted_problem(2)
    with pytest.raises(ValueError, match="must be between 1 and 24"):
        fit_shared(rows_of(teacher, learner), n_components)

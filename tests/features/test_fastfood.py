"""Fastfood blocks: structure against explicit matrices, rows against their law."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import hadamard
from scipy.stats import kstest, norm
from scipy.stats import t as student

from cerflearn.features.fastfood import SHAREABLE, draw_blocks, materialise, padded_size
from cerflearn.spectral import Cauchy, Gaussian, GaussianMixture, Laplace, Product, StudentT
from oracle.laws import fastfood_matrix


@pytest.mark.parametrize(
    ("n_features", "size"), [(1, 2), (2, 2), (3, 4), (16, 16), (17, 32), (784, 1024)]
)
def test_padded_size_is_the_next_power_of_two(n_features, size):
    assert padded_size(n_features) == size


@pytest.mark.parametrize("n_features", [1, 2, 5, 8, 13])
@pytest.mark.parametrize("share", [(), ("signs",), ("permutation",), ("scales",), SHAREABLE])
@pytest.mark.parametrize("with_centres", [False, True])
def test_materialised_blocks_are_the_explicit_product(n_features, share, with_centres):
    rng = np.random.default_rng(n_features)
    centres = rng.normal(size=(3, n_features)) if with_centres else None
    blocks = draw_blocks(3, n_features, StudentT(0.7, 3), rng, share, centres)
    parts = {"signs": blocks.signs, "permutation": blocks.permutation, "scales": blocks.row_scale}
    for name, array in parts.items():
        assert len(array) == (1 if name in share else 3)
    expected = []
    for j in range(3):
        signs, permutation, scales = (array[j % len(array)] for array in parts.values())
        V = fastfood_matrix(signs, blocks.gaussian_diag[j], permutation, scales)[:, :n_features]
        expected.append(V.T if centres is None else V.T + centres[j][:, None])
    frequencies = materialise(blocks)
    assert frequencies.shape == (n_features, 3 * padded_size(n_features))
    np.testing.assert_allclose(frequencies, np.hstack(expected), atol=1e-12)


def test_phases_follow_the_documented_formula():
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(2, 5))
    blocks = draw_blocks(2, 5, Gaussian(1.0), rng, centres=centres)
    x, H = rng.normal(size=5), hadamard(8)
    padded = np.append(x, np.zeros(3))
    phases = [
        blocks.row_scale[j]
        * (H @ (blocks.gaussian_diag[j] * (H @ (blocks.signs[j] * padded))[blocks.permutation[j]]))
        + centres[j] @ x
        for j in range(2)
    ]
    np.testing.assert_allclose(x @ materialise(blocks), np.concatenate(phases), atol=1e-12)


def test_zero_signs_mask_their_inputs():
    blocks = draw_blocks(2, 8, Gaussian(1.0), np.random.default_rng(0))
    signs = blocks.signs.copy()
    signs[1, [0, 3]] = 0.0
    masked, full = materialise(replace(blocks, signs=signs)), materialise(blocks)
    used = np.ones((8, 16), dtype=bool)
    used[np.ix_([0, 3], range(8, 16))] = False
    np.testing.assert_array_equal(masked, np.where(used, full, 0.0))


@pytest.mark.parametrize("law", [Gaussian(0.8), StudentT(0.8, 5)], ids=repr)
def test_row_norms_are_the_drawn_radii(law):
    blocks = draw_blocks(40, 16, law, np.random.default_rng(0))
    norms = np.linalg.norm(materialise(blocks), axis=0)
    diag_norms = np.linalg.norm(blocks.gaussian_diag, axis=1)
    scaled = blocks.row_scale * np.sqrt(16) * diag_norms[:, None]
    np.testing.assert_allclose(norms, scaled.ravel(), rtol=1e-12)
    reference = np.linalg.norm(law.sample(16, 4_000, np.random.default_rng(1)), axis=0)
    # All 640 radii are independent, within a block too.
    assert kstest(norms, reference).pvalue > 1e-3


@pytest.mark.parametrize(
    ("share", "follows"), [((), True), (("signs", "permutation"), True), (SHAREABLE, False)]
)
def test_rows_follow_the_law_unless_all_blocks_share_their_scales(share, follows):
    law = Gaussian(0.8)
    frequencies = materialise(draw_blocks(2_000, 16, law, np.random.default_rng(0), share))
    reference = np.linalg.norm(law.sample(16, 2_000, np.random.default_rng(1)), axis=0)
    pvalues = [
        kstest(np.linalg.norm(frequencies[:, i::16], axis=0), reference).pvalue for i in range(4)
    ]
    assert (min(pvalues) > 1e-3) if follows else (max(pvalues) < 1e-6)


def test_shared_scales_raise_the_kernel_error_and_shared_signs_and_permutation_do_not():
    law, X = Gaussian(0.25), np.random.default_rng(1).normal(size=(60, 16))

    def error(share, seed):
        frequencies = materialise(draw_blocks(32, 16, law, np.random.default_rng(seed), share))
        phases = X @ frequencies
        gram = np.cos(phases[:, None] - phases[None]).mean(axis=2)
        return np.abs(gram - law.kernel(X)).mean()

    own, both, scales = (
        np.mean([error(share, seed) for seed in range(20)])
        for share in ((), ("signs", "permutation"), SHAREABLE)
    )
    assert both < 1.1 * own  # measured: equal up to noise
    assert scales > 1.25 * own  # measured: 1.5


@pytest.mark.parametrize("n_features", [3, 8])
@pytest.mark.parametrize(
    ("law", "marginal"),
    [(Gaussian(0.8), norm(scale=0.8)), (StudentT(0.8, 3), student(3, scale=0.8))],
    ids=["gaussian", "student"],
)
def test_marginal_of_one_row_is_the_law_with_and_without_padding(law, marginal, n_features):
    # One row a block: rows of different blocks are independent.
    size = padded_size(n_features)
    frequencies = materialise(draw_blocks(3_000, n_features, law, np.random.default_rng(0)))
    for i in (0, 1, size - 1):
        row = frequencies[:, i::size]
        assert kstest(row[0], marginal.cdf).pvalue > 1e-3
        direction = np.ones(n_features) / np.sqrt(n_features)
        assert kstest(direction @ row, marginal.cdf).pvalue > 1e-3


def test_mean_cosine_is_the_kernel():
    law, n_blocks = Gaussian(0.8), 4_000
    X = np.random.default_rng(1).normal(size=(4, 5))
    frequencies = materialise(draw_blocks(n_blocks, 5, law, np.random.default_rng(0)))
    gaps = (X[:, None] - X[None]).reshape(-1, 5)
    by_block = np.cos(gaps @ frequencies).reshape(len(gaps), n_blocks, 8).mean(axis=2)
    error = np.abs(by_block.mean(axis=1) - law.kernel(X).ravel())
    # Blocks are independent: the standard error comes from their means.
    assert (error <= 5.0 * by_block.std(axis=1) / np.sqrt(n_blocks) + 1e-12).all()


def test_structure_is_well_formed_and_repeats_with_the_seed():
    def draw():
        return draw_blocks(6, 11, Gaussian(1.0), np.random.default_rng(7))

    blocks = draw()
    assert (blocks.n_blocks, blocks.size, blocks.n_features) == (6, 16, 11)
    assert set(np.unique(blocks.signs)) == {-1.0, 1.0}
    assert blocks.permutation.dtype == np.int32
    np.testing.assert_array_equal(np.sort(blocks.permutation), np.tile(np.arange(16), (6, 1)))
    assert len(np.unique(blocks.permutation, axis=0)) == 6
    np.testing.assert_array_equal(materialise(blocks), materialise(draw()))


@pytest.mark.parametrize(
    "law",
    [
        Cauchy(1.0),
        Laplace(1.0),
        Product(Gaussian(1.0), Gaussian(1.0)),
        GaussianMixture([[1.0, 2.0]], 1.0),
    ],
    ids=repr,
)
def test_laws_that_are_not_isotropic_are_refused(law):
    with pytest.raises(ValueError, match="not isotropic, as Fastfood blocks need"):
        draw_blocks(1, 2, law, np.random.default_rng(0))


def test_centres_of_the_wrong_shape_are_refused():
    with pytest.raises(ValueError, match=r"\(3, 2\)"):
        draw_blocks(3, 2, Gaussian(1.0), np.random.default_rng(0), centres=np.zeros((2, 2)))


def test_kept_rows_are_those_of_the_whole_blocks():
    blocks = draw_blocks(3, 11, Gaussian(1.0), np.random.default_rng(0))
    pointers, rows = np.array([0, 2, 2, 5]), np.array([3, 9, 15, 0, 4])
    columns = np.array([3, 9, 2 * 16 + 15, 2 * 16, 2 * 16 + 4])
    kept = materialise(blocks, pointers, rows)
    np.testing.assert_array_equal(kept, materialise(blocks)[:, columns])

"""Inner products of features tend to the kernel at the Monte-Carlo rate, for each kernel and map.

For independent projections the estimate of k(x, y) from P of them has variance V / P with
V = (1 + k(2 d)) / 2 - k(d)^2 for pairs (the variance of cos(omega . d), d = x - y), and 1/2 more
for single cosines, whose random offsets add a term cos(omega . (x + y) + 2 b).
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from cerflearn.features.blocked import draw_blocked_map
from cerflearn.features.dense import draw_dense_map
from cerflearn.features.masked import draw_masked_map
from cerflearn.features.masks import draw_fixed_masks, mask_scale
from cerflearn.spectral import KERNELS, Gaussian, GaussianMixture, law_from_kernel

N_FEATURES, N_ROWS, N_SEEDS = 6, 5, 100
X = np.random.default_rng(7).normal(size=(N_ROWS, N_FEATURES))
PAIRS = np.triu_indices(N_ROWS, k=1)
ISOTROPIC = ("rbf", "matern32", "matern52")


def law_of(kernel):
    gamma = 0.1 if kernel in ("laplacian", "cauchy") else 0.05
    return law_from_kernel(kernel, gamma)


def draw_masked(density):
    def draw(n_features, n_outputs, law, rng, *, paired=True):
        n = n_outputs // 2 if paired else n_outputs
        usable = np.ones(n_features, dtype=bool)
        # Every second of them: masks cut from one permutation are not independent.
        masks = draw_fixed_masks(2 * n, usable, density, 1, rng, minimum_inputs=1)
        masks = masks.select(slice(None, None, 2))
        return draw_masked_map(
            masks, n_features, n_features, n_outputs, law, rng, paired=paired, features_per_mask=1
        )

    return draw


def draw_orthogonal_map(*args, **kwargs):
    return draw_dense_map(*args, orthogonal=True, **kwargs)


def draw_shared_signs(*args, **kwargs):
    return draw_blocked_map(*args, share=("signs",), **kwargs)


def masked_kernel(law, rows, n_active):
    """Mean over all masks of ``n_active`` inputs of the kernel on those inputs, scaled by rho."""
    scale = mask_scale(N_FEATURES, n_active, law.stability_index)
    subsets = list(combinations(range(N_FEATURES), n_active))
    return np.mean([law.kernel(scale * rows[:, list(s)]) for s in subsets], axis=0)


def exact(law, n_active):
    """Kernel of the pairs, and the variance V of one projection."""
    kernel = masked_kernel(law, X, n_active)[PAIRS]
    doubled = masked_kernel(law, 2.0 * X, n_active)[PAIRS]
    return kernel, (1.0 + doubled) / 2.0 - kernel**2


def errors(draw, law, n_projections, paired, kernel):
    """Errors of the kernel estimate, (n_seeds, n_pairs)."""
    found = []
    for seed in range(N_SEEDS):
        n_outputs = 2 * n_projections if paired else n_projections
        rng = np.random.default_rng([seed, n_projections])
        Z = draw(N_FEATURES, n_outputs, law, rng, paired=paired).transform(X)
        found.append((Z @ Z.T)[PAIRS] - kernel)
    return np.array(found)


def check_unbiased(found):
    standard_error = found.std(axis=0, ddof=1) / np.sqrt(len(found))
    assert (np.abs(found.mean(axis=0)) < 5.0 * standard_error).all()


@pytest.mark.parametrize("paired", [False, True], ids=["single", "paired"])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(
    ("draw", "n_active"),
    [(draw_dense_map, 6), (draw_masked(1.0), 6), (draw_masked(0.5), 3)],
    ids=["dense", "full_masks", "half_masks"],
)
def test_independent_projections_have_the_variance_of_monte_carlo(draw, n_active, kernel, paired):
    law = law_of(kernel)
    gram, variance = exact(law, n_active)
    variance = variance if paired else variance + 0.5
    for n_projections in (32, 512):
        found = errors(draw, law, n_projections, paired, gram)
        check_unbiased(found)
        # A mean square of 100 nearly normal errors has a relative standard error of sqrt(2/100).
        ratio = n_projections * np.square(found).mean(axis=0) / variance
        assert (np.abs(ratio - 1.0) < 5.0 * np.sqrt(2.0 / N_SEEDS)).all()


@pytest.mark.parametrize("paired", [False, True], ids=["single", "paired"])
@pytest.mark.parametrize("kernel", ISOTROPIC)
@pytest.mark.parametrize(
    "draw",
    [draw_orthogonal_map, draw_blocked_map, draw_shared_signs],
    ids=["orthogonal", "fastfood", "fastfood_shared_signs"],
)
def test_structured_projections_converge_at_the_same_rate(draw, kernel, paired):
    law = law_of(kernel)
    gram, variance = exact(law, N_FEATURES)
    variance = variance if paired else variance + 0.5
    n_small, n_large = 48, 768  # whole blocks of 6 and of 8
    small = errors(draw, law, n_small, paired, gram)
    large = errors(draw, law, n_large, paired, gram)
    check_unbiased(small)
    check_unbiased(large)
    # Averaged over 10 pairs, so that the ratio of two mean squares is known to a factor of 2.
    ratio = np.square(small).mean() / np.square(large).mean()
    assert 0.5 < ratio / (n_large / n_small) < 2.0
    # No more variance than that of independent projections, up to the same factor.
    assert n_large * np.square(large).mean() < 2.0 * variance.mean()


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("width", [0.3, 1.0, 3.0])
def test_the_mean_over_masks_is_never_below_the_kernel(kernel, width):
    law = law_of(kernel)
    whole = law.kernel(width * X)
    means = [masked_kernel(law, width * X, n_active) for n_active in range(1, N_FEATURES + 1)]
    for mean in means[:-1]:
        assert (mean[PAIRS] > whole[PAIRS]).all()
    np.testing.assert_allclose(means[-1], whole, rtol=1e-12)
    # The more inputs a mask reads, the nearer.
    assert (np.diff(means, axis=0)[:, *PAIRS] < 0.0).all()


@pytest.mark.parametrize("kernel", KERNELS)
def test_masks_change_nothing_where_all_inputs_differ_by_as_much(kernel):
    rows = np.stack([np.zeros(N_FEATURES), np.full(N_FEATURES, 0.7)])
    law = law_of(kernel)
    mean, whole = masked_kernel(law, rows, 2)[0, 1], law.kernel(rows)[0, 1]
    if kernel == "cauchy":  # no function of one norm of the difference
        assert mean > whole
    else:
        assert mean == pytest.approx(whole, rel=1e-12)


def test_orthogonal_frequencies_have_a_smaller_error():
    law = law_of("rbf")
    gram, _ = exact(law, N_FEATURES)
    independent = errors(draw_dense_map, law, 48, True, gram)
    orthogonal = errors(draw_orthogonal_map, law, 48, True, gram)
    assert np.square(orthogonal).mean() < 0.8 * np.square(independent).mean()


@pytest.mark.parametrize("share", [(), ("signs",), ("signs", "permutation")])
def test_blocks_around_centres_have_the_kernel_of_the_mixture(share):
    rng = np.random.default_rng(0)
    mixture = GaussianMixture(rng.normal(size=(4, N_FEATURES)) / 3.0, 0.3)
    n_blocks = 2_000
    centres = mixture.centres[np.arange(n_blocks) % 4]
    law = law_from_kernel("rbf", 0.3**2 / 2.0)
    blocked = draw_blocked_map(N_FEATURES, 16 * n_blocks, law, rng, share=share, centres=centres)
    Z = blocked.transform(X)
    error = np.abs(Z @ Z.T - mixture.kernel(X))[PAIRS]
    # Block means lie in [-1, 1] and, given the signs, are independent: Hoeffding, 1e-6 a pair.
    assert error.max() < np.sqrt(2.0 * np.log(2.0 / 1e-6) / n_blocks)


def test_equally_spaced_offsets_take_out_noise_of_rows_that_are_alike():
    # One block about a centre: its rows differ little, and so does their noise but for the offset.
    centre, law, wanted = np.full((1, N_FEATURES), 0.3), Gaussian(0.05), []
    for seed in range(N_SEEDS):
        rng = np.random.default_rng(seed)
        drawn = draw_blocked_map(N_FEATURES, 8, law, rng, paired=False, centres=centre)
        others = replace(drawn, offsets=rng.uniform(0.0, 2.0 * np.pi, 8))
        d = X[:, None] - X[None]
        truth = np.cos(d @ drawn.frequencies).mean(axis=2)
        grams = [m.transform(X) @ m.transform(X).T for m in (drawn, others)]
        wanted.append([np.square((gram - truth)[PAIRS]).mean() for gram in grams])
    spaced, independent = np.mean(wanted, axis=0)
    # 8 independent terms of variance 1/2, averaged: 1/16.
    assert independent == pytest.approx(1.0 / 16.0, rel=0.2)
    assert spaced < 0.1 * independent

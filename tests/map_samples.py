"""Feature maps to test, rows to feed them, and what must come out."""

from __future__ import annotations

import numpy as np

from cerflearn.features.base import FeatureMap
from cerflearn.features.blocked import draw_blocked_map
from cerflearn.features.dense import draw_dense_map
from cerflearn.features.masked import draw_masked_map
from cerflearn.features.masks import draw_fixed_masks

N_FEATURES = 40
ATOL = {"float32": 2e-5, "float64": 1e-12}  # phases of a few turns


def draw_masked(n_features, n_outputs, law, rng, *, paired=True, per_mask=4, density=0.3):
    n_masks = -(-(-(-n_outputs // 2) if paired else n_outputs) // per_mask)
    masks = draw_fixed_masks(n_masks, np.ones(n_features, dtype=bool), density, 1, rng)
    return draw_masked_map(
        masks,
        n_features,
        n_features,
        n_outputs,
        law,
        rng,
        paired=paired,
        features_per_mask=per_mask,
    )


def draw_blocked_with_centres(n_features, n_outputs, law, rng, *, paired=True):
    n_projections = -(-n_outputs // 2) if paired else n_outputs
    n_blocks = -(-n_projections // 64)
    centres = rng.normal(size=(n_blocks, n_features)) / 4.0
    return draw_blocked_map(n_features, n_outputs, law, rng, paired=paired, centres=centres)


DRAWS = {
    "dense": draw_dense_map,
    "masked": draw_masked,
    "blocked": draw_blocked_map,
    "centred": draw_blocked_with_centres,
}


def rows(n_samples, dtype="float64", seed=0):
    return np.random.default_rng(seed).normal(size=(n_samples, N_FEATURES)).astype(dtype)


def expected_features(feature_map: FeatureMap, X):
    phases = X.astype(np.longdouble) @ feature_map.frequencies + feature_map.offsets
    features = np.empty((len(X), 2 * feature_map.n_projections), dtype=np.longdouble)
    features[:, ::2] = np.cos(phases) * feature_map.amplitudes
    features[:, 1::2] = np.sin(phases) * feature_map.amplitudes
    return features[:, : feature_map.n_outputs] if feature_map.paired else features[:, ::2]

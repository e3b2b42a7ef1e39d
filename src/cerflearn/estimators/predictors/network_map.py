"""From a trained network to a map that runs in the native core."""

from __future__ import annotations

import numpy as np

from cerflearn.estimators.predictors.scaling import InputScaling
from cerflearn.features.masked import MaskedMap
from cerflearn.training.network import FeatureNetwork


def network_map(network: FeatureNetwork, scaling: InputScaling, group_size: int) -> MaskedMap:
    r"""Masked map of raw inputs: features of :math:`\omega^\top (x - \mu) / s + b`, amplitude one.

    Neighbouring projections with equal masks share one in the map.
    """
    mask = network.mask.copy()
    if not mask.any(axis=0).all():  # nothing is worth its cost: one input with frequency zero
        mask[int(np.flatnonzero(scaling.varies)[0]), ~mask.any(axis=0)] = True
    frequencies = network.frequencies / scaling.scale[:, None]
    offsets = network.offsets - scaling.mean @ frequencies
    if not network.rectified:
        offsets = np.mod(offsets, 2.0 * np.pi)
    changes = (mask[:, 1:] != mask[:, :-1]).any(axis=0)
    starts = np.concatenate([[0], np.flatnonzero(changes) + 1])
    pointers = np.concatenate([starts, [mask.shape[1]]])
    inputs = [np.flatnonzero(mask[:, start]) for start in starts]
    blocks = [
        frequencies[rows, first:last].ravel()
        for rows, first, last in zip(inputs, pointers[:-1], pointers[1:], strict=True)
    ]
    counts = [len(rows) for rows in inputs]
    return MaskedMap(
        n_inputs=len(mask),
        mask_pointers=np.concatenate([[0], np.cumsum(counts)]),
        mask_inputs=np.concatenate(inputs),
        projection_pointers=pointers,
        values=np.concatenate(blocks),
        group_size=group_size,
        offsets=offsets,
        amplitudes=np.ones(mask.shape[1]),
        n_outputs=mask.shape[1],
        paired=False,
        rectified=network.rectified,
    )

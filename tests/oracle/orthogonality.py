"""How far a matrix is from having orthonormal columns or rows."""

from __future__ import annotations

import numpy as np


def orthogonality_defect(rotation):
    r"""Largest entry of :math:`|W^\top W - I|`, or of :math:`|W W^\top - I|` if W is wide."""
    n_outputs, n_candidates = rotation.shape
    product = rotation.T @ rotation if n_outputs >= n_candidates else rotation @ rotation.T
    return float(np.abs(product - np.eye(len(product))).max())

r"""Drawing Fastfood blocks: :math:`V = S H G Q H B` (Def. 4, Eq. 36; Prop. 5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cerflearn import _native
from cerflearn._typing import Float64Array, IntArray
from cerflearn.spectral import SpectralLaw


@dataclass(frozen=True, eq=False)
class FastfoodBlocks:
    r"""Structured frequencies: block j has phases :math:`S_j H G_j Q_j H B_j x + m_j^\top x`.

    H is the unnormalised Walsh-Hadamard matrix in natural (Sylvester) order, d the padded size
    and x padded with zeros; in code ``row_scale[j] * (H @ (gaussian_diag[j] *
    (H @ (signs[j] * x))[permutation[j]])) + centres[j] @ x[:n_features]``.

    Attributes
    ----------
    signs : ndarray of shape (n_blocks, d) or (1, d)
        B: +1 or -1, or 0 where a mask is folded in; one row if all blocks share it.
    gaussian_diag : ndarray of shape (n_blocks, d)
        G: independent standard normal values.
    permutation : ndarray of shape (n_blocks, d), int32
        Q: which entry of the first transform comes to each place.
    row_scale : ndarray of shape (n_blocks, d)
        S, with the 1/sigma of Eq. 36: gives each row the norm of a draw of the law.
    centres : ndarray of shape (n_blocks, n_features) or None
        m: the mean frequency of each block, if its law is a component of a mixture.
    n_features : int
        Inputs before padding.

    Examples
    --------
    >>> from cerflearn.spectral import Gaussian
    >>> blocks = draw_blocks(3, 5, Gaussian(1.0), np.random.default_rng(0))
    >>> blocks.n_blocks, blocks.size, materialise(blocks).shape
    (3, 8, (5, 24))
    """

    signs: Float64Array
    gaussian_diag: Float64Array
    permutation: NDArray[np.int32]
    row_scale: Float64Array
    centres: Float64Array | None
    n_features: int

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return len(self.gaussian_diag)

    @property
    def size(self) -> int:
        """Padded size d: rows a block has, a power of two."""
        return int(self.gaussian_diag.shape[1])


def padded_size(n_features: int) -> int:
    """Smallest power of two that is at least ``n_features``, and at least 2.

    Examples
    --------
    >>> [padded_size(n) for n in (1, 2, 3, 64, 784)]
    [2, 2, 4, 64, 1024]
    """
    return max(2, 1 << (n_features - 1).bit_length())


def draw_blocks(
    n_blocks: int,
    n_features: int,
    law: SpectralLaw,
    rng: np.random.Generator,
    shared_signs: bool = False,
    centres: Float64Array | None = None,
) -> FastfoodBlocks:
    r"""Draw blocks whose rows follow ``law`` (plus the centre of the block).

    Parameters
    ----------
    n_blocks, n_features : int
        Number of blocks, each of ``padded_size(n_features)`` projections; number of inputs.
    law : SpectralLaw
        An isotropic law: Gaussian or StudentT.
    rng : numpy.random.Generator
        Source of randomness.
    shared_signs : bool, default=False
        One B for all blocks, as Prop. 5 prints it: the first transform is then computed once.
    centres : ndarray of shape (n_blocks, n_features), optional
        Added to the frequencies of each block.

    Returns
    -------
    FastfoodBlocks
        The drawn diagonals and permutations.

    Notes
    -----
    Row i of H G Q H B is :math:`\sqrt d\, O_i g` with g the diagonal of G and :math:`O_i`
    orthogonal: its direction is uniform and its norm :math:`\sqrt d\, |g|_2`. The norm is
    replaced by an independent draw of the law's in dimension d, so that every row has exactly
    the law in the padded space, and its first ``n_features`` entries exactly the law in theirs
    (marginals of the normal and of the multivariate t stay in the family). Only the rows of one
    block depend on each other.
    """
    if not law.is_isotropic:
        raise ValueError(
            f"{law!r} is not isotropic, as Fastfood blocks need: use kernel='rbf', 'matern32' or "
            "'matern52', or a Gaussian or StudentT law with centres."
        )
    if centres is not None:
        centres = np.array(centres, dtype=np.float64)
        if centres.shape != (n_blocks, n_features):
            raise ValueError(
                f"centres of shape {centres.shape} must have one row a block and one column an "
                f"input: {(n_blocks, n_features)}."
            )
    size = padded_size(n_features)
    signs = rng.choice([-1.0, 1.0], size=(1 if shared_signs else n_blocks, size))
    gaussian_diag = rng.standard_normal((n_blocks, size))
    identity = np.tile(np.arange(size, dtype=np.int32), (n_blocks, 1))
    permutation = rng.permuted(identity, axis=1)
    radii = law.sample_radii(size, n_blocks * size, rng).reshape(n_blocks, size)
    norms = np.sqrt(size) * np.linalg.norm(gaussian_diag, axis=1, keepdims=True)
    return FastfoodBlocks(signs, gaussian_diag, permutation, radii / norms, centres, n_features)


def materialise(
    blocks: FastfoodBlocks,
    kept_pointers: IntArray | None = None,
    kept_rows: NDArray[np.integer[Any]] | None = None,
) -> Float64Array:
    """Frequencies (n_features, n_kept): their phases are ``X @ frequencies``, centres included.

    Parameters
    ----------
    blocks : FastfoodBlocks
        Structured frequencies.
    kept_pointers, kept_rows : ndarrays of shape (n_blocks + 1,) and (n_kept,), optional
        Block j keeps ``kept_rows[kept_pointers[j]:kept_pointers[j + 1]]``; by default all rows,
        column j d + i then being row i of block j. Rows that are not kept cost nothing.
    """
    size, level = blocks.size, _native.current_level()
    if kept_pointers is None or kept_rows is None:
        kept_pointers = np.arange(blocks.n_blocks + 1) * size
        kept_rows = np.tile(np.arange(size), blocks.n_blocks)
    frequencies = np.empty((blocks.n_features, len(kept_rows)))
    for j in range(blocks.n_blocks):
        columns = slice(kept_pointers[j], kept_pointers[j + 1])
        kept = kept_rows[columns]
        # Row i of S H G Q H B, from the left: unit vector i through the factors in turn.
        unit = np.zeros((len(kept), size))
        unit[np.arange(len(kept)), kept] = 1.0
        _native.walsh_hadamard(unit, level)
        rows = np.empty_like(unit)
        rows[:, blocks.permutation[j]] = unit * blocks.gaussian_diag[j]
        _native.walsh_hadamard(rows, level)
        rows *= blocks.signs[j % len(blocks.signs)]
        rows *= blocks.row_scale[j, kept, None]
        frequencies[:, columns] = rows[:, : blocks.n_features].T
        if blocks.centres is not None:
            frequencies[:, columns] += blocks.centres[j][:, None]
    return frequencies

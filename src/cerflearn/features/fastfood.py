r"""Drawing Fastfood blocks: :math:`V = S H G Q H B` (Def. 4, Eq. 36; Prop. 5)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cerflearn import _native
from cerflearn._typing import Float64Array, IntArray
from cerflearn.features.masks import MaskSet, mask_scale
from cerflearn.spectral import SpectralLaw

SHAREABLE = ("signs", "permutation", "scales")
"""What all blocks may share: B, Q and S, as Prop. 5 prints it."""


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
    permutation : ndarray of shape (n_blocks, d) or (1, d), int32
        Q: which entry of the first transform comes to each place; one row if shared.
    row_scale : ndarray of shape (n_blocks, d) or (1, d)
        S, with the 1/sigma of Eq. 36: gives each row the norm of a draw of the law; one row if
        shared.
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

    def rescaled(self, factors: Float64Array) -> FastfoodBlocks:
        """Blocks whose frequencies about the centre are multiplied by ``factors`` (n_blocks,).

        The factors go into S, or into G where all blocks share S.
        """
        column = factors[:, None]
        if len(self.row_scale) == self.n_blocks:
            return replace(self, row_scale=self.row_scale * column)
        return replace(self, gaussian_diag=self.gaussian_diag * column)

    def masked(
        self, masks: MaskSet, n_usable: int, law: SpectralLaw, centre_law: SpectralLaw | None
    ) -> FastfoodBlocks:
        """Blocks that read the inputs of their masks alone (section 4.1), zeros in B.

        Parameters
        ----------
        masks : MaskSet
            One mask for each block.
        n_usable : int
            Inputs that masks may read, which the mask scale rho refers to.
        law, centre_law : SpectralLaw
            Of the frequencies about the centre and of the centres: each has its own rho.

        Returns
        -------
        FastfoodBlocks
            With a row of B for each block, also if they had one for all: masks differ.
        """
        read = masks.to_dense(self.n_features).T
        signs = np.zeros((self.n_blocks, self.size))
        signs[:, : self.n_features] = self.signs[:, : self.n_features] * read
        centres = self.centres
        if centres is not None and centre_law is not None:
            rho = mask_scale(n_usable, masks.counts, centre_law.stability_index)
            centres = centres * read * rho[:, None]
        rho = mask_scale(n_usable, masks.counts, law.stability_index)
        return replace(self, signs=signs, centres=centres).rescaled(rho)


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
    share: Collection[str] = (),
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
    share : collection of {"signs", "permutation", "scales"}, default=()
        What all blocks have in common: B, for which the first transform is computed once; Q; S.
        Prop. 5 prints all three.
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

    One S for all blocks cannot know the norm of each g: it has :math:`\sqrt d` in place of
    :math:`|g|_2`, and row i of every block the same radius. Rows no longer follow the law then.
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
    n_signs, n_permutations, n_scales = (1 if name in share else n_blocks for name in SHAREABLE)
    signs = rng.choice([-1.0, 1.0], size=(n_signs, size))
    gaussian_diag = rng.standard_normal((n_blocks, size))
    identity = np.tile(np.arange(size, dtype=np.int32), (n_permutations, 1))
    permutation = rng.permuted(identity, axis=1)
    radii = law.sample_radii(size, n_scales * size, rng).reshape(n_scales, size)
    if "scales" in share:
        row_scale = radii / size
    else:
        row_scale = radii / (np.sqrt(size) * np.linalg.norm(gaussian_diag, axis=1, keepdims=True))
    return FastfoodBlocks(signs, gaussian_diag, permutation, row_scale, centres, n_features)


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
        rows[:, blocks.permutation[j % len(blocks.permutation)]] = unit * blocks.gaussian_diag[j]
        _native.walsh_hadamard(rows, level)
        rows *= blocks.signs[j % len(blocks.signs)]
        rows *= blocks.row_scale[j % len(blocks.row_scale), kept, None]
        frequencies[:, columns] = rows[:, : blocks.n_features].T
        if blocks.centres is not None:
            frequencies[:, columns] += blocks.centres[j][:, None]
    return frequencies

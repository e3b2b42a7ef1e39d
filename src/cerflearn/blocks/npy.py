"""Blocks of a file of NumPy's, by memory map."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cerflearn.blocks.row_source import FileSource, RowBlock, rows_at_once


class NpySource(FileSource):
    """Rows of an ``.npy`` file; see :func:`from_npy`.

    Parameters
    ----------
    path : path-like
        The file of X.
    target : path-like or ndarray, optional
        The file of y, or y itself.
    """

    def __init__(self, path: Any, target: Any = None) -> None:
        is_path = isinstance(target, str | Path)
        super().__init__([path, target] if is_path else [path])
        self._target = None if is_path or target is None else np.asarray(target)
        X, y = self._open()
        if X.ndim != 2 or X.size == 0:
            raise ValueError(f"{self.name} has the shape {X.shape}: it must have rows and columns.")
        if y is not None and (y.ndim == 0 or len(y) != len(X)):
            raise ValueError(f"{self.name} has {len(X)} rows, and its target the shape {y.shape}.")
        self._n_rows = rows_at_once(X.shape[1])
        self._n_blocks = -(-len(X) // self._n_rows)

    def _open(self) -> tuple[NDArray[Any], NDArray[Any] | None]:
        """Map both files into memory."""
        X = _memory_map(self.paths[0])
        return X, _memory_map(self.paths[1]) if len(self.paths) > 1 else self._target

    def n_blocks(self) -> int:
        """See :meth:`RowSource.n_blocks`."""
        return self._n_blocks

    def without_target(self) -> NpySource:
        """See :meth:`RowSource.without_target`."""
        return NpySource(self.paths[0])

    def blocks(self, first: int = 0) -> Iterator[RowBlock]:
        """See :meth:`RowSource.blocks`."""
        X, y = self._open()
        for start in range(first * self._n_rows, len(X), self._n_rows):
            rows = slice(start, start + self._n_rows)
            yield X[rows], None if y is None else y[rows]


def from_npy(path: Any, target: Any = None) -> NpySource:
    """Make a source of an ``.npy`` file, which is mapped into memory and never read as a whole.

    Parameters
    ----------
    path : str or path-like
        File of X, two-dimensional, as ``numpy.save`` writes it.
    target : str, path-like or array-like, default=None
        File of y, or y itself: a target for each row.

    Returns
    -------
    RowSource
        To be passed as X; y is then left out.

    See Also
    --------
    from_parquet : Source of a parquet file.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from cerflearn import RandomFourierFeatures
    >>> from cerflearn.blocks import from_npy
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(folder + "/x.npy", np.random.default_rng(0).normal(size=(500, 3)))
    ...     sampler = RandomFourierFeatures(random_state=0).fit(from_npy(folder + "/x.npy"))
    >>> sampler.n_features_in_
    3
    """
    return NpySource(path, target)


def _memory_map(path: Path) -> NDArray[Any]:
    """Map a file; ``ValueError`` if it is none of NumPy's."""
    try:
        array: Any = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise ValueError(f"{path} cannot be read as an .npy file: {error}") from error
    if not isinstance(array, np.ndarray):
        raise ValueError(f"{path} holds several arrays: save the one of X as .npy.")
    return array

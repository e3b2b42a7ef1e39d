"""Blocks from a function, an iterable or an iterator of the user's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

from cerflearn.blocks.once import OnceSource
from cerflearn.blocks.row_source import RowBlock, RowSource, as_pair


class CalledSource(RowSource):
    """Blocks that a function returns, called once a pass; see :func:`from_blocks`.

    Parameters
    ----------
    start : callable
        Returns an iterable of blocks.
    name : str
        For errors.
    in_memory : bool, default=False
        Whether it returns blocks that exist already.
    """

    def __init__(
        self, start: Callable[[], Iterable[Any]], name: str, *, in_memory: bool = False
    ) -> None:
        self._start = start
        self.name, self.in_memory = name, in_memory

    def blocks(self, first: int = 0) -> Iterator[RowBlock]:
        """See :meth:`RowSource.blocks`; blocks before the first are skipped one by one."""
        for block in islice(self._start(), first, None):
            yield as_pair(block, self.name)


def from_blocks(blocks: Any, *, name: str = "the source") -> RowSource:
    """Make a source of blocks that a function or an object yields.

    Parameters
    ----------
    blocks : callable or iterable
        A function without arguments that returns an iterable of blocks, called for each pass; or
        an iterable that can be gone through several times, such as a list. A block is X, an
        array or CSR matrix, or a pair (X, y). Every pass must yield the same blocks. An iterator,
        such as a generator, gives a source that can be read once only.
    name : str, default="the source"
        What errors call it.

    Returns
    -------
    RowSource
        To be passed as X; y is then left out.

    See Also
    --------
    from_npy : Source of a file of NumPy's.
    from_parquet : Source of a parquet file.

    Notes
    -----
    What needs a single pass, ``partial_fit``, ``transform`` and ``predict``, reads an iterator as
    it is. ``fit`` needs several: it warns, and writes the rows to a temporary file as it reads
    them, in the folder that the environment variable ``TMPDIR`` names. A second use of the source
    is an error.

    Examples
    --------
    >>> import numpy as np
    >>> from cerflearn import MaskedFourierFeatures
    >>> from cerflearn.blocks import from_blocks
    >>> def days():
    ...     for day in range(7):
    ...         yield np.random.default_rng(day).normal(size=(100, 5))
    >>> MaskedFourierFeatures(random_state=0).fit(from_blocks(days)).n_features_in_
    5
    """
    if callable(blocks):
        return CalledSource(blocks, name)
    if not isinstance(blocks, Iterable):
        raise TypeError(
            f"blocks={blocks!r} is neither a function that returns blocks nor an iterable of them."
        )
    if isinstance(blocks, Iterator):
        return OnceSource(blocks, name)
    return CalledSource(lambda: blocks, name, in_memory=True)

"""One block after another, in the calling thread."""

from __future__ import annotations

from collections.abc import Callable

from cerflearn.engine.base import Engine, MergeTree, ResultT
from cerflearn.engine.blas import one_thread_blas


class SerialEngine(Engine):
    """Runs blocks one after another: the reference that all engines equal bit by bit.

    Parameters
    ----------
    source : BlockSource
        Where the blocks come from.
    """

    def map_reduce(self, function: Callable[..., ResultT], state: object) -> ResultT:
        """See :meth:`cerflearn.engine.base.Engine.map_reduce`."""
        tree: MergeTree[ResultT] = MergeTree()
        with one_thread_blas():
            for index in range(len(self.source)):
                tree.push(function(state, *self.source.block(index)))
        return tree.result()

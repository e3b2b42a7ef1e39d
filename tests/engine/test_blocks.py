"""Sources of row blocks: the fixed grid, computed rows, the cache."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cerflearn.engine.blocks import ArraySource, CachedSource, ComputedSource

DATA = np.arange(70.0).reshape(35, 2)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(n_rows=st.integers(1, 50), block_rows=st.integers(1, 60))
def test_blocks_cover_every_row_once_and_in_order(n_rows, block_rows):
    source = ArraySource(np.arange(n_rows), block_rows=block_rows)
    blocks = [source.block(index)[0] for index in range(len(source))]
    assert np.concatenate(blocks).tolist() == list(range(n_rows))
    assert all(len(block) == block_rows for block in blocks[:-1])
    assert len(blocks[-1]) > 0


def test_array_blocks_are_views():
    source = ArraySource(DATA, DATA, block_rows=10)
    assert all(np.shares_memory(array, DATA) for array in source.block(3))


def test_arrays_with_different_rows_are_refused():
    with pytest.raises(ValueError, match=r"different numbers of rows: \[35, 34\]"):
        ArraySource(DATA, DATA[1:])


def test_block_rows_must_be_positive():
    with pytest.raises(ValueError, match="block_rows=0"):
        ArraySource(DATA, block_rows=0)


def test_computed_blocks_equal_array_blocks():
    computed = ComputedSource(lambda a, b: (DATA[a:b],), len(DATA), block_rows=8)
    arrays = ArraySource(DATA, block_rows=8)
    assert len(computed) == len(arrays) == 5
    for index in range(5):
        np.testing.assert_array_equal(computed.block(index)[0], arrays.block(index)[0])


def test_computed_rows_must_match_those_asked_for():
    source = ComputedSource(lambda a, b: (DATA[a:b], DATA[a : b - 1]), len(DATA), block_rows=8)
    with pytest.raises(ValueError, match=r"Rows 0 to 8 were asked for, arrays have \[8, 7\] rows"):
        source.block(0)


@pytest.mark.parametrize(("n_kept", "max_bytes"), [(0, 47), (2, 256), (5, 560)])
def test_cache_keeps_what_fits_and_asks_again_for_the_rest(n_kept, max_bytes):
    asked = []

    def compute(start, stop):
        asked.append(start)
        return (DATA[start:stop] + 0.0,)

    source = CachedSource(ComputedSource(compute, len(DATA), block_rows=8), max_bytes=max_bytes)
    for _ in range(3):
        for index in range(5):
            np.testing.assert_array_equal(source.block(index)[0], DATA[8 * index : 8 * index + 8])
    assert len(asked) == n_kept + 3 * (5 - n_kept)
    assert source.used_bytes <= max_bytes


def test_cache_does_not_keep_a_larger_array_alive_through_a_view():
    source = CachedSource(ComputedSource(lambda a, b: (DATA[a:b],), len(DATA), block_rows=8))
    assert not np.shares_memory(source.block(0)[0], DATA)

"""Engines: same bits for any number of threads, errors reach the caller, BLAS is limited."""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_info, threadpool_limits

from cerflearn.engine.blocks import ArraySource, ComputedSource
from cerflearn.engine.engines import (
    MergeTree,
    SerialEngine,
    ThreadsEngine,
    make_engine,
    map_in_order,
    one_thread_blas,
)


@dataclass
class Text:
    """Spells out the tree along which it was merged."""

    text: str

    def merge(self, other):
        return Text(f"({self.text} {other.text})")


@dataclass
class Sum:
    total: np.ndarray

    def merge(self, other):
        return Sum(self.total + other.total)


def spell(state, rows):
    return Text(f"{state}{rows[0]}")


def weighted_gram(state, rows):
    return Sum((rows * state).T @ rows)


def blas_threads():
    return {info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"}


@settings(max_examples=30, deadline=None, derandomize=True)
@given(n_blocks=st.integers(1, 70), n_threads=st.integers(1, 4))
def test_threads_merge_along_the_same_tree_as_serial(n_blocks, n_threads):
    source = ArraySource(np.arange(n_blocks), block_rows=1)
    expected = SerialEngine(source).map_reduce(spell, "b")
    assert ThreadsEngine(source, n_threads).map_reduce(spell, "b") == expected
    assert expected.text.replace("(", "").replace(")", "").split() == [
        f"b{block}" for block in range(n_blocks)
    ]


@settings(max_examples=30, deadline=None, derandomize=True)
@given(n_blocks=st.integers(1, 300))
def test_merge_tree_is_as_shallow_as_it_can_be(n_blocks):
    tree = MergeTree()
    for block in range(n_blocks):
        tree.push(Text(str(block)))
    text = tree.result().text
    depth = max(text[: i + 1].count("(") - text[: i + 1].count(")") for i in range(len(text)))
    assert depth == int(np.ceil(np.log2(n_blocks)))


def test_sums_have_the_same_bits_for_any_number_of_threads():
    rows = np.random.default_rng(0).normal(size=(999, 37))
    source = ArraySource(rows, block_rows=64)
    expected = SerialEngine(source).map_reduce(weighted_gram, 0.3).total
    for n_threads in (1, 2, 3):
        total = ThreadsEngine(source, n_threads).map_reduce(weighted_gram, 0.3).total
        assert total.tobytes() == expected.tobytes()
    np.testing.assert_allclose(expected, 0.3 * rows.T @ rows, rtol=0, atol=999 * 2.0**-52 * 20)


def test_an_error_in_a_block_reaches_the_caller_and_stops_the_others():
    asked = []

    def compute(start, stop):
        asked.append(start)
        if start == 3:
            raise RuntimeError("block 3")
        return (np.arange(start, stop),)

    source = ComputedSource(compute, 1000, block_rows=1)
    for engine in (SerialEngine(source), ThreadsEngine(source, 2)):
        asked.clear()
        with pytest.raises(RuntimeError, match="block 3"):
            engine.map_reduce(spell, "b")
        assert len(asked) < 20


def test_no_rows_is_an_error():
    for engine in (
        SerialEngine(ArraySource(np.zeros(0))),
        ThreadsEngine(ArraySource(np.zeros(0)), 2),
    ):
        with pytest.raises(ValueError, match="no rows"):
            engine.map_reduce(spell, "b")


def test_blas_runs_on_one_thread_inside_and_as_before_outside():
    with threadpool_limits(limits=2, user_api="blas"):
        before = blas_threads()
        with SerialEngine(ArraySource(np.zeros(3))).session():
            assert blas_threads() == {1}
        assert blas_threads() == before


def test_the_limit_holds_until_the_last_of_overlapping_users_leaves():
    entered, leave = threading.Event(), threading.Event()

    def first_user():
        with one_thread_blas():
            entered.set()
            leave.wait()

    with threadpool_limits(limits=2, user_api="blas"):
        before = blas_threads()
        thread = threading.Thread(target=first_user)
        thread.start()
        entered.wait()
        with one_thread_blas():
            leave.set()
            thread.join()
            assert blas_threads() == {1}
        assert blas_threads() == before


@pytest.mark.parametrize(("wanted", "n_threads"), [(1, 1), (3, 3), (50, 4)])
def test_make_engine_never_has_more_threads_than_blocks(wanted, n_threads):
    engine = make_engine(ArraySource(np.zeros(4), block_rows=1), wanted)
    assert getattr(engine, "n_threads", 1) == n_threads


@pytest.mark.parametrize("n_threads", [0, -1])
def test_make_engine_refuses_what_is_no_number_of_threads(n_threads):
    with pytest.raises(ValueError, match=f"n_threads={n_threads} must be at least 1"):
        make_engine(ArraySource(np.zeros(4)), n_threads)


@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_results_of_independent_items_are_in_their_order(n_threads):
    gate = threading.Event()

    def slow_first(item):
        # The first item ends last wherever another thread can end before it.
        if item == 0 and n_threads > 1:
            assert gate.wait(10.0)
        if item == 1:
            gate.set()
        assert blas_threads() <= {1}
        return item * item

    assert map_in_order(slow_first, range(6), n_threads) == [0, 1, 4, 9, 16, 25]
    assert map_in_order(slow_first, [], n_threads) == []


@pytest.mark.parametrize("n_threads", [1, 3])
def test_an_error_in_an_item_reaches_the_caller(n_threads):
    def fails(item):
        if item == 2:
            raise KeyError("item 2")
        return item

    before = blas_threads()
    with pytest.raises(KeyError, match="item 2"):
        map_in_order(fails, range(5), n_threads)
    assert blas_threads() == before

"""The engine of a cluster: the tree of the serial engine, lost workers, errors of tasks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from dask import delayed

from cerflearn.engine import dask_engine
from cerflearn.engine.blocks import ArraySource
from cerflearn.engine.dask_engine import DaskEngine, PartitionedSource, Partitions
from cerflearn.engine.engines import SerialEngine, make_engine


@dataclass
class Text:
    """Spells out the tree along which it was merged."""

    text: str

    def merge(self, other):
        return Text(f"({self.text} {other.text})")


def spell(state, rows, own=""):
    return Text(f"{state}{'+'.join(str(int(row)) for row in rows[:, 0])}{own}")


def the_rows(rows, _):
    return (rows,)


def with_target(rows, y):
    assert len(rows) == len(y)
    return (rows + y[:, None],)


def cut(tables, places):
    return np.concatenate([table[place] for table, place in zip(tables, places, strict=True)])


def source_of(values, lengths, function=the_rows, y=None, block_rows=2):
    parts = np.split(values, np.cumsum(lengths)[:-1])
    rows = Partitions([delayed(part) for part in parts], lengths, cut)
    return PartitionedSource(rows, function, y, block_rows)


@pytest.mark.parametrize("n_rows", [1, 2, 15, 16, 17, 64, 71])
@pytest.mark.parametrize("task_blocks", [1, 4, 16])
def test_blocks_are_cut_and_merged_as_by_the_serial_engine(monkeypatch, n_rows, task_blocks):
    monkeypatch.setattr(dask_engine, "TASK_BLOCKS", task_blocks)
    values = np.arange(float(n_rows))[:, None]
    expected = SerialEngine(ArraySource(values, block_rows=2)).map_reduce(spell, "b")
    lengths = [0, n_rows // 3, 0, n_rows - n_rows // 3 - n_rows // 2, n_rows // 2, 0]
    engine = make_engine(source_of(values, lengths), 2)
    assert isinstance(engine, DaskEngine)
    assert engine.map_reduce(spell, "b") == expected


def test_targets_and_what_blocks_have_of_their_own_travel_with_them():
    values, y = np.zeros((7, 1)), np.arange(7.0)
    engine = make_engine(source_of(values, [3, 4], with_target, y))
    serial = SerialEngine(ArraySource(values + y[:, None], block_rows=2))
    own = ["w", "x", "y", "z"]
    assert engine.map_reduce(spell, "b", own) == serial.map_reduce(spell, "b", own)
    assert engine.source.block(1)[0].tolist() == [[2.0], [3.0]]
    assert engine.map_block(spell, "s", 3) == Text("s6")


def test_what_belongs_to_rows_may_lie_in_partitions_of_its_own():
    values, y = np.zeros((7, 1)), np.arange(7.0)
    others = source_of(y, [1, 0, 4, 2]).partitions
    engine = make_engine(source_of(values, [3, 4], with_target, others))
    serial = SerialEngine(ArraySource(values + y[:, None], block_rows=2))
    assert engine.map_reduce(spell, "b") == serial.map_reduce(spell, "b")


def test_functions_of_ranges_come_in_order():
    values = np.arange(10.0)[:, None]
    rows = source_of(values, [4, 0, 6]).partitions
    assert rows.map_ranges(lambda part: part.sum(), 3) == [3.0, 12.0, 21.0, 9.0]
    taken = rows.take(np.array([0, 3, 5]))
    assert [part.ravel().tolist() for part in taken] == [[0.0, 3.0], [5.0]]


def test_an_error_of_a_block_reaches_the_caller():
    def fail(rows, _):
        raise ArithmeticError("of this block")

    engine = make_engine(source_of(np.zeros((7, 1)), [7], fail))
    with pytest.raises(ArithmeticError, match="of this block"):
        engine.map_reduce(spell, "b")


def test_no_rows_is_an_error():
    with pytest.raises(ValueError, match="no rows"):
        make_engine(source_of(np.zeros((0, 1)), [0])).map_reduce(spell, "b")

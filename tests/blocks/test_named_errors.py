"""Bad input: errors name the block, partition or file. Targets that are text."""

from __future__ import annotations

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from dask import delayed

from cerflearn import CERFClassifier, MaskedCERF, RandomFourierFeatures
from cerflearn.blocks import from_blocks, from_csv, from_npy, from_parquet
from cerflearn.blocks import row_source as reading
from cerflearn.estimators.dask_rows import DaskRows
from cerflearn.estimators.streamed_rows import SourceRows
from dask_samples import LABELS, ROWS, bits

TEXT = np.array(["no", "yes"], dtype=object)[LABELS]


def learner():
    return MaskedCERF(n_components=4, selector="cvem", random_state=0)


def frame(**columns):
    return pd.DataFrame(ROWS, columns=list("abcdef")).assign(**columns)


def blocks_with(bad, size=100):
    """Blocks of ROWS, one of which is replaced."""
    parts = [ROWS[i : i + size] for i in range(0, len(ROWS), size)]
    parts[37] = bad(parts[37].copy())
    return from_blocks(parts, name="days")


def with_nan(rows):
    rows[7, 2] = np.nan
    return rows


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (with_nan, "block 37 of days contains NaN in row 7"),
        (lambda rows: rows[:, :5], "block 37 of days has 5 columns, the blocks before it have 6"),
        (pd.DataFrame, "X of block 37 of days must be an array of two dimensions, it is a Data"),
    ],
)
def test_a_bad_block_is_named_in_fits_mini_batches_and_outputs(bad, message):
    sampler = RandomFourierFeatures(random_state=0).fit(ROWS)
    for use in (
        lambda source: RandomFourierFeatures().fit(source),
        lambda source: learner().partial_fit(source),
        lambda source: list(sampler.transform(source)),
    ):
        with pytest.raises(ValueError, match=message):
            use(blocks_with(bad))


def test_a_bad_partition_is_named_in_mini_batches_and_outputs():
    rows = with_nan(ROWS.copy())
    sampler, collection = RandomFourierFeatures(random_state=0).fit(ROWS), da.from_array(rows, 5)
    message = "partition 1 of X contains NaN in row 2"
    with pytest.raises(ValueError, match=message):
        learner().partial_fit(collection)
    with pytest.raises(ValueError, match=message):
        sampler.transform(collection)[:20].compute()
    table = frame(f="text")[:20]
    with pytest.raises(ValueError, match="partition 0 of X holds values of the type"):
        sampler.transform(dd.from_pandas(table, npartitions=1)).compute()


def test_a_partition_of_another_width_is_named():
    parts = [da.from_delayed(delayed(ROWS[:9, :k]), (np.nan, 6), dtype=float) for k in (6, 6, 5)]
    with pytest.raises(ValueError, match="Partition 2 of X has another number of columns"):
        learner().fit(da.concatenate(parts, allow_unknown_chunksizes=True))


def test_partitions_of_targets_must_be_those_of_the_rows():
    message = "X is a Dask collection of 6 partitions: y must be one too, with as many"
    for y in (LABELS, da.from_array(LABELS, chunks=600)):
        with pytest.raises(ValueError, match=message):
            learner().partial_fit(da.from_array(ROWS, chunks=1000), y)


def test_mini_batches_without_rows_are_an_error():
    with pytest.raises(ValueError, match="nobody has no rows"):
        learner().partial_fit(from_blocks([ROWS[:0]], name="nobody"))
    with pytest.raises(ValueError, match="X has no rows"):
        learner().partial_fit(da.zeros((0, 6)))


def test_a_file_that_changes_between_passes_is_named(tmp_path):
    frame().to_parquet(tmp_path / "x.parquet")
    np.save(tmp_path / "x.npy", ROWS)
    frame().to_csv(tmp_path / "x.csv", index=False)
    for read, name in ((from_npy, "x.npy"), (from_parquet, "x.parquet"), (from_csv, "x.csv")):
        rows = SourceRows(read(tmp_path / name))
        (tmp_path / name).write_bytes((tmp_path / name).read_bytes() + b"1")
        with pytest.raises(ValueError, match=f"{name} has changed since it was first read"):
            rows[0:10]


def test_a_damaged_row_group_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "READ_ROWS", 400)
    frame().to_parquet(tmp_path / "x.parquet", row_group_size=1000)
    content = bytearray((tmp_path / "x.parquet").read_bytes())
    middle = len(content) // 2
    content[middle - 40_000 : middle + 40_000] = bytes([7]) * 80_000
    (tmp_path / "x.parquet").write_bytes(content)
    with pytest.raises(ValueError, match=r"block [3-9] of .*x\.parquet cannot be read"):
        RandomFourierFeatures().fit(from_parquet(tmp_path / "x.parquet"))


def test_text_targets_of_parquet_files_give_the_bits_of_the_fit_in_memory(tmp_path):
    frame(kind=TEXT).to_parquet(tmp_path / "x.parquet", row_group_size=700)
    source = from_parquet(tmp_path / "x.parquet", target="kind")
    sampler = MaskedCERF(n_components=4, teacher="labels", random_state=0)
    assert bits(sampler.fit(source)) == bits(sampler.fit(frame(), TEXT))
    model = CERFClassifier(macs=20, effort=0.1, random_state=0).fit(source)
    assert model.classes_.tolist() == ["no", "yes"]
    frames = dd.read_parquet(tmp_path / "x.parquet", split_row_groups=True)
    sampler.fit(frames[list("abcdef")], frames["kind"])
    assert bits(sampler) == bits(sampler.fit(frame(), TEXT))


def test_equal_text_targets_are_one_object_for_all_rows(tmp_path):
    frame(kind=TEXT).to_parquet(tmp_path / "x.parquet", row_group_size=700)
    frame(kind=TEXT).to_csv(tmp_path / "x.csv", index=False)
    frames = dd.read_parquet(tmp_path / "x.parquet", split_row_groups=True)
    for rows in (
        SourceRows(from_parquet(tmp_path / "x.parquet", target="kind")),
        SourceRows(from_csv(tmp_path / "x.csv", target="kind")),
        DaskRows(frames[list("abcdef")], frames["kind"]),
    ):
        assert rows.y.itemsize == 8
        assert len({id(value) for value in rows.y}) == 2
        np.testing.assert_array_equal(rows.y, TEXT)


@pytest.mark.parametrize("target", ["text", "number"])
def test_a_missing_target_is_named(tmp_path, target):
    y = TEXT.copy() if target == "text" else ROWS[:, 0].copy()
    y[1234] = None
    frame(kind=y).to_parquet(tmp_path / "x.parquet", row_group_size=700)
    sampler = MaskedCERF(n_components=4, teacher="labels", random_state=0)
    with pytest.raises(ValueError, match=r"no value in row 534 of block 1 of .*x\.parquet"):
        sampler.fit(from_parquet(tmp_path / "x.parquet", target="kind"))
    with pytest.raises(ValueError, match="no value in row 1234 of the Dask collection"):
        sampler.fit(da.from_array(ROWS, chunks=1000), y)

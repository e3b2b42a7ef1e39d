"""Several files as one source, compressed text, rows that do not fit their header."""

from __future__ import annotations

import gzip
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import dump_svmlight_file

from cerflearn import MaskedFourierFeatures, RandomFourierFeatures
from cerflearn.blocks import from_csv, from_parquet, from_svmlight
from cerflearn.blocks import row_source as reading

X = np.random.default_rng(0).normal(size=(400, 3))
PARTS = (slice(0, 130), slice(130, 130), slice(130, 131), slice(131, 400))


@pytest.fixture(autouse=True)
def _few_rows_at_once(monkeypatch):
    monkeypatch.setattr(reading, "READ_ROWS", 60)


def write_parts(folder, kind):
    """Write rows to files whose numbers have no leading zeros; one of them has no rows."""
    paths = []
    for number, part in zip((1, 2, 9, 10), PARTS, strict=True):
        columns = ["b", "a", "c"] if number == 9 else ["a", "b", "c"]
        table = pd.DataFrame(X[part], columns=list("abc")).assign(y=np.arange(400)[part])
        table = table[[*columns, "y"]]
        paths.append(folder / f"part.{number}.{kind}")
        if kind == "parquet":
            table.to_parquet(paths[-1], row_group_size=50)
        else:
            table.to_csv(paths[-1], index=False)
    return paths


@pytest.mark.parametrize(
    ("kind", "read"), [("parquet", from_parquet), ("csv", from_csv), ("csv.gz", from_csv)]
)
def test_files_of_a_folder_or_list_are_read_one_behind_the_other(tmp_path, kind, read):
    paths = write_parts(tmp_path, kind)
    (tmp_path / "notes.txt").write_text("no data")
    expected = RandomFourierFeatures(gamma="median", random_state=0).fit(X)
    for path in (tmp_path, paths):
        source = pickle.loads(pickle.dumps(read(path, target="y")))
        blocks = list(source)
        assert len(blocks) == source.n_blocks() > 6
        assert source.feature_names == ["a", "b", "c"]
        np.testing.assert_array_equal(np.concatenate([rows for rows, _ in blocks]), X)
        np.testing.assert_array_equal(np.concatenate([y for _, y in blocks]), np.arange(400))
        for first in range(len(blocks)):
            rows, _ = next(source.blocks(first))
            np.testing.assert_array_equal(rows, blocks[first][0])
        fitted = RandomFourierFeatures(gamma="median", random_state=0).fit(source)
        np.testing.assert_array_equal(fitted.frequencies_, expected.frequencies_)


def test_errors_name_the_file_and_the_block_in_it(tmp_path):
    paths = write_parts(tmp_path, "parquet")
    table = pd.read_parquet(paths[3])
    table.loc[200, "b"] = np.nan
    table.to_parquet(paths[3], row_group_size=50)
    with pytest.raises(ValueError, match=r"block 4 of .*part\.10\.parquet contains NaN in row 0"):
        MaskedFourierFeatures().fit(from_parquet(tmp_path, target="y"))
    table.assign(d=1.0).to_parquet(paths[3])
    with pytest.raises(ValueError, match=r"part\.10\.parquet has other columns .* 'd' is not in"):
        from_parquet(tmp_path)
    table.drop(columns="a").to_parquet(paths[3])
    with pytest.raises(ValueError, match=r"part\.10\.parquet has other columns .* 'a' is missing"):
        from_parquet(tmp_path)
    assert from_parquet(tmp_path, columns="c").feature_names == ["c"]
    source = from_parquet(paths[:3], target="y")
    blocks = source.blocks()
    next(blocks)
    paths[2].unlink()
    with pytest.raises(FileNotFoundError, match=r"part\.9\.parquet"):
        MaskedFourierFeatures().fit(source)


def test_folders_and_lists_without_files_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"holds no file whose name ends with '\.parquet'"):
        from_parquet(tmp_path)
    with pytest.raises(ValueError, match="is a folder: pass a file, or a list of files"):
        from_svmlight(tmp_path)
    with pytest.raises(ValueError, match="list of files is empty"):
        from_csv([])
    paths = write_parts(tmp_path, "csv")
    with pytest.raises(ValueError, match=r"part\.2\.csv and 1 more files has no rows"):
        from_csv([paths[1], paths[1]])


@pytest.mark.parametrize("zero_based", [True, False])
def test_svmlight_files_agree_on_where_columns_begin_and_how_many_there_are(tmp_path, zero_based):
    values = np.where(X > 0.5, X, 0.0).round(3)
    values[:131, 0] = 0.0  # the first file alone seems to be counted from 1
    values[131:, 2] = 0.0
    paths = [tmp_path / f"{i}.txt" for i in range(2)]
    for path, part in zip(paths, (slice(0, 131), slice(131, 400)), strict=True):
        dump_svmlight_file(values[part], np.arange(400)[part], str(path), zero_based=zero_based)
    text = paths[1].read_bytes().replace(b"\n", b" # of 0:1\n", 1)
    paths[1].write_bytes(gzip.compress(text))
    blocks = list(from_svmlight(paths))
    found = np.concatenate([rows.toarray() for rows, _ in blocks])
    np.testing.assert_array_equal(found, values)
    np.testing.assert_array_equal(np.concatenate([y for _, y in blocks]), np.arange(400))


def test_a_compressed_file_that_is_cut_off_is_named(tmp_path):
    text = "a,b\n" + "".join(f"{x},{y}\n" for x, y, _ in X.tolist())
    whole = gzip.compress(text.encode())
    (tmp_path / "x.csv.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match=r"x\.csv\.gz cannot be decompressed"):
        from_csv(tmp_path / "x.csv.gz")


def test_a_row_with_more_values_than_the_header_is_named(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("a;b\n1;2\n3;4;\n5;6;7\n")
    with pytest.raises(ValueError, match=r"block 0 of .*x\.csv: row 2 has more values than the 2"):
        list(from_csv(path, separator=";"))
    path.write_text("a b\n1  2\n3 4\n")
    assert next(iter(from_csv(path, separator=r"\s+")))[0].tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_paths_of_other_files_are_refused_with_what_reads_them(tmp_path):
    sampler = MaskedFourierFeatures().fit(X)
    for method in (sampler.transform, sampler.fit):
        for path in ("x.csv", tmp_path / "x.parquet"):
            with pytest.raises(ValueError, match=r"is no table: .* Open other files with from_par"):
                method(path)

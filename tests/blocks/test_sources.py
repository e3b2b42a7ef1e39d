"""Sources of blocks: what they yield, and errors that name the file or the block."""

from __future__ import annotations

import os
import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from cerflearn import MaskedFourierFeatures
from cerflearn.blocks import from_blocks, from_csv, from_npy, from_parquet, from_svmlight
from cerflearn.blocks import row_source as reading
from cerflearn.estimators.streamed_rows import SourceRows

X = np.random.default_rng(0).normal(size=(500, 4))
LABELS = np.array(["no", "yes"])[(X[:, 0] > 0).astype(int)]


@pytest.fixture(autouse=True)
def _few_rows_at_once(monkeypatch):
    monkeypatch.setattr(reading, "READ_ROWS", 60)


def frame(values=X):
    return pd.DataFrame(values, columns=list("abcd")).assign(kind=LABELS[: len(values)])


def all_rows(source):
    parts = list(source.blocks())
    dense = [part.toarray() if sp.issparse(part) else part for part, _ in parts]
    return np.concatenate(dense), np.concatenate([y for _, y in parts])


def write_all(folder):
    np.save(folder / "x.npy", X)
    np.save(folder / "y.npy", LABELS)
    frame().to_parquet(folder / "x.parquet", row_group_size=130)
    frame().to_csv(folder / "x.csv", index=False)
    return {
        "npy": from_npy(folder / "x.npy", target=folder / "y.npy"),
        "npy and array": from_npy(str(folder / "x.npy"), target=LABELS),
        "parquet": from_parquet(folder / "x.parquet", target="kind"),
        "csv": from_csv(folder / "x.csv", target="kind"),
        "blocks": from_blocks(
            lambda: ((X[i : i + 7], LABELS[i : i + 7]) for i in range(0, 500, 7))
        ),
    }


def test_sources_yield_the_rows_and_targets_in_pieces(tmp_path):
    for name, source in write_all(tmp_path).items():
        rows, targets = all_rows(source)
        np.testing.assert_array_equal(rows, X, err_msg=name)
        np.testing.assert_array_equal(targets.astype(str), LABELS, err_msg=name)
        parts = list(source.blocks())
        assert len(parts) > 5, name
        for first in (0, 3, len(parts) - 1):
            again = list(source.blocks(first))
            assert len(again) == len(parts) - first
            np.testing.assert_array_equal(again[0][0], parts[first][0], err_msg=name)


def test_any_range_and_any_rows_can_be_asked_for_in_any_order(tmp_path):
    rng = np.random.default_rng(1)
    for source in write_all(tmp_path).values():
        rows = SourceRows(source)
        assert rows.shape == X.shape
        assert rows.dtype == np.float64
        np.testing.assert_array_equal(rows.highest, X.max(axis=0))
        for _ in range(30):
            start, stop = np.sort(rng.integers(0, 501, size=2)).tolist()
            np.testing.assert_array_equal(rows[start:stop], X[start:stop])
        for start, stop in ((0, 0), (500, 500), (7, 3), (0, 500), (499, 900)):
            np.testing.assert_array_equal(rows[start:stop], X[start:stop])
        index = np.sort(rng.choice(500, 40, replace=False))
        np.testing.assert_array_equal(rows[index], X[index])
        np.testing.assert_array_equal(rows.y.astype(str), LABELS)


def test_blocks_without_rows_are_legal_and_buffers_may_be_filled_again():
    buffer = np.empty((50, 4))

    def blocks():
        for start in range(0, 500, 50):
            yield np.empty((0, 4))
            buffer[:] = X[start : start + 50]
            yield buffer

    rows = SourceRows(from_blocks(blocks))
    np.testing.assert_array_equal(rows[0:500], X)
    np.testing.assert_array_equal(rows[40:130], X[40:130])


def test_columns_are_read_by_name_and_no_others(tmp_path):
    values = frame().assign(text="a")[["d", "text", "a", "b", "c"]]
    values.to_parquet(tmp_path / "x.parquet")
    values.to_csv(tmp_path / "x.csv", index=False)
    for source in (
        from_parquet(tmp_path / "x.parquet", columns=["c", "a"], target=["b", "d"]),
        from_csv(tmp_path / "x.csv", columns=["c", "a"], target=["b", "d"]),
    ):
        rows, targets = all_rows(source)
        np.testing.assert_array_equal(rows, X[:, [2, 0]])
        np.testing.assert_array_equal(targets, X[:, [1, 3]])
        assert source.feature_names == ["c", "a"]
        fitted = MaskedFourierFeatures(random_state=0).fit(source)
        assert fitted.feature_names_in_.tolist() == ["c", "a"]


@pytest.mark.parametrize("zero_based", [True, False])
def test_svmlight_files_are_read_as_scikit_learn_reads_them(tmp_path, zero_based):
    values = np.where(X > 0.5, X, 0.0)
    values[:300, 3] = 0.0  # the last column appears late
    path = str(tmp_path / "x.txt")
    dump_svmlight_file(values, np.arange(500), path, zero_based=zero_based)
    expected, y = load_svmlight_file(path, zero_based=zero_based)
    rows, targets = all_rows(from_svmlight(path))
    np.testing.assert_array_equal(rows, expected.toarray())
    np.testing.assert_array_equal(targets, y)
    assert all_rows(from_svmlight(path, n_features=9))[0].shape == (500, 9)


def test_parquet_types(tmp_path):
    path = tmp_path / "x.parquet"
    table = pd.DataFrame({"a": np.float32([1, 2]), "b": np.int8([3, 4])})
    table.to_parquet(path)
    assert SourceRows(from_parquet(path)).dtype == np.float32
    table.assign(b=np.int64([3, 2**40]), c=[True, False]).to_parquet(path)
    rows = SourceRows(from_parquet(path))
    assert rows.dtype == np.float64
    assert rows[0:2].tolist() == [[1.0, 3.0, 1.0], [2.0, 2.0**40, 0.0]]


def test_a_text_column_and_a_missing_name_are_named(tmp_path):
    frame().to_parquet(tmp_path / "x.parquet")
    frame().to_csv(tmp_path / "x.csv", index=False)
    with pytest.raises(ValueError, match=r"'kind' of .*x\.parquet has the type .*string"):
        from_parquet(tmp_path / "x.parquet")
    with pytest.raises(ValueError, match=r"block 0 of .*x\.csv: the column 'kind' holds text"):
        MaskedFourierFeatures().fit(from_csv(tmp_path / "x.csv"))
    for read, name in ((from_parquet, "x.parquet"), (from_csv, "x.csv")):
        with pytest.raises(ValueError, match=f"{name} has no column 'z'; it has 'a', 'b'"):
            read(tmp_path / name, target="z")
        with pytest.raises(ValueError, match="'a' is in columns and is the target"):
            read(tmp_path / name, columns=["a", "b"], target="a")


@pytest.mark.parametrize("read", [from_npy, from_parquet, from_csv, from_svmlight])
def test_files_that_are_absent_empty_or_something_else_are_named(tmp_path, read):
    path = tmp_path / "data.any"
    with pytest.raises(FileNotFoundError, match=r"There is no file .*data\.any"):
        read(path)
    path.write_bytes(b"")
    with pytest.raises(ValueError, match=r"data\.any"):
        read(path)
    path.write_bytes(b"\x93\x00 nothing of use\n\x00\x01\n")
    with pytest.raises(ValueError, match=r"data\.any"):
        list(read(path, target="b") if read is from_csv else read(path))


def test_files_without_rows_are_refused(tmp_path):
    frame()[:0].to_csv(tmp_path / "x.csv", index=False)
    with pytest.raises(ValueError, match=r"x\.csv has no rows"):
        from_csv(tmp_path / "x.csv")
    pd.DataFrame({"a": np.zeros(0)}).to_parquet(tmp_path / "x.parquet")
    with pytest.raises(ValueError, match=r"x\.parquet has no rows"):
        from_parquet(tmp_path / "x.parquet")
    np.save(tmp_path / "x.npy", np.zeros((0, 3)))
    with pytest.raises(ValueError, match=r"x\.npy has the shape \(0, 3\)"):
        from_npy(tmp_path / "x.npy")
    with pytest.raises(ValueError, match="nobody has no rows"):
        SourceRows(from_blocks(list, name="nobody"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda b: b[:, :3], "block 37 of days has 3 columns, the blocks before it have 4"),
        (lambda b: np.where(b == b.max(), np.nan, b), "block 37 of days contains NaN in row"),
        (lambda b: np.where(b == b.max(), np.inf, b), "block 37 of days contains infinity in row"),
        (lambda b: b.astype(str), "block 37 of days holds values of the type <U"),
        (lambda b: b[0], r"X of block 37 of days must be .* two dimensions, it has the shape \(4,"),
        (lambda b: (b, np.zeros(10)), "block 37 of days has a target, the blocks before it have"),
        (lambda b: (b, 1, 2), "days yields a tuple of 3"),
    ],
)
def test_a_bad_block_is_named(change, message):
    parts = [X[i : i + 10] for i in range(0, 500, 10)]
    parts[37] = change(parts[37])
    with pytest.raises(ValueError, match=message):
        MaskedFourierFeatures().fit(from_blocks(parts, name="days"))


def test_a_bad_target_is_named():
    parts = [(X[i : i + 10], np.zeros(10)) for i in range(0, 500, 10)]
    with pytest.raises(ValueError, match="block 3 of days has 10 rows and 9 targets"):
        SourceRows(from_blocks([*parts[:3], (X[:10], np.zeros(9))], name="days"))
    with pytest.raises(ValueError, match="target of days is text in some blocks"):
        SourceRows(from_blocks([*parts, (X[:2], np.array(["a", "b"]))], name="days"))


def test_a_source_that_changes_between_passes_is_found():
    calls = []

    def blocks():
        calls.append(1)
        for i in range(10):
            yield X[i * 10 : i * 10 + 10] + (len(calls) > 1 and i == 6)

    with pytest.raises(ValueError, match="block 6 of days is not what it was in the first pass"):
        MaskedFourierFeatures().fit(from_blocks(blocks, name="days"))
    rows = SourceRows(from_blocks(lambda: [X[:10], X[:10]] if calls.append(1) else [X[:10]]))
    rows.source._start = list
    with pytest.raises(ValueError, match="block 0 of the source is not what it was"):
        rows[0:5]


def test_a_file_that_changes_or_vanishes_is_named(tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, X)
    rows = SourceRows(from_npy(path))
    np.save(path, X[:400])
    os.utime(path, ns=(1, 1))
    with pytest.raises(ValueError, match=r"x\.npy has changed since it was first read"):
        rows[100:200]
    path.unlink()
    with pytest.raises(FileNotFoundError, match=r"There is no file .*x\.npy"):
        rows[200:300]


def test_what_yields_no_blocks_is_refused():
    with pytest.raises(TypeError, match="neither a function"):
        from_blocks(3)


@pytest.mark.parametrize(
    ("package", "read", "name"),
    [("pyarrow.parquet", from_parquet, "pyarrow"), ("pandas", from_csv, "pandas")],
)
def test_a_missing_package_is_named_with_its_extra(tmp_path, monkeypatch, package, read, name):
    write_all(tmp_path)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=rf"needs {name}: pip install 'cerflearn\[data\]'"):
        read(tmp_path / ("x.parquet" if read is from_parquet else "x.csv"), target="kind")

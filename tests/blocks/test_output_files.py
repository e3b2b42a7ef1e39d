"""``transform_to``: files written block by block, whole or not at all."""

from __future__ import annotations

import subprocess
import sys

import dask.array as da
import numpy as np
import pyarrow.parquet as pq
import pytest

from cerflearn import RandomFourierFeatures, RandomizedKernelPCA
from cerflearn.blocks import from_blocks

RNG = np.random.default_rng(0)
X = RNG.normal(size=(12_000, 6))
FORMATS = ["npy", "parquet"]


@pytest.fixture(scope="module")
def sampler():
    return RandomFourierFeatures(n_components=6, random_state=0).fit(X)


def in_blocks(rows, size=1000):
    return from_blocks([rows[i : i + size] for i in range(0, len(rows), size)], name="days")


def test_parquet_files_have_named_columns_and_a_row_group_a_block(tmp_path, sampler):
    for dtype in (np.float32, np.float64):
        rows = X.astype(dtype)
        path = sampler.transform_to(in_blocks(rows), tmp_path / "out.parquet")
        expected, file = sampler.transform(rows), pq.ParquetFile(path)
        assert file.schema_arrow.names == list(sampler.get_feature_names_out())
        assert file.metadata.num_row_groups == len(list(sampler.transform(in_blocks(rows)))) > 1
        found = file.read().to_pandas().to_numpy()
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, expected)
        file.close()


def test_parquet_files_of_arrays_and_of_dask_collections(tmp_path, sampler):
    pca = RandomizedKernelPCA(n_components=2, random_state=0).fit(X)
    for rows in (X, da.from_array(X, chunks=5000), da.from_array(X, chunks=((9000, 0, 3000), 6))):
        path = pca.transform_to(rows, str(tmp_path / "out.parquet"))
        table = pq.read_table(path)
        assert table.column_names == ["randomizedkernelpca0", "randomizedkernelpca1"]
        np.testing.assert_array_equal(table.to_pandas().to_numpy(), pca.transform(X))
    with pytest.raises(ValueError, match=r"no rows to write to .*out\.parquet"):
        pca.transform_to(da.zeros((0, 6)), tmp_path / "out.parquet")


@pytest.mark.parametrize("suffix", FORMATS)
def test_an_error_half_way_leaves_the_old_file(tmp_path, sampler, suffix):
    path = tmp_path / f"out.{suffix}"
    path.write_text("old")
    bad = X.copy()
    bad[11_500, 3] = np.nan
    with pytest.raises(ValueError, match="block 11 of days contains NaN in row 500"):
        sampler.transform_to(in_blocks(bad), path)
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


def test_other_names_of_files_are_refused(tmp_path, sampler, monkeypatch):
    with pytest.raises(ValueError, match=r"must end with '\.npy' or '\.parquet'"):
        sampler.transform_to(X, tmp_path / "out.csv")
    with pytest.raises(FileNotFoundError, match=r"There is no folder .*absent"):
        sampler.transform_to(X, tmp_path / "absent" / "out.npy")
    (tmp_path / "folder.npy").mkdir()
    with pytest.raises(IsADirectoryError):
        sampler.transform_to(X, tmp_path / "folder.npy")
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(ImportError, match=r"needs pyarrow: pip install 'cerflearn\[data\]'"):
        sampler.transform_to(X, tmp_path / "out.parquet")


def test_a_full_disk_leaves_the_old_file_and_is_an_error_that_names_it(tmp_path):
    # A limit on the size of files, as a disk that is full: writing fails half way.
    script = (
        "import resource, signal, sys, numpy as np\n"
        "from cerflearn import RandomFourierFeatures\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (500_000, 500_000))\n"
        "X = np.random.default_rng(0).normal(size=(3000, 6))\n"
        "for path in sys.argv[1:]:\n"
        "    try:\n"
        "        RandomFourierFeatures().fit(X).transform_to(X, path)\n"
        "    except OSError as error:\n"
        "        print(error.strerror)\n"
    )
    paths = [tmp_path / f"old.{suffix}" for suffix in FORMATS]
    for path in paths:
        path.write_text("old")
    command = [sys.executable, "-c", script, *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    expected = [f"{str(path)!r} cannot be written: File too large" for path in paths]
    assert done.stdout.splitlines() == expected, done.stderr
    assert sorted(tmp_path.iterdir()) == paths
    assert {path.read_text() for path in paths} == {"old"}

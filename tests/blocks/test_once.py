"""Sources that can be read once only: fits keep their rows in a file, one pass needs none."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from cerflearn import (
    CERFRegressor,
    MaskedCERF,
    RandomFourierFeatures,
    RandomizedKernelCCA,
    RandomizedKernelPCA,
)
from cerflearn.blocks import from_blocks
from cerflearn.estimators.streamed_rows import SourceRows
from dask_samples import LABELS, ROWS, bits

ONCE = r"days can be read once only: fit keeps its rows in a temporary file in .*, which is deleted"


def once(rows=ROWS, y=LABELS, size=1001):
    """Blocks of a generator, one of them empty."""

    def blocks():
        yield rows[:0], y[:0]
        for start in range(0, rows.shape[0], size):
            yield rows[start : start + size], y[start : start + size]

    return from_blocks(blocks(), name="days")


def temporary_files():
    """Files without a name that this process has open."""
    links = (os.readlink(link) for link in Path("/proc/self/fd").iterdir() if link.exists())
    return [link for link in links if "cerflearn-" in link or "(deleted)" in link]


def test_repr_says_that_it_can_be_read_once():
    assert repr(once()) == "OnceSource(days, can be read once only)"


@pytest.mark.parametrize(
    "rows",
    [ROWS, ROWS.astype(np.float32), np.asfortranarray(ROWS), sp.csr_matrix(ROWS * (ROWS > 0.3))],
    ids=["double", "single", "by columns", "sparse"],
)
def test_fits_warn_and_have_the_bits_of_the_fit_in_memory(rows):
    before = temporary_files()
    for estimator in (
        MaskedCERF(n_components=6, teacher="labels", random_state=0),
        RandomizedKernelPCA(n_components=2, random_state=0),
    ):
        expected = bits(estimator.fit(rows, LABELS))
        with pytest.warns(UserWarning, match=ONCE):
            estimator.fit(once(rows))
        assert bits(estimator) == expected
    assert temporary_files() == before


def test_blocks_of_two_precisions_and_a_buffer_that_is_filled_again():
    buffer = np.empty((50, 6))

    def blocks():
        yield ROWS[:50].astype(np.float32)
        for start in range(50, 500, 50):
            buffer[:] = ROWS[start : start + 50]
            yield buffer

    with pytest.warns(UserWarning, match="can be read once only"):
        rows = SourceRows(from_blocks(blocks()))
    expected = ROWS[:500].copy()
    expected[:50] = expected[:50].astype(np.float32)
    for start, stop in ((300, 460), (0, 500), (20, 70)):
        np.testing.assert_array_equal(rows[start:stop], expected[start:stop])


def test_two_views_that_can_be_read_once():
    model = RandomizedKernelCCA(random_state=0)
    expected = model.fit(ROWS[:, :3], ROWS[:, 3:]).x_components_
    halves = (from_blocks(iter(np.split(ROWS[:, part], 3))) for part in (slice(3), slice(3, 6)))
    with pytest.warns(UserWarning, match="can be read once only"):
        np.testing.assert_array_equal(model.fit(*halves).x_components_, expected)


def test_one_pass_reads_the_source_as_it_is(tmp_path):
    sampler = RandomFourierFeatures(n_components=6, random_state=0).fit(ROWS)
    expected = sampler.transform(ROWS)
    np.testing.assert_array_equal(np.concatenate(list(sampler.transform(once()))), expected)
    np.testing.assert_array_equal(
        np.load(sampler.transform_to(once(), tmp_path / "x.npy")), expected
    )
    model = CERFRegressor(macs=20, effort=0.1, random_state=0).fit(ROWS[:200], ROWS[:200, 0])
    np.testing.assert_array_equal(np.concatenate(list(model.predict(once()))), model.predict(ROWS))

    def learner():
        return MaskedCERF(n_components=4, selector="cvem", teacher="labels", random_state=0)

    again = from_blocks([(ROWS[i : i + 1000], LABELS[i : i + 1000]) for i in range(0, 6000, 1000)])
    assert bits(learner().partial_fit(once(size=1000))) == bits(learner().partial_fit(again))


@pytest.mark.filterwarnings("ignore:.*can be read once only")
def test_a_second_use_is_an_error():
    sampler, source = RandomFourierFeatures(n_components=6, random_state=0), once()
    sampler.fit(source)
    for use in (lambda source: list(sampler.transform(source)), sampler.fit):
        with pytest.raises(ValueError, match="days can be read once only, and has been read"):
            use(source)


@pytest.mark.filterwarnings("ignore:.*can be read once only")
def test_a_bad_block_is_named():
    bad = ROWS.copy()
    bad[4004] = np.nan
    with pytest.raises(ValueError, match="block 5 of days contains NaN in row 0"):
        RandomFourierFeatures().fit(once(bad))


def test_a_full_disk_is_an_error_that_names_the_file(tmp_path):
    # A limit on the size of files, as a disk that is full: writing fails half way.
    script = (
        "import resource, signal, numpy as np\n"
        "from cerflearn import RandomFourierFeatures\n"
        "from cerflearn.blocks import from_blocks\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        "blocks = (np.ones((100, 6)) for _ in range(100))\n"
        "try:\n"
        "    RandomFourierFeatures().fit(from_blocks(blocks, name='days'))\n"
        "except OSError as error:\n"
        "    print(error.strerror)\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore::UserWarning", "-c", script],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    message = f"The temporary file in {tmp_path} that keeps the rows of days cannot be written: "
    assert done.stdout.startswith(message), done.stderr
    assert "Name a folder with more room in TMPDIR" in done.stdout
    assert done.stderr == ""
    assert not list(tmp_path.iterdir())

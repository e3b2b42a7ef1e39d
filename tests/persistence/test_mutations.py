"""Changed files: a good model or ``CerfFormatError``, in bounded time and memory, nothing else."""

from __future__ import annotations

import contextlib
import time
import tracemalloc
import warnings

import numpy as np
import pytest

from cerflearn import CerfFormatError, load, save
from cerflearn.persistence.model_file import decoded
from persistence.mutations import Mutator
from persistence.stored_models import MODELS

N_MUTATIONS = 20_000
METHODS = ("transform", "predict", "decision_function")


def run(model, X):
    """Run a loaded model; it may refuse rows, and nothing else may happen."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for method in METHODS:
            if hasattr(model, method):
                with contextlib.suppress(ValueError):
                    getattr(model, method)(X)


@pytest.mark.parametrize("name", MODELS)
def test_changed_files_load_or_are_refused(name, tmp_path):
    model, X = MODELS[name]()
    save(model, tmp_path / "m.cerf")
    mutator = Mutator((tmp_path / "m.cerf").read_bytes(), sorted(MODELS).index(name))
    n_mutations = -(-N_MUTATIONS // len(MODELS))
    n_loaded = n_refused = 0
    for _ in range(n_mutations):
        content = mutator.mutate()
        begin = time.perf_counter()
        try:
            loaded = decoded(memoryview(bytearray(content)))
        except CerfFormatError:
            n_refused += 1
            continue
        n_loaded += 1
        run(loaded, X)
        assert time.perf_counter() - begin < 5.0
    assert n_refused > n_mutations // 2
    assert n_loaded > 0


def test_memory_stays_below_ten_times_the_file(tmp_path):
    model, _ = MODELS["pca"]()
    save(model, tmp_path / "m.cerf")
    load(tmp_path / "m.cerf")
    mutator = Mutator((tmp_path / "m.cerf").read_bytes(), 1)
    tracemalloc.start()
    try:
        for _ in range(300):
            content = mutator.mutate()
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            with contextlib.suppress(CerfFormatError):
                decoded(memoryview(bytearray(content)))
            peak = tracemalloc.get_traced_memory()[1] - before
            assert peak < 10 * len(content) + 200_000
    finally:
        tracemalloc.stop()

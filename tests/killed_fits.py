"""Fits with a checkpoint in a process of their own, which is killed at chosen moments."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import warnings
from contextlib import suppress
from pathlib import Path

import numpy as np

from cerflearn import CVEM, BlockedCERF, CERFClassifier, Greedy, MaskedCERF, Shared

ROWS = np.random.default_rng(0).normal(size=(8000, 12))
LABELS = (ROWS[:, 0] * ROWS[:, 1] > 0).astype(int)

LEARNERS = {
    "cvem": lambda: MaskedCERF(
        n_components=60, selector=CVEM(max_stages=6, tol=0.0, n_closing_stages=2), random_state=0
    ),
    "literal": lambda: BlockedCERF(
        n_components=24,
        selector=CVEM(solver="admm", e_step="literal", max_stages=3, tol=0.0, n_closing_stages=1),
        random_state=0,
    ),
    "incremental": lambda: MaskedCERF(
        n_components=60,
        selector=CVEM(schedule="incremental", max_stages=3, tol=0.0, n_closing_stages=2),
        random_state=0,
    ),
    "shared": lambda: MaskedCERF(
        n_components=200, selector=Shared(max_stages=30), teacher="labels", random_state=0
    ),
    "greedy": lambda: BlockedCERF(
        n_components=500, n_candidates=1500, unit="output", paired=False, random_state=0
    ),
    "nnls": lambda: MaskedCERF(
        n_components=300, selector=Greedy(cache_bytes=0), weights="nnls", random_state=0
    ),
}
"""Learned maps whose fits take some seconds, by name."""

PREDICTORS = {
    "classifier": lambda: CERFClassifier(macs=60, effort=0.3, early_stopping=True, random_state=0),
}
"""Predictors, likewise."""


def fitted_bits(estimator):
    """Bits of all that was learned."""
    names = ("frequencies_", "offsets_", "selected_", "feature_proba_", "rotation_", "gamma_",
             "lower_bounds_", "errors_", "scale_", "n_iter_")  # fmt: skip
    found = {name: getattr(estimator, name) for name in names if hasattr(estimator, name)}
    if isinstance(estimator, CERFClassifier):
        more = ("head_coef_", "head_intercept_", "linear_coef_", "tables_", "feature_importances_")
        found |= {name: getattr(estimator, name) for name in more}
        found["frequencies"] = estimator.feature_map_.frequencies
    else:
        found["amplitudes"] = estimator.feature_map_.amplitudes
    return {name: np.asarray(value).tobytes() for name, value in found.items()}


def fit(name, folder=None, X=ROWS):
    """Fit a learner by its name; the warning that it did not converge is left out."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*did not converge")
        return (LEARNERS | PREDICTORS)[name]().fit(X, LABELS, checkpoint=folder)


def start(name, folder, address=""):
    """Start the process that fits."""
    return subprocess.Popen(
        [sys.executable, "-m", "killed_fits", name, str(folder), address],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent)},
    )


def kill_at(process, folder, state, n_writes):
    """Kill the process when a state was written so many times; 0: while it is being written."""
    seen = set()
    path = Path(folder) / f"{state}.safetensors"
    while process.poll() is None:
        if n_writes == 0 and any(Path(folder).glob(f".{path.name}.*")):
            break
        with suppress(FileNotFoundError):
            seen.add(path.stat().st_mtime_ns)
        if 0 < n_writes <= len(seen):
            break
        time.sleep(0.0005)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL, "the fit was over before it could be killed"


if __name__ == "__main__":
    name, folder, address = sys.argv[1:]
    if address:
        import dask.array as da
        from distributed import Client

        with Client(address):
            fit(name, folder, da.from_array(ROWS, chunks=1500))
    else:
        fit(name, folder)

"""Training time against the bare matrix products that it needs, and peak memory.

Constrained variational EM with the exact M-step needs two products of N x K x K a stage, T W and
T^T L, and the features. ``ratio`` is the time of ``fit`` divided by that of 20 times these two
products plus the features once, all on one thread and in one process; the three last stages, which
keep the rotation, and everything of order K^3 count against ``fit``. Times are CPU times, which
other processes disturb less.
"""

from __future__ import annotations

import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from cerflearn import CVEM, MaskedCERF, MaskedFourierFeatures, RandomFourierFeatures
from datasets import read

N_SAMPLES = (3_750, 7_500, 15_000, 30_000, 60_000)
N_CANDIDATES = (256, 512, 1_024)
N_STAGES = 20
N_FEATURES = 784
ADMM_SAMPLES = 3_750
ADMM_STAGES = {256: 20, 512: 20, 1_024: 5}
BLOCK = 4_096  # rows of a bare product, so that its result stays small


Load = Callable[[int], NDArray[np.float64]]


def images(n_samples: int) -> NDArray[np.float64]:
    """First MNIST training images, in [0, 1]."""
    X, _ = read("mnist")
    return X[:n_samples] / 255.0


def noise(n_samples: int) -> NDArray[np.float64]:
    """Rows of the same width that need no file."""
    return np.random.default_rng(0).random((n_samples, N_FEATURES))


def seconds(run: Callable[[], Any]) -> float:
    """CPU time of a call."""
    start = time.process_time()
    run()
    return time.process_time() - start


def estimator(n_candidates: int, selector: Any) -> MaskedCERF:
    """.4 of the candidates are kept."""
    return MaskedCERF(
        n_components=2 * round(0.2 * n_candidates),
        n_candidates=n_candidates,
        selector=selector,
        gamma="median",
        random_state=0,
    )


def all_stages(max_stages: int = N_STAGES, **parameters: Any) -> CVEM:
    """CVEM that takes all its stages."""
    return CVEM(max_stages=max_stages, tol=0.0, **parameters)


def fit(sampler: MaskedCERF, X: NDArray) -> MaskedCERF:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # tol=0 is never reached
        return sampler.fit(X)


def product_seconds(n_samples: int, n_candidates: int) -> float:
    """Time of T W and T^T L, (N x K) by (K x K) and (K x N) by (N x K), in blocks of rows."""
    rng = np.random.default_rng(0)
    teacher, learner = (rng.random((n_samples, n_candidates)) for _ in range(2))
    rotation = rng.random((n_candidates, n_candidates))
    rotated = np.empty((min(BLOCK, n_samples), n_candidates))
    cross = np.zeros((n_candidates, n_candidates))
    start = time.process_time()
    for first in range(0, n_samples, BLOCK):
        block, other = teacher[first : first + BLOCK], learner[first : first + BLOCK]
        np.matmul(block, rotation, out=rotated[: len(block)])
        np.matmul(block.T, other, out=cross)
    return time.process_time() - start


def feature_seconds(X: NDArray, n_candidates: int) -> float:
    """Time of teacher and candidates of all rows, in blocks."""
    maps = (
        RandomFourierFeatures(n_components=n_candidates, paired=False, random_state=0),
        MaskedFourierFeatures(n_components=n_candidates, features_per_mask=2, random_state=0),
    )
    total = 0.0
    for sampler in maps:
        sampler.fit(X[:1000])
        for first in range(0, len(X), BLOCK):
            total += seconds(partial(sampler.transform, X[first : first + BLOCK]))
    return total


@threadpool_limits.wrap(limits=1)
def cvem(load: Load, n_samples: int, n_candidates: int) -> dict[str, float]:
    """``fit`` between two measurements of the bare products, of which the quicker counts."""
    X = load(n_samples)
    features = feature_seconds(X, n_candidates)
    products = product_seconds(n_samples, n_candidates)
    sampler = estimator(n_candidates, all_stages())
    taken = seconds(partial(fit, sampler, X))
    products = min(products, product_seconds(n_samples, n_candidates))
    bare = N_STAGES * products + features
    return {
        "seconds": round(taken, 3),
        "bare": round(bare, 3),
        "ratio": round(taken / bare, 3),
        "stages": sampler.n_iter_,
    }


@threadpool_limits.wrap(limits=1)
def other(load: Load, n_samples: int, n_candidates: int, selector: str) -> dict[str, float]:
    X = load(n_samples)
    sampler = estimator(n_candidates, selector)
    return {"seconds": round(seconds(partial(fit, sampler, X)), 3)}


@threadpool_limits.wrap(limits=1)
def admm(load: Load, n_candidates: int, n_samples: int, n_stages: int) -> dict[str, float]:
    """Time of a stage with ADMM and with Procrustes; the last three, alike in both, are in it."""
    X = load(n_samples)
    result = {"samples": n_samples, "stages": n_stages}
    for solver in ("admm", "procrustes"):
        sampler = estimator(n_candidates, all_stages(n_stages, solver=solver))
        result[solver] = round(seconds(partial(fit, sampler, X)) / n_stages, 4)
    return result


def memory(n_samples: int, n_candidates: int, cache_bytes: int) -> dict[str, float]:
    """Peak resident memory of ``fit`` above input and libraries, in MB, in a process of its own."""
    command = [sys.executable, __file__, *map(str, (n_samples, n_candidates, cache_bytes))]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return {"megabytes": round(int(done.stdout) * 1024 / 1e6, 1)}


def resident(key: str) -> int:
    """Resident memory (VmRSS) of this process, or its peak (VmHWM), in KiB; Linux only.

    Not ``ru_maxrss``, which a new process takes over from the one that started it.
    """
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(key))


def peak_growth(n_samples: int, n_candidates: int, cache_bytes: int) -> int:
    """Peak memory of ``fit`` above what was in use before, in KiB."""
    X = noise(n_samples)
    fit(estimator(32, all_stages(2)), X[:500])  # imports what is imported on first use
    before = resident("VmRSS")
    fit(estimator(n_candidates, all_stages(2, cache_bytes=cache_bytes)), X)
    return resident("VmHWM") - before


def pieces(*, tiny: bool) -> Iterator[tuple[tuple[str, ...], Callable[[], Any]]]:
    """Every measurement by its place in the results; ``tiny`` for a smoke test without data."""
    sizes = (400, 800) if tiny else N_SAMPLES
    load = noise if tiny else images
    widths = (32, 64) if tiny else N_CANDIDATES
    for n_candidates in widths:
        for n_samples in sizes:
            where = (str(n_candidates), str(n_samples))
            yield ("cvem", *where), partial(cvem, load, n_samples, n_candidates)
            for selector in ("shared", "greedy"):
                yield (selector, *where), partial(other, load, n_samples, n_candidates, selector)
        n_stages = 2 if tiny else ADMM_STAGES[n_candidates]
        run = partial(admm, load, n_candidates, sizes[0] if tiny else ADMM_SAMPLES, n_stages)
        yield ("admm", str(n_candidates)), run
    for cache_bytes in (2**31, 0):
        where = (str(widths[-1]), str(sizes[-1]), str(cache_bytes))
        yield ("memory", *where), partial(memory, sizes[-1], widths[-1], cache_bytes)


if __name__ == "__main__":
    print(peak_growth(*map(int, sys.argv[1:])))

"""Data of the suite: 38 real datasets in the folder ``suite`` of CERF_DATA, splits and budgets."""

from __future__ import annotations

import os
import zlib
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

import numpy as np

from cerflearn.comparison.dataset import Dataset, TrainTestSplit, split_dataset

TUNING = (
    "ann_thyroid",
    "german_credit",
    "mfeat_zernike",
    "phoneme",
    "steel_faults",
    "concrete",
    "house_16h",
    "parkinsons",
    "pol",
    "skillcraft",
)
"""Ten sets to try settings on: five with classes (2 to 10), five with numbers to predict."""

CONSTRUCTED = ("churn", "deliveries", "kin40k", "pumadyn32nm", "telco_churn")
"""Made by rules or simulation: not in the averages of measured sets."""

SHARES = (0.25, 1.0, 4.0)
"""Budgets, times a linear model's MACs."""

LEAST_BUDGET = 16
MAX_TRAINING_ROWS, TRAINING_SHARE, MAX_TEST_ROWS = 2_000, 0.7, 5_000


@dataclass(frozen=True)
class Facts:
    """Size and task of a dataset."""

    n_features: int
    n_classes: int  # 0 for numbers

    @property
    def n_scores(self) -> int:
        """Scores of a linear model."""
        return 1 if self.n_classes <= 2 else self.n_classes

    @property
    def linear_macs(self) -> int:
        """MACs of a linear model."""
        return self.n_features * self.n_scores

    @property
    def budgets(self) -> tuple[int, ...]:
        """Budgets in MACs, ascending; those that small sets have twice are listed once."""
        least = max(LEAST_BUDGET, 1 + self.n_scores)
        return tuple(sorted({max(int(share * self.linear_macs), least) for share in SHARES}))


def folder() -> Path:
    """Folder of the datasets."""
    if "CERF_DATA" not in os.environ:
        raise SystemExit("set CERF_DATA to the folder that has suite/*.npz")
    return Path(os.environ["CERF_DATA"]) / "suite"


def names(chosen: str) -> list[str]:
    """Datasets of ``all``, ``tuning`` or a list with commas."""
    there = sorted(path.stem for path in folder().glob("*.npz"))
    wanted = {"all": there, "tuning": [*TUNING]}.get(chosen, chosen.split(","))
    absent = [name for name in wanted if name not in there]
    if absent or not wanted:
        raise SystemExit(f"not in {folder()}: {', '.join(absent) or 'any dataset'}")
    return wanted


@lru_cache(maxsize=2)
def read_set(name: str) -> Dataset:
    """Read inputs, and class numbers or targets."""
    with np.load(folder() / f"{name}.npz", allow_pickle=False) as file:
        X, y = file["X"].astype(np.float64), file["y"]
    if y.dtype.kind == "f":
        return Dataset(X, y, np.empty(0))
    return Dataset(X, y.astype(np.int64), np.arange(int(y.max()) + 1))


@cache
def facts(name: str) -> Facts:
    """Size and task."""
    dataset = read_set(name)
    return Facts(dataset.X.shape[1], len(dataset.classes))


@lru_cache(maxsize=2)
def split(name: str, number: int) -> TrainTestSplit:
    """Split by its number: rows shuffled, the first to train on, the next to test on."""
    dataset = read_set(name)
    rng = np.random.default_rng(zlib.crc32(name.encode()) + number)
    rows = rng.permutation(len(dataset.X))
    n_train = min(MAX_TRAINING_ROWS, int(TRAINING_SHARE * len(rows)))
    train, test = rows[:n_train], rows[n_train : n_train + MAX_TEST_ROWS]
    part = Dataset(dataset.X[train], dataset.y[train], dataset.classes)
    return split_dataset(part, 0.0, (dataset.X[test], dataset.y[test]), number)

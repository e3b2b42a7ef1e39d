"""Data of the benchmarks: those of ``experiments/datasets.py``, found from here too."""

from __future__ import annotations

import sys
from pathlib import Path

# Benchmarks are run as scripts, with their own folder on the path alone.
sys.path.append(str(Path(__file__).resolve().parents[1]))

from experiments import datasets as _home
from experiments.datasets import (
    Split,
    bundled,
    few,
    fold,
    hog,
    letter,
    letter_raw,
    mnist,
    raw,
    read,
    whole,
)

__all__ = [
    "SPLITS",
    "Split",
    "bundled",
    "few",
    "fold",
    "hog",
    "letter",
    "letter_raw",
    "mnist",
    "raw",
    "read",
    "whole",
]

SPLITS = {name: _home.SPLITS[name] for name in ("MNIST-500", "RAW", "HOG", "digits", "few digits")}
"""Splits of the selection benchmark."""

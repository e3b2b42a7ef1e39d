"""Fixtures of the tests of the search."""

import pytest

from cerflearn.training import policy, trials
from training_samples import Trainings, compare_two, one_start


@pytest.fixture
def short(monkeypatch):
    """Trainings of few steps."""
    monkeypatch.setattr(policy, "STEPS_PER_ROOT", 5.0)


@pytest.fixture
def trainings(monkeypatch):
    one_start(monkeypatch)
    fake = Trainings()
    monkeypatch.setattr(trials, "train_network", fake)
    return fake


@pytest.fixture
def two_candidates(monkeypatch):
    compare_two(monkeypatch)

"""Learning that stops anywhere and goes on from what a store has: the same bits."""

from __future__ import annotations

import numpy as np
import pytest

from cerflearn.engine.blocks import ArraySource
from cerflearn.engine.engines import SerialEngine
from cerflearn.files.checkpoint import Checkpoint
from cerflearn.learning.cvem import fit_cvem
from cerflearn.learning.greedy import fit_greedy
from cerflearn.learning.saved_state import load_stage, save_stage
from cerflearn.learning.shared import fit_shared

RNG = np.random.default_rng(0)
LEARNER = RNG.normal(size=(300, 24))
TEACHER = np.tanh(LEARNER @ RNG.normal(size=(24, 9))) + 0.1 * RNG.normal(size=(300, 9))


class Died(BaseException):
    """The process was ended."""


class MortalStore(Checkpoint):
    """Dies after a number of writes, and writes whatever the time it takes."""

    def __init__(self, folder, n_left):
        super().__init__(folder, {})
        self.n_left = n_left

    def save(self, name, state):
        super().save(name, state)
        if name != "fingerprint":
            self.n_left -= 1
            if self.n_left < 0:
                raise Died

    def save_at_times(self, name, make_state):
        self.save(name, make_state())


def rows():
    return SerialEngine(ArraySource(TEACHER, LEARNER, block_rows=64))


def bits_of(result):
    names = ("ranking", "errors", "rotation", "scale", "feature_proba", "lower_bounds", "n_iter")
    return [np.asarray(getattr(result, name)).tobytes() for name in names if hasattr(result, name)]


def dies_everywhere(tmp_path, learn, most):
    """Results of runs that died after each write, and then went on with another store."""
    n_writes = 0
    while n_writes < most:
        folder = tmp_path / str(n_writes)
        try:
            learn(MortalStore(folder, n_writes))
        except Died:
            yield learn(MortalStore(folder, 10**6))
            n_writes += 1
        else:
            break
    assert n_writes > 3


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"solver": "admm"},
        {"solver": "admm", "spectral_penalty": 0.3},
        {"solver": "admm", "e_step": "literal", "normalize": None},
        {"schedule": "incremental"},
        {"scale": 0.9, "noise_std": 0.8, "n_closing_stages": 0},
        {"tol": 1.0},  # converges at once: stages are left out
    ],
)
def test_cvem_goes_on_after_any_stage(tmp_path, settings):
    settings = {"max_stages": 5, "n_closing_stages": 2, "tol": 0.0} | settings

    def learn(store):
        return fit_cvem(
            rows(),
            progress=load_stage(store),
            on_progress=lambda progress: save_stage(store, progress),
            **settings,
        )

    wanted = bits_of(fit_cvem(rows(), **settings))
    for found in dies_everywhere(tmp_path, learn, 20):
        assert bits_of(found) == wanted


def test_stages_that_are_done_are_not_taken_again(tmp_path):
    store, stages = MortalStore(tmp_path, 3), []
    settings = {"max_stages": 5, "tol": 0.0}

    def learn(store):
        fit_cvem(
            rows(),
            progress=load_stage(store),
            on_progress=lambda progress: save_stage(store, progress),
            on_stage=lambda stage: stages.append(stage.index),
            **settings,
        )

    with pytest.raises(Died):
        learn(store)
    assert stages == [0, 1]
    learn(MortalStore(tmp_path, 100))
    assert stages == [0, 1, 3, 4, 5, 6, 7]


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"units": np.arange(24) // 2, "groups": np.arange(24) // 4},
        {"groups": np.arange(24) // 5, "normalize": None},
    ],
)
@pytest.mark.parametrize("fit", [fit_greedy, fit_shared])
def test_selectors_go_on_after_any_round(tmp_path, fit, settings):
    settings = settings | ({"max_stages": 6} if fit is fit_shared else {})
    wanted = bits_of(fit(rows(), 19, **settings))

    def learn(store):
        return fit(rows(), 19, store=store, **settings)

    for found in dies_everywhere(tmp_path, learn, 30):
        assert bits_of(found) == wanted


def test_rounds_of_the_shared_selector_that_are_done_are_reported_again(tmp_path):
    told = []
    settings = {"max_stages": 6, "on_stage": lambda stage, error: told.append((stage, error))}
    fit_shared(rows(), 9, **settings)
    undisturbed = list(told)
    told.clear()
    with pytest.raises(Died):
        fit_shared(rows(), 9, store=MortalStore(tmp_path, 3), **settings)
    assert told == undisturbed[:2]
    told.clear()
    fit_shared(rows(), 9, store=MortalStore(tmp_path, 100), **settings)
    assert told == undisturbed

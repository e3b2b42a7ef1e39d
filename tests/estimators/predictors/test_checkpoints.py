"""fit(checkpoint=...) of the predictors: the same call goes on, to the same bits."""

from __future__ import annotations

import numpy as np
import pytest

from cerflearn import CERFClassifier, CERFRegressor
from cerflearn.files.checkpoint import Checkpoint

RNG = np.random.default_rng(0)
X = RNG.normal(size=(10_500, 5))
NUMBERS = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2]
LABELS = (NUMBERS > 0).astype(int)
QUICK = {"macs": 40, "effort": 0.03, "random_state": 0}


def bits(model):
    arrays = (model.head_coef_, model.head_intercept_, model.linear_coef_, model.tables_,
              model.feature_map_.frequencies, model.feature_importances_)  # fmt: skip
    return [np.ascontiguousarray(array).tobytes() for array in arrays]


class StoppedError(Exception):
    """Raised in the place of a crash."""


def stop_after(monkeypatch, n_writes):
    """Let a process end after so many writes of states."""
    count = 0
    save = Checkpoint.save

    def counted(self, name, state):
        nonlocal count
        save(self, name, state)
        count += 1
        if count == n_writes:
            raise StoppedError

    monkeypatch.setattr(Checkpoint, "save", counted)
    # Every state is written, however long that takes.
    monkeypatch.setattr(
        Checkpoint, "save_at_times", lambda self, name, make: self.save(name, make())
    )


@pytest.fixture(scope="module")
def expected():
    """Bits of the fit that nothing stops."""
    return bits(CERFClassifier(**QUICK, activation="table").fit(X, LABELS))


@pytest.mark.parametrize("n_writes", [1, 3, 8, 20])
def test_a_fit_that_was_stopped_goes_on_to_the_same_bits(tmp_path, monkeypatch, n_writes, expected):
    model = CERFClassifier(**QUICK, activation="table")
    with monkeypatch.context() as patched:
        stop_after(patched, n_writes)
        with pytest.raises(StoppedError):
            model.fit(X, LABELS, checkpoint=tmp_path)
    assert not hasattr(model, "head_intercept_")
    assert bits(model.fit(X, LABELS, checkpoint=tmp_path)) == expected


@pytest.mark.parametrize("settings", [{"early_stopping": False}, {"teacher": "kernel"}])
def test_other_trainings_go_on_too(tmp_path, monkeypatch, settings):
    rows = slice(0, 2000)
    model = CERFRegressor(**QUICK, **settings)
    expected = bits(model.fit(X[rows], NUMBERS[rows]))
    for n_writes in (6, 4):
        with monkeypatch.context() as patched:
            stop_after(patched, n_writes)
            with pytest.raises(StoppedError):
                model.fit(X[rows], NUMBERS[rows], checkpoint=tmp_path)
    assert bits(model.fit(X[rows], NUMBERS[rows], checkpoint=tmp_path)) == expected


def test_a_checkpoint_of_other_data_or_parameters_is_refused(tmp_path):
    rows = slice(0, 500)
    model = CERFClassifier(**QUICK).fit(X[rows], LABELS[rows], checkpoint=tmp_path)
    changed = LABELS[rows].copy()
    changed[3] = 1 - changed[3]
    with pytest.raises(ValueError, match="digest of y"):
        model.fit(X[rows], changed, checkpoint=tmp_path)
    with pytest.raises(ValueError, match="digest of sample_weight"):
        model.fit(X[rows], LABELS[rows], np.arange(500.0), checkpoint=tmp_path)
    model.set_params(macs=50)
    with pytest.raises(ValueError, match="macs: 40 there, 50 here"):
        model.fit(X[rows], LABELS[rows], checkpoint=tmp_path)


def test_without_a_seed_the_first_one_is_used_again(tmp_path):
    rows = slice(0, 500)
    model = CERFRegressor(macs=40, effort=0.03)
    first = bits(model.fit(X[rows], NUMBERS[rows], checkpoint=tmp_path))
    assert bits(model.fit(X[rows], NUMBERS[rows], checkpoint=tmp_path)) == first


def test_selection_has_no_rounds(tmp_path):
    model = CERFClassifier(macs=40, learn="selection")
    with pytest.raises(ValueError, match="no effect with learn='selection'"):
        model.fit(X[:500], LABELS[:500], checkpoint=tmp_path / "kept")
    assert not (tmp_path / "kept").exists()

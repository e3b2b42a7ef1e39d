"""What learning tells while it runs: warnings, printed lines, callbacks."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from learned_maps import LEARNED, QUICK, learned

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 12))
X[:, 5] = 1.0
Y = np.arange(80) % 3


def test_one_warning_tells_that_cvem_has_not_converged():
    sampler = learned(n_components=10, selector="cvem", max_stages=2, tol=0.0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        sampler.fit(X)
    assert [w.category for w in caught] == [ConvergenceWarning]
    assert "max_stages=2" in str(caught[0].message)
    assert sampler.n_iter_ == 2 + 3


@pytest.mark.parametrize("selector", LEARNED)
def test_verbose_prints_a_line_for_each_stage(selector, capsys):
    sampler = learned(n_components=6, selector=selector, max_stages=3, verbose=1, **QUICK)
    sampler.fit(X)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == (1 if selector == "greedy" else sampler.n_iter_)
    assert all(line.startswith("[MaskedCERF] stage ") for line in lines)
    reached = sampler.lower_bounds_[-1] if selector == "cvem" else sampler.errors_[-1]
    assert float(lines[-1].split()[-1]) == pytest.approx(reached, rel=1e-3)
    sampler.set_params(verbose=0).fit(X)
    assert capsys.readouterr().out == ""


class Log:
    """A callback of scikit-learn that writes down what it is told."""

    def __init__(self, stop_after=None):
        self.events = []
        self.stop_after = stop_after

    def setup(self, estimator, context):
        self.events.append("setup")

    def on_fit_task_begin(self, estimator, context, *, X=None):
        self.events.append(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context, *, X=None):
        self.events.append(f"end {context.task_name}")
        return self.events.count("end stage") == self.stop_after

    def teardown(self, estimator, context):
        self.events.append("teardown")


@pytest.mark.parametrize("selector", [*LEARNED, "random"])
def test_callbacks_are_told_of_each_stage(selector):
    pytest.importorskip("sklearn.callback", reason="scikit-learn has callbacks from 1.9")
    log = Log()
    sampler = learned(n_components=6, selector=selector, max_stages=3, **QUICK)
    sampler.set_callbacks(log).fit(X)
    n_stages = {"greedy": 1, "random": 0}.get(selector, getattr(sampler, "n_iter_", 0))
    stages = ["begin stage", "end stage"] * (n_stages + 1 if n_stages else 0)
    assert log.events == ["setup", "begin fit", *stages, "end fit", "teardown"]
    silent = learned(n_components=6, selector=selector, max_stages=3, **QUICK).fit(X)
    np.testing.assert_array_equal(silent.frequencies_, sampler.frequencies_)


def test_a_callback_can_stop_cvem():
    pytest.importorskip("sklearn.callback", reason="scikit-learn has callbacks from 1.9")
    sampler = learned(n_components=6, selector="cvem", tol=0.0)
    sampler.set_callbacks(Log(stop_after=2)).fit(X)
    assert sampler.n_iter_ == 2
    assert sampler.transform(X).shape == (80, 6)

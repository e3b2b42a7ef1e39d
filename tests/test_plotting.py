"""Pictures of how features were chosen."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from cerflearn import BlockedCERF, MaskedCERF, RandomFourierFeatures
from cerflearn.plotting import kernel_errors, plot_path
from cerflearn.spectral import Cauchy, Gaussian, Product
from learned_maps import QUICK, learned

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 8))


@pytest.fixture(autouse=True)
def _without_a_screen():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


def fitted(selector="cvem", estimator=MaskedCERF, **parameters):
    settings = QUICK | {"n_components": 12} | parameters
    return learned(estimator, selector=selector, **settings).fit(X)


@pytest.mark.parametrize("selector", ["cvem", "shared", "greedy"])
@pytest.mark.parametrize("estimator", [MaskedCERF, BlockedCERF])
def test_the_panels_show_the_fitted_attributes(selector, estimator):
    sampler = fitted(selector, estimator)
    axes = plot_path(sampler, X)
    stages, values = axes[0].lines[0].get_data()
    wanted = sampler.lower_bounds_ if selector == "cvem" else sampler.errors_
    np.testing.assert_array_equal(values, wanted)
    np.testing.assert_array_equal(stages, np.arange(1, sampler.n_iter_ + 1))
    heights = [
        sorted(segment[1, 1] for segment in collection.get_segments())
        for collection in axes[1].collections
    ]
    chosen = np.isin(np.arange(sampler.n_candidates_), sampler.selected_)
    np.testing.assert_array_equal(heights[0], np.sort(sampler.feature_proba_[~chosen]))
    np.testing.assert_array_equal(heights[1], np.sort(sampler.feature_proba_[chosen]))
    counts, errors = axes[2].lines[0].get_data()
    assert counts[-1] == 12
    features = sampler.transform(X)
    error = np.abs(features @ features.T - sampler.law_.kernel(X)).mean()
    assert errors[-1] == pytest.approx(error, rel=1e-12)


def test_the_kernel_is_drawn_only_if_rows_are_given(tmp_path):
    axes = plot_path(fitted())
    assert len(axes) == 2
    axes[0].figure.savefig(tmp_path / "path.png")
    assert (tmp_path / "path.png").stat().st_size > 1_000


def test_panels_can_be_given():
    import matplotlib.pyplot as plt

    _, axes = plt.subplots(3, 1)
    assert plot_path(fitted(), X, axes=axes)[2] is axes[2]
    assert axes[2].lines


@pytest.mark.parametrize("rows", [None, X])
def test_too_few_panels_are_told(rows):
    import matplotlib.pyplot as plt

    axis = plt.figure().gca()
    n_panels = 2 if rows is None else 3
    with pytest.raises(ValueError, match=f"axes has 1 of the {n_panels} panels: pass one for eac"):
        plot_path(fitted(), rows, axes=axis)
    assert not axis.lines


@pytest.mark.parametrize("container", [pd.DataFrame, sp.csr_array, np.ndarray.tolist])
def test_rows_of_any_kind_are_taken(container):
    sampler = fitted()
    np.testing.assert_array_equal(kernel_errors(sampler, container(X)), kernel_errors(sampler, X))


def test_an_odd_number_of_outputs_is_drawn_to_the_end():
    counts, _ = kernel_errors(fitted(n_components=7), X)
    assert counts[-1] == 7


def test_the_teachers_law_is_the_truth_where_it_is_one():
    law = Product(Gaussian(0.3), Gaussian(1.0))
    sampler = fitted("greedy", BlockedCERF, teacher=law)
    features = sampler.transform(X)
    _, errors = kernel_errors(sampler, X)
    assert errors[-1] == pytest.approx(np.abs(features @ features.T - law.kernel(X)).mean())


def test_what_cannot_be_drawn_is_told():
    message = r"has nothing to draw: fit a MaskedCERF .* other than 'random' and 'trained'"
    chosen_from_none = [MaskedCERF(selector=name).fit(X) for name in ("random", "trained")]
    for sampler in (MaskedCERF(), *chosen_from_none, RandomFourierFeatures()):
        with pytest.raises(ValueError, match=message):
            plot_path(sampler)
    sampler = fitted(kernel=Product(Cauchy(1.0), Cauchy(1.0)))
    with pytest.raises(ValueError, match="has no kernel in closed form"):
        plot_path(sampler, X)


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    sampler = fitted()
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install 'cerflearn\[report\]'"):
        plot_path(sampler)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (X[:0], r"X of shape \(0, 8\) cannot be drawn: pass rows of 8 inputs"),
        (X[:, :2], r"X of shape \(120, 2\) cannot be drawn"),
        (X[0], r"X of shape \(8,\) cannot be drawn"),
        (np.full((3, 8), np.nan), "X contains NaN or infinity"),
    ],
    ids=["empty", "narrow", "one row", "nan"],
)
def test_rows_that_cannot_be_compared_are_refused(rows, message):
    with pytest.raises(ValueError, match=message):
        kernel_errors(learned(MaskedCERF).fit(X), rows)

"""Sizes and scales beyond what can be computed: refused at once, and the message says why."""

from __future__ import annotations

import re
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from cerflearn import (
    CVEM,
    BlockedCERF,
    FastfoodFeatures,
    Greedy,
    MaskedCERF,
    MaskedFourierFeatures,
    RandomFourierFeatures,
    Shared,
)

X = np.random.default_rng(0).normal(size=(30, 5))
DRAWN = [RandomFourierFeatures, FastfoodFeatures, MaskedFourierFeatures]
LEARNING = [MaskedCERF, BlockedCERF]
ESTIMATORS = [*DRAWN, *LEARNING]
MOST_BYTES = 2**22  # of an error


def refused_without_memory(estimator, message, data=X):
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=re.escape(message)) as caught:
            estimator.fit(data)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < MOST_BYTES
    return str(caught.value)


@pytest.mark.parametrize("estimator", DRAWN)
def test_maps_larger_than_memory_are_refused(estimator):
    said = refused_without_memory(estimator(macs=10**12), "macs=1000000000000 cannot be drawn: the")
    assert said.endswith("at most 268,435,456 are possible. Ask for less.")
    refused_without_memory(estimator(n_components=2**30), "1,073,741,824 output columns cannot be")


TOO_MANY = "candidate columns are too many for selector='greedy'"
BOTH = [
    ({"n_components": 10**6}, f"2,500,000 {TOO_MANY}"),
    ({"n_candidates": 2**30}, f"1,073,741,824 {TOO_MANY}"),
    ({"selected_fraction": 1e-3}, f"100,000 {TOO_MANY}"),
    ({"selected_fraction": 1e-308}, f"More than 1,000,000,000,000 {TOO_MANY}"),
]
UNLEARNABLE = [
    *((estimator, *case) for estimator in LEARNING for case in BOTH),
    (MaskedCERF, {"n_components": 2**30}, f"2,684,354,560 {TOO_MANY}"),
    (MaskedCERF, {"macs": 10**12}, f"More than 1,000,000,000,000 {TOO_MANY}"),
    (MaskedCERF, {"macs": 10**8}, f"More than 100,000,000 {TOO_MANY}"),
    (BlockedCERF, {"n_components": 2**30}, "1,073,741,824 output columns cannot be drawn"),
    (BlockedCERF, {"macs": 10**12}, "macs=1000000000000 cannot be drawn"),
    (BlockedCERF, {"macs": 10**7}, f"5,555,520 {TOO_MANY}"),
]


@pytest.mark.parametrize(("estimator", "parameters", "message"), UNLEARNABLE, ids=str)
def test_more_than_can_be_learned_from_is_refused(estimator, parameters, message):
    refused_without_memory(estimator(**parameters), message)


@pytest.mark.parametrize("estimator", LEARNING)
def test_what_can_be_drawn_and_not_learned_from_is_drawn(estimator):
    with pytest.raises(ValueError, match="50,000 candidate columns are too many for selector='gre"):
        estimator(n_components=20_000).fit(X)
    assert estimator(n_components=20_000, selector="random").fit(X).n_components_ == 20_000


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize(
    ("name", "value", "most"),
    [
        ("macs", 10**13, "1,000,000,000,000"),
        ("macs", 10**30, "1,000,000,000,000"),
        ("n_components", 2**30 + 1, "1,073,741,824"),
        ("n_candidates", 10**30, "1,073,741,824"),
    ],
)
def test_numbers_without_meaning_are_told_the_ceiling(estimator, name, value, most):
    if name == "n_candidates" and estimator in DRAWN:
        return
    message = f"{name}={value} is not valid: it must be a positive integer of at most {most}, or No"
    refused_without_memory(estimator(**{name: value}), message)


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("gamma", ["scale", "median"])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_inputs_whose_squares_vanish_are_refused(estimator, gamma, container):
    with pytest.raises(ValueError, match=f"gamma='{gamma}' cannot be read off X.* scale X, for ex"):
        estimator(gamma=gamma).fit(container(1e-200 * X))


@pytest.mark.parametrize("estimator", [RandomFourierFeatures, MaskedFourierFeatures, MaskedCERF])
@pytest.mark.parametrize("gamma", ["scale", "median"])
def test_inputs_whose_frequencies_overflow_are_refused(estimator, gamma):
    message = rf"gamma='{gamma}' cannot be read off X, whose spread is .*e-(199|200): scale X"
    with pytest.raises(ValueError, match=message):
        estimator(kernel="laplacian", gamma=gamma).fit(1e-200 * X)


@pytest.mark.parametrize("estimator", LEARNING)
@pytest.mark.parametrize("selector", ["greedy", "shared", "cvem"])
def test_a_kernel_too_wide_for_the_data_is_told(estimator, selector):
    sampler = estimator(gamma=1e-308, paired=False, n_components=8, selector=selector)
    message = "The features of gamma=1e-308 are constant on X, up to rounding: pass a larger gamma"
    refused_without_memory(sampler, message)


@pytest.mark.parametrize("estimator", LEARNING)
@pytest.mark.parametrize(
    ("selector", "allowed"),
    [
        (CVEM, "'standardize', 'center' or None."),
        (Shared, "'standardize', 'center' or None."),
        (Greedy, "'standardize' or None: "),
    ],
)
@pytest.mark.parametrize("normalize", [np.array([1]), np.array(["center", "standardize"]), 0])
def test_normalize_that_is_no_name_is_told(estimator, selector, allowed, normalize):
    sampler = estimator(selector=selector(normalize=normalize))
    message = f"normalize={normalize!r} is not valid: it must be {allowed}"
    refused_without_memory(sampler, message)


@pytest.mark.parametrize(
    "estimator", [RandomFourierFeatures, MaskedFourierFeatures, FastfoodFeatures], ids=str
)
def test_frequencies_beyond_single_precision_are_refused_in_it(estimator):
    tiny = (1e-40 * np.random.default_rng(0).normal(size=(40, 6))).astype(np.float32)
    sampler = estimator(gamma="median", random_state=0).fit(tiny)
    with pytest.raises(ValueError, match="beyond single precision: scale X, or pass it in float64"):
        sampler.transform(tiny)
    features = sampler.transform(tiny.astype(np.float64))
    assert np.abs(features - features[0]).max() > 1e-3

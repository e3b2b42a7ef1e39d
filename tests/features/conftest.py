"""Fixtures that run a test on every kind of feature map."""

from __future__ import annotations

import numpy as np
import pytest

from cerflearn.spectral import Gaussian
from map_samples import DRAWS, N_FEATURES


@pytest.fixture(params=[*DRAWS], name="kind")
def fixture_kind(request):
    return request.param


@pytest.fixture(params=[False, True], ids=["single", "paired"], name="paired")
def fixture_paired(request):
    return request.param


@pytest.fixture(name="feature_map")
def fixture_feature_map(kind, paired):
    rng = np.random.default_rng(5)
    drawn = DRAWS[kind](N_FEATURES, 150, Gaussian(0.4), rng, paired=paired)
    return drawn.with_amplitudes(rng.uniform(0.5, 1.0, drawn.n_projections))

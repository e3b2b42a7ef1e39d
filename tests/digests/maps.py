"""Configurations of feature maps: drawn, masked, blocked."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import Ridge, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from cerflearn import FastfoodFeatures, RandomFourierFeatures
from cerflearn.spectral import (
    KERNELS,
    Cauchy,
    Gaussian,
    GaussianMixture,
    Product,
    law_from_kernel,
)
from digests import data, interface
from digests.data import Rows

Outputs = dict[str, Any]


def outputs(model: Any, rows: Rows) -> Outputs:
    """What every fitted map has, and its features: both dtypes, a single row, training rows."""
    gamma = {} if model.gamma_ is None else {"gamma": model.gamma_}
    return {
        **interface.map_of(model),
        **interface.cost_of(model),
        **gamma,
        "n_components": model.n_components_,
        "n_projections": model.n_projections_,
        "transform": model.transform(rows.X_test),
        "transform float32": model.transform(rows.X_test.astype(np.float32)),
        "transform one row": model.transform(rows.X_test[:1]),
        "transform training rows": model.transform(rows.X),
    }


def fit_drawn(make: Callable[..., Any], rows: Rows, **keywords: Any) -> Outputs:
    """Fit a map that reads nothing but the scale of X."""
    return outputs(make(random_state=0, **keywords).fit(rows.X), rows)


def fit_masked(rows: Rows, **keywords: Any) -> Outputs:
    """Fit a map with random masks."""
    model = interface.masked_cerf(random_state=1, **keywords).fit(rows.X)
    return outputs(model, rows) | interface.masking_of(model)


def fit_learned(rows: Rows, make: Any = interface.masked_cerf, **keywords: Any) -> Outputs:
    """Fit a masked map that learns from a teacher."""
    model = make(random_state=2, **keywords).fit(rows.X, rows.y)
    return outputs(model, rows) | interface.masking_of(model) | interface.learned_of(model)


def fit_blocked(rows: Rows, **keywords: Any) -> Outputs:
    """Fit a blocked map that learns from a teacher."""
    model = interface.blocked_cerf(random_state=3, **keywords).fit(rows.X, rows.y)
    learned = interface.learned_of(model)
    return outputs(model, rows) | learned | {"n_blocks": interface.n_blocks_of(model)}


def fit_pipeline(rows: Rows) -> Outputs:
    """A map between a scaler and a ridge regression, and its cost."""
    sampler = interface.masked_cerf(macs=300, random_state=4)
    model = make_pipeline(StandardScaler(), sampler, Ridge(alpha=0.1)).fit(rows.X, rows.y)
    return interface.cost_of(model) | {
        "coef": model[-1].coef_,
        "predict": model.predict(rows.X_test),
        "score": model.score(rows.X_test, rows.y_test),
    }


def exact_kernels(rows: Rows) -> Outputs:
    """Kernel matrices in closed form, of one set of rows and of two."""
    laws = {name: law_from_kernel(name, 0.1) for name in KERNELS}
    laws |= {"product": PRODUCT, "mixture": MIXTURE}
    within = {name: law.kernel(rows.X[:100]) for name, law in laws.items()}
    between = {f"{name} two": law.kernel(rows.X, rows.X_test) for name, law in laws.items()}
    return within | between


MIXTURE = GaussianMixture(np.linspace(-0.5, 0.5, 32).reshape(2, 16), 0.2)
PRODUCT = Product(Gaussian(0.2), Gaussian(1.0))
rff = partial(fit_drawn, RandomFourierFeatures)
fastfood = partial(fit_drawn, FastfoodFeatures)

DRAWN: dict[str, Callable[[], Outputs]] = {
    "exact kernels": lambda: exact_kernels(data.normal()),
    "rff rbf": lambda: rff(data.digits(), n_components=60),
    "rff rbf float32": lambda: rff(data.digits().astype("float32"), n_components=60),
    "rff rbf sparse": lambda: rff(data.digits().sparse(), n_components=60),
    "rff rbf two threads": lambda: rff(data.digits(), n_components=60, n_jobs=2),
    "rff very sparse": lambda: rff(data.very_sparse(), n_components=60, gamma="median"),
    "rff rbf odd unpaired": lambda: rff(data.wine(), n_components=33, paired=False),
    "rff odd paired": lambda: rff(data.iris(), n_components=33, gamma=0.3),
    "rff laplacian": lambda: rff(data.iris(), kernel="laplacian", macs=400),
    "rff cauchy": lambda: rff(data.iris(), kernel="cauchy", gamma="median", n_components=50),
    "rff matern32": lambda: rff(data.normal(), kernel="matern32", n_components=50, paired=False),
    "rff matern52": lambda: rff(data.normal(), kernel="matern52", gamma=0.05, n_components=50),
    "rff law": lambda: rff(data.normal(), kernel=Cauchy(0.1), n_components=50),
    "rff product law": lambda: rff(data.normal(), kernel=PRODUCT, macs=800),
    "rff orthogonal": lambda: rff(data.normal(), orthogonal=True, n_components=70),
    "rff orthogonal matern": lambda: rff(
        data.digits(), kernel="matern52", orthogonal=True, gamma="median", macs=6000
    ),
    "fastfood": lambda: fastfood(data.digits(), n_components=150),
    "fastfood float32": lambda: fastfood(data.digits().astype("float32"), n_components=150),
    "fastfood sparse": lambda: fastfood(data.digits().sparse(), n_components=150),
    "fastfood two threads": lambda: fastfood(data.digits(), n_components=150, n_jobs=2),
    "fastfood unpaired": lambda: fastfood(data.wine(), n_components=41, paired=False),
    "fastfood shared signs": lambda: fastfood(
        data.normal(), kernel="matern32", macs=1000, share=("signs",)
    ),
}

MASKED: dict[str, Callable[[], Outputs]] = {
    "masked random": lambda: fit_masked(data.digits()),
    "masked random float32": lambda: fit_masked(data.digits().astype("float32")),
    "masked random sparse": lambda: fit_masked(data.digits().sparse()),
    "masked random two threads": lambda: fit_masked(data.digits(), n_jobs=2),
    "masked random very sparse": lambda: fit_masked(data.very_sparse(), macs=900, gamma="median"),
    "masked random macs": lambda: fit_masked(data.digits(), macs=700, gamma="median"),
    "masked random unpaired": lambda: fit_masked(
        data.normal(), n_components=45, paired=False, mask_density=0.3, kernel="laplacian"
    ),
    "masked random beta_bernoulli": lambda: fit_masked(
        data.digits(), macs=900, mask_law="beta_bernoulli", mask_density=0.1
    ),
    "masked random groups": lambda: fit_masked(
        data.digits(), n_components=80, group_size=8, features_per_mask=4, kernel="matern52"
    ),
    "masked random law": lambda: fit_masked(data.normal(), kernel=MIXTURE, n_components=64),
    "masked random pipeline": lambda: fit_pipeline(data.diabetes()),
}

GREEDY: dict[str, Any] = {"selector": "greedy", "n_components": 40}
CVEM: dict[str, Any] = {"selector": "cvem", "n_components": 40}
SHARED: dict[str, Any] = {"selector": "shared", "n_components": 40}
LABELS = RidgeClassifier(alpha=1.0)
NYSTROEM = Nystroem(gamma=0.05, n_components=30, random_state=0)

LEARNED: dict[str, Callable[[], Outputs]] = {
    "masked greedy": lambda: fit_learned(data.digits(), **GREEDY),
    "masked greedy float32": lambda: fit_learned(data.digits().astype("float32"), **GREEDY),
    "masked greedy sparse": lambda: fit_learned(data.digits().sparse(), **GREEDY),
    "masked greedy one thread": lambda: fit_learned(data.many_digits(), **GREEDY),
    "masked greedy two threads": lambda: fit_learned(data.many_digits(), **GREEDY, n_jobs=2),
    "masked greedy no cache": lambda: fit_learned(data.many_digits(), **GREEDY, cache_bytes=0),
    "masked greedy very sparse": lambda: fit_learned(
        data.very_sparse(), **GREEDY, kernel="cauchy", gamma="median"
    ),
    "masked greedy nnls, 1400 rows": lambda: fit_learned(
        data.many_digits(), selector="greedy", macs=300, weights="nnls", n_jobs=2
    ),
    "masked greedy nnls": lambda: fit_learned(data.digits(), **GREEDY, weights="nnls"),
    "masked greedy macs": lambda: fit_learned(
        data.digits(), selector="greedy", macs=400, selected_fraction=0.3, paired=False
    ),
    "masked greedy groups": lambda: fit_learned(
        data.digits(), **GREEDY, group_size=4, features_per_mask=4, kernel="matern32"
    ),
    "masked greedy beta_bernoulli": lambda: fit_learned(
        data.digits(), selector="greedy", macs=500, mask_law="beta_bernoulli", mask_density=0.1
    ),
    "masked greedy labels": lambda: fit_learned(data.digits(), **GREEDY, teacher="labels"),
    "masked greedy targets": lambda: fit_learned(
        data.two_targets(), **GREEDY, teacher="labels", weights="nnls"
    ),
    "masked greedy nystroem": lambda: fit_learned(data.wine(), **GREEDY, teacher="nystroem"),
    "masked greedy kernel_pca": lambda: fit_learned(
        data.normal(), **GREEDY, teacher="kernel_pca", n_candidates=90
    ),
    "masked greedy estimator": lambda: fit_learned(data.digits(), **GREEDY, teacher=LABELS),
    "masked greedy transformer": lambda: fit_learned(data.normal(), **GREEDY, teacher=NYSTROEM),
    "masked greedy law": lambda: fit_learned(data.normal(), **GREEDY, teacher=PRODUCT),
    "masked shared": lambda: fit_learned(data.digits(), **SHARED),
    "masked shared one thread": lambda: fit_learned(data.many_digits(), **SHARED),
    "masked shared two threads": lambda: fit_learned(data.many_digits(), **SHARED, n_jobs=2),
    "masked shared center": lambda: fit_learned(
        data.normal(), **SHARED, normalize="center", max_stages=7, weights="nnls"
    ),
    "masked shared labels": lambda: fit_learned(
        data.digits().astype("float32"), selector="shared", macs=400, teacher="labels"
    ),
    "masked cvem": lambda: fit_learned(data.digits(), **CVEM),
    "masked cvem float32": lambda: fit_learned(data.digits().astype("float32"), **CVEM),
    "masked cvem sparse": lambda: fit_learned(data.digits().sparse(), **CVEM),
    "masked cvem one thread": lambda: fit_learned(data.many_digits(), **CVEM),
    "masked cvem two threads": lambda: fit_learned(data.many_digits(), **CVEM, n_jobs=2),
    "masked cvem no cache": lambda: fit_learned(data.many_digits(), **CVEM, cache_bytes=0),
    "masked cvem few stages": lambda: fit_learned(
        data.normal(), **CVEM, max_stages=4, tol=1e-5, paired=False, features_per_mask=2
    ),
    "masked cvem admm": lambda: fit_learned(data.digits(), **CVEM, solver="admm", max_stages=8),
    "masked cvem admm penalty": lambda: fit_learned(
        data.normal(), **CVEM, solver="admm", spectral_penalty=0.5, normalize=None, max_stages=6
    ),
    "masked cvem as printed": lambda: fit_learned(data.normal(), **CVEM, normalize=None),
    "masked cvem center": lambda: fit_learned(
        data.digits(), **CVEM, normalize="center", weights="nnls", teacher="nystroem"
    ),
    "masked cvem labels": lambda: fit_learned(
        data.digits(), selector="cvem", macs=300, teacher="labels"
    ),
    "paper setting": lambda: fit_learned(
        data.digits(), make=interface.paper_setting, macs=1200, max_stages=6
    ),
    "paper setting candidates": lambda: fit_learned(
        data.normal(), make=interface.paper_setting, n_components=30, n_candidates=60, max_stages=5
    ),
}

BLOCKED: dict[str, Callable[[], Outputs]] = {
    "blocked greedy": lambda: fit_blocked(data.normal(), n_components=64),
    "blocked greedy float32": lambda: fit_blocked(data.normal().astype("float32"), n_components=64),
    "blocked greedy sparse": lambda: fit_blocked(data.normal().sparse(), n_components=64),
    "blocked greedy one thread": lambda: fit_blocked(data.many_digits(), n_components=130),
    "blocked greedy two threads": lambda: fit_blocked(
        data.many_digits(), n_components=130, n_jobs=2
    ),
    "blocked greedy outputs": lambda: fit_blocked(data.normal(), n_components=30, select="outputs"),
    "blocked greedy outputs macs": lambda: fit_blocked(
        data.normal(), macs=700, select="outputs", weights="nnls", paired=False
    ),
    "blocked greedy nnls": lambda: fit_blocked(data.normal(), macs=600, weights="nnls"),
    "blocked shared signs": lambda: fit_blocked(
        data.digits(), macs=3000, share=("signs",), kernel="matern52", teacher="labels"
    ),
    "blocked spread": lambda: fit_blocked(
        data.normal(), kernel=Gaussian(0.2), spread=0.5, teacher=PRODUCT, n_components=64
    ),
    "blocked scale spread": lambda: fit_blocked(
        data.normal(), scale_spread=0.4, spread=0.7, kernel="laplacian", n_components=50,
        paired=False,
    ),
    "blocked cvem": lambda: fit_blocked(
        data.normal(), selector="cvem", n_components=40, max_stages=6, selected_fraction=0.3
    ),
    "blocked cvem admm": lambda: fit_blocked(
        data.normal(), selector="cvem", solver="admm", n_components=32, max_stages=5,
        weights="nnls", select="outputs",
    ),
    "blocked shared": lambda: fit_blocked(
        data.wine(), selector="shared", n_components=64, teacher="kernel_pca"
    ),
    "blocked random": lambda: fit_drawn(
        interface.blocked_cerf, data.normal(), selector="random", n_components=64, spread=0.5
    ),
}  # fmt: skip

CONFIGURATIONS = DRAWN | MASKED | LEARNED | BLOCKED

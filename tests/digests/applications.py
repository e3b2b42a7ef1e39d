"""Configurations of kernel PCA, autoencoder, imputer and canonical correlations."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from cerflearn import (
    KernelAutoencoder,
    KernelImputer,
    RandomFourierFeatures,
    RandomizedKernelCCA,
    RandomizedKernelPCA,
)
from digests import data, interface
from digests.data import Rows

Outputs = dict[str, Any]
CODES = (
    "components",
    "mean",
    "explained_variance",
    "explained_variance_ratio",
    "singular_values",
    "n_samples_seen",
)


def codes(model: Any, rows: Rows) -> Outputs:
    """Fitted arrays and codes of kernel PCA or an autoencoder."""
    found = {name: getattr(model, f"{name}_") for name in CODES}
    found |= interface.cost_of(model)
    found["transform"] = model.transform(rows.X_test)
    found["transform float32"] = model.transform(rows.X_test.astype(np.float32))
    if hasattr(model, "inverse_transform"):
        found["inverse_weights"] = model.inverse_weights_
        found["inverse_mean"] = model.inverse_mean_
        found["inverse_transform"] = model.inverse_transform(found["transform"])
    return found


def fit_pca(rows: Rows, **keywords: Any) -> Outputs:
    """Fit kernel PCA in one go."""
    return codes(RandomizedKernelPCA(random_state=0, **keywords).fit(rows.X), rows)


def fit_pca_in_parts(rows: Rows, **keywords: Any) -> Outputs:
    """Fit kernel PCA to three parts of the rows, one after the other."""
    model = RandomizedKernelPCA(random_state=0, **keywords)
    for part in np.array_split(np.arange(rows.X.shape[0]), [150, 260]):
        model.partial_fit(rows.X[part])
    return codes(model, rows)


def fit_autoencoder(rows: Rows, **keywords: Any) -> Outputs:
    """Fit an autoencoder and reconstruct test rows."""
    model = KernelAutoencoder(random_state=0, **keywords).fit(rows.X)
    return codes(model, rows) | {
        "encode": model.encode(rows.X_test),
        "reconstruct": model.reconstruct(rows.X_test),
        "score": model.score(rows.X_test),
    }


def fit_imputer(rows: Rows, **keywords: Any) -> Outputs:
    """Fit an imputer and complete training and test rows."""
    model = KernelImputer(random_state=0, **keywords).fit(rows.X)
    return {
        **interface.cost_of(model),
        "statistics": model.statistics_,
        "scale": model.scale_,
        "errors": model.errors_,
        "alphas": model.alphas_,
        "n_iter": model.n_iter_,
        "transform": model.transform(rows.X_test),
        "transform float32": model.transform(rows.X_test.astype(np.float32)),
        "transform training rows": model.transform(rows.X),
    }


def fit_cca(rows: Rows, **keywords: Any) -> Outputs:
    """Fit canonical correlations of two views."""
    model = RandomizedKernelCCA(random_state=0, **keywords).fit(rows.X, rows.y)
    first, second = model.transform(rows.X_test, rows.y_test)
    names = ("correlations", "x_components", "y_components", "x_mean", "y_mean")
    return {
        **{name: getattr(model, f"{name}_") for name in names},
        **interface.cost_of(model),
        "transform": model.transform(rows.X_test),
        "transform both, first": first,
        "transform both, second": second,
        "score": model.score(rows.X_test, rows.y_test),
    }


masked = partial(interface.masked_cerf, n_components=96)
greedy = partial(interface.masked_cerf, selector="greedy", n_components=60)


def hidden_block() -> Any:
    """One pattern: the lower half of the digits."""
    return np.arange(64) >= 32


def complete_but_for(rows: Rows, hide: Any) -> Rows:
    """Complete training rows, and test rows that miss what ``hide`` says."""
    return Rows(rows.X, rows.y, np.where(hide, np.nan, rows.X_test), rows.y_test)


CONFIGURATIONS: dict[str, Callable[[], Outputs]] = {
    "kernel pca": lambda: fit_pca(data.digits()),
    "kernel pca one thread": lambda: fit_pca(data.many_digits()),
    "kernel pca two threads": lambda: fit_pca(data.many_digits(), n_jobs=2),
    "kernel pca float32": lambda: fit_pca(
        data.digits().astype("float32"), n_components=8, feature_map=masked(), alpha=0.1
    ),
    "kernel pca sparse": lambda: fit_pca(data.digits().sparse(), feature_map=masked()),
    "kernel pca learned map": lambda: fit_pca(
        data.digits(), feature_map=greedy(), fit_inverse_transform=False
    ),
    "kernel pca in parts": lambda: fit_pca_in_parts(data.digits(), feature_map=masked()),
    "autoencoder": lambda: fit_autoencoder(data.digits(), n_components=10),
    "autoencoder one thread": lambda: fit_autoencoder(data.many_digits()),
    "autoencoder two threads": lambda: fit_autoencoder(data.many_digits(), n_jobs=2),
    "autoencoder dense map": lambda: fit_autoencoder(
        data.normal(), feature_map=RandomFourierFeatures(n_components=80), alpha=0.01
    ),
    "imputer": lambda: fit_imputer(data.incomplete(), max_iter=3),
    "imputer map": lambda: fit_imputer(
        data.incomplete_digits(), max_iter=2, feature_map=masked(), n_components=30, n_copies=4
    ),
    "imputer map two threads": lambda: fit_imputer(
        data.incomplete_digits(),
        max_iter=2,
        feature_map=masked(),
        n_components=30,
        n_copies=4,
        n_jobs=2,
    ),
    "imputer pattern": lambda: fit_imputer(
        complete_but_for(data.digits().head(250), hidden_block()),
        patterns=hidden_block(),
        feature_map=masked(),
        max_iter=1,
        linear_part=False,
        alpha=0.1,
    ),
    "imputer indicator float32": lambda: fit_imputer(
        data.incomplete().astype("float32"), max_iter=1, add_indicator=True, n_components=20
    ),
    "cca": lambda: fit_cca(data.two_views()),
    "cca two threads": lambda: fit_cca(data.two_views(), n_jobs=2),
    "cca maps": lambda: fit_cca(
        data.two_views().astype("float32"),
        n_components=3,
        feature_map=masked(),
        y_feature_map=RandomFourierFeatures(n_components=50),
        alpha=0.5,
    ),
}

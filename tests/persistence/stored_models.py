"""Fitted estimators of every kind that a model file holds, small and quick to fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import (
    LinearRegression,
    LogisticRegression,
    Ridge,
    RidgeClassifier,
    SGDClassifier,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import LinearSVC

from cerflearn import (
    CVEM,
    BlockedCERF,
    CERFClassifier,
    CERFRegressor,
    FastfoodFeatures,
    KernelAutoencoder,
    KernelImputer,
    MaskedCERF,
    MaskedFourierFeatures,
    RandomFourierFeatures,
    RandomizedKernelCCA,
    RandomizedKernelPCA,
)
from cerflearn.spectral import Cauchy, Gaussian, Product

N, D = 120, 6


def rows(dtype: type = np.float64) -> Any:
    return np.random.default_rng(0).normal(size=(N, D)).astype(dtype)


def classes(n: int) -> Any:
    return np.floor(rows()[:, 0] * 2).astype(int) % n


def dependent() -> Any:
    """Rows whose last input follows from the first."""
    X = rows()
    X[:, 5] = X[:, 0] + 0.1 * X[:, 5]
    return X


def incomplete() -> Any:
    X = dependent()
    X[::5, 2] = np.nan
    X[1::7, 5] = np.nan
    return X


def _last_missing() -> Any:
    X = dependent()
    X[::3, 5] = np.nan
    return X


def codes() -> Any:
    X = rows()
    X[:, 5] = classes(3)
    return X


def frame() -> Any:
    import pandas

    table = pandas.DataFrame(rows()[:, :3], columns=["a", "b", "c"])
    table.loc[::9, "a"] = np.nan
    table["town"] = np.array(["Ulm", "Bonn", "Kiel"])[classes(3)]
    return table


def towns() -> Any:
    """A column of text with missing values."""
    found = np.array(["Ulm", "Bonn", "Kiel"], dtype=object)[classes(3)][:, None]
    found[::10] = np.nan
    return found


def _mixed() -> Any:
    columns = ColumnTransformer(
        [
            ("numbers", make_pipeline(SimpleImputer(), StandardScaler()), ["a", "b"]),
            ("towns", OneHotEncoder(drop="first"), ["town"]),
        ],
        remainder="passthrough",
    )
    features = MaskedFourierFeatures(n_components=20, random_state=0)
    return make_pipeline(columns, features, LogisticRegression())


def _predictor(cls: Any, **parameters: Any) -> Any:
    return cls(macs=60, effort=0.05, random_state=0, **parameters)


def _streamed() -> Any:
    model = MaskedCERF(n_components=8, selector="cvem", random_state=0)
    for _ in range(2):
        model.partial_fit(rows())
    return model


Build = Callable[[], tuple[Any, Any]]


def _plain(model: Any, y: Any = None) -> Build:
    return lambda: (clone(model).fit(rows(), y), rows())


_SMALL = MaskedFourierFeatures(n_components=20)
_TEXT = np.array(["yes", "no", "so-so */ \\"])

MODELS: dict[str, Build] = {
    "rff": _plain(RandomFourierFeatures(n_components=9, random_state=0)),
    "rff_unpaired": _plain(RandomFourierFeatures(paired=False, kernel="cauchy", random_state=0)),
    "law": _plain(MaskedFourierFeatures(kernel=Product(Gaussian(1.0), Cauchy(0.5)))),
    "masked": _plain(MaskedFourierFeatures(macs=100, random_state=np.random.default_rng(3))),
    "fastfood": _plain(FastfoodFeatures(n_components=40, random_state=0)),
    "greedy": _plain(MaskedCERF(n_components=10, random_state=0)),
    "cvem": _plain(MaskedCERF(n_components=10, selector=CVEM(solver="admm"), random_state=0)),
    "shared": _plain(MaskedCERF(n_components=10, selector="shared", weights="nnls")),
    "trained": _plain(MaskedCERF(n_components=10, selector="trained", random_state=0)),
    "teacher": _plain(MaskedCERF(n_components=10, teacher=Ridge(), random_state=0), rows()[:, 0]),
    "streamed": lambda: (_streamed(), rows()),
    "blocked": _plain(BlockedCERF(n_components=16, random_state=0)),
    "blocked_wide": lambda: (
        BlockedCERF(n_components=40, random_state=0).fit(np.tile(rows(), 10)),
        np.tile(rows(), 10),
    ),
    "cosine": _plain(_predictor(CERFClassifier, activation="cosine"), classes(3)),
    "relu": _plain(_predictor(CERFClassifier, activation="relu"), _TEXT[classes(3)]),
    "table": _plain(_predictor(CERFClassifier, activation="table"), classes(2) == 1),
    "pairs": _plain(_predictor(CERFClassifier, head="svm_ovo"), classes(4)),
    "multilabel": _plain(_predictor(CERFClassifier), (rows()[:, :2] > 0).astype(int)),
    "weights": _plain(
        _predictor(CERFClassifier, class_weight={0: 1.0, 1: 2.0}, teacher="kernel"), classes(2)
    ),
    "regressor": _plain(_predictor(CERFRegressor, activation="table"), rows()[:, 0] ** 2),
    "regressors": _plain(_predictor(CERFRegressor, activation="cosine"), rows()[:, :2] ** 2),
    "pca": _plain(RandomizedKernelPCA(n_components=3, feature_map=_SMALL, random_state=0)),
    "pca_inner": _plain(
        RandomizedKernelPCA(
            n_components=3,
            feature_map=make_pipeline(StandardScaler(), RandomFourierFeatures(n_components=20)),
            fit_inverse_transform=False,
            random_state=0,
        )
    ),
    "pca_budget": _plain(RandomizedKernelPCA(n_components=3, macs=40, random_state=0)),
    "autoencoder": _plain(KernelAutoencoder(n_components=3, macs=30, random_state=0)),
    "cca": lambda: (
        RandomizedKernelCCA(n_components=2, feature_map=_SMALL, random_state=0).fit(
            rows(), rows()[:, :3]
        ),
        rows(),
    ),
    "imputer": lambda: (
        KernelImputer(add_indicator=True, feature_map=_SMALL, random_state=0).fit(incomplete()),
        incomplete(),
    ),
    "imputer_budget": lambda: (
        KernelImputer(
            macs=60, patterns=np.array([False, False, False, False, False, True]), random_state=0
        ).fit(dependent()),
        _last_missing(),
    ),
    "pipeline": _plain(
        make_pipeline(MinMaxScaler(), MaskedCERF(n_components=12), LinearSVC()), classes(3)
    ),
    "ridge": _plain(
        make_pipeline(RobustScaler(), FastfoodFeatures(n_components=12), RidgeClassifier()),
        _TEXT[classes(3)],
    ),
    "linear": _plain(make_pipeline(MaxAbsScaler(), LinearRegression()), rows()[:, :2]),
    "column_major": _plain(
        make_pipeline(
            StandardScaler(),
            MaskedFourierFeatures(n_components=30, random_state=0),
            RidgeClassifier(),
        ),
        classes(3),
    ),
    "constant": _plain(_predictor(CERFRegressor), np.ones(N)),
    "sgd": _plain(make_pipeline(StandardScaler(), SGDClassifier(random_state=0)), classes(3)),
    "filled": lambda: (
        make_pipeline(
            SimpleImputer(add_indicator=True), _predictor(CERFClassifier, activation="table")
        ).fit(incomplete(), classes(2)),
        incomplete(),
    ),
    "encoded": lambda: (
        make_pipeline(
            ColumnTransformer(
                [("scaled", StandardScaler(), slice(0, 3)), ("codes", OneHotEncoder(), [-1])]
            ),
            _predictor(CERFRegressor),
        ).fit(codes(), rows()[:, 0]),
        codes(),
    ),
    "columns": lambda: (
        make_pipeline(
            ColumnTransformer(
                [
                    ("mask", MinMaxScaler((-1, 2), clip=True), np.arange(D) < 2),
                    ("codes", OneHotEncoder(drop="if_binary", sparse_output=False), [5]),
                    ("none", "drop", [3]),
                    ("kept", "passthrough", [2]),
                ]
            ),
            "passthrough",
            RidgeClassifier(),
        ).fit(codes(), np.array(["a", "b"], dtype=object)[classes(2)]),
        codes(),
    ),
    "text": lambda: (
        make_pipeline(
            SimpleImputer(strategy="most_frequent"),
            OneHotEncoder(handle_unknown="ignore", dtype=np.uint8),
            LogisticRegression(),
        ).fit(towns(), classes(2)),
        towns(),
    ),
    "completed": lambda: (
        make_pipeline(KernelImputer(feature_map=_SMALL, random_state=0), RidgeClassifier()).fit(
            incomplete(), (rows()[:, :2] > 0).astype(int)
        ),
        incomplete(),
    ),
    "frame": lambda: (_mixed().fit(frame(), classes(2)), frame()),
}
"""By name: a function that gives a fitted estimator and rows for it."""

"""Fitted models of every kind that tests of exported C share."""

from __future__ import annotations

from functools import cache

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_digits
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler

from cerflearn import (
    CERFClassifier,
    CERFRegressor,
    FastfoodFeatures,
    KernelAutoencoder,
    MaskedCERF,
    MaskedFourierFeatures,
    RandomFourierFeatures,
    RandomizedKernelPCA,
)

QUICK = {"effort": 0.03, "random_state": 0}


@cache
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:800], y[:800]


@cache
def mixed_columns():
    """Numbers with holes, a column of codes, a column far from zero, a marker for missing."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(300, 6))
    X[:, 1] = rng.integers(0, 4, size=300)
    X[:, 2] = 1990.0 + 10.0 * X[:, 2]
    X[rng.random(300) < 0.2, 3] = np.nan
    X[rng.random(300) < 0.2, 4] = -999.0
    y = (np.nan_to_num(X[:, 3]) + (X[:, 1] == 2) + X[:, 0] > 0.3).astype(int)
    return X, y


def _digits_model(**parameters):
    X, y = digits()
    return CERFClassifier(macs=500, **QUICK, **parameters).fit(X, y), X, y


def _shared():
    X, y = digits()
    model = CERFClassifier(macs=900, features_per_mask=6, activation="cosine", **QUICK)
    return model.fit(X, y), X, y


def _binary():
    X, y = digits()
    return CERFClassifier(macs=200, activation="cosine", **QUICK).fit(X, y > 4), X, y > 4


def _pairs():
    X, y = digits()
    keep = y < 4
    labels = np.array(["zero", "one", "two", "three"])[y[keep]]
    model = CERFClassifier(macs=300, head="svm_ovo", activation="relu", **QUICK)
    return model.fit(X[keep], labels), X[keep], labels


def _multilabel():
    X, y = digits()
    Y = np.stack([y > 4, y % 2 == 0, y == 0], axis=1).astype(int)
    return CERFClassifier(macs=200, activation="cosine", **QUICK).fit(X, Y), X, Y


def _values(activation, n_outputs=1):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 5)) * [1.0, 10.0, 0.1, 1.0, 1.0] + [0.0, 0.0, 0.0, 50.0, 0.0]
    y = np.sin(2.0 * X[:, 0]) + 0.1 * X[:, 1] + 300.0
    if n_outputs > 1:
        y = np.stack([y, 1000.0 * X[:, 2]], axis=1)
    return CERFRegressor(macs=60, activation=activation, **QUICK).fit(X, y), X, y


def _prepared():
    X, y = mixed_columns()
    numbers = make_pipeline(StandardScaler(), SimpleImputer(), MinMaxScaler(clip=True))
    columns = ColumnTransformer(
        [
            ("codes", OneHotEncoder(), [1]),
            ("numbers", numbers, [0, 2, 3]),
            ("marked", SimpleImputer(missing_values=-999.0), [4]),
            ("rest", "passthrough", [5]),
        ]
    )
    features = MaskedFourierFeatures(n_components=40, random_state=0)
    return make_pipeline(columns, features, LogisticRegression()).fit(X, y), X, y


def _union():
    X, y = digits()
    parts = FeatureUnion(
        [("map", RandomFourierFeatures(n_components=21, random_state=0)), ("same", "passthrough")]
    )
    model = make_pipeline(StandardScaler(), parts, StandardScaler(), RidgeClassifier())
    return model.fit(X, y), X, y


def _fastfood():
    X, y = digits()
    features = FastfoodFeatures(n_components=128, random_state=0)
    return make_pipeline(MinMaxScaler(), features, RidgeClassifier()).fit(X, y), X, y


def _map(estimator):
    X, _ = digits()
    return estimator.fit(X[:300]), X[:300], None


def _linear():
    X, y = mixed_columns()
    return make_pipeline(SimpleImputer(), StandardScaler(), LinearRegression()).fit(X, y), X, y


def _two_stages():
    X, y = digits()
    codes = RandomizedKernelPCA(n_components=6, random_state=0)
    second = CERFClassifier(macs=100, activation="cosine", **QUICK)
    return make_pipeline(codes, second).fit(X[:300], y[:300]), X[:300], y[:300]


CASES = {
    "cosine": lambda: _digits_model(activation="cosine"),
    "relu": lambda: _digits_model(activation="relu"),
    "table": lambda: _digits_model(activation="table", max_bytes=9_000, storage="int8"),
    "shared": _shared,
    "binary": _binary,
    "pairs": _pairs,
    "multilabel": _multilabel,
    "value of cosines": lambda: _values("cosine"),
    "value of tables": lambda: _values("table"),
    "values": lambda: _values("relu", 2),
    "prepared": _prepared,
    "union": _union,
    "fastfood": _fastfood,
    "dense map": lambda: _map(RandomFourierFeatures(n_components=33, random_state=0)),
    "masked map": lambda: _map(MaskedFourierFeatures(n_components=34, random_state=0)),
    "learned map": lambda: _map(MaskedCERF(macs=200, random_state=0)),
    "kernel PCA": lambda: _map(RandomizedKernelPCA(n_components=5, random_state=0)),
    "autoencoder": lambda: _map(KernelAutoencoder(n_components=4, macs=200, random_state=0)),
    "linear": _linear,
    "two stages": _two_stages,
}
"""Makers of ``(estimator, X, y)``, by name."""


@cache
def case(name):
    """Fitted estimator, its rows and targets, made once."""
    return CASES[name]()

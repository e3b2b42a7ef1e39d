"""Fitted models to export as ONNX, and a way to run what was exported."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from sklearn.kernel_approximation import RBFSampler

from cerflearn import (
    BlockedCERF,
    CERFClassifier,
    CERFRegressor,
    FastfoodFeatures,
    MaskedCERF,
    MaskedFourierFeatures,
    RandomFourierFeatures,
)

N_FEATURES = 12

MAPS: dict[str, Any] = {
    "dense": RandomFourierFeatures(n_components=40, random_state=0),
    "masked": MaskedFourierFeatures(n_components=40, random_state=0),
    "odd": MaskedFourierFeatures(n_components=33, random_state=0),
    "unpaired": MaskedFourierFeatures(n_components=20, paired=False, random_state=0),
    "fastfood": FastfoodFeatures(n_components=40, random_state=0),
    "learned": MaskedCERF(n_components=20, random_state=0),
    "blocked": BlockedCERF(n_components=20, random_state=0),
    "rbf_sampler": RBFSampler(gamma=0.1, n_components=20, random_state=0),
}


def rows(n_samples: int = 300, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=(n_samples, N_FEATURES))


@cache
def targets(kind: str) -> Any:
    """Targets of the default rows."""
    X = rows()
    three = (X[:, 0] * X[:, 1] > 0).astype(int) + (X[:, 2] > 0.5)
    return {
        "binary": X[:, 0] * X[:, 1] > 0,
        "multiclass": three + 3,
        "text": np.array(["*/ ??/", "é\n\"'", "a\\"])[three],
        "multilabel": np.column_stack([X[:, 0] > 0, X[:, 1] * X[:, 2] > 0]).astype(int),
        "number": X[:, 0] * X[:, 1],
        "numbers": np.column_stack([X[:, 0] * X[:, 1], 100.0 + X[:, 2]]),
    }[kind]


@cache
def predictor(activation: str, kind: str) -> Any:
    """Predictor with features of one kind, quickly trained."""
    chosen = CERFRegressor if kind.startswith("number") else CERFClassifier
    model = chosen(activation=activation, macs=200, effort=0.02, random_state=0)
    return model.fit(rows(), targets(kind))


def run(model: Any, X: Any, name: str = "X") -> list[Any]:
    """Outputs of a file, bytes or ModelProto in ONNX Runtime."""
    import onnxruntime

    if hasattr(model, "SerializeToString"):
        model = model.SerializeToString()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    given = model if isinstance(model, bytes) else str(model)
    session = onnxruntime.InferenceSession(given, options, providers=["CPUExecutionProvider"])
    feeds = X if isinstance(X, dict) else {name: X}
    return session.run(None, feeds)

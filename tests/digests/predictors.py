"""Configurations of predictors: classifier, regressor, rivals, and the comparison of methods."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

from cerflearn import frontier
from cerflearn.rivals import ALaCarte, BaNK, MultipleKernelLearning, RandomKitchenSinks
from digests import data, interface
from digests.data import Rows

Outputs = dict[str, Any]
SCORES = ("decision_function", "predict_proba")


def predictions(model: Any, rows: Rows) -> Outputs:
    """Everything that the model says of test rows: both dtypes, and a single row."""
    found: Outputs = {
        "predict": model.predict(rows.X_test),
        "predict one row": model.predict(rows.X_test[:1]),
        "score": model.score(rows.X_test, rows.y_test),
    }
    single = rows.X_test.astype(np.float32)
    for name in SCORES:
        if hasattr(model, name):
            found[name] = getattr(model, name)(rows.X_test)
    name = SCORES[0] if hasattr(model, SCORES[0]) else "predict"
    return found | {f"{name} float32": getattr(model, name)(single)}


def outputs(model: Any, rows: Rows) -> Outputs:
    """Map, head and predictions of a fitted predictor."""
    classes = {"classes": model.classes_} if hasattr(model, "classes_") else {}
    return {
        **interface.map_of(model),
        **interface.head_of(model),
        **interface.cost_of(model),
        **interface.parts_of(model),
        **classes,
        "gamma": model.gamma_,
        **predictions(model, rows),
    }


def classify(rows: Rows, *, sample_weight: Any = None, **keywords: Any) -> Outputs:
    """Fit a classifier."""
    model = interface.classifier(random_state=5, **keywords)
    return outputs(model.fit(rows.X, rows.y, sample_weight=sample_weight), rows)


def regress(rows: Rows, *, sample_weight: Any = None, **keywords: Any) -> Outputs:
    """Fit a regressor."""
    model = interface.regressor(random_state=6, **keywords)
    return outputs(model.fit(rows.X, rows.y, sample_weight=sample_weight), rows)


def random_weights(n_samples: int) -> Any:
    """Weights of rows, some of them zero."""
    rng = np.random.default_rng(8)
    return np.where(rng.random(n_samples) < 0.1, 0.0, rng.exponential(size=n_samples))


def named(rows: Rows) -> Rows:
    """Rows whose classes are words."""
    words = np.array(["ash", "birch", "cedar"])
    return Rows(rows.X, words[rows.y], rows.X_test, words[rows.y_test])


SETTINGS: dict[str, Any] = {
    "activation": "cosine", "n_components": 12, "alpha": 1e-3, "teacher": "kernel",
    "learn": "masks", "linear_part": True, "scaling": "robust", "frequency_scale": 2.0,
    "gamma": None, "n_knots": 17, "n_bins": None, "refit": None, "draw": 1, "n_resumed": 2,
    "macs": None,
}  # fmt: skip
DRAWN: dict[str, Any] = {"masks": "random", "refine": "supervised"}
LEARNED: dict[str, Any] = {"masks": "learned", "refine": "supervised"}
SELECTED: dict[str, Any] = {"refine": None}

CLASSIFIERS: dict[str, Callable[[], Outputs]] = {
    "classifier iris": lambda: classify(data.iris()),
    "classifier words": lambda: classify(named(data.iris()), macs=60),
    "classifier wine": lambda: classify(data.wine(), macs=200),
    "classifier binary": lambda: classify(data.cancer(), macs=100),
    "classifier binary float32": lambda: classify(data.cancer().astype("float32"), macs=100),
    "classifier binary sparse": lambda: classify(data.cancer().sparse(), macs=100),
    "classifier binary two threads": lambda: classify(data.cancer(), macs=100, n_jobs=2),
    "classifier very sparse": lambda: classify(
        data.very_sparse(), macs=150, alpha=1e-3, teacher="labels", **LEARNED
    ),
    "classifier normal": lambda: classify(data.normal(), macs=200),
    "classifier digits": lambda: classify(data.digits().head(250), macs=600),
    "classifier kernel": lambda: classify(
        data.digits().head(250), macs=500, teacher="kernel", alpha=1e-3, **LEARNED
    ),
    "classifier labels": lambda: classify(
        data.digits().head(250), macs=500, teacher="labels", **LEARNED
    ),
    "classifier labels two threads": lambda: classify(
        data.digits(), macs=500, teacher="labels", alpha=3e-3, n_jobs=2, **LEARNED
    ),
    "classifier labels one thread": lambda: classify(
        data.digits(), macs=500, teacher="labels", alpha=3e-3, **LEARNED
    ),
    "classifier relu": lambda: classify(data.wine(), macs=150, activation="relu", **LEARNED),
    "classifier cosine": lambda: classify(
        data.wine(), macs=150, activation="cosine", class_weight="balanced", **LEARNED
    ),
    "classifier tables": lambda: classify(data.wine(), macs=150, activation="table", **LEARNED),
    "classifier tables bytes": lambda: classify(
        data.cancer(), macs=100, activation="table", max_bytes=3_000, storage="int8", effort=0.5
    ),
    "classifier linear": lambda: classify(data.digits().head(250), macs=300, n_components=0),
    "classifier settings": lambda: classify(data.wine(), macs=150, settings=SETTINGS),
    "classifier taught": lambda: classify(
        data.wine(), macs=150, teacher=LogisticRegression(), effort=0.5
    ),
    "classifier random masks": lambda: classify(
        data.digits().head(250), macs=400, teacher="labels", alpha=1e-3, **DRAWN
    ),
    "classifier random masks gamma": lambda: classify(data.normal(), macs=150, gamma=0.05, **DRAWN),
    "classifier selected": lambda: classify(data.digits(), macs=600, **SELECTED),
    "classifier selected binary": lambda: classify(
        data.cancer().astype("float32"), macs=150, gamma="scale", **SELECTED
    ),
    "classifier selected one thread": lambda: classify(data.many_digits(), macs=400, **SELECTED),
    "classifier selected two threads": lambda: classify(
        data.many_digits(), macs=400, n_jobs=2, **SELECTED
    ),
    "classifier ridge": lambda: classify(data.wine(), macs=200, head="ridge", alpha=1e-3),
    "classifier ridge selected": lambda: classify(data.cancer(), macs=90, head="ridge", **SELECTED),
    "classifier svm": lambda: classify(data.wine(), macs=200, head="svm", gamma="median"),
    "classifier svm binary": lambda: classify(data.normal(), macs=100, head="svm", **SELECTED),
    "classifier svm_ovo": lambda: classify(data.digits(), macs=2500, head="svm_ovo", **SELECTED),
    "classifier svm_ovo learned": lambda: classify(
        data.iris(), macs=120, head="svm_ovo", alpha=1e-2, **LEARNED
    ),
    "classifier class weights": lambda: classify(
        data.iris(), macs=100, class_weight={0: 1.0, 1: 3.0, 2: 0.5}, alpha=0.01
    ),
    "classifier row weights": lambda: classify(
        data.normal(), macs=100, sample_weight=random_weights(400), alpha=0.01, gamma=0.1
    ),
    "classifier groups": lambda: classify(
        data.digits().head(250), macs=800, group_size=4, features_per_mask=2, alpha=3e-3
    ),
    "classifier groups selected": lambda: classify(
        data.digits(), macs=900, group_size=2, features_per_mask=4, **SELECTED
    ),
    "classifier 1400 digits": lambda: classify(data.many_digits(), macs=400, alpha=1e-3, **LEARNED),
    "classifier 1500 rows": lambda: classify(data.many_rows(1500, "classification"), macs=30),
    "classifier 1500 rows two threads": lambda: classify(
        data.many_rows(1500, "classification"), macs=30, n_jobs=2
    ),
    "classifier 7000 rows": lambda: classify(
        data.many_rows(7000, "classification"), macs=40, alpha=3e-4, **LEARNED
    ),
    "classifier 21000 rows": lambda: classify(
        data.many_rows(21000, "classification"), macs=40, effort=0.2
    ),
    "classifier 21000 rows two threads": lambda: classify(
        data.many_rows(21000, "classification"), macs=40, effort=0.2, n_jobs=2
    ),
    "classifier mini-batches": lambda: classify(
        data.many_values("classification"), macs=1000, effort=0.05, **LEARNED
    ),
}

REGRESSORS: dict[str, Callable[[], Outputs]] = {
    "regressor friedman": lambda: regress(data.friedman(), macs=150),
    "regressor friedman float32": lambda: regress(data.friedman().astype("float32"), macs=150),
    "regressor friedman sparse": lambda: regress(data.friedman().sparse(), macs=150),
    "regressor friedman two threads": lambda: regress(data.friedman(), macs=150, n_jobs=2),
    "regressor diabetes": lambda: regress(data.diabetes()),
    "regressor two targets": lambda: regress(data.two_targets(), macs=200, alpha=1e-3),
    "regressor ridge": lambda: regress(data.friedman(), macs=150, head="ridge", alpha=3e-3),
    "regressor ridge two targets": lambda: regress(
        data.two_targets(), macs=150, head="ridge", **SELECTED
    ),
    "regressor selected": lambda: regress(data.friedman(), macs=200, gamma=0.1, **SELECTED),
    "regressor random masks": lambda: regress(data.friedman(), macs=150, alpha=1e-3, **DRAWN),
    "regressor kernel": lambda: regress(
        data.diabetes(), macs=100, teacher="kernel", alpha=1e-2, **LEARNED
    ),
    "regressor relu": lambda: regress(data.friedman(), macs=150, activation="relu", alpha=1e-3),
    "regressor tables": lambda: regress(data.friedman(), macs=150, activation="table", alpha=1e-3),
    "regressor linear": lambda: regress(data.friedman(), macs=8, n_components=0),
    "regressor more effort": lambda: regress(data.friedman().head(100), macs=60, effort=2.0),
    "regressor row weights": lambda: regress(
        data.friedman(), macs=100, sample_weight=random_weights(300), alpha=1e-3
    ),
    "regressor groups": lambda: regress(
        data.friedman(), macs=150, group_size=2, features_per_mask=2, alpha=1e-3, gamma="scale"
    ),
    "regressor 1500 rows": lambda: regress(data.many_rows(1500, "regression"), macs=40),
    "regressor 1500 rows two threads": lambda: regress(
        data.many_rows(1500, "regression"), macs=40, n_jobs=2
    ),
    "regressor 7000 rows": lambda: regress(
        data.many_rows(7000, "regression"), macs=40, alpha=3e-4, **LEARNED
    ),
    "regressor 21000 rows": lambda: regress(
        data.many_rows(21000, "regression"), macs=40, effort=0.2
    ),
    "regressor mini-batches": lambda: regress(
        data.many_values("regression"), macs=1000, effort=0.05, early_stopping=False, **LEARNED
    ),
}


def fit_rival(model: Any, rows: Rows, *names: str) -> Outputs:
    """Fit one of the paper's rivals; ``names`` are attributes of its own."""
    model.fit(rows.X, rows.y)
    own = {name: getattr(model, f"{name}_") for name in names}
    mapped = interface.map_of(model) if hasattr(model, "feature_map_") else {}
    return {
        **mapped,
        **interface.head_of(model),
        **interface.cost_of(model),
        **own,
        "gamma": model.gamma_,
        **predictions(model, rows),
    }


RIVALS: dict[str, Callable[[], Outputs]] = {
    "kitchen sinks": lambda: fit_rival(
        RandomKitchenSinks(n_components=60, random_state=0), data.wine(), "alpha"
    ),
    "kitchen sinks bound": lambda: fit_rival(
        RandomKitchenSinks(n_components=40, bound=20.0, gamma="scale", random_state=0),
        data.cancer().astype("float32"),
    ),
    "mkl": lambda: fit_rival(
        MultipleKernelLearning(max_iter=10, random_state=0),
        data.wine(), "kernel_weights", "duality_gap", "alpha", "n_iter",
    ),
    "mkl binary": lambda: fit_rival(
        MultipleKernelLearning(single_inputs=True, max_iter=5, random_state=0),
        data.normal().head(150), "kernel_weights", "duality_gap", "alpha", "n_iter",
    ),
    "a la carte": lambda: fit_rival(
        ALaCarte(n_components=64, n_groups=2, max_iter=5, random_state=0),
        data.wine(), "scales", "centres", "weights", "noise", "log_evidence", "n_iter",
    ),
    "bank": lambda: fit_rival(
        BaNK(n_components=40, n_sweeps=4, n_average=2, random_state=0),
        data.iris(), "assignments", "centres", "variances", "noise", "acceptance",
    ),
}  # fmt: skip


def compare(rows: Rows, macs: list[int], **keywords: Any) -> Outputs:
    """Scores, MACs and sizes of all methods; times are left out."""
    found = frontier(rows.X, rows.y, macs, **keywords)
    return {
        f"{row['method']} {row['budget']}": np.array(
            [np.nan if row[name] is None else row[name] for name in ("macs", "score", "size")]
        )
        for row in found.rows
    }


COMPARISONS: dict[str, Callable[[], Outputs]] = {
    "frontier iris": lambda: compare(data.iris(), [40, 120]),
    "frontier friedman": lambda: compare(data.friedman().head(120), [60], random_state=1),
    "frontier 1500 rows": lambda: compare(data.many_rows(1500, "classification"), [30]),
}

CONFIGURATIONS = CLASSIFIERS | REGRESSORS | RIVALS | COMPARISONS

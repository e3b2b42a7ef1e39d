"""What a fitted estimator costs: ours, and the scikit-learn estimators it is compared with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from cerflearn.features.cost import Cost, stored_cost


def cost(estimator: Any) -> Cost:
    r"""Count what one row costs in a fitted estimator, and what a deployed model stores.

    Parameters
    ----------
    estimator : estimator
        Fitted: any estimator of cerflearn, or of scikit-learn a linear model
        (anything with ``coef_``), ``MLPClassifier``, ``MLPRegressor``, ``RBFSampler``,
        ``Nystroem``, ``StandardScaler``, a ``Pipeline`` of these, or a search or wrapper with a
        fitted estimator inside.

    Returns
    -------
    Cost
        With ``macs``, ``trig``, ``n_parameters`` and ``n_bytes``. Costs can be added.

    Notes
    -----
    A dense projection costs n_features MACs, a masked one its active inputs, a Fastfood block of
    padded size d :math:`2 d \log_2 d + 3 d`, Nystroem :math:`D K + K^2`. A linear head costs
    inputs times scores (a binary classifier has one score, one-against-one C (C - 1) / 2), a
    scaler one MAC an input. Biases are free, and so are the nonlinearities of an MLP and of
    Nystroem's kernel; cosines and sines are counted apart. ``RandomizedKernelPCA`` and
    ``KernelAutoencoder`` count ``transform``, :math:`K J` beside the map; turning J codes back
    into D inputs costs :math:`J D` more. ``RandomizedKernelCCA`` counts the view X, and
    ``KernelImputer`` all stages of a row.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import RidgeClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from cerflearn import RandomFourierFeatures, cost
    >>> X = np.random.default_rng(0).normal(size=(60, 5))
    >>> model = make_pipeline(RandomFourierFeatures(n_components=40), RidgeClassifier())
    >>> cost(model.fit(X, X[:, 0] > 0))
    Cost(macs=140, trig=40, n_parameters=142, n_bytes=568)
    """
    inner = _inner(estimator)
    if inner is not None:
        return cost(inner)
    if isinstance(estimator, Pipeline):
        steps = (step for _, step in estimator.steps if step is not None)
        return sum((cost(step) for step in steps if step != "passthrough"), start=Cost())
    check_is_fitted(estimator)
    if hasattr(estimator, "_count_cost"):
        counted: Cost = estimator._count_cost()
        return counted
    if isinstance(estimator, StandardScaler):
        return _scaler(estimator)
    for attribute, count in _COUNTERS.items():
        if hasattr(estimator, attribute):
            return count(estimator)
    raise ValueError(
        f"estimator={estimator!r} cannot be counted: pass a feature map, a linear model, an MLP, "
        "RBFSampler, Nystroem, StandardScaler or a Pipeline of these."
    )


def _inner(estimator: Any) -> Any:
    """Return the estimator that does the work in a search (best) or in a frozen wrapper."""
    if hasattr(estimator, "best_estimator_"):
        return estimator.best_estimator_
    return estimator.estimator if type(estimator).__name__ == "FrozenEstimator" else None


def _feature_map(estimator: Any) -> Cost:
    counted: Cost = estimator.feature_map_.cost()
    return counted + _linear(estimator) if hasattr(estimator, "coef_") else counted


def _linear(estimator: Any) -> Cost:
    coef = estimator.coef_
    n_intercepts = np.size(estimator.intercept_) if getattr(estimator, "fit_intercept", True) else 0
    if issparse(coef):
        # A stored weight, its input, and where each row of weights starts.
        n_indices = coef.nnz + coef.shape[0] + 1
        return stored_cost(macs=coef.nnz, n_parameters=coef.nnz + n_intercepts, n_indices=n_indices)
    return stored_cost(macs=coef.size, n_parameters=coef.size + n_intercepts)


def _perceptron(estimator: Any) -> Cost:
    macs = sum(weights.size for weights in estimator.coefs_)
    n_biases = sum(biases.size for biases in estimator.intercepts_)
    return stored_cost(macs=macs, n_parameters=macs + n_biases)


def _rbf_sampler(estimator: Any) -> Cost:
    n_features, n_outputs = estimator.random_weights_.shape
    macs = n_features * n_outputs
    return stored_cost(macs=macs, trig=n_outputs, n_parameters=macs + n_outputs + 1)


def _nystroem(estimator: Any) -> Cost:
    macs = estimator.components_.size + estimator.normalization_.size
    # The coefficient of the kernel is stored too.
    return stored_cost(macs=macs, n_parameters=macs + 1)


def _scaler(estimator: Any) -> Cost:
    n_features = int(estimator.n_features_in_)
    scales, shifts = estimator.scale_ is not None, estimator.mean_ is not None
    # x * scale + shift is one operation; a scaler that does nothing costs nothing.
    used = n_features if scales or shifts else 0
    return stored_cost(macs=used, n_parameters=n_features * (int(scales) + int(shifts)))


# By the attribute that only such estimators have.
_COUNTERS: dict[str, Callable[[Any], Cost]] = {
    "feature_map_": _feature_map,
    "random_weights_": _rbf_sampler,
    "normalization_": _nystroem,
    "coefs_": _perceptron,
    "coef_": _linear,
}

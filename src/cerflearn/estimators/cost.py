"""What a fitted estimator costs: ours, and the scikit-learn estimators it is compared with."""

from __future__ import annotations

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from cerflearn.estimators.sklearn_cost import count, parts_of
from cerflearn.features.base import FeatureMap
from cerflearn.features.cost import Cost


def cost(estimator: BaseEstimator) -> Cost:
    r"""Count what one row costs in a fitted estimator, and what a deployed model stores.

    Parameters
    ----------
    estimator : estimator
        Fitted: any estimator of cerflearn; or of scikit-learn a linear model (anything with
        ``coef_``), ``MLPClassifier``, ``MLPRegressor``, ``HistGradientBoostingClassifier``,
        ``HistGradientBoostingRegressor``, ``RBFSampler``, ``Nystroem``, ``PCA``,
        ``TruncatedSVD``, a scaler, ``SimpleImputer``, an encoder of categories or a feature
        selector; or a ``Pipeline``, ``ColumnTransformer``, ``FeatureUnion``, one-against-rest,
        one-against-one, multi-output or calibrated combination of these, or a search over them.

    Returns
    -------
    Cost
        With ``macs``, ``trig``, ``n_parameters``, ``n_bytes`` and ``lookups``. Costs can be added.

    See Also
    --------
    frontier : Accuracy against these costs, with rivals.

    Notes
    -----
    A dense projection costs n_features MACs, a masked one its active inputs, a Fastfood block of
    padded size d :math:`2 d \log_2 d + 3 d`, Nystroem :math:`D K + K^2`. A linear head costs
    inputs times scores (a binary classifier has one score, one-against-one C (C - 1) / 2),
    principal components inputs times components, a scaler one MAC an input; imputers, encoders
    and selectors store numbers and multiply nothing. Biases are free, and so are the
    nonlinearities of an MLP and of Nystroem's kernel; cosines and sines are counted apart.
    ``RandomizedKernelPCA`` and ``KernelAutoencoder`` count ``transform``, :math:`K J` beside the
    map; turning J codes back into D inputs costs :math:`J D` more. ``RandomizedKernelCCA`` counts
    the view X, and ``KernelImputer`` all stages of a row.

    A boosted tree costs one comparison for each level of its longest path and one addition, which
    ``macs`` counts alike. It stores 4 bytes for a threshold or leaf value, 1 for an input (2 if
    there are more than 256) and 2 for each child of a node (4 from 65,536 nodes on).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import RidgeClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from cerflearn import RandomFourierFeatures, cost
    >>> X = np.random.default_rng(0).normal(size=(60, 5))
    >>> model = make_pipeline(RandomFourierFeatures(n_components=40), RidgeClassifier())
    >>> cost(model.fit(X, X[:, 0] > 0))
    Cost(macs=140, trig=40, n_parameters=142, n_bytes=568, lookups=0)
    """
    if hasattr(estimator, "fit"):
        check_is_fitted(estimator)
    parts = parts_of(estimator)
    if parts is not None:
        return sum((cost(part) for part in parts), start=Cost())
    counted: Cost | None
    if hasattr(estimator, "_count_cost"):
        counted = estimator._count_cost()
    elif isinstance(getattr(estimator, "feature_map_", None), FeatureMap):
        counted = estimator.feature_map_.cost()
    else:
        counted = count(estimator)
    if counted is None:
        raise ValueError(
            f"{estimator!r} cannot be counted: pass an estimator of cerflearn, or of scikit-learn "
            "a linear model, MLP, HistGradientBoosting, RBFSampler, Nystroem, PCA, scaler, "
            "SimpleImputer, encoder or feature selector, or a Pipeline, ColumnTransformer, "
            "FeatureUnion, one-against-rest, calibrated or searched combination of these."
        )
    return counted

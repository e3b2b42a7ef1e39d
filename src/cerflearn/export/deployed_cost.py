"""What a fitted estimator costs: operations of a row, and memory of its exports."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from sklearn.base import BaseEstimator

from cerflearn.estimators.cost import counted_cost
from cerflearn.export.c99.c_export import export_sizes
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
        With ``macs``, ``trig``, ``n_parameters``, ``n_bytes`` and ``lookups``; costs can be added.
        ``flash`` and ``ram`` are the bytes that :func:`export_c` would need for each arithmetic,
        from the code that lays out its arrays; they are empty if the estimator has no C.

    See Also
    --------
    frontier : Accuracy against these costs, with rivals.
    export_c : The C whose memory is counted.

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
    >>> sorted(cost(model).flash)
    ['float32', 'int16', 'int8']
    """
    return replace(counted_cost(estimator), _sizes=partial(_sizes_of, estimator))


def _sizes_of(estimator: BaseEstimator) -> dict[str, tuple[int, int]]:
    """Flash and RAM by arithmetic; nothing for what has no C."""
    try:
        found = export_sizes(estimator)
    except ValueError:
        return {}
    return {dtype: (size.flash_bytes, size.ram_bytes) for dtype, size in found.items()}

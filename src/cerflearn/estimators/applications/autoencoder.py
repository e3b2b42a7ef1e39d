"""Codes of a few numbers, and what they reconstruct."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from cerflearn._typing import FloatArray
from cerflearn.engine.blocks import BLOCK_ROWS
from cerflearn.estimators.applications.kernel_codes import KernelCodes
from cerflearn.estimators.input import read_data, to_dense


class KernelAutoencoder(KernelCodes):
    r"""Encode by kernel principal components, decode by ridge regression (section 4.2).

    .. math:: \mathrm{code}(x) = P_J^\top (\varphi(x) - \bar\varphi), \qquad
        \hat x = \bar x + B^\top \mathrm{code}(x),

    with the J principal directions :math:`P_J` of random features :math:`\varphi` and D ridge
    regressors, the columns of B. One pass over blocks of rows gives both; a code costs the MACs of
    the map and K J, a reconstruction J D more.

    Parameters
    ----------
    n_components : int, default=None
        J, the length of a code, at most the outputs of the map and the number of rows. None: 15, or
        fewer where there are fewer.
    feature_map : transformer, default=None
        :math:`\varphi`: a map of cerflearn or any transformer, which is cloned and fitted on X as
        a plain array. None: ``MaskedCERF(n_components=512)``. Its random state is drawn from
        ``random_state`` if it is None.
    alpha : float, default=1e-3
        Ridge of the regressors, in units of the mean variance of the codes: with :math:`\lambda`
        the variances, weights are divided by :math:`\lambda_j + \alpha \bar\lambda`.
    n_jobs : int, default=None
        Threads of ``fit`` and ``encode``: None is 1 unless in a ``joblib.parallel_config``, -1 all
        cores. The bits of the result do not depend on it.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the map.

    Attributes
    ----------
    feature_map_ : transformer
        The fitted map.
    components_ : ndarray of shape (n_components_, K)
        Rows of :math:`P_J^\top`.
    mean_ : ndarray of shape (K,)
        :math:`\bar\varphi`.
    explained_variance_, explained_variance_ratio_, singular_values_ : ndarray
        Of the codes, as in :class:`RandomizedKernelPCA`.
    inverse_weights_ : ndarray of shape (n_components_, n_features)
        B.
    inverse_mean_ : ndarray of shape (n_features,)
        :math:`\bar x`.
    moments_ : CrossMoments
        Means and second moments of features and inputs, which ``partial_fit`` adds to.
    n_components_, n_samples_seen_ : int
        Length of a code, and number of rows seen.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if all are strings.

    See Also
    --------
    RandomizedKernelPCA : The codes alone.
    KernelImputer : Completing inputs of which some are missing.

    Notes
    -----
    Decoding is linear, so linear PCA, whose codes are the best for it among linear ones, is hard to
    beat in squared error where its D J MACs are affordable: on digits it had a lower error with as
    many codes (``benchmarks/applications.py``).

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from cerflearn import KernelAutoencoder
    >>> X = load_digits().data / 16
    >>> model = KernelAutoencoder(random_state=0).fit(X[:1200])
    >>> model.reconstruct(X[1200:]).shape
    (597, 64)
    >>> model.score(X[1200:]) > -0.4
    True
    """

    def __init__(
        self,
        *,
        n_components: Any = None,
        feature_map: Any = None,
        alpha: Any = 1e-3,
        n_jobs: Any = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.feature_map = feature_map
        self.alpha = alpha
        self.n_jobs = n_jobs
        self.random_state = random_state

    def encode(self, X: Any) -> Any:
        """Codes of X; the same as ``transform``."""
        return self.transform(X)

    def decode(self, codes: Any) -> FloatArray:
        """Estimate inputs; the same as ``inverse_transform``."""
        inputs: FloatArray = self.inverse_transform(codes)
        return inputs

    def reconstruct(self, X: Any) -> FloatArray:
        r"""Return what the codes of X keep of it.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            :math:`\hat x` of each row, in the dtype of X.
        """
        return self.decode(np.asarray(self.transform(X)))

    def reconstruction_error(self, X: Any) -> float:
        r"""Normalised error: 0 is perfect, 1 no better than the mean of the training data.

        .. math:: \frac{\sum_n |x_n - \hat x_n|^2}{\sum_n |x_n - \bar x|^2}

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data, best such as ``fit`` has not seen.
        """
        check_is_fitted(self, "components_")
        checked = read_data(self, X, reset=False)
        estimates = self.reconstruct(X)
        lost = total = 0.0
        for start in range(0, len(estimates), BLOCK_ROWS):
            block = slice(start, start + BLOCK_ROWS)
            rows = to_dense(checked[block])
            lost += float(np.square(rows - estimates[block]).sum())
            total += float(np.square(rows - self.inverse_mean_).sum())
        if total == 0.0:  # every row is the mean itself
            return 0.0 if lost == 0.0 else float("inf")
        return lost / total

    def score(self, X: Any, y: Any = None) -> float:  # noqa: ARG002
        """Minus the normalised reconstruction error: higher is better, 0 at most.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data.
        y : Ignored
            Not used; present for API consistency.
        """
        return -self.reconstruction_error(X)

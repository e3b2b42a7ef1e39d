"""Kernel principal components in time that grows linearly with the number of rows."""

from __future__ import annotations

from typing import Any

from cerflearn._validation import check_flag
from cerflearn.estimators.applications.kernel_codes import KernelCodes


class RandomizedKernelPCA(KernelCodes):
    r"""Principal components of random features (section 4.2).

    .. math:: \varphi(X) - \bar\varphi = R \operatorname{diag}(\sigma) P^\top, \qquad
        \mathrm{code}(x) = P_J^\top (\varphi(x) - \bar\varphi),

    with the map :math:`\varphi` of K outputs and the J right singular vectors :math:`P_J` of the
    largest singular values. Where inner products of :math:`\varphi` approximate a kernel, this
    approximates its kernel PCA, in :math:`O(K^2 N)` instead of :math:`O(N^3)` operations. Rows are
    read in blocks: memory is :math:`O(K^2 + K D)`, never N x K.

    Parameters
    ----------
    n_components : int, default=None
        J, the number of codes, at most the outputs of the map and the number of rows. None: 15, or
        fewer where there are fewer.
    feature_map : transformer, default=None
        :math:`\varphi`: a map of cerflearn or any transformer, which is cloned and fitted on X as
        a plain array. None: ``MaskedCERF(n_components=512)``. Its random state is drawn from
        ``random_state`` if it is None.
    alpha : float, default=1e-3
        Ridge of the regression from codes to inputs, in units of the mean variance of the codes:
        with :math:`\lambda` the variances, weights are divided by
        :math:`\lambda_j + \alpha \bar\lambda`.
    fit_inverse_transform : bool, default=True
        Whether ``fit`` also finds that regression, in the same pass: :math:`O(K D N)` more
        operations.
    n_jobs : int, default=None
        Threads of ``fit`` and ``transform``: None is 1 unless in a ``joblib.parallel_config``,
        -1 all cores. The bits of the result do not depend on it.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the map.

    Attributes
    ----------
    feature_map_ : transformer
        The fitted map.
    components_ : ndarray of shape (n_components_, K)
        Rows of :math:`P_J^\top`, orthonormal; the largest entry of each is positive.
    mean_ : ndarray of shape (K,)
        :math:`\bar\varphi`.
    explained_variance_ : ndarray of shape (n_components_,)
        Variance of each code, :math:`\sigma^2 / (N - 1)`.
    explained_variance_ratio_ : ndarray of shape (n_components_,)
        Its share of the variance of all features.
    singular_values_ : ndarray of shape (n_components_,)
        :math:`\sigma`; their squares approximate the eigenvalues of the centred kernel matrix.
    inverse_weights_ : ndarray of shape (n_components_, n_features)
        From codes to inputs, if ``fit_inverse_transform``.
    inverse_mean_ : ndarray of shape (n_features,)
        Mean of the inputs, if ``fit_inverse_transform``.
    moments_ : CrossMoments
        Means and second moments of features and inputs, which ``partial_fit`` adds to.
    n_components_, n_samples_seen_ : int
        Number of codes, and of rows seen.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if all are strings.

    See Also
    --------
    KernelAutoencoder : The same codes, judged by what they reconstruct.
    sklearn.decomposition.KernelPCA : The exact N x N problem.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from cerflearn import MaskedCERF, RandomizedKernelPCA
    >>> X = load_digits().data / 16
    >>> pca = RandomizedKernelPCA(feature_map=MaskedCERF(macs=1000), random_state=0).fit(X)
    >>> codes = pca.transform(X)
    >>> codes.shape, pca.inverse_transform(codes).shape
    ((1797, 15), (1797, 64))
    """

    def __init__(
        self,
        *,
        n_components: Any = None,
        feature_map: Any = None,
        alpha: Any = 1e-3,
        fit_inverse_transform: Any = True,
        n_jobs: Any = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.feature_map = feature_map
        self.alpha = alpha
        self.fit_inverse_transform = fit_inverse_transform
        self.n_jobs = n_jobs
        self.random_state = random_state

    @property
    def _inverts(self) -> bool:
        return bool(self.fit_inverse_transform)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_flag("fit_inverse_transform", self.fit_inverse_transform)

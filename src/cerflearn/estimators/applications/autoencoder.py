"""Codes of a few numbers, and what they reconstruct."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np

from cerflearn._typing import FloatArray, MatrixLike, RandomStateLike
from cerflearn._validation import Constraint, NoEffect, OneOf, invalid
from cerflearn.engine.blocks import BLOCK_ROWS
from cerflearn.estimators.applications.inner_map import DEFAULT_CODES, Transformer
from cerflearn.estimators.applications.kernel_pca import RandomizedKernelPCA
from cerflearn.estimators.applications.trained_codes import BUDGET_EFFECTS
from cerflearn.estimators.components import CodeTargets, leading_components
from cerflearn.estimators.input import TrainingData, read_data, to_dense
from cerflearn.estimators.teachers import TeacherLike
from cerflearn.features.cost import Cost, stored_cost


class KernelAutoencoder(RandomizedKernelPCA):
    r"""Encode by kernel principal components, decode by ridge regression (section 4.2).

    .. math:: \mathrm{code}(x) = P_J^\top (\varphi(x) - \bar\varphi), \qquad
        \hat x = \bar x + B^\top \mathrm{code}(x),

    with the J principal directions :math:`P_J` of random features :math:`\varphi` and D ridge
    regressors, the columns of B. It is a :class:`RandomizedKernelPCA` that always has an inverse,
    with the method names of an autoencoder and the reconstruction error as score. One pass over
    blocks of rows gives codes and regressors; a code costs the MACs of the map and K J, a
    reconstruction J D more.

    Parameters
    ----------
    n_components : int, default=None
        J, the length of a code, at most the outputs of the map and the number of rows. None: 15, or
        fewer where there are fewer.
    feature_map : transformer, default=None
        :math:`\varphi`: a map of cerflearn or any transformer, which is cloned and fitted on X as
        a plain array. None: ``MaskedFourierFeatures(n_components=512)``. Its random state is drawn
        from ``random_state`` if it is None.
    alpha : float, default=1e-3
        Ridge penalty of the regressors, beside the mean squared error over rows, in units of the
        mean variance of the codes: with :math:`\lambda` the variances, weights are divided by
        :math:`\lambda_j + \alpha \bar\lambda`. With ``macs`` in units of the least variance of a
        direction of the codes, so that none of them is lost.
    n_jobs : int, default=None
        Threads of ``fit`` and ``encode``: None is 1 unless in a ``joblib.parallel_config``, -1 all
        cores. The bits of the result do not depend on it.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the map, and of training.
    macs : int, default=None
        Budget of operations of ``encode`` for one row. Codes are then those of a network within the
        budget, trained for ``objective``: cosines, relu features or tables, each of few inputs, and
        a sparse linear part, chosen on held-out rows; or, to reconstruct up to 2,048 inputs, sparse
        linear codes found by least squares. A feature costs its inputs and J. None: codes are exact
        components of ``feature_map``. Not with ``feature_map`` or ``partial_fit``.
    objective : {"reconstruction", "teacher"}, default="reconstruction"
        With ``macs``: codes from which a linear decoder gets the least squared error, which linear
        PCA has at J D operations; or the leading components of ``teacher``, with the decoder that
        suits them best. Only with ``macs``.
    teacher : {"rff", "nystroem", "kernel_pca"}, SpectralLaw or transformer, default="rff"
        Whose components the codes are, with ``objective="teacher"``; it may be large, as it is not
        kept. With a name: 1,024 random features, or up to 1,000 Nystroem features or kernel
        principal components, of the Gaussian kernel with ``gamma="scale"``.
    verbose : int, default=0
        Above 0: print what is trained, with ``macs``.

    Attributes
    ----------
    feature_map_ : transformer
        The fitted map; without ``macs``.
    components_ : ndarray of shape (n_components_, K)
        Rows of :math:`P_J^\top`, orthonormal; the largest entry of each is positive. Without
        ``macs``.
    mean_ : ndarray of shape (K,)
        :math:`\bar\varphi`; without ``macs``.
    encoder_ : Encoder
        The trained network, with ``macs``: a dataclass, see
        :class:`cerflearn.estimators.encoder.Encoder`.
    explained_variance_ : ndarray of shape (n_components_,)
        Variance of each code.
    explained_variance_ratio_ : ndarray of shape (n_components_,)
        Its share of the variance of all features, of all inputs (``objective="reconstruction"``)
        or of all columns of the teacher.
    singular_values_ : ndarray of shape (n_components_,)
        Root of N - 1 times the variance of each code.
    inverse_weights_ : ndarray of shape (n_components_, n_features)
        B.
    inverse_mean_ : ndarray of shape (n_features,)
        :math:`\bar x`.
    moments_ : CrossMoments
        Means and second moments of features and inputs, which ``partial_fit`` adds to, without
        ``macs``: a dataclass of arrays, see :class:`cerflearn.linalg.moments.CrossMoments`.
    encoder_cost_ : Cost
        Cost of ``encode``, as :func:`cerflearn.cost` counts it.
    decoder_cost_ : Cost
        Cost of ``decode``.
    n_components_ : int
        Length of a code.
    n_samples_seen_ : int
        Number of rows seen.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if all are strings.

    See Also
    --------
    RandomizedKernelPCA : The codes alone.
    KernelImputer : Completing inputs of which some are missing.
    sklearn.decomposition.PCA : Linear codes.

    Notes
    -----
    Decoding is linear, so linear PCA, whose codes are the best for it among linear ones, has a
    lower squared error than components of random features where its D J MACs are affordable.
    With ``macs``, codes come close to that error at a fraction of its operations: on digits of 400
    pixels within .1 % of it at a quarter of them, and within 2 % at a sixteenth
    (docs/encoders.md). Their directions span nearly the space of linear PCA's, rotated to few large
    entries, so single codes have no order but that of their variances.

    References
    ----------
    Wangni, Zhuo and Zhu, "Learning Random Fourier Features by Hybrid Constrained
    Optimization".

    D. Lopez-Paz, S. Sra, A. Smola, Z. Ghahramani and B. Schoelkopf, "Randomized Nonlinear
    Component Analysis", ICML 2014.

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

    Within a budget, of a quarter of the operations of linear PCA:

    >>> from cerflearn import cost
    >>> cheap = KernelAutoencoder(macs=240, random_state=0).fit(X[:1200])
    >>> cost(cheap).macs <= 240, cheap.score(X[1200:]) > model.score(X[1200:])
    (True, True)
    >>> cheap.decoder_cost_.macs
    960
    """

    _constraints: ClassVar[dict[str, Constraint]] = RandomizedKernelPCA._constraints | {
        "objective": OneOf(("reconstruction", "teacher"))
    }
    _without_effect: ClassVar[tuple[NoEffect, ...]] = (
        *BUDGET_EFFECTS,
        NoEffect(
            "objective",
            "macs",
            lambda estimator: estimator.macs is None,
            "exact components of feature_map are not trained; pass macs",
        ),
        NoEffect(
            "teacher",
            "objective",
            lambda estimator: estimator.objective == "reconstruction",
            "inputs are reconstructed, whatever a teacher makes of them; pass objective='teacher'",
        ),
    )

    def __init__(
        self,
        *,
        n_components: int | None = None,
        feature_map: Transformer | None = None,
        alpha: float = 1e-3,
        n_jobs: int | None = None,
        random_state: RandomStateLike = None,
        macs: int | None = None,
        objective: Literal["reconstruction", "teacher"] = "reconstruction",
        teacher: TeacherLike = "rff",
        verbose: int = 0,
    ) -> None:
        super().__init__(
            n_components=n_components,
            feature_map=feature_map,
            alpha=alpha,
            n_jobs=n_jobs,
            random_state=random_state,
            macs=macs,
            teacher=teacher,
            verbose=verbose,
        )
        self.objective = objective

    @property
    def encoder_cost_(self) -> Cost:
        """Cost of ``encode``, as :func:`cerflearn.cost` counts it."""
        self._check_fitted()
        return self._count_cost()

    @property
    def decoder_cost_(self) -> Cost:
        """Cost of ``decode``: codes times inputs."""
        self._check_fitted()
        n_weights = self.inverse_weights_.size
        return stored_cost(macs=n_weights, n_parameters=n_weights + len(self.inverse_mean_))

    def _targets(self, data: TrainingData, rng: np.random.Generator, n_threads: int) -> CodeTargets:
        if self.objective == "teacher":
            return super()._targets(data, rng, n_threads)
        most = min(data.X.shape)
        if self.n_components is not None and self.n_components > most:
            raise invalid(
                "n_components",
                self.n_components,
                f"at most {most}, the smaller of n_samples={data.n_samples} and the "
                f"{data.X.shape[1]} inputs",
            )
        n_codes = min(int(self.n_components or DEFAULT_CODES), most)
        found = leading_components(data.dense, data.n_samples, n_codes, n_threads, rotated=True)
        return replace(found, of_inputs=True)

    def encode(self, X: MatrixLike) -> Any:
        """Compute codes of X; the same as ``transform``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data; float32 and float64 are kept, other types become float64.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            Or the container chosen by ``set_output``.
        """
        return self.transform(X)

    def decode(self, codes: MatrixLike) -> FloatArray:
        """Estimate inputs from codes; the same as ``inverse_transform``.

        Parameters
        ----------
        codes : array-like of shape (n_samples, n_components)
            Codes.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            Estimated inputs, in the dtype of the codes.
        """
        inputs: FloatArray = self.inverse_transform(codes)
        return inputs

    def reconstruct(self, X: MatrixLike) -> FloatArray:
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

    def reconstruction_error(self, X: MatrixLike) -> float:
        r"""Compute the normalised error: 0 is perfect, 1 no better than the mean in training.

        .. math:: \frac{\sum_n |x_n - \hat x_n|^2}{\sum_n |x_n - \bar x|^2}

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data, best such as ``fit`` has not seen.

        Returns
        -------
        float
            Not negative; infinite if every row is the mean but is not reconstructed.
        """
        self._check_fitted()
        checked = read_data(self, X, reset=False)
        estimates = self.reconstruct(X)
        largest = max(float(checked.max()), -float(checked.min()))
        largest = max(largest, float(np.abs(self.inverse_mean_).max()))
        # By a power of two, which costs no digits, so that squares are numbers at any scale.
        exponent = -int(np.frexp(largest)[1])
        mean = np.ldexp(self.inverse_mean_, exponent)
        lost = total = 0.0
        for start in range(0, len(estimates), BLOCK_ROWS):
            block = slice(start, start + BLOCK_ROWS)
            rows = np.ldexp(to_dense(checked[block]), exponent)
            guesses = np.ldexp(estimates[block].astype(np.float64, copy=False), exponent)
            lost += float(np.square(rows - guesses).sum())
            total += float(np.square(rows - mean).sum())
        if total == 0.0:  # every row is the mean itself
            return 0.0 if lost == 0.0 else float("inf")
        return lost / total

    def score(self, X: MatrixLike, y: Any = None) -> float:  # noqa: ARG002
        """Return minus the normalised reconstruction error: higher is better, 0 at most.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data.
        y : Ignored
            Not used; present for API consistency.

        Returns
        -------
        float
            Minus :meth:`reconstruction_error`.
        """
        return -self.reconstruction_error(X)

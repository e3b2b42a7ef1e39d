"""Multiple kernel learning: a convex combination of kernels on exact Gram matrices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.linalg import LinAlgError, cho_solve
from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted

from cerflearn._typing import Float64Array, FloatArray, IntArray, RandomStateLike
from cerflearn._validation import (
    Constraint,
    Flag,
    NoEffect,
    Number,
    Passes,
    Whole,
    check_number,
    invalid,
)
from cerflearn.features.cost import Cost, stored_cost
from cerflearn.linalg.distances import squared_distances
from cerflearn.rivals._base import (
    ALPHA_CONSTRAINT,
    GAMMA_CONSTRAINT,
    RivalClassifier,
    RivalData,
    RivalGamma,
    choose_gamma,
)
from cerflearn.rivals._simplex import Dual, learn_weights

MOST_NUMBERS = 2**27
"""Entries of all Gram matrices together, 1 GiB; more rows are refused."""

_MKL_ALPHAS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)  # beside a mean diagonal of one
_ALPHA_ROWS = 300  # on which alpha is chosen and the weights start
_ALPHA_TOL, _ALPHA_STEPS = 1e-2, 10
_BLOCK_NUMBERS = 2**21  # distances at a time in prediction


def _check_widths(name: str, widths: Any) -> None:
    must_be = "a sequence of positive numbers, at least one"
    if isinstance(widths, str) or not np.iterable(widths) or not len(list(widths)):
        raise invalid(name, widths, must_be)
    for width in widths:
        check_number(name, width, must_be, above=0.0, at_most=1e100)


def _has_one_kernel(estimator: Any) -> bool:
    return not estimator.single_inputs and len(list(estimator.widths)) == 1


_ONE_KERNEL = "there is one kernel, whose weight is 1; pass more widths or single_inputs=True"


class MultipleKernelLearning(RivalClassifier):
    r"""Kernel ridge regression whose kernel is a learned convex combination.

    .. math:: \min_{d \ge 0,\, \sum_m d_m = 1} \; \min_f \;
              \tfrac1N \sum_n |t_n - \textstyle\sum_m f_m(x_n) - a|^2
              + \frac{\alpha}{N} \sum_m \frac{|f_m|^2_{\mathcal H_m}}{d_m}

    over Gaussian kernels :math:`k_m = \exp(-\gamma_m |x - y|^2)` of standardised inputs, centred
    and scaled to unit variance in their feature spaces.
    Baseline of the comparison in Table 4, not part of the method.

    Parameters
    ----------
    gamma : {"cv", "scale", "median"} or float, default="cv"
        Coefficient that ``widths`` are multiples of; ``"cv"``: the best single kernel by the
        leave-one-out error of kernel ridge regression on 500 training rows.
    widths : sequence of float, default=(1/64, 1/16, 1/4, 1)
        Each gives a kernel of all inputs, with coefficient ``widths[m] * gamma``. The objective
        prefers narrow kernels, which fit any training rows: leave out those that are too narrow.
    single_inputs : bool, default=False
        Also a kernel of each input alone, with coefficient n_features * gamma.
    alpha : float or "auto", default="auto"
        Penalty of the squared norm beside the mean squared error over rows, in units of the mean
        variance of the N principal features of the training rows: 1 / N, since kernels have unit
        variance. ``"auto"`` by leave-one-out error on 300 training rows.
    tol : float, default=1e-4
        Duality gap to stop at, relative to the objective. No effect with one kernel.
    max_iter : int, default=50
        Most Newton steps. No effect with one kernel.
    random_state : int, RandomState, Generator or None, default=None
        Picks the rows that choose gamma and alpha, and on which the weights start.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels.
    kernel_weights_ : ndarray of shape (n_kernels,)
        d: not negative, with sum one; kernels of all inputs first.
    duality_gap_ : float
        Relative gap at the end; zero where d is optimal.
    head_coef_ : ndarray of shape (n_scores, n_samples)
        Weights of the kernel's values at the training rows; one score for two classes.
    head_intercept_ : ndarray of shape (n_scores,)
        Intercepts.
    gamma_ : float
        Coefficient that ``widths`` are multiples of, as chosen.
    alpha_ : float
        Penalty, as chosen: passed as ``alpha`` it gives the same model.
    n_iter_ : int
        Newton steps.
    n_macs_ : int
        MACs of one row.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if all are strings.

    See Also
    --------
    RandomKitchenSinks : Random features of one kernel.
    ALaCarte : A learned kernel, expanded by Fastfood.
    BaNK : A sampled kernel.

    Notes
    -----
    SimpleMKL solves this problem for the hinge loss by reduced gradients; here the loss is
    squared, so that the inner problem is linear and second derivatives come with it, and several
    scores share d. It keeps all training rows: one row costs :math:`N D` MACs for the distances,
    :math:`N M` for the sum over the M kernels with weight and N a score; exponentials are free,
    as those of Nystroem. Gram matrices may have :math:`2^{27}` entries in all: 5,792 rows for
    four kernels.

    References
    ----------
    A. Rakotomamonjy, F. Bach, S. Canu and Y. Grandvalet, "SimpleMKL", JMLR 2008. Normalisation
    of the kernels: M. Kloft, U. Brefeld, S. Sonnenburg and A. Zien, "lp-norm multiple kernel
    learning", JMLR 2011.
    Wangni, Zhuo and Zhu, "Learning Random Fourier Features by Hybrid Constrained
    Optimization" (Table 4).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from cerflearn.rivals import MultipleKernelLearning
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MultipleKernelLearning(random_state=0).fit(X, y)
    >>> bool(abs(model.kernel_weights_.sum() - 1) < 1e-12), model.score(X, y) > 0.95
    (True, True)
    """

    _constraints: ClassVar[dict[str, Constraint]] = {
        "gamma": GAMMA_CONSTRAINT,
        "widths": Passes(_check_widths),
        "single_inputs": Flag(),
        "alpha": ALPHA_CONSTRAINT,
        "tol": Number("a positive number", above=0.0),
        "max_iter": Whole("a positive integer"),
    }
    _without_effect: ClassVar[tuple[NoEffect, ...]] = (
        NoEffect("tol", "widths", _has_one_kernel, _ONE_KERNEL),
        NoEffect("max_iter", "widths", _has_one_kernel, _ONE_KERNEL),
    )

    def __init__(
        self,
        *,
        gamma: RivalGamma = "cv",
        widths: Sequence[float] = (1 / 64, 1 / 16, 1 / 4, 1.0),
        single_inputs: bool = False,
        alpha: float | Literal["auto"] = "auto",
        tol: float = 1e-4,
        max_iter: int = 50,
        random_state: RandomStateLike = None,
    ) -> None:
        self.gamma = gamma
        self.widths = widths
        self.single_inputs = single_inputs
        self.alpha = alpha
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def _fit_rows(self, data: RivalData, rng: np.random.Generator) -> None:
        self._check_rows(*data.X.shape)
        self.gamma_ = choose_gamma(self.gamma, data, rng)
        self._scaling, self._rows = data.scaling, data.X
        grams = np.stack(list(self._kernels(data.X)))
        means = grams.mean(axis=1)  # (n_kernels, n_samples)
        _centre(grams, means)
        scale = _unit_variance(grams)
        targets = data.targets - data.targets.mean(axis=0)
        rows = np.sort(rng.permutation(len(targets))[:_ALPHA_ROWS])
        dual = self._learn(grams, targets, rows)
        self.kernel_weights_, self.duality_gap_ = dual.weights, dual.gap
        # Coefficients sum to zero, so that of the centring only a constant is left.
        self._mixture = dual.weights / scale
        self.head_coef_ = np.ascontiguousarray(dual.coef.T)
        self.head_intercept_ = data.targets.mean(axis=0) - (self._mixture @ means) @ dual.coef
        self._calibrate(data, data.targets - _left_out_errors(dual, self.alpha_))

    def _learn(self, grams: Float64Array, targets: Float64Array, rows: IntArray) -> Dual:
        """Choose alpha on some rows, and learn the weights of the kernels on all."""
        alphas = _MKL_ALPHAS if isinstance(self.alpha, str) else (float(self.alpha),)
        tol, max_iter = float(self.tol), int(self.max_iter)
        try:
            self.alpha_, start = _choose_alpha(grams, targets, rows, alphas)
            dual, self.n_iter_ = learn_weights(
                grams, targets, self.alpha_, start, tol=tol, max_iter=max_iter
            )
        except LinAlgError:
            # Gram matrices have no negative eigenvalues but those of rounding.
            raise ValueError(
                f"The kernels of X cannot be weighted: rounding exceeds alpha={self.alpha!r}. "
                "Drop or clip rows of X that are far from all others, beside which the distances "
                "of the others are lost to rounding, or pass a greater alpha."
            ) from None
        return dual

    def _check_rows(self, n_samples: int, n_features: int) -> None:
        n_kernels = len(list(self.widths)) + (n_features if self.single_inputs else 0)
        most = int(np.sqrt(MOST_NUMBERS / n_kernels))
        if n_samples > most:
            raise ValueError(
                f"n_samples={n_samples} is not valid: the Gram matrices of {n_kernels} kernels "
                f"may have {most} rows. Fit a sample of the rows, pass fewer widths, or use "
                "RandomKitchenSinks."
            )

    def _kernels(self, X: Float64Array) -> Iterator[Float64Array]:
        """Gram matrices (n_samples, n_rows) of standardised X and the training rows, in turn."""
        distances = squared_distances(X, self._rows)
        for width in self.widths:
            yield np.exp(-float(width) * self.gamma_ * distances)
        if self.single_inputs:
            gamma = self.gamma_ * X.shape[1]
            for column, row in zip(X.T, self._rows.T, strict=True):
                yield np.exp(-gamma * np.square(column[:, None] - row))

    def _raw_scores(self, X: Any) -> FloatArray:
        dense = (X.toarray() if issparse(X) else X).astype(np.float64)
        n_rows = max(1, _BLOCK_NUMBERS // len(self._rows))
        scores = np.empty((len(dense), len(self.head_coef_)))
        for first in range(0, len(dense), n_rows):
            part = slice(first, first + n_rows)
            kernel = np.zeros((len(dense[part]), len(self._rows)))
            scaled = np.asarray(self._scaling.apply(dense[part]), dtype=np.float64)
            kernels = self._kernels(scaled)
            for weight, gram in zip(self._mixture, kernels, strict=True):
                kernel += weight * gram
            scores[part] = kernel @ self.head_coef_.T + self.head_intercept_
        return scores.astype(X.dtype, copy=False)

    def _count_cost(self) -> Cost:
        check_is_fitted(self, "head_coef_")
        n_rows, n_features = self._rows.shape
        used = self.kernel_weights_ > 0.0
        # One array is used by the kernels of all inputs and by those of single inputs.
        macs = n_features + n_rows * (n_features + int(used.sum()) + len(self.head_coef_))
        n_numbers = self._rows.size + self.head_coef_.size + self.head_intercept_.size
        return stored_cost(macs=macs, n_parameters=n_numbers + 2 * n_features + 2 * int(used.sum()))


def _centre(grams: Float64Array, means: Float64Array) -> None:
    """Centre Gram matrices in their feature spaces, in place."""
    grams -= means[:, None, :]
    grams -= means[:, :, None]
    grams += means.mean(axis=1)[:, None, None]


def _unit_variance(grams: Float64Array) -> Float64Array:
    """Divide Gram matrices by their mean diagonals, (n_kernels,), in place; 1 where it is 0."""
    scale = np.einsum("mii->m", grams) / grams.shape[1]
    scale = np.where(scale > 1e-12, scale, 1.0)  # a kernel that is constant on the rows
    grams /= scale[:, None, None]
    return scale


def _choose_alpha(
    grams: Float64Array, targets: Float64Array, rows: IntArray, alphas: tuple[float, ...]
) -> tuple[float, Float64Array]:
    """Penalty of the least leave-one-out error on some rows, and weights to start from.

    The weights do not depend on the other penalties: a chosen one, given, leads to the same model.
    """
    even = np.full(len(grams), 1.0 / len(grams))
    part = grams[:, rows[:, None], rows]
    _centre(part, part.mean(axis=1))
    centred = targets[rows] - targets[rows].mean(axis=0)
    best: tuple[float, float, Float64Array] | None = None
    for alpha in sorted(alphas, reverse=True):
        dual, _ = learn_weights(part, centred, alpha, even, tol=_ALPHA_TOL, max_iter=_ALPHA_STEPS)
        error = float(np.square(_left_out_errors(dual, alpha)).sum())
        if best is None or error < best[0]:
            best = (error, alpha, dual.weights)
    assert best is not None
    # Newton steps leave the border of the simplex, but start better a little inside it.
    return best[1], 0.9 * best[2] + 0.1 * even


def _left_out_errors(dual: Dual, alpha: float) -> Float64Array:
    r"""Errors (n_samples, n_scores) of rows, each by a fit without it.

    Residuals :math:`\alpha c` of coefficients c over one minus the diagonal of the hat matrix,
    which for centred kernels and an intercept is :math:`\alpha A^{-1}_{nn} - 1 / N`.
    """
    n_samples = len(dual.coef)
    inverse = cho_solve(dual.factor, np.eye(n_samples), check_finite=False)
    remaining = alpha * np.diag(inverse) - 1.0 / n_samples
    errors: Float64Array = alpha * dual.coef / np.maximum(remaining, 1e-9)[:, None]
    return errors

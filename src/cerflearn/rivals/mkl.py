"""Multiple kernel learning: a convex combination of kernels on exact Gram matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import cho_solve
from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted

from cerflearn._typing import Float64Array, FloatArray
from cerflearn._validation import check_flag, check_integer, check_number, invalid
from cerflearn.features.cost import Cost, stored_cost
from cerflearn.linalg.distances import squared_distances
from cerflearn.rivals._base import RivalClassifier, Training, check_gamma, choose_gamma
from cerflearn.rivals._simplex import Dual, learn_weights

MOST_NUMBERS = 2**27
"""Entries of all Gram matrices together, 1 GiB; more rows are refused."""

_RIDGES = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)  # beside a mean diagonal of one
_CHOICE_ROWS = 300
_CHOICE_TOL = 1e-2
_BLOCK_NUMBERS = 2**21  # distances at a time in prediction


class MultipleKernelLearning(RivalClassifier):
    r"""Kernel ridge regression whose kernel is a learned convex combination.

    .. math:: \min_{d \ge 0,\, \sum_m d_m = 1} \; \min_f \;
              \tfrac12 \sum_m \frac{|f_m|^2_{\mathcal H_m}}{d_m}
              + \tfrac1{2 \lambda} \sum_n |t_n - \textstyle\sum_m f_m(x_n) - a|^2

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
        :math:`\lambda`; ``"auto"`` by leave-one-out error on 300 training rows.
    tol : float, default=1e-4
        Duality gap to stop at, relative to the objective.
    max_iter : int, default=50
        Most Newton steps.
    random_state : int, RandomState, Generator or None, default=None
        Picks the rows that choose gamma and the penalty.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels.
    kernel_weights_ : ndarray of shape (n_kernels,)
        d: not negative, with sum one; kernels of all inputs first.
    duality_gap_ : float
        Relative gap at the end; zero where d is optimal.
    coef_, intercept_ : ndarray of shape (n_scores, n_samples) and (n_scores,)
        Weights of the training rows; one score for two classes.
    gamma_, alpha_ : float
        As chosen.
    n_iter_ : int
        Newton steps.
    n_macs_ : int
        MACs of one row.

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

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from cerflearn.rivals import MultipleKernelLearning
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MultipleKernelLearning(random_state=0).fit(X, y)
    >>> bool(abs(model.kernel_weights_.sum() - 1) < 1e-12), model.score(X, y) > 0.95
    (True, True)
    """

    def __init__(
        self,
        *,
        gamma: Any = "cv",
        widths: Any = (1 / 64, 1 / 16, 1 / 4, 1.0),
        single_inputs: Any = False,
        alpha: Any = "auto",
        tol: Any = 1e-4,
        max_iter: Any = 50,
        random_state: Any = None,
    ) -> None:
        self.gamma = gamma
        self.widths = widths
        self.single_inputs = single_inputs
        self.alpha = alpha
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def _check_parameters(self) -> None:
        check_gamma(self.gamma)
        must_be = "a sequence of positive numbers, at least one"
        if isinstance(self.widths, str) or not np.iterable(self.widths):
            raise invalid("widths", self.widths, must_be)
        if not len(list(self.widths)):
            raise invalid("widths", self.widths, must_be)
        for width in self.widths:
            check_number("widths", width, must_be, above=0.0, at_most=1e100)
        check_flag("single_inputs", self.single_inputs)
        if not (isinstance(self.alpha, str) and self.alpha == "auto"):
            check_number("alpha", self.alpha, "a positive number or 'auto'", above=0.0)
        check_number("tol", self.tol, "a positive number", above=0.0)
        check_integer("max_iter", self.max_iter, "a positive integer")

    def _fit_training(self, training: Training, rng: np.random.Generator) -> None:
        self._check_rows(*training.X.shape)
        self.gamma_ = choose_gamma(self.gamma, training, rng)
        self._scaling, self._rows = training.scaling, training.X
        grams = np.stack(list(self._kernels(training.X)))
        means = grams.mean(axis=1)  # (n_kernels, n_samples)
        _centre(grams, means)
        scale = _unit_variance(grams)
        targets = training.targets - training.targets.mean(axis=0)
        start = np.full(len(grams), 1.0 / len(grams))
        if isinstance(self.alpha, str):
            rows = np.sort(rng.permutation(len(targets))[:_CHOICE_ROWS])
            self.alpha_, start = _choose_ridge(grams, targets, rows, start)
        else:
            self.alpha_ = float(self.alpha)
        dual, self.n_iter_ = learn_weights(
            grams, targets, self.alpha_, start, tol=float(self.tol), max_iter=int(self.max_iter)
        )
        self.kernel_weights_, self.duality_gap_ = dual.weights, dual.gap
        # Coefficients sum to zero, so that of the centring only a constant is left.
        self._mixture = dual.weights / scale
        self.coef_ = np.ascontiguousarray(dual.coef.T)
        self.intercept_ = training.targets.mean(axis=0) - (self._mixture @ means) @ dual.coef
        left_out = training.targets - _left_out_errors(dual, self.alpha_)
        self._calibrate(training, left_out)

    def _check_rows(self, n_samples: int, n_features: int) -> None:
        n_kernels = len(list(self.widths)) + (n_features if self.single_inputs else 0)
        most = int(np.sqrt(MOST_NUMBERS / n_kernels))
        if n_samples > most:
            raise ValueError(
                f"n_samples={n_samples} is not valid: the Gram matrices of {n_kernels} kernels "
                f"may have {most} rows. Fit a sample of the rows, pass fewer widths, or use "
                "RandomKitchenSinks."
            )

    def _kernels(self, X: Float64Array) -> Any:
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
        scores = np.empty((len(dense), len(self.coef_)))
        for first in range(0, len(dense), n_rows):
            part = slice(first, first + n_rows)
            kernel = np.zeros((len(dense[part]), len(self._rows)))
            scaled = np.asarray(self._scaling.apply(dense[part]), dtype=np.float64)
            kernels = self._kernels(scaled)
            for weight, gram in zip(self._mixture, kernels, strict=True):
                kernel += weight * gram
            scores[part] = kernel @ self.coef_.T + self.intercept_
        return scores.astype(X.dtype, copy=False)

    def _count_cost(self) -> Cost:
        check_is_fitted(self, "coef_")
        n_rows, n_features = self._rows.shape
        used = self.kernel_weights_ > 0.0
        # One number a row and input serves the kernels of all inputs and of single ones.
        macs = n_features + n_rows * (n_features + int(used.sum()) + len(self.coef_))
        n_numbers = self._rows.size + self.coef_.size + self.intercept_.size
        return stored_cost(macs=macs, n_parameters=n_numbers + 2 * n_features + 2 * int(used.sum()))


def _centre(grams: Float64Array, means: Float64Array) -> None:
    """Centre Gram matrices in their feature spaces, in place."""
    grams -= means[:, None, :]
    grams -= means[:, :, None]
    grams += means.mean(axis=1)[:, None, None]


def _unit_variance(grams: Float64Array) -> Float64Array:
    """Divide Gram matrices by their mean diagonals, (n_kernels,), in place; 1 where it is 0."""
    scale = np.einsum("mii->m", grams) / grams.shape[1]
    scale = np.where(scale > 1e-12, scale, 1.0)  # a kernel that tells no rows apart
    grams /= scale[:, None, None]
    return scale


def _choose_ridge(
    grams: Float64Array, targets: Float64Array, rows: Any, start: Float64Array
) -> tuple[float, Float64Array]:
    """Penalty of the least leave-one-out error on some rows, and the weights found there."""
    part = grams[:, rows[:, None], rows]
    _centre(part, part.mean(axis=1))
    centred = targets[rows] - targets[rows].mean(axis=0)
    best: tuple[float, float, Float64Array] | None = None
    for ridge in sorted(_RIDGES, reverse=True):
        dual, _ = learn_weights(part, centred, ridge, start, tol=_CHOICE_TOL, max_iter=10)
        error = float(np.square(_left_out_errors(dual, ridge)).sum())
        if best is None or error < best[0]:
            best = (error, ridge, dual.weights)
    assert best is not None
    # Newton steps leave the border of the simplex, but start better a little inside it.
    return best[1], 0.9 * best[2] + 0.1 * start


def _left_out_errors(dual: Dual, ridge: float) -> Float64Array:
    r"""Errors (n_samples, n_scores) of rows, each by a fit without it.

    Residuals :math:`\lambda \alpha` over one minus the diagonal of the hat matrix, which for
    centred kernels and an intercept is :math:`\lambda A^{-1}_{nn} - 1 / N`.
    """
    n_samples = len(dual.coef)
    inverse = cho_solve(dual.factor, np.eye(n_samples), check_finite=False)
    remaining = ridge * np.diag(inverse) - 1.0 / n_samples
    errors: Float64Array = ridge * dual.coef / np.maximum(remaining, 1e-9)[:, None]
    return errors

r"""Weights of kernels on the simplex: a convex problem, solved by Newton steps on arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.optimize import nnls

from cerflearn._typing import Float64Array

_SUM_WEIGHT = 1e3  # of the row that makes weights sum to one, beside the others
_MOST_HALVINGS = 30


@dataclass(frozen=True, eq=False)
class Dual:
    r"""Kernel ridge regression at given weights of the kernels.

    Attributes
    ----------
    weights : ndarray of shape (n_kernels,)
        d, on the simplex.
    coef : ndarray of shape (n_samples, n_scores)
        :math:`c = A^{-1} T` with :math:`A = \sum_m d_m K_m + \alpha I`.
    factor : tuple
        Cholesky factor of A.
    energies : ndarray of shape (n_kernels,)
        :math:`q_m = \operatorname{tr} c^\top K_m c`.
    value : float
        :math:`J(d) = \tfrac12 \operatorname{tr} T^\top A^{-1} T`.
    """

    weights: Float64Array
    coef: Float64Array
    factor: tuple[Float64Array, bool]
    energies: Float64Array
    value: float

    @property
    def gap(self) -> float:
        r"""Duality gap :math:`\tfrac12 (\max_m q_m - \sum_m d_m q_m)`, relative to J."""
        gap = 0.5 * float(self.energies.max() - self.weights @ self.energies)
        return max(gap, 0.0) / self.value if self.value > 0.0 else 0.0


def evaluate(
    grams: Float64Array, targets: Float64Array, alpha: float, weights: Float64Array
) -> Dual:
    """Solve the regression at weights of the kernels."""
    matrix = np.tensordot(weights, grams, axes=1)
    matrix.flat[:: len(matrix) + 1] += alpha
    factor = cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
    coef = cho_solve(factor, targets, check_finite=False)
    energies = np.einsum("mic,ic->m", grams @ coef, coef)
    return Dual(weights, coef, factor, energies, 0.5 * float(np.vdot(targets, coef)))


def learn_weights(
    grams: Float64Array,
    targets: Float64Array,
    alpha: float,
    start: Float64Array,
    *,
    tol: float,
    max_iter: int,
) -> tuple[Dual, int]:
    r"""Minimise J(d) over the simplex.

    :math:`J(d) = \tfrac12 \operatorname{tr} T^\top (\sum_m d_m K_m + \alpha I)^{-1} T` is convex,
    with gradient :math:`-q / 2` and Hessian :math:`H_{ml} = \operatorname{tr} (K_m c)^\top A^{-1}
    (K_l c)`; each step minimises the quadratic model over the simplex and halves
    itself until J falls. Optimal d have :math:`q_m = \max q` where :math:`d_m > 0`.

    Parameters
    ----------
    grams : ndarray of shape (n_kernels, n_samples, n_samples)
        Positive semi-definite.
    targets : ndarray of shape (n_samples, n_scores)
        T.
    alpha : float
        :math:`\alpha`, positive.
    start : ndarray of shape (n_kernels,)
        On the simplex.
    tol : float
        Relative duality gap to stop at.
    max_iter : int
        Most steps.

    Returns
    -------
    dual : Dual
        At the last weights.
    n_iter : int
        Steps made.
    """
    dual = evaluate(grams, targets, alpha, start)
    for n_iter in range(max_iter):
        if dual.gap <= tol:
            return dual, n_iter
        direction = _newton_point(grams, dual) - dual.weights
        slope = -0.5 * float(dual.energies @ direction)
        step, found = 1.0, None
        for _ in range(_MOST_HALVINGS):
            candidate = evaluate(grams, targets, alpha, dual.weights + step * direction)
            if candidate.value <= dual.value + 1e-4 * step * slope:
                found = candidate
                break
            step *= 0.5
        if found is None:  # rounding is all that is left
            return dual, n_iter
        dual = found
    return dual, max_iter


def _newton_point(grams: Float64Array, dual: Dual) -> Float64Array:
    """Minimiser of the quadratic model of J over the simplex, (n_kernels,)."""
    n_kernels, n_samples = grams.shape[:2]
    images = grams @ dual.coef  # (n_kernels, n_samples, n_scores)
    flat = np.moveaxis(images, 0, 1).reshape(n_samples, -1)
    solved = cho_solve(dual.factor, flat, check_finite=False).reshape(n_samples, n_kernels, -1)
    hessian = np.einsum("mic,ilc->ml", images, solved)
    hessian = 0.5 * (hessian + hessian.T)
    # A little curvature where kernels are alike, so that the model has one minimum.
    hessian.flat[:: n_kernels + 1] += 1e-10 * np.trace(hessian)
    try:
        root = np.linalg.cholesky(hessian).T
    except LinAlgError:
        return _best_vertex(dual)
    # H d - q / 2 (gradient at the current d) are the linear terms of |root d - b|^2 / 2.
    linear = hessian @ dual.weights + 0.5 * dual.energies
    aim = np.linalg.solve(root.T, linear)
    heavy = _SUM_WEIGHT * float(np.abs(root).max())
    rows = np.vstack([root, np.full(n_kernels, heavy)])
    point, _ = nnls(rows, np.append(aim, heavy))
    total = float(point.sum())
    return point / total if total > 0.0 else _best_vertex(dual)


def _best_vertex(dual: Dual) -> Float64Array:
    """All weight on the kernel along which J falls fastest."""
    vertex = np.zeros(len(dual.weights))
    vertex[int(dual.energies.argmax())] = 1.0
    return vertex

r"""The coefficient gamma of a kernel, read off the training data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy.sparse import csr_matrix, issparse
from scipy.spatial.distance import pdist
from sklearn.metrics.pairwise import manhattan_distances

from cerflearn._typing import Float64Array
from cerflearn._validation import check_number, invalid
from cerflearn.estimators.input import map_ranges, to_dense, varying_inputs
from cerflearn.linalg.distances import distances_from_products
from cerflearn.linalg.row_slices import evenly_spaced_rows
from cerflearn.spectral import KERNELS, SpectralLaw, law_from_kernel

KernelLike: TypeAlias = Literal["rbf", "laplacian", "cauchy", "matern32", "matern52"] | SpectralLaw
"""What ``kernel`` may be."""

GammaLike: TypeAlias = float | Literal["scale", "median"]
"""What ``gamma`` of a map may be."""

GAMMA_MUST_BE = "a positive number, 'scale' or 'median'"

_ABSOLUTE_KERNELS = ("laplacian", "cauchy")  # gamma has the unit 1 / x, not 1 / x^2
_MEDIAN_ROWS = 1000
_LARGEST_GAMMA = 1e100  # frequencies must not overflow, whatever their law
_SUMMED_AT_ONCE = 2**18


def resolve_law(kernel: Any, gamma: Any, X: Any) -> tuple[SpectralLaw, float | None]:
    """Law of the frequencies, and the gamma in it (None if ``kernel`` is a law itself).

    Parameters
    ----------
    kernel : {"rbf", "laplacian", "cauchy", "matern32", "matern52"} or SpectralLaw
        Checked by :func:`check_kernel_parameters`.
    gamma : float, "scale" or "median"
        See :func:`resolve_gamma`; not used with a law.
    X : {ndarray, CSR matrix} of shape (n_samples, n_features)
        Training data.
    """
    if isinstance(kernel, SpectralLaw):
        return kernel, None
    value = resolve_gamma(gamma, kernel, X)
    if value > _LARGEST_GAMMA:
        if isinstance(gamma, str):
            raise _unreadable(gamma, 1.0 / value)
        raise invalid("gamma", value, f"at most {_LARGEST_GAMMA:g}; scale X instead")
    return law_from_kernel(kernel, value), value


def check_kernel_parameters(kernel: Any, gamma: Any) -> None:
    """Refuse an unknown kernel, and a gamma that is none."""
    known = isinstance(kernel, SpectralLaw) or (isinstance(kernel, str) and kernel in KERNELS)
    if not known:
        names = ", ".join(repr(name) for name in KERNELS)
        raise invalid("kernel", kernel, f"one of {names}, or a law of cerflearn.spectral")
    if not (isinstance(gamma, str) and gamma in ("scale", "median")):
        check_number("gamma", gamma, GAMMA_MUST_BE, above=0.0)


def resolve_gamma(gamma: Any, kernel: str, X: Any) -> float:
    r"""Value of gamma for training data X.

    Parameters
    ----------
    gamma : float, "scale" or "median"
        A number is used as it is. ``"scale"`` is :math:`1 / (D \operatorname{var} X)`, as in
        scikit-learn, for rbf and Matern, and :math:`1 / (D \operatorname{mean} |X - \bar X|)`
        for laplacian and cauchy; variance, mean and mean deviation are over all entries of X.
        ``"median"`` is one over the median of :math:`|x - y|_2^2` (laplacian and cauchy:
        :math:`|x - y|_1`) over the pairs of at most 1,000 evenly spaced rows. Where such a
        denominator is zero because values or rows are equal, gamma is 1.
    kernel : str
        Name of the kernel.
    X : {ndarray, CSR matrix} of shape (n_samples, n_features)
        Training data, finite.

    Examples
    --------
    >>> X = np.array([[0.0, 0.0], [2.0, 2.0]])
    >>> [resolve_gamma(g, k, X) for k in ("rbf", "laplacian") for g in ("scale", "median")]
    [0.5, 0.125, 0.5, 0.25]
    """
    if not isinstance(gamma, str):
        return float(gamma)
    with np.errstate(over="ignore"):
        absolute = kernel in _ABSOLUTE_KERNELS
        spread = _spread(X, absolute) if gamma == "scale" else _median_distance(X, absolute)
    if spread == 0.0 and not (gamma == "scale" and varying_inputs(X).any()):
        return 1.0
    if not 0.0 < spread < np.inf or not 0.0 < 1.0 / spread < np.inf:
        raise _unreadable(gamma, spread)
    return 1.0 / spread


def _unreadable(gamma: str, spread: float) -> ValueError:
    """Error of data that are too large or too small for a kernel of their own width."""
    return ValueError(
        f"gamma={gamma!r} cannot be read off X, whose spread is {spread:.3g}: scale X, for "
        "example with StandardScaler, or pass a number."
    )


def _spread(X: Any, absolute: bool) -> float:
    """D times the variance, or the mean absolute deviation, of all entries."""
    n_features, mean = int(X.shape[1]), _mean_of_entries(X, lambda values: values)
    if absolute:
        return n_features * _mean_of_entries(X, lambda values: np.abs(values - mean))
    return n_features * _mean_of_entries(X, lambda values: np.square(values - mean))


def _mean_of_entries(X: Any, function: Callable[[Float64Array], Float64Array]) -> float:
    """Mean of ``function`` over all entries, in float64 and blocks of rows."""
    n_samples, n_features = X.shape
    n_rows = max(1, _SUMMED_AT_ONCE // n_features)
    # In C order, as sums of other layouts round otherwise: all containers give the same bits.
    sums = map_ranges(X, lambda rows: function(to_dense(rows)).sum(), n_rows)
    return float(sum(sums) / (n_samples * n_features))


def _canonical(X: Any) -> Any:
    """CSR matrix without duplicate entries; the caller's is not changed."""
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def _median_distance(X: Any, absolute: bool) -> float:
    """Median distance of the pairs of at most 1,000 evenly spaced rows; NaN if they underflow."""
    n_samples = X.shape[0]
    if n_samples < 2:
        return 0.0
    # pdist, not a matrix product: its bits do not depend on the threads of the BLAS.
    index = evenly_spaced_rows(n_samples, _MEDIAN_ROWS)
    rows = X[index].astype(np.float64, copy=False)
    if issparse(rows):
        distances = _sparse_distances(rows, absolute)
        distances = distances[np.triu_indices(len(index), k=1)]
    else:
        distances = pdist(rows, metric="cityblock" if absolute else "sqeuclidean")
    if not distances.any() and varying_inputs(rows).any():
        return float("nan")  # distances that are not zero underflow
    return float(np.median(distances))


def _sparse_distances(rows: Any, absolute: bool) -> Float64Array:
    """|x - y|_1 or |x - y|_2^2, (n, n), on one thread and without making the rows dense."""
    if absolute:
        rows = _canonical(rows)
        parts = (rows.data, rows.indices.astype(np.int32), rows.indptr.astype(np.int32))
        distances: Float64Array = manhattan_distances(csr_matrix(parts, shape=rows.shape))
        return distances
    products: Float64Array = (rows @ rows.T).toarray()
    norms = np.diag(products)
    return distances_from_products(2.0 * products, norms, norms)

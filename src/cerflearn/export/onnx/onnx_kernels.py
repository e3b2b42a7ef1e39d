"""Nystroem of scikit-learn as nodes of an ONNX graph."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics.pairwise import pairwise_kernels

from cerflearn.export.onnx.onnx_nodes import GraphWriter

NYSTROEM_KERNELS = (
    "rbf",
    "linear",
    "poly",
    "polynomial",
    "sigmoid",
    "laplacian",
    "cosine",
)
"""Kernels of Nystroem that can be exported."""


def write_nystroem(writer: GraphWriter, model: Any, rows: str) -> str:
    """Add the nodes of a fitted Nystroem, all of them float64, and return the features.

    The normalisation divides by square roots of eigenvalues down to 1e-12: float32 would leave few
    digits, and scikit-learn computes it in float64.

    Parameters
    ----------
    writer : GraphWriter
        For float64.
    model : Nystroem
        Fitted.
    rows : str
        Name of the inputs, float64.
    """
    if not isinstance(model.kernel, str) or model.kernel not in NYSTROEM_KERNELS:
        raise ValueError(
            f"Nystroem(kernel={model.kernel!r}) cannot be exported: "
            f"kernel must be one of {', '.join(NYSTROEM_KERNELS)}."
        )
    basis = np.asarray(model.components_, dtype=np.float64)
    gamma = 1.0 / basis.shape[1] if model.gamma is None else float(model.gamma)
    kernel = _kernel(writer, model, rows, basis, gamma)
    return writer.node("MatMul", kernel, writer.floats(np.asarray(model.normalization_).T))


def nystroem_kernel(model: Any, X: Any) -> Any:
    """Compute the kernel of rows and the basis of a fitted Nystroem, before its normalisation."""
    given = {"gamma": model.gamma, "degree": model.degree, "coef0": model.coef0}
    chosen = {name: value for name, value in given.items() if value is not None}
    return pairwise_kernels(X, model.components_, metric=model.kernel, filter_params=True, **chosen)


def _kernel(writer: GraphWriter, model: Any, rows: str, basis: Any, gamma: float) -> str:
    if model.kernel == "rbf":
        return _exponential(writer, _squared_distances(writer, rows, basis), gamma)
    if model.kernel == "laplacian":
        return _exponential(writer, _absolute_distances(writer, rows, basis), gamma)
    if model.kernel == "cosine":
        rows = writer.node("Div", rows, _lengths(writer, rows))
        lengths = np.linalg.norm(basis, axis=1, keepdims=True)
        basis = basis / np.where(lengths == 0.0, 1.0, lengths)
    # gamma is multiplied into the basis: ONNX Runtime makes one node of a product and a factor
    # after it, whose factor is float32.
    plain = model.kernel in ("linear", "cosine")
    product = writer.node("MatMul", rows, writer.floats(basis.T if plain else gamma * basis.T))
    if plain:
        return product
    shift = 1.0 if model.coef0 is None else float(model.coef0)
    shifted = writer.node("Add", product, writer.floats(shift))
    if model.kernel == "sigmoid":
        return writer.node("Tanh", shifted)
    degree = 3.0 if model.degree is None else float(model.degree)
    return writer.node("Pow", shifted, writer.floats(degree))


def _exponential(writer: GraphWriter, distances: str, gamma: float) -> str:
    return writer.node("Exp", writer.node("Mul", distances, writer.floats(-gamma)))


def _squared_distances(writer: GraphWriter, rows: str, basis: Any) -> str:
    squares = writer.sum_over(writer.node("Mul", rows, rows), 1, keepdims=True)
    product = writer.node("MatMul", rows, writer.floats(-2.0 * basis.T))
    shifted = writer.node("Add", product, writer.floats(np.square(basis).sum(axis=1)))
    distances = writer.node("Add", shifted, squares)
    return writer.node("Max", distances, writer.floats(0.0))


def _absolute_distances(writer: GraphWriter, rows: str, basis: Any) -> str:
    """Sum absolute differences; all differences of a row stand in memory at once."""
    stacked = writer.node("Unsqueeze", rows, writer.integers([1]))
    return writer.sum_over(writer.node("Abs", writer.node("Sub", stacked, writer.floats(basis))), 2)


def _lengths(writer: GraphWriter, rows: str) -> str:
    """Lengths of rows; those of zeros are tiny, so that zeros stay zeros."""
    squares = writer.sum_over(writer.node("Mul", rows, rows), 1, keepdims=True)
    tiny = writer.floats(np.finfo(np.float64).tiny)
    return writer.node("Max", writer.node("Sqrt", squares), tiny)

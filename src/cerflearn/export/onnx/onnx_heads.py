"""Labels and probabilities of scores as nodes of an ONNX graph."""

from __future__ import annotations

from typing import Any

import numpy as np

from cerflearn.export.onnx.onnx_nodes import GraphWriter
from cerflearn.export.steps import Output


def label_values(classes: Any) -> Any:
    """Labels as ONNX has them: int64 or text.

    Parameters
    ----------
    classes : array_like
        Labels of a classifier: integers, booleans, whole floats or text.

    Returns
    -------
    ndarray
        Of int64, or of text.

    Examples
    --------
    >>> label_values([False, True]).tolist(), label_values([2.0, 3.0]).tolist()
    ([0, 1], [2, 3])
    """
    labels = np.asarray(classes)
    if labels.dtype.kind in "biuf":
        whole = labels.astype(np.int64)
        if (whole == labels).all():
            return whole
        raise ValueError(f"Labels must be integers or text, not {labels[:3].tolist()}.")
    if all(isinstance(label, str) for label in labels):
        return labels.astype(np.str_)
    raise ValueError(f"Labels must be all integers or all text, not {labels[:3].tolist()}.")


def write_labels(writer: GraphWriter, output: Output, scores: str, classes: Any, made: str) -> None:
    """Add nodes that make labels of scores.

    Parameters
    ----------
    writer : GraphWriter
        Of the graph.
    output : Output
        What the scores mean; those of pairs are votes by now.
    scores : str
        Name of the scores.
    classes : ndarray
        Labels of int64 or text.
    made : str
        Name of the labels to make.
    """
    if output.kind in ("binary", "multilabel"):
        positive = writer.node("Greater", scores, writer.floats(0.0))
        if output.kind == "multilabel":
            writer.cast(positive, np.int64, output=made)
            return
        column = writer.cast(positive, np.int64)
        index = writer.node("Reshape", column, writer.integers([-1]))
    else:
        index = writer.node("ArgMax", scores, axis=1, keepdims=0)
    labels = writer.integers(classes) if classes.dtype.kind == "i" else writer.strings(classes)
    writer.node("Gather", labels, index, output=made, axis=0)


def write_probabilities(
    writer: GraphWriter, output: Output, scores: str, factor: float, made: str
) -> None:
    """Add nodes that make probabilities of scores times a factor; two columns for two classes."""
    scaled = writer.node("Mul", scores, writer.floats(factor))
    if output.kind == "multilabel":
        writer.node("Sigmoid", scaled, output=made)
    elif output.kind == "binary":
        both = writer.node("Concat", writer.node("Neg", scaled), scaled, axis=1)
        writer.node("Sigmoid", both, output=made)
    else:
        writer.node("Softmax", scaled, output=made, axis=1)


def write_votes(writer: GraphWriter, scores: str, n_classes: int) -> str:
    """Add nodes that make votes of one-against-one scores, summed scores deciding between equals.

    See :func:`cerflearn.estimators.predictors.heads.pair_votes`.
    """
    first, second = np.triu_indices(n_classes, k=1)
    pairs = np.arange(len(first))
    wins, signs = np.zeros((2, len(first), n_classes))
    wins[pairs, second] = 1.0
    signs[pairs, first], signs[pairs, second] = 1.0, -1.0
    directions = writer.floats(signs)
    positive = writer.cast(writer.node("Greater", scores, writer.floats(0.0)), writer.dtype)
    gained = writer.node("MatMul", positive, directions)
    votes = writer.node("Add", gained, writer.floats(wins.sum(axis=0)))
    sums = writer.node("MatMul", scores, directions)
    size = writer.node("Add", writer.node("Abs", sums), writer.floats(1.0))
    share = writer.node("Div", sums, writer.node("Mul", size, writer.floats(3.0)))
    return writer.node("Add", votes, share)

"""Targets as arrays of numbers: one-hot classes, labels of a classifier, numbers of a regressor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import column_or_1d

from cerflearn._typing import Float64Array, IntArray
from cerflearn._validation import check_number, invalid
from cerflearn.training.scores import TargetKind
from cerflearn.training.task import OneHotRows, Targets

MULTILABEL_HEADS = ("logistic", "ridge")
"""Heads that can score several labels of one row."""


def one_hot(codes: IntArray, n_classes: int) -> Float64Array:
    """One-hot classes (n_samples, n_classes).

    Parameters
    ----------
    codes : ndarray of shape (n_samples,), int
        Numbers of the classes, from 0.
    n_classes : int
        Number of classes.

    Returns
    -------
    ndarray of shape (n_samples, n_classes)
        1 in the column of a row's class, else 0.

    Examples
    --------
    >>> one_hot(np.array([0, 2]), 3)
    array([[1., 0., 0.],
           [0., 0., 1.]])
    """
    return OneHotRows(codes, n_classes)[:]


def class_targets(codes: IntArray, n_classes: int) -> Float64Array:
    """One-hot classes; a single column, that of the second class, for two."""
    return codes[:, None].astype(np.float64) if n_classes == 2 else one_hot(codes, n_classes)


def kind_of_target(y: Any, **settings: Any) -> str:
    """Return scikit-learn's ``type_of_target``; labels of different kinds are refused."""
    try:
        with np.errstate(invalid="ignore"):  # it casts numbers, however large, to integers
            return str(type_of_target(y, input_name="y", **settings))
    except TypeError as error:
        if "not supported between" not in str(error):
            raise
        raise TypeError(
            f"y mixes labels of different kinds ({error}): pass all as text."
        ) from error


@dataclass(frozen=True, eq=False)
class ClassLabels:
    """Labels of the training rows.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        Classes that have weight; numbers of the columns for several labels.
    kind : {"binary", "multiclass", "multilabel"}
        Of the targets.
    targets : ndarray or OneHotRows of shape (n_samples, n_scores)
        One-hot classes, one column for two; or 0 and 1 for each label.
    weights : ndarray of shape (n_samples,)
        Of the rows, not negative.
    strata : ndarray of shape (n_samples,), int
        Numbers of the classes, or of the combinations of labels.
    """

    classes: Any
    kind: TargetKind
    targets: Targets
    weights: Float64Array
    strata: IntArray


def read_labels(
    y: Any, weights: Float64Array, class_weight: Any, head: str, classes: Any = None
) -> ClassLabels:
    """Check labels and encode them.

    Parameters
    ----------
    y : {ndarray, CSR matrix} of shape (n_samples,) or (n_samples, n_labels)
        Checked labels.
    weights : ndarray of shape (n_samples,)
        Of the rows, not negative.
    class_weight : dict, "balanced" or None
        Weights of the classes.
    head : str
        Of the classifier.
    classes : array-like of shape (n_classes,), optional
        All classes; not used for several labels a row. None: those of y that have weight.

    Returns
    -------
    ClassLabels
        With the weights of the classes in those of the rows.
    """
    if kind_of_target(y) == "multilabel-indicator":
        return _read_multilabel(y, weights, class_weight, head)
    y = column_or_1d(y, warn=True)
    with np.errstate(invalid="ignore"):
        check_classification_targets(y)
    if classes is not None:
        return _read_known_classes(y, weights, class_weight, np.unique(classes))
    labels, codes = np.unique(y, return_inverse=True)
    weights = weigh_classes(class_weight, y, codes, weights)
    used = np.unique(codes[weights > 0.0])
    if len(used) < 2:
        raise ValueError(
            f"y has one class, {labels[used].tolist()}, among the rows with a weight "
            "above 0: a classifier needs two or more."
        )
    # Rows without weight count as rows that are not there, and so do their classes.
    codes = _short(np.minimum(np.searchsorted(used, codes), len(used) - 1), len(used))
    if len(used) == 2:
        return ClassLabels(labels[used], "binary", class_targets(codes, 2), weights, codes)
    return ClassLabels(labels[used], "multiclass", OneHotRows(codes, len(used)), weights, codes)


def _short(codes: IntArray, n_classes: int) -> IntArray:
    """Numbers of classes in as few bytes as they need: millions of rows have one each."""
    return codes.astype(np.min_scalar_type(-n_classes))


def _read_known_classes(
    y: Any, weights: Float64Array, class_weight: Any, classes: Any
) -> ClassLabels:
    """Labels of a stream, whose classes are known."""
    if len(classes) < 2:
        raise ValueError(f"classes={classes.tolist()} must be two or more.")
    try:
        codes = np.minimum(np.searchsorted(classes, y), len(classes) - 1).astype(np.int64)
    except TypeError as error:
        raise ValueError(f"y and classes are of different kinds: {error}.") from error
    unknown = np.unique(y[classes[codes] != y])
    if len(unknown):
        raise ValueError(
            f"y has labels that are not among the classes: {unknown[:5].tolist()}. Name all "
            "classes in the first call of partial_fit."
        )
    weights, codes = weigh_classes(class_weight, y, codes, weights), _short(codes, len(classes))
    if len(classes) == 2:
        return ClassLabels(classes, "binary", class_targets(codes, 2), weights, codes)
    return ClassLabels(classes, "multiclass", OneHotRows(codes, len(classes)), weights, codes)


def _read_multilabel(y: Any, weights: Float64Array, class_weight: Any, head: str) -> ClassLabels:
    y = y.toarray() if issparse(y) else np.asarray(y)
    if head not in MULTILABEL_HEADS:
        raise ValueError(
            f"y has {y.shape[1]} labels a row, and head={head!r} is for classes only: pass "
            "head='logistic' or head='ridge', or one column of classes."
        )
    if class_weight is not None:
        raise invalid("class_weight", class_weight, "None for several labels a row")
    targets = y.astype(np.float64)
    if not np.isin(targets, (0.0, 1.0)).all():
        raise ValueError("y has several columns: they must hold 0 and 1, one column a label.")
    if not (weights > 0.0).any():
        raise ValueError("sample_weight is zero for all rows: at least two must count.")
    strata = np.unique(targets, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)
    return ClassLabels(np.arange(y.shape[1]), "multilabel", targets, weights, strata)


def weigh_classes(
    class_weight: Any, y: Any, classes: IntArray, weights: Float64Array
) -> Float64Array:
    """Weights of the rows times those of their classes.

    Parameters
    ----------
    class_weight : dict, "balanced" or None
        As in scikit-learn; but ``"balanced"`` counts a row with weight 2 as two rows.
    y : ndarray of shape (n_samples,)
        Labels.
    classes : ndarray of shape (n_samples,), int
        Their numbers.
    weights : ndarray of shape (n_samples,)
        Of the rows, not negative.

    Returns
    -------
    ndarray of shape (n_samples,)
        Products of both.
    """
    if class_weight is None:
        return weights
    factors: Float64Array
    if isinstance(class_weight, str) and class_weight == "balanced":
        sums = np.bincount(classes, weights=weights)
        present = np.where(sums > 0.0, sums, 1.0)
        factors = (weights.sum() / (np.count_nonzero(sums) * present))[classes]
    elif isinstance(class_weight, dict):
        for label, weight in class_weight.items():
            name = f"class_weight[{label!r}]"
            check_number(name, weight, "a number that is not negative", at_least=0.0)
        factors = np.asarray(compute_sample_weight(class_weight, y), dtype=np.float64)
    else:
        raise invalid("class_weight", class_weight, "a dict, 'balanced' or None")
    weighted: Float64Array = weights * factors
    return weighted


def dense_targets(y: Any) -> Any:
    """Return targets, refused if they are sparse."""
    if issparse(y):
        raise TypeError("y is sparse: targets must be dense, pass y.toarray().")
    return y


def number_targets(numbers: Any) -> Float64Array:
    """Targets (n_samples, n_targets) in float64; text is refused."""
    try:
        targets = np.asarray(numbers, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"y must hold numbers for a regressor ({error}): CERFClassifier takes labels."
        ) from error
    return targets.reshape(len(targets), -1)

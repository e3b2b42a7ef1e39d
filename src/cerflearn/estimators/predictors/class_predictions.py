"""Predictions of a fitted classifier: scores, classes and probabilities."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cerflearn._typing import Float64Array, FloatArray, MatrixLike
from cerflearn.estimators.block_output import in_blocks
from cerflearn.estimators.predictors.heads import pair_votes
from cerflearn.training.scores import TargetKind, log_probabilities, probabilities


class ClassPredictions:
    """What a classifier makes of the scores of its network."""

    head: str
    classes_: Any
    outputs_2d_: bool
    inverse_temperature_: float
    _scores: Callable[[MatrixLike], FloatArray]  # (n_samples, n_scores), of the network

    @in_blocks
    def decision_function(self, X: MatrixLike) -> FloatArray:
        """Compute the scores.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples,), (n_samples, n_classes) or (n_samples, n_labels)
            One score for two classes, positive for the second. For ``head="svm_ovo"`` and more
            classes the votes of the pairs, with the sum of scores as tie-break.
        """
        scores = self._scores(X)
        if self._kind == "binary":
            return scores.ravel()
        return pair_votes(scores, len(self.classes_)) if self.head == "svm_ovo" else scores

    @in_blocks
    def predict(self, X: MatrixLike) -> Any:
        """Predict the class of each row, or 0 and 1 for each of several labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data; or a source of :mod:`cerflearn.blocks`, or a Dask array or data frame.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_labels)
            Labels; of a source an iterator of blocks, of Dask's a lazy array.
        """
        scores = self.decision_function(X)
        if self._kind == "multilabel":
            return (scores > 0).astype(np.int64)
        index = (scores > 0).astype(np.int64) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[index]

    @in_blocks
    def predict_proba(self, X: MatrixLike) -> Float64Array:
        """Predict probabilities: softmax, or sigmoid, of the scores.

        For support vector machines they are not calibrated: a monotone function of the scores, or
        of the votes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples, n_classes) or (n_samples, n_labels)
            The most probable class is the one of ``predict``. For several labels, the probability
            of each.
        """
        scores = self._score_columns(X)
        proba = probabilities(scores, self.inverse_temperature_, self._kind)
        return np.column_stack([1.0 - proba, proba]) if self._kind == "binary" else proba

    def predict_log_proba(self, X: MatrixLike) -> Float64Array:
        """Predict logarithms of probabilities, finite also where these are zero.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples, n_classes) or (n_samples, n_labels)
            Of ``predict_proba``.
        """
        scores, factor = self._score_columns(X), self.inverse_temperature_
        if self._kind == "binary":
            scores = np.column_stack([-scores, scores])
        return log_probabilities(scores, factor, self._kind)

    def _score_columns(self, X: MatrixLike) -> Float64Array:
        """Scores in double precision, a column for two classes."""
        scores: Float64Array = self.decision_function(X).astype(np.float64)
        return scores[:, None] if scores.ndim == 1 else scores

    @property
    def _kind(self) -> TargetKind:
        if self.outputs_2d_:
            return "multilabel"
        return "binary" if len(self.classes_) == 2 else "multiclass"

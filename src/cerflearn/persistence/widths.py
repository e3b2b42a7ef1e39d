"""How many columns the transformers that a file may hold give."""

from __future__ import annotations

from typing import Any

import numpy as np


def output_width(transformer: Any) -> int:
    """Count the output columns of a transformer of a kind that can be stored.

    Parameters
    ----------
    transformer : estimator or "passthrough"
        All of its attributes set. ``ValueError`` for what transforms nothing.
    """
    name = type(transformer).__name__
    if hasattr(transformer, "_n_features_out"):  # maps, kernel PCA, canonical correlations
        return int(transformer._n_features_out)
    if name == "Pipeline":
        return pipeline_width(transformer.steps)
    if name == "OneHotEncoder":
        return int(sum(transformer._n_features_outs))
    if name == "ColumnTransformer":
        pieces = transformer.output_indices_.values()
        return max((piece.stop for piece in pieces), default=0)
    if name in ("SimpleImputer", "KernelImputer"):
        return _imputer_width(transformer)
    if hasattr(transformer, "transform") and hasattr(transformer, "n_features_in_"):
        return int(transformer.n_features_in_)  # scalers
    raise ValueError(f"{name} cannot be followed by another step")


def _imputer_width(imputer: Any) -> int:
    """Columns that have a value, and those of the indicator."""
    indicator = imputer.indicator_
    n_indicators = 0 if indicator is None else len(indicator.features_)
    if type(imputer).__name__ == "KernelImputer":
        return int(imputer.n_features_in_) + n_indicators
    statistics = np.asarray(imputer.statistics_)
    # Columns without any value are dropped; their statistic is NaN.
    dropped = np.array([item != item for item in statistics.tolist()], dtype=np.bool_)
    kept = len(statistics) if imputer.keep_empty_features else len(statistics) - int(dropped.sum())
    return kept + n_indicators


def pipeline_width(steps: list[tuple[str, Any]]) -> int:
    """Count the output columns of steps, each of which must read what the one before gives."""
    width: int | None = None
    for name, step in steps:
        if step is None or isinstance(step, str):
            continue
        if width is not None and step.n_features_in_ != width:
            raise ValueError(
                f"step {name!r} reads {step.n_features_in_} columns, and gets {width} of them"
            )
        width = output_width(step) if hasattr(step, "transform") else 1
    if width is None:
        raise ValueError("a Pipeline has no steps")
    return width

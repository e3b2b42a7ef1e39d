"""Kinds of plain data that estimators hold: laws, maps, networks, stages, moments."""

from __future__ import annotations

from typing import Any

import numpy as np

from cerflearn.estimators.applications.imputation import ImputationStage
from cerflearn.estimators.applications.trained_completion import TrainedStage
from cerflearn.estimators.encoder import Encoder
from cerflearn.features.blocked import BlockedMap
from cerflearn.features.dense import DenseMap
from cerflearn.features.fastfood import FastfoodBlocks
from cerflearn.features.masked import MaskedMap
from cerflearn.features.tables import TableMap
from cerflearn.linalg.moments import CrossMoments
from cerflearn.persistence.kinds import Kind
from cerflearn.persistence.map_checks import (
    check_blocked,
    check_blocks,
    check_dense,
    check_masked,
    check_tables,
)
from cerflearn.persistence.plain import Plain
from cerflearn.persistence.specs import FiniteNumber, Integer, Maybe, Part, Spec, Switch, Tensor
from cerflearn.persistence.widths import output_width
from cerflearn.spectral import (
    Cauchy,
    Gaussian,
    GaussianMixture,
    Laplace,
    Product,
    StudentT,
)

LAW_KINDS = ("Cauchy", "Gaussian", "GaussianMixture", "Laplace", "Product", "StudentT")
"""Kinds of laws of frequencies."""

NETWORK_MAPS = ("MaskedMap", "TableMap")
"""Kinds of maps of trained networks."""

MOST_INPUTS = 2**31 - 1
"""Inputs that indices of 32 bits can name."""

_SCALE = {"scale": FiniteNumber(above=0.0)}

_OUTPUTS: dict[str, Spec] = {
    "offsets": Tensor("f8", ("projections",)),
    "amplitudes": Tensor("f8", ("projections",)),
    "n_outputs": Integer(1),
    "paired": Switch(),
}

_MASKS: dict[str, Spec] = {
    "mask_pointers": Tensor("i8", ("masks",)),
    "mask_inputs": Tensor("i4", ("entries",)),
}


def check_network(
    feature_map: Any, coef: Any, n_scores: int, n_inputs: int, linear_shape: tuple[int, ...]
) -> None:
    """Refuse a head or a linear part that does not fit its map.

    Parameters
    ----------
    feature_map : MaskedMap or TableMap
        Features.
    coef : ndarray of shape (n_scores, n_outputs)
        Head; of tables without columns.
    n_scores, n_inputs : int
        Numbers of scores and inputs.
    linear_shape : tuple of int
        Of the linear part.
    """
    is_table = isinstance(feature_map, TableMap)
    n_outputs = 0 if is_table else feature_map.n_outputs
    fits = feature_map.n_features == n_inputs and linear_shape == (n_scores, n_inputs)
    if is_table:
        fits = fits and feature_map.n_scores == n_scores and coef.shape[0] == n_scores
    else:
        fits = fits and coef.shape == (n_scores, n_outputs)
    if not fits:
        raise ValueError(f"{feature_map!r} does not fit the head or the linear part")


def _check_encoder(fields: dict[str, Any]) -> None:
    feature_map, linear = fields["feature_map"], fields["linear_coef"]
    n_inputs = feature_map.n_features
    check_network(
        feature_map, fields["head_coef"], len(fields["intercept"]), n_inputs, linear.shape
    )


def _check_stage(fields: dict[str, Any]) -> None:
    """Check one stage of completion: codes are made of the map and the inputs."""
    feature_map, n_codes = fields["feature_map"], len(fields["mean"])
    n_features, n_weights = fields["weights"].shape
    n_columns = output_width(feature_map) + (n_features if fields["linear_scale"] != 0.0 else 0)
    fits = (
        feature_map.n_features_in_ == n_features
        and n_weights == n_codes + 1
        and fields["components"].shape == (n_codes, n_columns)
    )
    if not fits:
        raise ValueError("map, components and weights of a stage do not fit")


def _check_trained_stage(fields: dict[str, Any]) -> None:
    encoder, observed, hidden = fields["encoder"], fields["observed"], fields["hidden"]
    n_features, weights = fields["n_features"], fields["weights"]
    columns = np.concatenate([observed, hidden])
    if len(hidden) == 0 or len(np.unique(columns)) < len(columns) or columns.max() >= n_features:
        raise ValueError("observed and hidden inputs of a stage do not fit")
    n_codes = encoder.n_codes
    expected = (len(hidden), n_codes + 1) if weights.size else weights.shape
    if encoder.feature_map.n_features != len(observed) or weights.shape != expected:
        raise ValueError("encoder and weights of a stage do not fit")
    if weights.size == 0 and n_codes != len(hidden):
        raise ValueError("codes and hidden inputs of a stage do not fit")


_LAW_TABLE: dict[str, Kind] = {
    "Gaussian": Kind(Gaussian, _SCALE),
    "Cauchy": Kind(Cauchy, _SCALE),
    "Laplace": Kind(Laplace, _SCALE),
    "StudentT": Kind(StudentT, _SCALE | {"degrees_of_freedom": FiniteNumber(above=0.0)}),
    "Product": Kind(Product, {"first": Part(LAW_KINDS), "second": Part(LAW_KINDS)}),
    "GaussianMixture": Kind(
        GaussianMixture,
        {"centres": Tensor("f8", ("components", "D")), "spread": FiniteNumber(above=0.0)},
    ),
}

_MAP_TABLE: dict[str, Kind] = {
    "DenseMap": Kind(
        DenseMap,
        _OUTPUTS | {"weights": Tensor("f8", ("D", "projections"))},
        check=check_dense,
    ),
    "MaskedMap": Kind(
        MaskedMap,
        _OUTPUTS
        | _MASKS
        | {
            "n_inputs": Integer(1, MOST_INPUTS),
            "projection_pointers": Tensor("i8", ("masks",)),
            "values": Tensor("f8", ("values",)),
            "group_size": Integer(1, 16),
            "relu": Switch(),
        },
        check=check_masked,
    ),
    "FastfoodBlocks": Kind(
        FastfoodBlocks,
        {
            "signs": Tensor("f8", ("signs", "size")),
            "gaussian_diag": Tensor("f8", ("blocks", "size")),
            "permutation": Tensor("i4", ("permutations", "size")),
            "row_scale": Tensor("f8", ("scales", "size")),
            "centres": Maybe(Tensor("f8", ("blocks", "D"))),
            "n_features": Integer(1, MOST_INPUTS),
        },
        check=check_blocks,
    ),
    "BlockedMap": Kind(
        BlockedMap,
        _OUTPUTS
        | {
            "blocks": Part(("FastfoodBlocks",)),
            "kept_pointers": Tensor("i8", ("pointers",)),
            "kept_rows": Tensor("i4", ("projections",)),
        },
        check=check_blocked,
    ),
    "TableMap": Kind(
        TableMap,
        _MASKS
        | {
            "values": Tensor("f8", ("entries",)),
            "offsets": Tensor("f8", ("tables",)),
            "tables": Tensor("f8", ("tables", "bins", "scores")),
            "linear": Tensor("f8", ("D", "scores")),
            "intercept": Tensor("f8", ("scores",)),
        },
        check=check_tables,
    ),
}

_NETWORK_TABLE: dict[str, Kind] = {
    "Encoder": Kind(
        Encoder,
        {
            "feature_map": Part(NETWORK_MAPS),
            "head_coef": Tensor("f8", ("codes", "columns")),
            "intercept": Tensor("f8", ("codes",)),
            "linear_coef": Tensor("f8", ("codes", "D")),
            "settings": Plain(),
        },
        check=_check_encoder,
    ),
    "TrainedStage": Kind(
        TrainedStage,
        {
            "encoder": Part(("Encoder",)),
            "observed": Tensor("i8", ("observed",), least=0),
            "hidden": Tensor("i8", ("hidden",), least=0),
            "weights": Tensor("f8", ("decoded", "codes")),
            "n_features": Integer(1, MOST_INPUTS),
        },
        check=_check_trained_stage,
    ),
    "CrossMoments": Kind(
        CrossMoments,
        {
            "n_samples": Integer(1),
            "left_mean": Tensor("f8", ("left",)),
            "right_mean": Tensor("f8", ("right",)),
            "left_scatter": Tensor("f8", ("left", "left")),
            "cross_scatter": Tensor("f8", ("left", "right")),
            "right_scatter": Maybe(Tensor("f8", ("right", "right"))),
        },
    ),
}


def data_kinds(inner_maps: tuple[str, ...]) -> dict[str, Kind]:
    """Kinds of data; ``inner_maps`` are those of maps that a stage of completion may have."""
    stages = {
        "ImputationStage": Kind(
            ImputationStage,
            {
                "feature_map": Part(inner_maps),
                "linear_scale": FiniteNumber(least=0.0),
                "components": Tensor("f8", ("codes", "columns")),
                "mean": Tensor("f8", ("codes",)),
                "weights": Tensor("f8", ("D", "weights")),
                "alphas": Tensor("f8", ("D",)),
            },
            check=_check_stage,
        ),
    }
    return _LAW_TABLE | _MAP_TABLE | _NETWORK_TABLE | stages

"""Checks of the arrays of maps, before a native kernel sees them."""

from __future__ import annotations

from typing import Any

import numpy as np

from cerflearn.features.fastfood import padded_size

_GROUP_SIZES = (1, 2, 4, 8, 16)
_MOST_BINS = 65_536


def check_pointers(name: str, pointers: Any, end: int, *, empty: bool) -> None:
    """Refuse pointers that do not start at 0, fall, or do not end where the array does."""
    if len(pointers) < 1 or pointers[0] != 0 or pointers[-1] != end:
        raise ValueError(f"{name} must start at 0 and end at {end}")
    steps = np.diff(pointers)
    if len(steps) and steps.min() < (0 if empty else 1):
        raise ValueError(f"{name} must rise")


def check_indices(name: str, indices: Any, end: int, pointers: Any) -> None:
    """Refuse indices out of range, or not ascending within each list."""
    if len(indices) == 0:
        return
    if int(indices.min()) < 0 or int(indices.max()) >= end:
        raise ValueError(f"{name} must be from 0 to {end - 1}")
    rises = np.diff(indices.astype(np.int64)) > 0
    starts = pointers[1:-1]
    starts = starts[(starts > 0) & (starts < len(indices))]
    rises[starts - 1] = True  # the first of a list
    if not rises.all():
        raise ValueError(f"{name} must ascend in each list")


def check_outputs(fields: dict[str, Any]) -> None:
    """Refuse a number of columns that projections cannot have."""
    n = len(fields["offsets"])
    n_outputs, paired = fields["n_outputs"], fields["paired"]
    if n == 0 or n_outputs not in ((2 * n, 2 * n - 1) if paired else (n,)):
        raise ValueError(f"{n} projections cannot have {n_outputs} columns")


def check_dense(fields: dict[str, Any]) -> None:
    """Check a dense map."""
    check_outputs(fields)
    if len(fields["weights"]) == 0:
        raise ValueError("there are no inputs")


def check_masked(fields: dict[str, Any]) -> None:
    """Check a masked map: pointers rise, masks name inputs that exist, values fill the masks."""
    check_outputs(fields)
    masks, projections = fields["mask_pointers"], fields["projection_pointers"]
    inputs, n_projections = fields["mask_inputs"], len(fields["offsets"])
    if fields["n_inputs"] < 1 or fields["group_size"] not in _GROUP_SIZES:
        raise ValueError("n_inputs or group_size is not valid")
    check_pointers("mask_pointers", masks, len(inputs), empty=False)
    check_pointers("projection_pointers", projections, n_projections, empty=False)
    check_indices("mask_inputs", inputs, fields["n_inputs"], masks)
    if len(masks) != len(projections):
        raise ValueError("mask_pointers and projection_pointers do not fit")
    if int(np.diff(masks) @ np.diff(projections)) != len(fields["values"]):
        raise ValueError("values do not fill the masks")
    if fields["relu"] and fields["paired"]:
        raise ValueError("relu maps are not paired")


def check_blocks(fields: dict[str, Any]) -> None:
    """Check Fastfood blocks: sizes, permutations, one row or one a block."""
    n_blocks, size = fields["gaussian_diag"].shape
    n_features, centres = fields["n_features"], fields["centres"]
    if n_blocks < 1 or n_features < 1 or size != padded_size(n_features):
        raise ValueError("the size of the blocks does not fit the inputs")
    for name in ("signs", "permutation", "row_scale"):
        if fields[name].shape not in ((n_blocks, size), (1, size)):
            raise ValueError(f"{name} of shape {fields[name].shape} does not fit the blocks")
    if not np.isin(fields["signs"], (-1.0, 0.0, 1.0)).all():
        raise ValueError("signs must be -1, 0 or 1")
    if not (np.sort(fields["permutation"], axis=1) == np.arange(size)).all():
        raise ValueError("a permutation is none")
    with np.errstate(over="ignore", invalid="ignore"):
        largest = np.abs(fields["row_scale"]).max() * size * np.abs(fields["gaussian_diag"]).max()
    if not np.isfinite(largest):
        raise ValueError("frequencies are beyond double precision")
    if centres is not None and centres.shape != (n_blocks, n_features):
        raise ValueError("centres do not fit the blocks")


def check_blocked(fields: dict[str, Any]) -> None:
    """Check a map of blocks: kept rows exist."""
    check_outputs(fields)
    blocks, pointers, rows = fields["blocks"], fields["kept_pointers"], fields["kept_rows"]
    if len(pointers) != blocks.n_blocks + 1 or len(rows) != len(fields["offsets"]):
        raise ValueError("kept_pointers or kept_rows do not fit the blocks")
    check_pointers("kept_pointers", pointers, len(rows), empty=True)
    check_indices("kept_rows", rows, blocks.size, pointers)


def check_tables(fields: dict[str, Any]) -> None:
    """Check tables: masks name inputs that exist, and all have at least two bins."""
    n_tables, n_bins, n_scores = fields["tables"].shape
    pointers, inputs = fields["mask_pointers"], fields["mask_inputs"]
    n_features = len(fields["linear"])
    if n_features < 1 or n_scores < 1 or not 2 <= n_bins <= _MOST_BINS:
        raise ValueError("tables need inputs, scores and 2 to 65,536 bins")
    if len(pointers) != n_tables + 1 or len(fields["values"]) != len(inputs):
        raise ValueError("mask_pointers or values do not fit the tables")
    check_pointers("mask_pointers", pointers, len(inputs), empty=True)
    check_indices("mask_inputs", inputs, n_features, pointers)

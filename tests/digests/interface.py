"""Public names of cerflearn that the configurations use and that may change.

The configurations pass one flat set of keywords and ask for fitted values through these functions.
When a public name changes, this module alone is edited; the configurations and the recorded digests
stay.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from cerflearn import BlockedCERF, CERFClassifier, CERFRegressor, MaskedCERF, cost


def masked_cerf(**keywords: Any) -> Any:
    """Masked features; ``selector="random"`` (also if left out) only draws them."""
    return MaskedCERF(**({"selector": "random"} | keywords))


def paper_setting(**keywords: Any) -> Any:
    """Masked features as in section 4 of the paper."""
    return MaskedCERF.paper_setting(**keywords)


def blocked_cerf(**keywords: Any) -> Any:
    """Blocked features; ``select`` is ``"blocks"`` or ``"outputs"``, ``selector`` as above."""
    return BlockedCERF(**({"selector": "greedy"} | keywords))


def classifier(**keywords: Any) -> Any:
    """Classifier within a budget; ``masks`` and ``refine`` say what is learned."""
    return CERFClassifier(**keywords)


def regressor(**keywords: Any) -> Any:
    """Regressor within a budget; ``masks`` and ``refine`` say what is learned."""
    return CERFRegressor(**keywords)


def map_of(model: Any) -> dict[str, Any]:
    """Frequencies, offsets and masks of the feature map of a fitted map or predictor."""
    feature_map = model.feature_map_
    return {
        "frequencies": feature_map.frequencies,
        "offsets": feature_map.offsets,
        "masks": feature_map.masks,
    }


def head_of(model: Any) -> dict[str, Any]:
    """Coefficients and biases of the scores of a fitted predictor or rival."""
    return {"head_coef": model.coef_, "head_intercept": model.intercept_}


def selected_of(model: Any) -> Any:
    """Chosen candidate columns of a fitted map."""
    return model.selector_


def learned_of(model: Any) -> dict[str, Any]:
    """What a selector leaves behind; which of these there are depends on the selector."""
    names = ("rotation", "scale", "lower_bounds", "errors", "n_iter")
    found = {name: getattr(model, f"{name}_", None) for name in names}
    return {
        "selected": selected_of(model),
        "feature_proba": model.feature_proba_,
        "n_candidates": model.n_candidates_,
        **{name: value for name, value in found.items() if value is not None},
    }


def masking_of(model: Any) -> dict[str, Any]:
    """Settings of the masks that were chosen by the data."""
    return {
        "mask_density": model.mask_density_,
        "features_per_mask": model.features_per_mask_,
    }


def n_blocks_of(model: Any) -> int:
    """Blocks that a fitted blocked map computes for a row."""
    return int(model.n_blocks_)


def cost_of(model: Any) -> dict[str, Any]:
    """MACs, trigonometric functions, parameters and bytes of anything that ``cost`` counts."""
    return {f"cost {name}": value for name, value in asdict(cost(model)).items()}

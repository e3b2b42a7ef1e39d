"""Public names of cerflearn that the configurations use and that may change.

The configurations pass one flat set of keywords and ask for fitted values through these functions.
When a public name changes, this module alone is edited; the configurations and the recorded digests
stay.
"""

from __future__ import annotations

import inspect
from dataclasses import asdict
from typing import Any

from cerflearn import (
    CVEM,
    BlockedCERF,
    CERFClassifier,
    CERFRegressor,
    Greedy,
    MaskedCERF,
    MaskedFourierFeatures,
    Shared,
    cost,
)

SELECTORS = {"greedy": Greedy, "shared": Shared, "cvem": CVEM}
SETTINGS = tuple(inspect.signature(CVEM.__init__).parameters)[1:]


def with_selector(keywords: dict[str, Any]) -> dict[str, Any]:
    """Keywords with an object for the selector, which gets those that are its own."""
    name = keywords["selector"]
    given = {key: value for key, value in keywords.items() if key in SETTINGS}
    rest = {key: value for key, value in keywords.items() if key not in SETTINGS}
    if name in SELECTORS:
        own = inspect.signature(SELECTORS[name].__init__).parameters
        rest["selector"] = SELECTORS[name](**{k: v for k, v in given.items() if k in own})
    return rest


def masked_cerf(**keywords: Any) -> Any:
    """Masked features; ``selector="random"`` (also if left out) only draws them."""
    if keywords.get("selector", "random") == "random":
        drawn = {key: value for key, value in keywords.items() if key != "selector"}
        return MaskedFourierFeatures(**drawn)
    return MaskedCERF(**with_selector(keywords))


def paper_setting(**keywords: Any) -> Any:
    """Masked features as in section 4 of the paper."""
    return MaskedCERF.paper_setting(mask_law="fixed", **keywords)


def blocked_cerf(**keywords: Any) -> Any:
    """Blocked features; ``select`` is ``"blocks"`` or ``"outputs"``, ``selector`` as above."""
    keywords = with_selector({"selector": "greedy"} | keywords)
    if "select" in keywords:
        keywords["unit"] = {"blocks": "block", "outputs": "output"}[keywords.pop("select")]
    return BlockedCERF(**keywords)


def what_is_learned(keywords: dict[str, Any]) -> dict[str, Any]:
    """Keywords with ``learn`` in the place of ``masks`` and ``refine``."""
    keywords = dict(keywords)
    masks, refine = keywords.pop("masks", "auto"), keywords.pop("refine", "auto")
    if refine is None:
        return keywords | {"learn": "selection"}
    names = {("random", "supervised"): "features", ("learned", "supervised"): "masks"}
    return keywords | {"learn": names.get((masks, refine), "auto")}


def classifier(**keywords: Any) -> Any:
    """Classifier within a budget; ``masks`` and ``refine`` say what is learned."""
    return CERFClassifier(**what_is_learned(keywords))


def regressor(**keywords: Any) -> Any:
    """Regressor within a budget; ``masks`` and ``refine`` say what is learned."""
    keywords = what_is_learned(keywords)
    if keywords["learn"] == "selection":
        keywords.pop("head", None)  # refused: it has no effect, as selected features have a ridge
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
    prefix = "head_" if hasattr(model, "head_coef_") else ""
    names = ("coef_", "intercept_")
    return {f"head_{name}"[:-1]: getattr(model, prefix + name) for name in names}


def parts_of(model: Any) -> dict[str, Any]:
    """Linear part and tables of a fitted predictor, and importances of its inputs."""
    names = ("linear_coef", "tables", "bin_edges", "feature_importances")
    return {name: getattr(model, f"{name}_") for name in names}


def selected_of(model: Any) -> Any:
    """Chosen candidate columns of a fitted map."""
    return model.selected_


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
    """Every number of the cost of anything that ``cost`` counts."""
    return {f"cost {name}": value for name, value in asdict(cost(model)).items() if name[0] != "_"}

"""The paper's settings: what MaskedCERF and BlockedCERF have in common."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, TypeVar

from cerflearn._validation import Flag
from cerflearn.estimators.cerf.cvem_selector import CVEM
from cerflearn.estimators.cerf.learned import LearnedFeatureMap

MapT = TypeVar("MapT", bound=LearnedFeatureMap)


def in_papers_setting(
    cls: type[MapT], setting: Mapping[str, Any], parameters: Mapping[str, Any], *, literal: bool
) -> MapT:
    """Return an estimator in the paper's setting (section 4).

    CVEM with ADMM chooses .4 of the candidates. Where a parameter that is given leaves a part of
    the setting without effect, that part has its default.

    Parameters
    ----------
    cls : type
        Of the estimator.
    setting : mapping
        What only this estimator has.
    parameters : mapping
        Added or overriding; those of :class:`CVEM` go to the selector.
    literal : bool
        Nothing is standardised, and the E-step takes the rotation as ADMM leaves it.

    Returns
    -------
    LearnedFeatureMap
        Not fitted.
    """
    Flag().check("literal", literal)
    own = inspect.signature(CVEM.__init__).parameters
    of_selector = {name: value for name, value in parameters.items() if name in own}
    others = {name: value for name, value in parameters.items() if name not in own}
    if literal:
        of_selector = {"e_step": "literal", "normalize": None} | of_selector
    found = {**setting, "selector": CVEM(**({"solver": "admm"} | of_selector))}
    if "n_candidates" not in others:
        found["selected_fraction"] = 0.4
    if of_selector and "selector" in others:
        raise ValueError(
            f"selector={others['selector']!r} and {', '.join(of_selector)} are not valid "
            f"together{' (literal=True sets the latter)' if literal else ''}: pass the latter "
            "to the selector."
        )
    estimator = cls(**(found | others))
    void = {
        effect.parameter
        for effect in cls._without_effect
        if effect.parameter in found and effect.parameter not in others and effect.when(estimator)
    }
    return cls(**({name: value for name, value in found.items() if name not in void} | others))

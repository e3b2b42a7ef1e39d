"""The paper's settings: what MaskedCERF and BlockedCERF have in common."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from cerflearn.estimators.cerf.learned import is_random
from cerflearn.estimators.cerf.selectors import CVEM


def paper_parameters(
    setting: Mapping[str, Any], parameters: Mapping[str, Any], *, literal: bool
) -> dict[str, Any]:
    """Return the parameters of an estimator in the paper's setting (section 4).

    CVEM with ADMM chooses .4 of the candidates.

    Parameters
    ----------
    setting : mapping
        What only this estimator has.
    parameters : mapping
        Added or overriding; those of :class:`CVEM` go to the selector.
    literal : bool
        Nothing is standardised, and the E-step takes the rotation as ADMM leaves it.

    Returns
    -------
    dict
        Keyword arguments of the estimator.
    """
    own = inspect.signature(CVEM.__init__).parameters
    of_selector = {name: value for name, value in parameters.items() if name in own}
    others = {name: value for name, value in parameters.items() if name not in own}
    if literal:
        of_selector = {"e_step": "literal", "normalize": None} | of_selector
    found = {**setting, "selector": CVEM(**({"solver": "admm"} | of_selector))}
    if "n_candidates" not in others and not is_random(others.get("selector")):
        found["selected_fraction"] = 0.4
    if of_selector and "selector" in others:
        raise ValueError(
            f"selector={others['selector']!r} and {', '.join(of_selector)} are not valid "
            f"together{' (literal=True sets the latter)' if literal else ''}: pass the latter "
            "to the selector."
        )
    return found | others

"""Learned maps made from flat keywords: those of the selector go to the selector."""

from __future__ import annotations

import inspect
from typing import Any

from cerflearn import CVEM, BlockedCERF, Greedy, MaskedCERF, Shared

SELECTORS: dict[str, type] = {"cvem": CVEM, "shared": Shared, "greedy": Greedy}
LEARNED = tuple(SELECTORS)
QUICK = {"tol": 1.0, "random_state": 0}  # CVEM converges at once

_OF_SELECTORS = {name for cls in SELECTORS.values() for name in inspect.signature(cls).parameters}


def learned(cls: type = MaskedCERF, *, selector: str = "greedy", **flat: Any) -> Any:
    """Make a map whose selector has those of the keywords that it knows.

    A keyword that only other selectors know is left out, so that a test can run over all of them
    with one set of keywords.
    """
    of_selector = {name: flat.pop(name) for name in list(flat) if name in _OF_SELECTORS}
    if selector not in SELECTORS:
        return cls(selector=selector, **flat)
    known = inspect.signature(SELECTORS[selector]).parameters
    own = {name: value for name, value in of_selector.items() if name in known}
    return cls(selector=SELECTORS[selector](**own), **flat)


def learned_blocks(**flat: Any) -> BlockedCERF:
    """Make a :class:`BlockedCERF`, see :func:`learned`."""
    made: BlockedCERF = learned(BlockedCERF, **flat)
    return made

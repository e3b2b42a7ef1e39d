r"""How features are chosen: one class for each selector, with its own settings.

A selector is a parameter of :class:`cerflearn.MaskedCERF` and :class:`cerflearn.BlockedCERF`. It
has no ``fit``: it ranks candidate columns, given teacher and learner in blocks of rows, by an
algorithm of :mod:`cerflearn.learning`.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np

from cerflearn._typing import StateStore
from cerflearn._validation import (
    Constraint,
    Passes,
    invalid,
)
from cerflearn.engine.blocks import CACHE_BYTES
from cerflearn.estimators.cerf.candidates import Candidates
from cerflearn.estimators.cerf.cvem_selector import CVEM
from cerflearn.estimators.cerf.selector_base import (
    COMMON_CONSTRAINTS,
    UNEXPLAINED,
    Report,
    Selection,
    Selector,
)
from cerflearn.estimators.cerf.shared_selector import Shared
from cerflearn.learning.greedy import fit_greedy
from cerflearn.learning.rows import Rows


def _check_greedy_normalize(name: str, value: Any) -> None:
    if not (value is None or (isinstance(value, str) and value == "standardize")):
        must_be = "'standardize' or None: the scale of columns, all that 'center' leaves as it is, "
        raise invalid(name, value, must_be + "does not affect a regression on them")


class Greedy(Selector):
    r"""Greedy selector: simultaneous orthogonal matching pursuit of the teacher.

    One feature after the other is chosen, the one that lowers

    .. math:: \min_B |T - L_S B|^2

    most, the error of regressing the teacher T on all chosen columns S of the learner L.

    Parameters
    ----------
    normalize : {"standardize"} or None, default="standardize"
        Of both embeddings while learning: columns centred and the learner's scaled; or as they
        are, which then prefers features that hardly vary.
    cache_bytes : int, default=2147483648
        Most memory for teacher and candidates of the training rows, which are computed anew in
        each pass where they do not fit. The bits of the result do not depend on it.

    See Also
    --------
    CVEM : The paper's selector, with one selection for each sample while learning.
    Shared : One selection for all samples, candidates dropped step by step.
    MaskedCERF : Features that a selector chooses.

    References
    ----------
    Tropp, Gilbert and Strauss, "Algorithms for simultaneous sparse approximation. Part I: Greedy
    pursuit", Signal Processing 86, 2006.
    Wangni, Zhuo and Zhu, "Learning Random Fourier Features by Hybrid Constrained Optimization"
    (section 2: the teacher, and the features to choose from).

    Examples
    --------
    >>> from cerflearn import Greedy, MaskedCERF
    >>> MaskedCERF(selector=Greedy(cache_bytes=0)).get_params()["selector__cache_bytes"]
    0
    """

    _constraints: ClassVar[dict[str, Constraint]] = COMMON_CONSTRAINTS | {
        "normalize": Passes(_check_greedy_normalize)
    }

    def __init__(
        self,
        *,
        normalize: Literal["standardize"] | None = "standardize",
        cache_bytes: int = CACHE_BYTES,
    ) -> None:
        self.normalize = normalize
        self.cache_bytes = cache_bytes

    @property
    def _n_reports(self) -> int:
        """Most stages that are reported: the whole pursuit is one."""
        return 1

    def _select(
        self,
        rows: Rows,
        candidates: Candidates,
        report: Report,
        store: StateStore | None = None,
    ) -> Selection:
        greedy = fit_greedy(
            rows,
            candidates.n_columns,
            normalize=self.normalize,
            units=candidates.column_units,
            groups=candidates.column_groups,
            store=store,
        )
        errors = greedy.errors if len(greedy.errors) else np.ones(1)  # the first group is cut
        report(0, UNEXPLAINED, float(errors[-1]))
        return Selection(greedy.ranking, errors=errors)


SELECTORS: dict[str, type[Selector]] = {"greedy": Greedy, "shared": Shared, "cvem": CVEM}
"""Selectors with a name; ``"random"`` is none, as it chooses nothing."""


def make_selector(
    selector: Any, other_kinds: tuple[Any, ...] = (), other_names: tuple[str, ...] = ()
) -> Any:
    """Return the selector that a parameter names or is, checked.

    Parameters
    ----------
    selector : {"greedy", "shared", "cvem"}, Selector or object of another kind
        A name stands for the defaults of its class.
    other_kinds : tuple of type, default=()
        Classes that are valid too.
    other_names : tuple of str, default=()
        Names that are valid too, for messages.

    Returns
    -------
    Selector or object of another kind
        With valid parameters.
    """
    if isinstance(selector, str) and selector in SELECTORS:
        return SELECTORS[selector]()
    if not isinstance(selector, (Selector, *other_kinds)):
        names = ", ".join(repr(name) for name in (*SELECTORS, *other_names))
        classes = [kind.__name__ for kind in (CVEM, Shared, Greedy, *other_kinds)]
        objects = f"{', '.join(classes[:-1])} or {classes[-1]}"
        raise invalid("selector", selector, f"{names}, 'random', or a {objects}")
    checked: Any = selector
    checked._check_parameters()
    return checked

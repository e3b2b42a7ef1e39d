r"""Shared selector: one selection for all samples, candidates dropped step by step."""

from __future__ import annotations

from functools import partial
from typing import ClassVar, Literal

from cerflearn._typing import StateStore
from cerflearn._validation import Constraint, Whole
from cerflearn.engine.blocks import CACHE_BYTES
from cerflearn.estimators.cerf.candidates import Candidates
from cerflearn.estimators.cerf.selector_base import (
    COMMON_CONSTRAINTS,
    MOST_STAGES,
    STREAM_CONSTRAINTS,
    UNEXPLAINED,
    Report,
    Selection,
    StreamSelector,
)
from cerflearn.learning.rows import Rows
from cerflearn.learning.shared import choose_shared, fit_shared
from cerflearn.learning.stochastic import SharedStream, start_shared_stream, update_shared_stream


class Shared(StreamSelector):
    r"""Shared selector: one selection for all samples already while learning.

    With one selection the E-step becomes a choice: candidate k has the score
    :math:`(\sum_n L_{nk} (W^\top T_n)_k)^2 / \sum_n L_{nk}^2` for the best rotation W, and ever
    fewer candidates are kept until the outputs are left.

    Parameters
    ----------
    normalize : {"standardize", "center"} or None, default="standardize"
        Of both embeddings while learning: columns centred and the learner's scaled; only
        centred; or as they are.
    max_stages : int, default=20
        Steps from all candidates to the outputs, 2 or more.
    learning_offset : float, default=10.0
        Of ``partial_fit`` only, as in scikit-learn's LatentDirichletAllocation: the t-th mini-batch
        after the first has the weight ``(t + learning_offset) ** -learning_decay`` against all
        before it. Not negative; a larger one trusts the first mini-batches more.
    learning_decay : float, default=0.7
        Of ``partial_fit`` only, in (0.5, 1]: see ``learning_offset``. With 1 all weigh the
        same but the first, which weighs ``learning_offset`` times as much; a smaller one forgets
        old rows sooner.
    cache_bytes : int, default=2147483648
        Most memory for teacher and candidates of the training rows, which are computed anew in
        each pass where they do not fit. The bits of the result do not depend on it.

    See Also
    --------
    CVEM : The paper's selector, with one selection for each sample while learning.
    Greedy : Features chosen one after the other.
    MaskedCERF : Features that a selector chooses.

    Notes
    -----
    In ``partial_fit`` of the maps, scores are of averages over mini-batches, and each call chooses
    anew from all candidates.

    References
    ----------
    Wangni, Zhuo and Zhu, "Learning Random Fourier Features by Hybrid Constrained Optimization":
    the model, of which this is the limit of one selection for all samples.

    Examples
    --------
    >>> from cerflearn import MaskedCERF, Shared
    >>> MaskedCERF(selector=Shared(max_stages=5)).get_params()["selector__max_stages"]
    5
    """

    _free_in_streams: ClassVar[tuple[str, ...]] = (*StreamSelector._free_in_streams, "max_stages")
    _constraints: ClassVar[dict[str, Constraint]] = (
        COMMON_CONSTRAINTS
        | STREAM_CONSTRAINTS
        | {"max_stages": Whole("an integer from 2 to 10,000", at_least=2, at_most=MOST_STAGES)}
    )

    def __init__(
        self,
        *,
        normalize: Literal["standardize", "center"] | None = "standardize",
        max_stages: int = 20,
        learning_offset: float = 10.0,
        learning_decay: float = 0.7,
        cache_bytes: int = CACHE_BYTES,
    ) -> None:
        self.normalize = normalize
        self.max_stages = max_stages
        self.learning_offset = learning_offset
        self.learning_decay = learning_decay
        self.cache_bytes = cache_bytes

    @property
    def _n_reports(self) -> int:
        """Most stages that are reported."""
        return int(self.max_stages)

    def _select(
        self,
        rows: Rows,
        candidates: Candidates,
        report: Report,
        store: StateStore | None = None,
    ) -> Selection:
        def on_stage(stage: int, error: float) -> None:
            report(stage, UNEXPLAINED, error)  # not to be stopped: too many columns would be left

        shared = fit_shared(
            rows,
            candidates.n_columns,
            normalize=self.normalize,
            units=candidates.column_units,
            groups=candidates.column_groups,
            max_stages=int(self.max_stages),
            on_stage=on_stage,
            store=store,
        )
        return Selection(shared.ranking, scale=shared.scale, errors=shared.errors)

    def _learn_batch(
        self, learned: SharedStream | None, rows: Rows, candidates: Candidates
    ) -> tuple[SharedStream, Selection]:
        choose = partial(
            choose_shared,
            n_components=candidates.n_columns,
            units=candidates.column_units,
            groups=candidates.column_groups,
            max_stages=int(self.max_stages),
        )
        learned, shared = update_shared_stream(
            start_shared_stream(rows, self.normalize) if learned is None else learned,
            rows,
            choose,
            learning_offset=float(self.learning_offset),
            learning_decay=float(self.learning_decay),
        )
        return learned, Selection(shared.ranking, scale=shared.scale, errors=shared.errors[-1:])

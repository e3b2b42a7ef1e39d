"""Pictures of what learning did; they need matplotlib (``pip install 'cerflearn[report]'``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from cerflearn._typing import Float64Array, IntArray, MatrixLike
from cerflearn.linalg.row_slices import evenly_spaced_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.ticker import MaxNLocator

    from cerflearn import BlockedCERF, MaskedCERF
    from cerflearn.spectral import SpectralLaw

PLOTTED_ROWS = 500
"""Most rows of X, evenly spread, that the kernel error is measured on."""

_CHOSEN, _OTHER = "tab:blue", "lightgrey"


def plot_path(
    estimator: MaskedCERF | BlockedCERF,
    X: MatrixLike | None = None,
    *,
    axes: Sequence[Axes] | None = None,
) -> NDArray[np.object_]:
    r"""Draw how the features of a :class:`MaskedCERF` or :class:`BlockedCERF` were chosen.

    Three panels: the lower bound after each stage (``selector="cvem"``; the share of the teacher
    left unexplained for other selectors); the selection probabilities of the candidates in
    descending order, those chosen in colour; and, if X is given, the mean of
    :math:`|z(x)^\top z(y) - k(x, y)|` over pairs of its rows, for the kernel k of ``law_`` (of
    ``teacher``, if that is a law) and ever more of the chosen projections, the most probable
    first.

    Parameters
    ----------
    estimator : MaskedCERF or BlockedCERF
        Fitted, with another selector than ``"random"`` and ``"trained"``.
    X : {array-like, sparse matrix} of shape (n_samples, n_features), default=None
        Rows for the third panel, best such as were not used in ``fit``; at most 500 of them,
        evenly spread, are used.
    axes : sequence of matplotlib Axes, default=None
        Where to draw, one for each panel: two, or three with X. None: a new figure.

    Returns
    -------
    ndarray of matplotlib Axes
        The panels; ``axes[0].figure`` is the figure.

    Examples
    --------
    >>> from cerflearn import MaskedCERF
    >>> X = np.random.default_rng(0).normal(size=(60, 8))
    >>> sampler = MaskedCERF(n_components=10, selector="cvem", random_state=0).fit(X)
    >>> axes = plot_path(sampler, X)  # doctest: +SKIP
    >>> axes[0].figure.savefig("path.png")  # doctest: +SKIP
    """
    if not hasattr(estimator, "lower_bounds_"):
        raise ValueError(
            f"{estimator!r} has nothing to draw: fit a MaskedCERF or BlockedCERF with a selector "
            "other than 'random' and 'trained', which choose from no candidates."
        )
    n_panels = 2 if X is None else 3
    panels = _new_axes(n_panels) if axes is None else np.ravel(np.asarray(axes, dtype=object))
    if len(panels) < n_panels:
        raise ValueError(f"axes has {len(panels)} of the {n_panels} panels: pass one for each.")
    _draw_stages(panels[0], estimator)
    _draw_probabilities(panels[1], estimator)
    if X is not None:
        _draw_kernel_error(panels[2], estimator, X)
    return panels


def kernel_errors(
    estimator: MaskedCERF | BlockedCERF, X: MatrixLike
) -> tuple[IntArray, Float64Array]:
    """Numbers of outputs and the kernel errors of the most probable ones, see :func:`plot_path`.

    Amplitudes grow as outputs are left out, so that norms stay what they are.
    """
    law: SpectralLaw = estimator.law_
    if hasattr(estimator.teacher, "has_kernel"):
        law = cast("SpectralLaw", estimator.teacher)
    if not law.has_kernel:
        raise ValueError(f"X cannot be used: {law!r} has no kernel in closed form to compare with.")
    rows = _plotted_rows(X, int(estimator.n_features_in_))
    exact = law.kernel(rows)
    feature_map = estimator.feature_map_
    per_projection = 2 if feature_map.paired else 1
    proba = estimator.feature_proba_[estimator.selected_][::per_projection]
    order = np.argsort(-proba, kind="stable")
    n = len(order)
    counts = np.unique(np.geomspace(1, n, min(n, 24)).round().astype(np.int64))
    errors = []
    for m in counts.tolist():
        part = feature_map.select(np.sort(order[:m]))
        features = part.with_amplitudes(part.amplitudes * np.sqrt(n / m)).transform(rows)
        errors.append(float(np.abs(features @ features.T - exact).mean()))
    return np.minimum(counts * per_projection, feature_map.n_outputs), np.array(errors)


def _plotted_rows(X: Any, n_features: int) -> Float64Array:
    """At most 500 rows, evenly spread, as an array in C order, on which bits of products depend."""
    rows = X if hasattr(X, "shape") else np.asarray(X)
    if len(rows.shape) != 2 or rows.shape[0] == 0 or rows.shape[1] != n_features:
        raise ValueError(
            f"X of shape {rows.shape} cannot be drawn: pass rows of {n_features} inputs."
        )
    rows = rows.tocsr() if hasattr(rows, "tocsr") else rows  # not all formats have an index
    index = evenly_spaced_rows(rows.shape[0], PLOTTED_ROWS)
    rows = rows.iloc[index] if hasattr(rows, "iloc") else rows[index]
    rows = rows.toarray() if hasattr(rows, "toarray") else rows
    dense: Float64Array = np.ascontiguousarray(rows, dtype=np.float64)
    if not np.isfinite(dense).all():
        raise ValueError("X contains NaN or infinity: drop such rows.")
    return dense


def _new_axes(n_panels: int) -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("plot_path needs matplotlib: pip install 'cerflearn[report]'") from error
    _, axes = plt.subplots(1, n_panels, figsize=(4.2 * n_panels, 3.4), layout="constrained")
    return axes


def _draw_stages(axis: Axes, estimator: MaskedCERF | BlockedCERF) -> None:
    """Bound or error after each stage."""
    by_error = hasattr(estimator, "errors_")
    values = estimator.errors_ if by_error else estimator.lower_bounds_
    selector = estimator.selector
    name = selector if isinstance(selector, str) else type(selector).__name__
    stages = np.arange(1, len(values) + 1)
    axis.plot(stages, values, color=_CHOSEN, marker="o", markersize=3)
    axis.set_xlabel("stage")
    axis.set_ylabel("unexplained share of the teacher" if by_error else "lower bound")
    axis.set_title(f"learning ({name})")
    cast("MaxNLocator", axis.xaxis.get_major_locator()).set_params(integer=True)
    axis.grid(alpha=0.3)


def _draw_probabilities(axis: Axes, estimator: MaskedCERF | BlockedCERF) -> None:
    """Probabilities in descending order; chosen candidates in colour."""
    proba = estimator.feature_proba_
    chosen = np.zeros(len(proba), dtype=np.bool_)
    chosen[estimator.selected_] = True
    order = np.lexsort((~chosen, -proba))
    rank = np.arange(1, len(proba) + 1)
    for wanted, colour, label in ((False, _OTHER, "other"), (True, _CHOSEN, "chosen")):
        part = chosen[order] == wanted
        axis.vlines(rank[part], 0.0, proba[order][part], color=colour, label=label)
    axis.set_xlabel("candidate columns, sorted")
    axis.set_ylabel("selection probability")
    axis.set_title(f"{chosen.sum()} of {len(proba)} candidates")
    axis.set_ylim(0.0, None)
    axis.legend(loc="upper right")


def _draw_kernel_error(axis: Axes, estimator: MaskedCERF | BlockedCERF, X: MatrixLike) -> None:
    counts, errors = kernel_errors(estimator, X)
    axis.plot(counts, errors, color=_CHOSEN, marker="o", markersize=3)
    axis.set_xscale("log")
    axis.set_xlabel("outputs, the most probable first")
    axis.set_ylabel("mean absolute kernel error")
    axis.set_title(f"kernel, {estimator.n_macs_:,} MACs")
    axis.set_ylim(0.0, None)
    axis.grid(alpha=0.3, which="both")

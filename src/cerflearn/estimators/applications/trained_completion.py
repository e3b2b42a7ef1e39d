r"""Completion within a budget, for one pattern that is known beforehand.

The missing inputs are predicted from the observed ones by

.. math:: \hat y = B^\top c(x) + b,

with J codes c of a trained network and a linear decoder B, or by a network with a score for each
missing input. The codes are trained on the leading components of what a ridge regression of the
missing inputs on the observed ones predicts: the part that can be known. How the budget is divided
between codes and decoder is chosen on held-out rows. Everything is in standardised units.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from cerflearn._typing import BoolArray, Float64Array, IntArray
from cerflearn._validation import NoEffect, invalid
from cerflearn.engine.engines import one_thread_blas
from cerflearn.estimators.applications.imputation import FARTHEST
from cerflearn.estimators.components import leading_components
from cerflearn.estimators.encoder import Encoder, EncoderOptions, train_encoder
from cerflearn.features.cost import Cost, stored_cost
from cerflearn.linalg.ridge import ridge_weights
from cerflearn.training.policy import HELD_OUT_PARTS
from cerflearn.training.task import parts_of_rows

DECODER_SHARES = (1 / 8, 1 / 4, 1 / 2)
"""Shares of the budget that a decoder may take, of which the best is taken."""

COMPARED_EFFORT = 0.25
"""Of the trainings that are compared, beside the last one's."""

DECODER_RIDGE = 1e-3
"""Penalty of the regressions, in units of the mean variance of the regressors."""

COMPLETION_EFFECTS = tuple(
    NoEffect(
        name,
        "macs",
        lambda estimator: estimator.macs is not None,
        "a network within a budget has one stage and penalties of its own; leave one of them out",
    )
    for name in ("feature_map", "linear_part", "alpha", "max_iter", "tol")
)
"""Combinations of ``macs`` of an imputer in which a parameter changes nothing."""


@dataclass(frozen=True, eq=False)
class TrainedStage:
    """Completion of one pattern, in standardised units.

    Attributes
    ----------
    encoder : Encoder
        Codes of the observed inputs.
    observed, hidden : ndarray of int64
        Inputs that are read, and that are predicted.
    weights : ndarray of shape (n_hidden, n_codes + 1)
        Decoder, the intercepts last; empty if the codes are the predictions themselves.
    n_features : int
        Number of inputs.
    """

    encoder: Encoder
    observed: IntArray
    hidden: IntArray
    weights: Float64Array
    n_features: int

    @property
    def alphas(self) -> Float64Array:
        """Penalties (n_features,) of the regressors."""
        return np.full(self.n_features, DECODER_RIDGE)

    def complete(self, filled: Float64Array, missing: BoolArray) -> Float64Array:
        """Return filled rows with new values where they are missing."""
        found = np.zeros_like(filled)
        found[:, self.hidden] = self.predict(_clipped(filled, self.observed))
        return np.where(missing, found, filled)

    def predict(self, inputs: Float64Array) -> Float64Array:
        """Hidden inputs (n_samples, n_hidden) of observed ones (n_samples, n_observed)."""
        codes = np.asarray(self.encoder.codes(inputs), dtype=np.float64)
        if self.weights.size == 0:
            return codes
        predicted: Float64Array = codes @ self.weights[:, :-1].T + self.weights[:, -1]
        return predicted

    def cost(self) -> Cost:
        """Operations and bytes of completing a row: codes and decoder."""
        n_weights = self.weights.size
        macs = n_weights - len(self.weights)
        return self.encoder.cost() + stored_cost(macs=macs, n_parameters=n_weights)


@dataclass(frozen=True)
class CompletionOptions:
    """How a completion is trained.

    Attributes
    ----------
    macs : int
        Budget of one row, decoder included.
    n_components : int or None
        Number of codes; None: chosen.
    n_threads : int
        Threads; the bits of the result do not depend on their number.
    report : callable or None
        Called with lines that say what is done.
    """

    macs: int
    n_components: int | None
    n_threads: int
    report: Callable[[str], None] | None

    @classmethod
    def of(cls, model: Any, n_threads: int) -> Self:
        """Options of an imputer with checked parameters."""
        name = type(model).__name__
        report = (lambda line: print(f"[{name}] {line}")) if model.verbose else None
        return cls(int(model.macs), model.n_components, n_threads, report)


def train_completion(
    values: Float64Array,
    missing: BoolArray,
    pattern: BoolArray,
    options: CompletionOptions,
    rng: np.random.Generator,
) -> tuple[list[TrainedStage], list[float]]:
    """Train the completion of a pattern.

    Parameters
    ----------
    values : ndarray of shape (n_samples, n_features)
        Standardised, 0 where missing.
    missing : ndarray of shape (n_samples, n_features), bool
        What is not known; rows that miss an input of the pattern are not trained on.
    pattern : ndarray of shape (n_features,), bool
        Inputs to predict, from all others.
    options : CompletionOptions
        Budget, and what is given.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    stages : list of TrainedStage
        One; none if it is no better than the means.
    errors : list of float
        Squared error on held-out rows divided by that of the means.
    """
    observed, hidden = np.flatnonzero(~pattern), np.flatnonzero(pattern)
    rows = np.flatnonzero(~missing[:, hidden].any(axis=1))
    _check(values, rows, observed)
    # Targets are clipped as inputs are: columns that hardly ever vary would rule the error.
    inputs, targets = _clipped(values[rows], observed), _clipped(values[rows], hidden)
    sizes = _numbers_of_codes(options, len(hidden), min(len(hidden), len(rows)))
    parts = parts_of_rows(np.zeros(len(rows), dtype=np.int64), min(HELD_OUT_PARTS, len(rows)), 0)
    train, test = parts != 0, parts == 0
    seed = np.random.SeedSequence(rng.integers(2**63, size=2))
    if not (_varies(inputs[train]) and _varies(targets[train])):
        return [], []  # nothing to learn from, or nothing to predict

    def fit(n_codes: int, part: BoolArray, effort: float) -> TrainedStage:
        rows = inputs[part], targets[part]
        return _train(*rows, n_codes, options, seed, observed, hidden, effort)

    errors = {}
    total = float(np.square(targets[test] - targets[train].mean(axis=0)).sum())
    for n_codes in sizes:
        found = fit(n_codes, train, COMPARED_EFFORT).predict(inputs[test])
        lost = float(np.square(targets[test] - found).sum())
        errors[n_codes] = lost / total if total > 0.0 else 1.0
        if options.report is not None:
            options.report(f"{n_codes} codes: held-out error {errors[n_codes]:.4f}")
    best = min(sizes, key=lambda n_codes: errors[n_codes])
    if not errors[best] < 1.0:
        return [], []
    return [fit(best, np.ones(len(rows), dtype=np.bool_), 1.0)], [errors[best]]


def _check(values: Float64Array, rows: IntArray, observed: IntArray) -> None:
    """Refuse rows that nothing can be learned from."""
    if len(observed) == 0:
        raise ValueError("patterns misses all columns: there is nothing to predict them from.")
    if len(rows) < 4:
        raise ValueError(
            f"X has {len(rows)} rows with values in all columns of the pattern: with macs= at "
            "least 4 are needed."
        )
    if not _varies(values[rows][:, observed]):
        raise ValueError("The observed columns of X are constant: nothing can be predicted.")


def _varies(table: Float64Array) -> bool:
    return bool((table.max(axis=0) > table.min(axis=0)).any())


def _clipped(values: Float64Array, columns: IntArray) -> Float64Array:
    """Columns of standardised values; those farther than five deviations are read as five."""
    return np.ascontiguousarray(np.clip(values[:, columns], -FARTHEST, FARTHEST))


def _numbers_of_codes(options: CompletionOptions, n_hidden: int, most: int) -> list[int]:
    """Numbers of codes to compare; as many as hidden inputs means that there is no decoder."""
    if options.n_components is not None:
        n_codes = int(options.n_components)
        if n_codes > most:
            must_be = f"at most {most}, the smaller of the rows and the columns of the pattern"
            raise invalid("n_components", n_codes, must_be)
        sizes = [n_codes]
    else:
        shared = {int(share * options.macs / n_hidden) for share in DECODER_SHARES}
        sizes = sorted({n for n in shared if 0 < n <= most // 2} | {n_hidden})
    found = [n for n in sizes if options.macs >= _least_macs(n, n_hidden)]
    if not found:
        least = min(_least_macs(n, n_hidden) for n in sizes)
        smallest, remedy = "the smallest network", ""
        if sizes[0] != n_hidden:
            smallest = f"the smallest network of {sizes[0]} codes and a decoder"
            remedy = ", or leave n_components out"
        raise ValueError(
            f"macs={options.macs} is not valid: {smallest} for {n_hidden} missing "
            f"columns costs {least} MACs. Pass macs={least} or more{remedy}."
        )
    return found


def _least_macs(n_codes: int, n_hidden: int) -> int:
    """MACs of the smallest network of so many codes, with its decoder."""
    return 1 + n_codes + (0 if n_codes == n_hidden else n_codes * n_hidden)


def _train(
    inputs: Float64Array,
    targets: Float64Array,
    n_codes: int,
    options: CompletionOptions,
    seed: np.random.SeedSequence,
    observed: IntArray,
    hidden: IntArray,
    effort: float,
) -> TrainedStage:
    """Codes and decoder, trained on some rows."""
    n_hidden = targets.shape[1]
    direct = n_codes == n_hidden
    macs = options.macs - (0 if direct else n_codes * n_hidden)
    aims = targets if direct else _predictable(inputs, targets, n_codes, options.n_threads)
    encoder_options = EncoderOptions(
        macs, n_codes, effort=effort, n_threads=options.n_threads, report=options.report
    )
    encoder = train_encoder(inputs, aims, encoder_options, seed)
    weights = np.zeros((0, 0))
    if not direct:
        weights = _regressors(np.asarray(encoder.codes(inputs), dtype=np.float64), targets).T
    n_features = len(observed) + len(hidden)
    return TrainedStage(encoder, observed, hidden, np.ascontiguousarray(weights), n_features)


def _predictable(
    inputs: Float64Array, targets: Float64Array, n_codes: int, n_threads: int
) -> Float64Array:
    """Rotated leading components (n_samples, n_codes) of a ridge regression of the targets."""
    weights = _regressors(inputs, targets)
    found = leading_components(
        lambda start, stop: inputs[start:stop] @ weights[:-1] + weights[-1],
        len(inputs),
        n_codes,
        n_threads,
        rotated=True,
    )
    return found.values


def _regressors(regressors: Float64Array, targets: Float64Array) -> Float64Array:
    """Weights (n_regressors + 1, n_targets) of ridge regression, the intercepts last."""
    mean, aim = regressors.mean(axis=0), targets.mean(axis=0)
    with one_thread_blas():
        centred = regressors - mean
        weights = ridge_weights(centred.T @ centred, centred.T @ (targets - aim), DECODER_RIDGE)
        return np.vstack([weights, aim - mean @ weights])

"""Stages of completion: hide known values, embed the filled rows, regress what was hidden.

Everything here is in standardised units: observed columns have mean 0 and variance 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from cerflearn._typing import BoolArray, Float64Array
from cerflearn._validation import invalid
from cerflearn.engine.blocks import BLOCK_ROWS, ArraySource, ComputedSource
from cerflearn.engine.engines import make_engine, one_thread_blas
from cerflearn.estimators.applications.inner_map import fit_inner_map, inner_features
from cerflearn.estimators.cost import counted_cost
from cerflearn.features.cost import Cost, stored_cost
from cerflearn.linalg.columns import ColumnFits, HiddenColumns, fit_columns
from cerflearn.linalg.moments import cross_moments_block
from cerflearn.linalg.principal import principal_axes, principal_axes_of_rows

IMPUTER_ALPHAS = np.array([0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0])
"""Penalties that ``alpha="auto"`` tries."""

FARTHEST = 5.0
"""Inputs farther from their mean, in standard deviations, are read as this."""

_ROUNDING_SPREAD = 1e-12  # a spread of this share of the mean is rounding
_LEAST_SPREAD = float(np.sqrt(np.finfo(np.float64).tiny))  # its square has all its digits
_IMPUTER_CODES = 100
_FEWER_ROWS = 0.25  # of the inputs of the codes: pairs of rows are 16 times fewer
_BLOCK_COLUMNS = 8  # columns of one piece of work


@dataclass(frozen=True)
class StageOptions:
    """How stages are trained.

    Attributes
    ----------
    feature_map : transformer or None
        Cloned and fitted anew in each stage.
    n_components : int
        Number of codes.
    may_be_fewer : bool
        Whether fewer inputs of the codes than that are no error.
    linear_part : bool
        Whether codes are also made of the filled rows themselves.
    alphas : ndarray of shape (n_alphas,)
        Penalties to choose from.
    max_iter : int
        Most stages.
    tol : float
        Stop when a stage lowers the error by less than this share.
    n_threads : int
        Most threads.
    """

    feature_map: Any
    n_components: int
    may_be_fewer: bool
    linear_part: bool
    alphas: Float64Array
    max_iter: int
    tol: float
    n_threads: int

    @classmethod
    def of(cls, model: Any, values: Float64Array, n_threads: int) -> Self:
        """Options of an imputer with checked parameters, for some rows."""
        n_codes = model.n_components
        if n_codes is None:
            n_codes = max(1, min(_IMPUTER_CODES, len(values) // 2))
        chosen = isinstance(model.alpha, str)
        return cls(
            feature_map=model.feature_map,
            n_components=int(n_codes),
            may_be_fewer=model.n_components is None,
            linear_part=bool(model.linear_part),
            alphas=IMPUTER_ALPHAS if chosen else np.array([float(model.alpha)]),
            max_iter=int(model.max_iter),
            tol=float(model.tol),
            n_threads=n_threads,
        )


@dataclass(frozen=True, eq=False)
class ImputationStage:
    r"""One step of completion: :math:`\hat x = W^\top (P [\varphi(x), s x] - m) + b`.

    Attributes
    ----------
    feature_map : transformer
        :math:`\varphi`.
    linear_scale : float
        s; 0 leaves the linear part out.
    components : ndarray of shape (n_codes, n_outputs + n_features or n_outputs)
        P, scaled so that the mean variance of the codes is 1.
    mean : ndarray of shape (n_codes,)
        m.
    weights : ndarray of shape (n_features, n_codes + 1)
        W, the intercept b last.
    alphas : ndarray of shape (n_features,)
        Penalty of each column.
    """

    feature_map: Any
    linear_scale: float
    components: Float64Array
    mean: Float64Array
    weights: Float64Array
    alphas: Float64Array

    def codes(self, filled: Float64Array) -> Float64Array:
        """Codes (b, n_codes) of filled rows (b, n_features)."""
        inputs = stage_inputs(self.feature_map, self.linear_scale, filled)
        codes: Float64Array = inputs @ self.components.T - self.mean
        return codes

    def complete(self, filled: Float64Array, missing: BoolArray) -> Float64Array:
        """Return filled rows with new values where they are missing."""
        codes = self.codes(filled)
        return np.where(missing, codes @ self.weights[:, :-1].T + self.weights[:, -1], filled)

    def cost(self) -> Cost:
        """MACs and parameters of one row: the map, the codes, and all columns."""
        n_weights = self.components.size + self.weights.shape[1] * len(self.weights)
        macs = n_weights - len(self.weights)  # intercepts are free
        head = stored_cost(macs=macs, n_parameters=n_weights + len(self.mean))
        return counted_cost(self.feature_map) + head


def column_label(column: int, names: Any) -> str:
    """``Column 3``, with its name if columns have names, for messages."""
    return f"Column {column}" if names is None else f"Column {column} ({names[column]!r})"


def check_incomplete_rows(X: Any, missing: BoolArray, names: Any) -> None:
    """Refuse rows that nothing can be learned from."""
    if len(X) < 2:
        raise ValueError("X has one sample (n_samples = 1): KernelImputer needs two or more.")
    empty = np.flatnonzero(missing.all(axis=0))
    if len(empty):
        raise ValueError(
            f"{column_label(int(empty[0]), names)} of X has no value at all in the {len(X)} "
            "training rows: drop it, or fill it with a constant."
        )


def standardise(
    X: Any, missing: BoolArray, names: Any = None
) -> tuple[Float64Array, Float64Array, Float64Array]:
    """X in units of its known values, 0 where missing; their means and standard deviations.

    The standard deviation of a constant column is given as 1. Columns that vary by so much, or by
    so little, that their variance is no number are refused.
    """
    known = np.where(missing, 0.0, X).astype(np.float64, copy=False)
    counts = (~missing).sum(axis=0)
    highest = np.where(missing, -np.inf, known).max(axis=0)
    varies: BoolArray = highest > np.where(missing, np.inf, known).min(axis=0)
    with np.errstate(over="ignore", invalid="ignore"):  # refused below
        means = np.where(varies, known.sum(axis=0) / counts, highest)
        values = np.where(missing, 0.0, known - means)
        spread = np.sqrt(np.square(values).sum(axis=0) / counts)
    _check_spread(varies, spread, names)
    constant = ~varies | (spread <= _ROUNDING_SPREAD * np.abs(means))
    scales = np.where(constant, 1.0, spread)
    return np.where(constant, 0.0, values / scales), means, scales


def _check_spread(varies: BoolArray, spread: Float64Array, names: Any) -> None:
    """Refuse columns that vary, but whose variance is infinite or below normal numbers."""
    refused = np.flatnonzero(varies & ~((spread >= _LEAST_SPREAD) & (spread < np.inf)))
    if len(refused):
        column = int(refused[0])
        much = "too little" if spread[column] < _LEAST_SPREAD else "too much"
        raise ValueError(
            f"{column_label(column, names)} of X varies {much} for its variance to be a number: "
            "scale X, for example with StandardScaler."
        )


def stage_inputs(feature_map: Any, linear_scale: float, filled: Float64Array) -> Float64Array:
    """Features of filled rows, and the rows themselves where the linear part is wanted."""
    # Columns that hardly ever vary have values of many standard deviations, which would outweigh
    # all others.
    filled = np.clip(filled, -FARTHEST, FARTHEST)
    features = inner_features(feature_map, filled)
    if linear_scale == 0.0:
        return features
    return np.concatenate([features, linear_scale * filled], axis=1)


def train_stages(
    values: Float64Array,
    missing: BoolArray,
    hidden: BoolArray,
    options: StageOptions,
    rng: np.random.Generator,
) -> tuple[list[ImputationStage], list[float]]:
    """Train stage after stage on copies of the rows in which known values are hidden.

    Parameters
    ----------
    values : ndarray of shape (n_samples, n_features)
        Standardised, 0 where missing.
    missing : ndarray of shape (n_samples, n_features), bool
        What is not known.
    hidden : ndarray of shape (n_copies, n_samples, n_features), bool
        Known values hidden in each copy.
    options : StageOptions
        How stages are trained.
    rng : numpy.random.Generator
        For the maps.

    Returns
    -------
    stages : list of ImputationStage
        None if no stage has a lower error than the means.
    errors : list of float
        After each stage, the cross-validated error of the hidden values divided by that of their
        column means.
    """
    _, n_samples, n_features = hidden.shape
    rows = np.where(hidden, 0.0, values).reshape(-1, n_features)
    absent = (hidden | missing).reshape(-1, n_features)
    flat = hidden.reshape(-1, n_features)
    stages: list[ImputationStage] = []
    errors: list[float] = []
    for _ in range(options.max_iter if hidden.any() else 0):
        feature_map = fit_inner_map(options.feature_map, rows[:n_samples], None, rng)
        stage, error = _train_stage(feature_map, rows, values, flat, options)
        best = errors[-1] if errors else 1.0
        if not error < best:
            break
        stages.append(stage)
        errors.append(error)
        if error > (1.0 - options.tol) * best:
            break
        for start in range(0, len(rows), BLOCK_ROWS):
            block = slice(start, start + BLOCK_ROWS)
            rows[block] = stage.complete(rows[block], absent[block])
    return stages, errors


def _train_stage(
    feature_map: Any,
    rows: Float64Array,
    values: Float64Array,
    hidden: BoolArray,
    options: StageOptions,
) -> tuple[ImputationStage, float]:
    """Principal codes of the filled rows, and regressors from them; with the error."""
    # The linear part has a total variance of about 1, as the features have.
    scale = 1.0 / np.sqrt(rows.shape[1]) if options.linear_part else 0.0
    components, mean = _encoder(feature_map, scale, rows, options)
    unfinished = ImputationStage(
        feature_map, scale, components, mean, np.zeros((0, 0)), np.zeros(0)
    )
    codes = np.empty((len(rows), len(components)))
    for start in range(0, len(rows), BLOCK_ROWS):
        block = slice(start, start + BLOCK_ROWS)
        codes[block] = unfinished.codes(rows[block])
    fits = _regress(HiddenColumns(codes, values, hidden, options.alphas), options.n_threads)
    columns, best = np.arange(len(fits.errors)), fits.errors.argmin(axis=1)
    lost, total = fits.errors[columns, best].sum(), fits.energies.sum()
    weights, alphas = fits.weights[columns, best], options.alphas[best]
    stage = ImputationStage(feature_map, scale, components, mean, weights, alphas)
    return stage, float(lost / total) if total > 0.0 else 1.0


def _encoder(
    feature_map: Any, scale: float, rows: Float64Array, options: StageOptions
) -> tuple[Float64Array, Float64Array]:
    """Components (n_codes, n_inputs), scaled to codes of unit mean variance, and their mean.

    From products of all pairs of inputs; or of rows, where these are far fewer.
    """

    def compute(start: int, stop: int) -> tuple[Float64Array, Float64Array]:
        return stage_inputs(feature_map, scale, rows[start:stop]), np.empty((stop - start, 0))

    n_inputs = compute(0, 1)[0].shape[1]
    n_codes = min(options.n_components, n_inputs)
    if n_codes < options.n_components and not options.may_be_fewer:
        raise invalid(
            "n_components",
            options.n_components,
            f"at most {n_codes}, the outputs of feature_map and the inputs of the linear part",
        )
    if n_codes <= len(rows) < _FEWER_ROWS * n_inputs:
        inputs, _ = compute(0, len(rows))
        mean = inputs.mean(axis=0)
        axes = principal_axes_of_rows(inputs - mean, n_codes)
    else:
        engine = make_engine(ComputedSource(compute, len(rows)), options.n_threads)
        moments = engine.map_reduce(cross_moments_block, False)
        mean, axes = moments.left_mean, principal_axes(moments.left_scatter, n_codes)
    variance = float(axes.energies.mean()) / len(rows)
    components = axes.components / np.sqrt(variance) if variance > 0.0 else axes.components
    return components, components @ mean


def _regress(task: HiddenColumns, n_threads: int) -> ColumnFits:
    columns = ArraySource(np.arange(task.targets.shape[1]), block_rows=_BLOCK_COLUMNS)
    return make_engine(columns, n_threads).map_reduce(fit_columns, task)


def complete(stages: list[Any], filled: Float64Array, missing: BoolArray) -> Float64Array:
    """Rows (n_samples, n_features) after all stages, in blocks of rows."""
    completed = np.empty_like(filled)
    with one_thread_blas():
        for start in range(0, len(filled), BLOCK_ROWS):
            block = slice(start, start + BLOCK_ROWS)
            rows = filled[block]
            for stage in stages:
                rows = stage.complete(rows, missing[block])
            completed[block] = rows
    return completed


def check_range(found: Float64Array, dtype: np.dtype[Any]) -> None:
    """Refuse values to fill in that the dtype of X cannot hold."""
    if len(found) and not np.abs(found).max() <= np.finfo(dtype).max:
        raise ValueError(
            f"The values to fill in are beyond the range of {dtype}: pass float64, or scale X."
        )

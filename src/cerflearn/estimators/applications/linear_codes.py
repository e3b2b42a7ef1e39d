r"""Codes to reconstruct inputs: linear ones of few inputs, beside the networks.

Gradient steps and pruning find sparse linear codes that lose more than need be: decoder and entries
are chosen together here, by least squares. Which of the two kinds is taken, held-out rows decide.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import numpy as np
from scipy.linalg import eigvalsh

from cerflearn._typing import Float64Array
from cerflearn.engine.blocks import BLOCK_ROWS, ComputedSource
from cerflearn.engine.engines import make_engine, one_thread_blas
from cerflearn.estimators.components import CodeTargets
from cerflearn.estimators.encoder import Encoder, EncoderOptions, train_encoder
from cerflearn.estimators.input import TrainingData
from cerflearn.features.tables import TableMap
from cerflearn.linalg.moments import CrossMoments, cross_moments_block
from cerflearn.linalg.principal import principal_axes, varimax
from cerflearn.linalg.ridge import SINGULAR, ridge_weights
from cerflearn.linalg.sparse_axes import sparse_axes
from cerflearn.training.policy import HELD_OUT_PARTS
from cerflearn.training.settings import TrainingSettings
from cerflearn.training.task import parts_of_rows

MOST_LINEAR_INPUTS = 2048
"""Beyond, no linear codes are compared: their matrix of all pairs of inputs takes 32 MB here, and
least squares grow with the third power of the inputs of a code."""


def best_codes(
    data: TrainingData,
    targets: CodeTargets,
    options: EncoderOptions,
    seed: np.random.SeedSequence,
    alpha: float,
) -> Encoder:
    """Train codes from which a linear decoder estimates the inputs, within a budget.

    Parameters
    ----------
    data : TrainingData
        The rows.
    targets : CodeTargets
        What a network is trained for.
    options : EncoderOptions
        Budget.
    seed : numpy.random.SeedSequence
        Of all randomness.
    alpha : float
        Penalty of the decoder.

    Returns
    -------
    Encoder
        A network, or linear codes.
    """
    network = train_encoder(data.X, targets.values, options, seed)
    n_codes = targets.values.shape[1]
    linear = linear_codes(data, n_codes, options)
    if linear is None:
        return network
    settings = TrainingSettings(**network.settings)
    if settings.n_components == 0:  # as many numbers are learned: training rows decide
        errors = [_decoded_error(one, data, data, options, alpha) for one in (linear, network)]
    else:
        parts = parts_of_rows(np.zeros(data.n_samples, dtype=np.int64), HELD_OUT_PARTS, 0)
        train, test = np.flatnonzero(parts != 0), np.flatnonzero(parts == 0)
        rows, others = data.rows(train), data.rows(test)
        # With settings that all rows have chosen, which favours the network a little.
        given = replace(options, settings=replace(settings, n_resumed=0), report=None)
        try:
            again = train_encoder(rows.X, targets.values[train], given, seed)
        except ValueError:  # nothing varies in a part of the rows
            return linear
        simple = linear_codes(rows, n_codes, options)
        if simple is None:
            return linear
        errors = [_decoded_error(one, rows, others, options, alpha) for one in (simple, again)]
    if options.report is not None:
        options.report(f"errors: linear codes {errors[0]:.5f}, network {errors[1]:.5f}")
    return linear if errors[0] <= errors[1] else network


def linear_codes(data: TrainingData, n_codes: int, options: EncoderOptions) -> Encoder | None:
    """Sparse linear codes within a budget, the largest variance first.

    None where there are too many inputs, or squares of them are no numbers.
    """
    if data.X.shape[1] > MOST_LINEAR_INPUTS:
        return None

    def compute(start: int, stop: int) -> tuple[Float64Array, Float64Array]:
        rows = data.dense(start, stop)
        return rows, rows[:, :0]

    engine = make_engine(ComputedSource(compute, data.n_samples), options.n_threads)
    with np.errstate(over="ignore", invalid="ignore"):
        moments = engine.map_reduce(cross_moments_block, False)
    covariance = moments.left_scatter / moments.n_samples
    energy = float(np.trace(covariance))
    if not (np.isfinite(energy) and energy > np.finfo(np.float64).tiny / 1e-16):
        return None
    with one_thread_blas():
        axes = varimax(principal_axes(covariance, n_codes).components)
        weights = sparse_axes(covariance, axes, options.macs).weights
        variances = ((weights @ covariance) * weights).sum(axis=1)
    return _encoder(weights[np.argsort(-variances, kind="stable")], moments.left_mean)


def _encoder(weights: Float64Array, mean: Float64Array) -> Encoder:
    n_codes, n_features = weights.shape
    intercept = -(weights @ mean)
    feature_map = TableMap.from_dense(
        frequencies=np.zeros((n_features, 0)),
        masks=np.zeros((n_features, 0), dtype=np.bool_),
        offsets=np.zeros(0),
        tables=np.zeros((0, 2, n_codes)),
        linear=weights.T,
        intercept=intercept,
    )
    settings = TrainingSettings("table", 0, 0.0, linear_part=True)
    return Encoder(feature_map, np.zeros((n_codes, 0)), intercept, weights, asdict(settings))


def _decoded_error(
    encoder: Encoder,
    data: TrainingData,
    others: TrainingData,
    options: EncoderOptions,
    alpha: float,
) -> float:
    """Squared error of other rows with a decoder of some, divided by that of the mean."""
    moments = code_moments(encoder, data, options.n_threads, with_inputs=True)
    decoder = decoder_of(moments, alpha)
    lost = total = 0.0
    for start in range(0, others.n_samples, BLOCK_ROWS):
        rows = others.dense(start, min(start + BLOCK_ROWS, others.n_samples))
        around = rows - moments.right_mean
        with one_thread_blas():
            codes = np.asarray(encoder.codes(rows), dtype=np.float64) - moments.left_mean
            lost += float(np.square(around - codes @ decoder).sum())
        total += float(np.square(around).sum())
    return lost / total if total > 0.0 else 1.0


def decoder_of(moments: CrossMoments, alpha: float) -> Float64Array:
    """Weights (n_codes, n_features) of a ridge regression of the inputs on codes.

    The penalty is in units of the least variance of a direction of the codes: one in units of their
    mean variance wipes out the last codes where variances fall steeply, as those of raw inputs of
    different units do.
    """
    with one_thread_blas():
        variances = eigvalsh(moments.left_scatter)
        varies = variances > SINGULAR * variances[-1]
        mean = max(float(variances.mean()), np.finfo(np.float64).tiny)
        unit = float(variances[varies].min()) / mean if varies.any() else 1.0
        return ridge_weights(moments.left_scatter, moments.cross_scatter, alpha * unit)


def code_moments(
    encoder: Encoder, data: TrainingData, n_threads: int, *, with_inputs: bool
) -> CrossMoments:
    """Moments of codes, and of codes and inputs if there is to be a decoder.

    Parameters
    ----------
    encoder : Encoder
        Whose codes.
    data : TrainingData
        The rows.
    n_threads : int
        Threads; the bits of the result do not depend on their number.
    with_inputs : bool
        Whether inputs are read.
    """

    def compute(start: int, stop: int) -> tuple[Float64Array, Float64Array]:
        rows = data.dense(start, stop)
        codes: Any = encoder.codes(rows)
        return codes, rows if with_inputs else rows[:, :0]

    engine = make_engine(ComputedSource(compute, data.n_samples), n_threads)
    return engine.map_reduce(cross_moments_block, False)

"""Integers of exported C: rounding, saturation, cosines, bounds of sums."""

from __future__ import annotations

import numpy as np
import pytest

from c_samples import CASES, case, mixed_columns
from cerflearn.export.c99.c_calibrate import calibrated, quantized
from cerflearn.export.c99.c_fold import staged
from cerflearn.export.c99.c_quantize import FUNCTION_BITS, MOST, integer_cosine
from cerflearn.export.c99.c_rounding import MISSING, best_rounding, covariance_of, rounded
from cerflearn.export.c99.c_scales import QuantizeOptions
from cerflearn.export.program import program_of

ONE_STAGE = [name for name in CASES if name != "two stages"]


def model_of(name):
    estimator, X, _ = case(name)
    return staged(program_of(estimator), one_stage=True), X


@pytest.mark.parametrize("name", list(CASES))
def test_stages_compute_what_the_steps_do(name):
    estimator, X, _ = case(name)
    program = program_of(estimator)
    wanted = program.run(X)
    scale = np.abs(wanted).max()
    np.testing.assert_allclose(staged(program).run(X), wanted, rtol=0, atol=1e-11 * scale)


def test_cosines_of_all_phases():
    phase = np.arange(2**16)
    wanted = np.cos(2.0 * np.pi * phase / 2**16)
    found = integer_cosine(phase)
    assert np.abs(found).max() <= 2**FUNCTION_BITS
    assert np.abs(found / 2**FUNCTION_BITS - wanted).max() < 3e-4


@pytest.mark.parametrize("most", [127, 32767])
def test_rounding_has_less_error_than_the_nearest_integers(most):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3)) @ rng.normal(size=(3, 9)) + 0.1 * rng.normal(size=(500, 9))
    target = 5.0 * rng.normal(size=(9, 40))
    covariance = covariance_of(X)

    def errors(whole):
        wrong = whole - target
        return np.einsum("ij,ij->j", wrong, covariance @ wrong)

    ours, nearest = errors(rounded(target, covariance, most)), errors(np.rint(target))
    assert ours.mean() < 0.5 * nearest.mean()
    assert np.abs(rounded(100.0 * target, covariance, most)).max() <= most


def test_the_best_unit_is_never_worse_than_the_first():
    rng = np.random.default_rng(1)
    covariance = covariance_of(rng.normal(size=(300, 4)))
    weights = rng.normal(size=(4, 10))
    units = np.linspace(1.0, 2.0, 20)[:, None] * np.abs(weights).max(axis=0) / 127

    def error(tried):
        whole, unit = best_rounding(weights, tried, covariance, 127)
        wrong = whole * unit - weights
        return np.einsum("ij,ij->j", wrong, covariance @ wrong)

    assert (error(units) <= error(units[:1])).all()


@pytest.mark.parametrize("dtype", ["int8", "int16"])
@pytest.mark.parametrize("name", ONE_STAGE)
def test_no_sum_exceeds_32_bits_for_any_input(name, dtype):
    model, X = model_of(name)
    whole = quantized(model, dtype, X[:200], QuantizeOptions())
    rng = np.random.default_rng(0)
    limit = whole.scaling.limit
    extreme = rng.choice([-limit, limit], size=(300, model.n_inputs))
    columns = whole.columns(extreme)
    total = np.abs(whole.intercept).astype(np.float64)
    for part in whole.parts:
        if part.part.kind not in ("cosine", "pair"):  # they wrap around
            assert np.abs(part.sums(columns)).max(initial=0) <= MOST
        found = np.abs(part.run(columns)).max(axis=0)
        total[part.part.first : part.part.first + part.part.n_outputs] += found
    assert total.max() <= MOST


def test_inputs_saturate_and_missing_ones_are_marked():
    model, X = model_of("prepared")
    scaling = calibrated(model, "int16", X).scaling
    row = np.where(np.isnan(X[:1]), 0.0, X[:1])
    huge = scaling.quantize(np.full_like(row, 1e30))
    assert (huge[0, [0, 2, 5]] == scaling.limit).all()
    assert (scaling.quantize(np.full_like(row, -1e30))[0, [0, 2, 5]] == -scaling.limit).all()
    assert (scaling.quantize(np.full_like(row, np.nan)) == MISSING).all()
    marked = row.copy()
    marked[0, 4] = -999.0
    assert scaling.quantize(marked)[0, 4] == MISSING


def test_inputs_far_from_zero_keep_their_digits():
    model, X = model_of("prepared")
    scaling = calibrated(model, "int16", X).scaling
    assert abs(scaling.zero[2] - 1990.0) < 20.0
    X, _ = mixed_columns()
    back = scaling.quantize(X)[:, 2] * 2.0 ** -scaling.shift[2] + scaling.zero[2]
    assert np.abs(back - X[:, 2]).max() < 0.02

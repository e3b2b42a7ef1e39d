"""KernelImputer: what it completes, how well, and what it leaves alone."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from time import process_time

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer, MissingIndicator
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

from cerflearn import KernelImputer, MaskedFourierFeatures, RandomFourierFeatures, cost
from cerflearn.estimators.applications import imputation


def holes(rows, share, seed):
    """Copy of rows with values missing at random."""
    mask = np.random.default_rng(seed).random(rows.shape) < share
    return np.where(mask, np.nan, rows), mask


def normalised_error(found, wanted, mask, means):
    """Squared error of what was missing, divided by that of the column means."""
    means = np.broadcast_to(means, wanted.shape)
    return np.square((found - wanted)[mask]).sum() / np.square((means - wanted)[mask]).sum()


def low_rank(n_samples, seed):
    """Smooth functions of two hidden numbers, in units that differ widely."""
    rng = np.random.default_rng(seed)
    hidden = rng.uniform(-2, 2, size=(n_samples, 2))
    mix = np.random.default_rng(99).normal(size=(2, 9))
    return np.sin(hidden @ mix) * np.logspace(-3, 3, 9) + 5.0


TRAIN, TEST = low_rank(500, 0), low_rank(200, 1)


@pytest.fixture(name="fitted", scope="module")
def fixture_fitted():
    return KernelImputer(random_state=0).fit(holes(TRAIN, 0.2, 2)[0])


def test_observed_values_are_never_changed_and_nothing_is_missing(fitted):
    rows, mask = holes(TEST, 0.3, 3)
    before = rows.copy()
    found = fitted.transform(rows)
    np.testing.assert_array_equal(found[~mask], TEST[~mask])
    assert np.isfinite(found).all()
    np.testing.assert_array_equal(rows, before)
    np.testing.assert_array_equal(fitted.transform(TEST), TEST)  # nothing missing


def test_nonlinear_relations_are_used(fitted):
    rows, mask = holes(TEST, 0.2, 4)
    scale = TRAIN.std(axis=0)
    means = np.nanmean(holes(TRAIN, 0.2, 2)[0], axis=0) / scale
    error = normalised_error(fitted.transform(rows) / scale, TEST / scale, mask, means)
    linear = IterativeImputer(random_state=0, max_iter=20, tol=1e-2)
    linear.fit(holes(TRAIN, 0.2, 2)[0])
    assert error < 0.5
    assert error < normalised_error(linear.transform(rows) / scale, TEST / scale, mask, means)


def test_units_do_not_matter():
    rows, mask = holes(TRAIN, 0.2, 5)
    factors, shifts = np.logspace(2, -2, 9), np.arange(9.0)
    plain = KernelImputer(max_iter=2, random_state=0).fit_transform(rows)
    other = KernelImputer(max_iter=2, random_state=0).fit_transform(rows * factors + shifts)
    scale = TRAIN.std(axis=0)
    np.testing.assert_allclose(
        ((other - shifts) / factors / scale)[mask], (plain / scale)[mask], atol=1e-5
    )


def test_stages_lower_the_error_and_are_told(fitted):
    assert fitted.n_iter_ == len(fitted.stages_) == len(fitted.errors_) > 1
    assert (np.diff(fitted.errors_) < 0).all()
    assert fitted.alphas_.shape == (fitted.n_iter_, 9)
    one = KernelImputer(max_iter=1, random_state=0).fit(holes(TRAIN, 0.2, 2)[0])
    assert one.n_iter_ == 1
    np.testing.assert_array_equal(one.errors_[0], fitted.errors_[0])


def test_one_pattern_and_one_stage_is_the_method_of_the_paper():
    pattern = np.arange(9) >= 7
    feature_map = RandomFourierFeatures(n_components=60, gamma=0.05, random_state=0)
    imputer = KernelImputer(
        n_components=5,
        feature_map=feature_map,
        linear_part=False,
        alpha=0.01,
        patterns=pattern,
        max_iter=1,
    ).fit(TRAIN)
    mean, scale = TRAIN.mean(axis=0), TRAIN.std(axis=0)

    def erased(rows):  # x * mask, in units of the training data
        return np.where(pattern, 0.0, (rows - mean) / scale)

    features = feature_map.fit(erased(TRAIN)).transform(erased(TRAIN))
    pca = PCA(n_components=5, svd_solver="full").fit(features)
    codes = pca.transform(features)
    new = pca.transform(feature_map.transform(erased(TEST)))
    rows = np.where(pattern, np.nan, TEST)
    found = imputer.transform(rows)
    for column in (7, 8):
        penalty = 0.01 * len(TRAIN) * codes.var(axis=0).mean()
        oracle = Ridge(alpha=penalty).fit(codes, TRAIN[:, column])
        np.testing.assert_allclose(found[:, column], oracle.predict(new), rtol=1e-5)


def test_a_pattern_of_the_training_rows_is_found():
    rows = TRAIN.copy()
    rows[:250, 7:] = np.nan
    imputer = KernelImputer(max_iter=3, random_state=0).fit(rows)
    test = TEST.copy()
    test[:, 7:] = np.nan
    found = imputer.transform(test)
    mask = np.isnan(test)
    error = normalised_error(found[:, 8:], TEST[:, 8:], mask[:, 8:], np.nanmean(rows[:, 8]))
    assert error < 0.1


def test_columns_that_are_complete_in_training_may_be_missing_later():
    rows = TRAIN.copy()
    rows[::2, 8] = np.nan
    imputer = KernelImputer(max_iter=3, random_state=0).fit(rows)
    test = TEST.copy()
    test[:, 6] = np.nan
    found = imputer.transform(test)[:, 6]
    assert np.square(found - TEST[:, 6]).mean() < 0.3 * TRAIN[:, 6].var()


def test_patterns_are_a_promise():
    imputer = KernelImputer(patterns=[np.arange(9) == 0, np.arange(9) == 3], max_iter=1).fit(TRAIN)
    rows = TEST.copy()
    rows[0, 0] = rows[1, 3] = np.nan
    assert np.isfinite(imputer.transform(rows)).all()
    rows[2, 5] = np.nan
    with pytest.raises(ValueError, match="Column 5 of X has missing values, but is in no pattern"):
        imputer.transform(rows)


@pytest.mark.parametrize("n_jobs", [2, -1])
def test_bits_do_not_depend_on_the_threads(n_jobs):
    rows = holes(TRAIN, 0.2, 6)[0]
    test = holes(TEST, 0.2, 7)[0]
    serial, threads = (
        KernelImputer(
            feature_map=MaskedFourierFeatures(n_components=64), max_iter=2, n_jobs=n, random_state=0
        )
        .fit(rows)
        .transform(test)
        for n in (1, n_jobs)
    )
    np.testing.assert_array_equal(serial, threads)


def test_a_row_is_completed_alike_alone_and_among_others(fitted):
    rows = holes(TEST, 0.2, 8)[0]
    together = fitted.transform(rows)
    np.testing.assert_allclose(fitted.transform(rows[3:4])[0], together[3], rtol=1e-9)


def test_nothing_is_learned_from_noise():
    rng = np.random.default_rng(0)
    imputer = KernelImputer(random_state=0).fit(holes(rng.normal(size=(300, 6)), 0.2, 0)[0])
    rows = np.full((2, 6), np.nan)
    rows[1, 0] = 2.0
    found = imputer.transform(rows)
    assert np.abs(found[0] - imputer.statistics_).max() < 0.3
    assert np.abs(found[1, 1:] - imputer.statistics_[1:]).max() < 0.5


def test_an_outlier_does_not_drown_the_other_inputs(fitted):
    rows = TEST[:50].copy()
    rows[:, 8] = np.nan
    wild = rows.copy()
    wild[:, 0] += 1e6 * TRAIN[:, 0].std()
    found, plain = fitted.transform(wild), fitted.transform(rows)
    np.testing.assert_array_equal(found[:, 0], wild[:, 0])
    assert np.abs(found - plain)[:, 8].max() < 5 * TRAIN[:, 8].std()


def test_constant_columns_keep_their_value():
    rows = np.column_stack([TRAIN[:, 0], np.full(500, 0.1)])
    rows[::3, 1] = np.nan
    np.testing.assert_allclose(KernelImputer(random_state=0).fit_transform(rows)[:, 1], 0.1)


def test_other_marks_than_nan_stand_for_missing():
    rows, mask = holes(TRAIN, 0.2, 9)
    marked = np.where(mask, -7.0, TRAIN)
    found = KernelImputer(missing_values=-7, max_iter=1, random_state=0).fit_transform(marked)
    wanted = KernelImputer(max_iter=1, random_state=0).fit_transform(rows)
    np.testing.assert_array_equal(found, wanted)
    with pytest.raises(ValueError, match="contains NaN, but missing_values=-7"):
        KernelImputer(missing_values=-7).fit(rows)


def test_indicators_are_those_of_scikit_learn():
    rows = holes(TRAIN, 0.2, 10)[0]
    rows[:, 2] = TRAIN[:, 2]
    names = [f"c{i}" for i in range(9)]
    frame = pd.DataFrame(rows, columns=names)
    imputer = KernelImputer(add_indicator=True, max_iter=1, random_state=0).fit(frame)
    found = imputer.set_output(transform="pandas").transform(frame)
    indicator = MissingIndicator().fit(frame)
    np.testing.assert_array_equal(found.to_numpy()[:, 9:], indicator.transform(frame))
    assert list(found.columns) == [*names, *indicator.get_feature_names_out()]
    assert len(found.columns) == 17


def test_frames_and_float32_go_in_and_out(fitted):
    rows = holes(TEST, 0.2, 11)[0].astype(np.float32)
    found = fitted.transform(rows)
    assert found.dtype == np.float32
    names = list("abcdefghi")
    for frame in (pd.DataFrame(rows, columns=names), pl.DataFrame(rows, schema=names)):
        imputer = KernelImputer(max_iter=1, random_state=0)
        completed = imputer.set_output(transform="pandas").fit(frame).transform(frame)
        assert len(completed.columns) == 9
        assert not completed.isna().any().any()
        assert completed.to_numpy().dtype == np.float32


def test_it_serves_in_a_pipeline():
    labels = TRAIN[:, 8]
    model = make_pipeline(KernelImputer(max_iter=1, random_state=0), Ridge())
    assert model.fit(holes(TRAIN, 0.1, 12)[0], labels).score(TRAIN, labels) > 0.9


def test_cost_adds_up_the_stages():
    rows = holes(TRAIN, 0.2, 2)[0]
    feature_map = MaskedFourierFeatures(n_components=20)
    imputer = KernelImputer(n_components=4, feature_map=feature_map, max_iter=2, random_state=0)
    imputer.fit(rows)
    maps = sum(cost(stage.feature_map).macs for stage in imputer.stages_)
    assert imputer.n_iter_ == 2
    assert cost(imputer).macs == maps + 2 * ((20 + 9) * 4 + 4 * 9)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_components": 0}, "n_components=0 is not valid: it must be a positive integer or None"),
        ({"n_components": 522}, "n_components=522 is not valid: it must be at most 521, the outp"),
        ({"alpha": "cv"}, "alpha='cv' is not valid: it must be 'auto' or a number"),
        ({"alpha": -1.0}, "alpha=-1.0 is not valid"),
        ({"patterns": 1.0}, "patterns=1.0 is not valid: it must be None, a number above 0"),
        ({"patterns": np.zeros(9, bool)}, "patterns has a row without True"),
        ({"patterns": np.ones(8, bool)}, r"patterns of shape \(8,\) are not valid"),
        ({"patterns": np.ones(9)}, "patterns of float64 are not valid: pass None"),
        ({"patterns": [[True], [True, False]]}, "patterns=.* is not valid: it must be None, a num"),
        ({"n_copies": 2, "patterns": [[True], [False] * 9]}, "patterns=.* is not valid"),
        ({"n_copies": 0}, "n_copies=0 is not valid"),
        ({"max_iter": 0}, "max_iter=0 is not valid"),
        ({"tol": -0.1}, "tol=-0.1 is not valid"),
        ({"missing_values": "?"}, r"missing_values='\?' is not valid"),
        ({"linear_part": None}, "linear_part=None is not valid: it must be True or False"),
        ({"feature_map": 3}, "feature_map=3 is not valid"),
    ],
)
def test_bad_parameters_are_named_with_value_and_remedy(parameters, message):
    with pytest.raises(ValueError, match=message):
        KernelImputer(**parameters).fit(TRAIN)


def test_bad_data_are_refused_with_a_reason():
    rows = TRAIN.copy()
    rows[:, 4] = np.nan
    with pytest.raises(ValueError, match="Column 4 of X has no value at all in the 500 training"):
        KernelImputer().fit(rows)
    frame = pd.DataFrame(rows, columns=list("abcdefghi"))
    with pytest.raises(ValueError, match=r"Column 4 \('e'\) of X has no value at all"):
        KernelImputer().fit(frame)
    with pytest.raises(ValueError, match="one sample"):
        KernelImputer().fit(TRAIN[:1])
    with pytest.raises(ValueError, match="infinity"):
        KernelImputer().fit(np.where(TRAIN > 6, np.inf, TRAIN))
    with pytest.raises(TypeError, match="Sparse data was passed"):
        KernelImputer().fit(sp.csr_array(TRAIN))
    with pytest.raises(NotFittedError):
        KernelImputer().transform(TRAIN)
    with pytest.raises(ValueError, match="expecting 9 features"):
        KernelImputer(max_iter=1).fit(TRAIN).transform(TRAIN[:, :4])


def test_digits_are_completed_better_than_by_their_neighbours():
    # Other rows and other holes than the defaults were chosen on.
    order = np.random.default_rng(7).permutation(1797)
    digits = load_digits().data[order] / 16
    train, wanted = holes(digits[:900], 0.2, 8)[0], digits[900:1300]
    rows, mask = holes(wanted, 0.2, 9)
    means = np.nanmean(train, axis=0)
    found = KernelImputer(random_state=0).fit(train).transform(rows)
    neighbours = KNNImputer(n_neighbors=10, weights="distance").fit(train).transform(rows)
    ours = normalised_error(found, wanted, mask, means)
    assert ours < 0.35
    assert ours < normalised_error(neighbours, wanted, mask, means)


@pytest.mark.skipif("CERF_DATA" not in os.environ, reason="CERF_DATA names no folder with data")
def test_satellite_bands_are_completed_better_than_by_linear_regression():
    with np.load(Path(os.environ["CERF_DATA"]) / "satimage.npz") as file:
        table = file["X"][np.random.default_rng(7).permutation(6435)[:1000]].astype(np.float64)
    train, wanted = holes(table[:700], 0.2, 8)[0], table[700:]
    rows, mask = holes(wanted, 0.2, 9)
    means = np.nanmean(train, axis=0)
    found = KernelImputer(random_state=0).fit(train).transform(rows)
    with warnings.catch_warnings(action="ignore"):  # ten rounds are its default
        linear = IterativeImputer(random_state=0).fit(train).transform(rows)
    ours = normalised_error(found, wanted, mask, means)
    assert ours < 0.06
    assert ours < normalised_error(linear, wanted, mask, means)


def test_few_rows_of_many_columns_are_completed_as_by_pairs_of_columns(monkeypatch):
    rows = low_rank(14, 0)
    rows = np.hstack([rows] * (1 + 300 // rows.shape[1]))
    given, _ = holes(rows, 0.2, 1)
    found = KernelImputer(max_iter=2, random_state=0).fit(rows)
    monkeypatch.setattr(imputation, "_FEWER_ROWS", 0.0)
    wanted = KernelImputer(max_iter=2, random_state=0).fit(rows)
    assert len(found.errors_) == len(wanted.errors_) > 0
    np.testing.assert_allclose(found.transform(given), wanted.transform(given), rtol=1e-8)
    np.testing.assert_array_equal(found.alphas_, wanted.alphas_)


def test_work_for_few_rows_grows_with_the_columns_alone():
    rows = np.zeros((10, 12_000))  # a matrix of all pairs of columns has 1 GiB
    rows[:, 7], rows[:, 9] = np.arange(10), np.arange(10)[::-1]
    begin = process_time()
    assert np.isfinite(KernelImputer(max_iter=1, random_state=0).fit_transform(rows)).all()
    assert process_time() - begin < 20.0

"""Scores of tables, and of the linear part beside tables or features."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from cerflearn import _native
from oracle.features import UNIT, long, score_bound
from oracle.random_maps import dense_map, fastfood_map, inputs, masked_map
from oracle.tables import certain_bins, compressed, random_tables, scores_and_bound

each_level = pytest.mark.parametrize("level", _native.levels())
each_dtype = pytest.mark.parametrize("dtype", ["float32", "float64"])
ROWS = (1, 5, 6, 31, 32, 33, 63, 64, 65, 130)
LEVEL = _native.levels()[-1]
SMALL = random_tables(9, 5, 8, 3)


def build(case, dtype="float64", level=LEVEL, **changes):
    return _native.table_model(**case.native_arguments(**changes), dtype=dtype, level=level)


def scores(model, X, n_threads=1):
    out = np.full((len(X), model.n_scores), np.nan, dtype=model.dtype)
    assert model.scores(X, out, n_threads)
    return out


def check_scores(case, dtype, level, X=None, row_counts=ROWS):
    """Rows whose bins rounding cannot change have the scores of the oracle."""
    X = inputs(max(row_counts), case.n_features, dtype) if X is None else X
    bins, certain = certain_bins(case, X, dtype)
    sure = certain.all(axis=1)
    assert sure.mean() > 0.8
    expected, allowed = scores_and_bound(case, X, bins, dtype)
    model = build(case, dtype, level)
    for n in row_counts:
        error = np.abs(scores(model, X[:n]) - expected[:n])
        assert (error <= allowed[:n])[sure[:n]].all(), n


@each_level
@each_dtype
@pytest.mark.parametrize("n_scores", [1, 2, 3, 4, 7, 8, 9, 17, 33, 100])
def test_scores_of_any_number_are_within_the_bound(n_scores, dtype, level):
    check_scores(random_tables(13, 21, 64, n_scores), dtype, level)


@each_level
@each_dtype
@pytest.mark.parametrize("n_tables", [0, 1, 2, 15, 16, 17, 47, 48, 49, 100])
@pytest.mark.parametrize("n_scores", [1, 7])
def test_any_number_of_tables_is_within_the_bound(n_scores, n_tables, dtype, level):
    check_scores(random_tables(11, n_tables, 32, n_scores), dtype, level)


@each_level
@each_dtype
@pytest.mark.parametrize("n_bins", [2, 3, 64, 256, 4096])
@pytest.mark.parametrize("n_scores", [1, 2])
def test_any_number_of_bins_is_within_the_bound(n_scores, n_bins, dtype, level):
    # Fewer inputs than elsewhere, so that few phases are near an edge.
    check_scores(random_tables(4, 3, n_bins, n_scores), dtype, level)


def test_the_most_bins_are_all_found():
    n_bins = 65_536
    case = dataclasses.replace(
        random_tables(1, 1, 2, 1),
        weights=np.ones((1, 1)),
        masks=np.ones((1, 1), bool),
        offsets=np.zeros(1),
        tables=np.arange(n_bins, dtype=float).reshape(1, n_bins, 1),
        linear=np.zeros((1, 1)),
        intercept=np.zeros(1),
    )
    X = np.arange(n_bins)[:, None] + 0.5
    for dtype in ("float32", "float64"):
        found = scores(build(case, dtype), X.astype(dtype))
        np.testing.assert_array_equal(found[:, 0], np.arange(n_bins))


@each_level
@each_dtype
@pytest.mark.parametrize("n", [1, 70])
def test_edges_belong_to_the_bin_above_and_ends_are_clamped(n, dtype, level):
    case = dataclasses.replace(
        random_tables(1, 1, 2, 2),
        weights=np.ones((1, 1)),
        masks=np.ones((1, 1), bool),
        offsets=np.zeros(1),
        tables=np.arange(8.0).reshape(1, 4, 2),
        linear=np.zeros((1, 2)),
        intercept=np.zeros(2),
    )
    places = [-7.0, -1.0, -0.0, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 3.5, 4.0, 5.0, 1e9]
    model = build(case, dtype, level)
    for u, bin_ in zip(places, [0, 0, 0, 0, 0, 1, 1, 2, 3, 3, 3, 3, 3], strict=True):
        found = scores(model, np.full((n, 1), u, dtype))
        np.testing.assert_array_equal(found, np.tile(case.tables[0, bin_], (n, 1)))


@each_level
@each_dtype
@pytest.mark.parametrize("n", [1, 70])
@pytest.mark.parametrize("n_scores", [1, 7])
def test_huge_inputs_take_a_bin_of_the_table(n_scores, n, dtype, level):
    case = random_tables(12, 40, 16, n_scores)
    case = dataclasses.replace(case, linear=np.zeros_like(case.linear))
    largest = np.finfo(dtype).max
    signs = np.where(np.random.default_rng(0).random((n, 12)) < 0.5, -1, 1)
    found = scores(build(case, dtype, level), (signs * largest).astype(dtype))
    most = np.abs(case.tables).max(axis=1).sum(axis=0) + np.abs(case.intercept)
    assert (np.abs(found) <= 1.001 * most).all()


@each_level
@each_dtype
def test_a_phase_of_infinities_of_both_signs_is_bin_0(dtype, level):
    case = dataclasses.replace(
        random_tables(2, 1, 4, 1),
        weights=np.full((2, 1), 1e30),
        masks=np.ones((2, 1), bool),
        linear=np.zeros((2, 1)),
        intercept=np.zeros(1),
    )
    largest = np.finfo(dtype).max
    X = np.tile(np.array([[largest, -largest]], dtype), (70, 1))
    found = scores(build(case, dtype, level), X)
    # A fused multiply-add of the second term may leave the first infinity: the last bin.
    assert np.isin(found, case.tables[0, [0, 3], 0].astype(dtype)).all()


@each_level
@each_dtype
@pytest.mark.parametrize("n_scores", [1, 7])
def test_threads_and_memory_order_change_no_bit(n_scores, dtype, level):
    case = random_tables(37, 61, 64, n_scores)
    model = build(case, dtype, level)
    X = inputs(460, 37, dtype)
    expected = scores(model, X)
    for n_threads in (2, 3):
        np.testing.assert_array_equal(scores(model, X, n_threads), expected)
    np.testing.assert_array_equal(scores(model, np.asfortranarray(X)), expected)
    np.testing.assert_array_equal(scores(model, np.repeat(X, 2, axis=1)[:, ::2]), expected)
    cut = len(X) // 2 + 3
    parts = [scores(model, part) for part in (X[:cut], X[cut:])]
    np.testing.assert_array_equal(np.concatenate(parts), expected)


@each_level
@each_dtype
@pytest.mark.parametrize("n", [1, 70])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_are_refused_wherever_they_are(value, n, dtype, level):
    # Most inputs are read by nothing.
    case = random_tables(5, 4, 8, 2)
    wide = spread(case, np.array([3, 40, 41, 77, 99]), 120)
    model = build(wide, dtype, level)
    X, out = inputs(n, 120, dtype), np.empty((n, 2), dtype)
    assert model.scores(X, out, 1)
    for d in range(120):
        before, X[d % n, d] = X[d % n, d], value
        assert not model.scores(X, out, 1), d
        X[d % n, d] = before


def spread(case, places, n_features):
    """The same network among more inputs."""

    def rows(matrix):
        wide = np.zeros((n_features, matrix.shape[1]), matrix.dtype)
        wide[places] = matrix
        return wide

    changed = {name: rows(getattr(case, name)) for name in ("weights", "masks", "linear")}
    return dataclasses.replace(case, **changed)


@each_level
@each_dtype
@pytest.mark.parametrize("read_by", ["both", "tables", "linear part", "either"])
def test_inputs_that_nothing_reads_change_no_bit(read_by, dtype, level):
    case = random_tables(20, 33, 16, 3)
    keep_linear = {"both": slice(0, 20), "tables": slice(0, 0), "either": slice(14, 20)}
    keep_tables = {"both": slice(0, 20), "linear part": slice(0, 0), "either": slice(0, 14)}
    changes = {}
    for names, kept in ((("linear",), keep_linear), (("weights", "masks"), keep_tables)):
        for name in names:
            array = np.zeros_like(getattr(case, name))
            rows = kept.get(read_by, slice(0, 20))
            array[rows] = getattr(case, name)[rows]
            changes[name] = array
    case = dataclasses.replace(case, **changes)
    places = np.r_[5:15, 120:130]
    wide = spread(case, places, 150)
    X = inputs(200, 150, dtype)
    for n in (1, 24, 65, 200):
        compact = scores(build(case, dtype, level), np.ascontiguousarray(X[:n, places]))
        for rows in (X[:n], np.asfortranarray(X[:n])):
            np.testing.assert_array_equal(scores(build(wide, dtype, level), rows, 2), compact)
    check_scores(wide, dtype, level, X)


@each_level
@each_dtype
@pytest.mark.parametrize("n_features", [500, 66_000])
def test_wide_inputs_are_within_the_bound(n_features, dtype, level):
    # Several chunks of a panel; and more inputs than the layout of independent masks can number.
    places = np.sort(np.random.default_rng(0).choice(n_features, 60, replace=False))
    check_scores(
        spread(random_tables(60, 2, 8, 2), places, n_features),
        dtype,
        level,
        row_counts=(1, 20) if n_features > 1000 else (1, 64, 67),
    )


def test_no_rows_and_no_scores_are_fine():
    assert scores(build(SMALL), np.empty((0, 9))).shape == (0, 3)
    none = build(random_tables(9, 5, 8, 0))
    for n in (1, 70):
        assert scores(none, np.zeros((n, 9))).shape == (n, 0)


ARGUMENTS = SMALL.native_arguments()


def changed(name, index, value):
    copy = np.array(ARGUMENTS[name])
    copy[index] = value
    return {name: copy}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_features": 0}, "n_features"),
        ({"n_features": 2**24}, "n_features"),
        ({"n_features": 2**32 + 9}, "n_features"),
        ({"n_features": 4}, "below n_features"),
        (changed("mask_pointers", 0, 1), "mask_pointers"),
        (changed("mask_pointers", 1, 10**9), "mask_pointers"),
        (changed("mask_pointers", 2, -1), "mask_pointers"),
        (changed("mask_pointers", -1, 10**9), "mask_pointers"),
        ({"mask_pointers": ARGUMENTS["mask_pointers"][:-1]}, "mask_pointers"),
        ({"mask_pointers": np.zeros(0, np.int64)}, "mask_pointers"),
        (changed("mask_inputs", 0, -1), "mask_inputs"),
        (changed("mask_inputs", -1, 9), "mask_inputs"),
        ({"mask_inputs": np.zeros_like(ARGUMENTS["mask_inputs"])}, "ascending"),
        ({"values": ARGUMENTS["values"][:-1]}, "values"),
        (changed("values", 0, np.nan), "finite"),
        ({"offsets": np.zeros(4)}, "tables"),
        (changed("offsets", 0, np.inf), "finite"),
        ({"tables": np.zeros((5, 1, 3))}, "n_bins"),
        ({"tables": np.zeros((5, 0, 3))}, "n_bins"),
        ({"tables": np.zeros((5, 65_537, 3))}, "n_bins"),
        ({"tables": np.zeros((4, 8, 3))}, "tables"),
        ({"tables": np.zeros((5, 8, 2))}, "tables"),
        (changed("tables", (1, 2, 0), np.nan), "finite"),
        ({"linear_pointers": np.zeros(0, np.int64)}, "linear_pointers"),
        ({"linear_pointers": ARGUMENTS["linear_pointers"][:-1]}, "linear_pointers"),
        (changed("linear_pointers", 1, 10**9), "linear_pointers"),
        (changed("linear_pointers", 0, -1), "linear_pointers"),
        (changed("linear_inputs", 0, -1), "linear_inputs"),
        (changed("linear_inputs", -1, 9), "linear_inputs"),
        ({"linear_inputs": np.zeros_like(ARGUMENTS["linear_inputs"])}, "ascend"),
        ({"linear_values": ARGUMENTS["linear_values"][1:]}, "linear_values"),
        (changed("linear_values", 0, np.inf), "finite"),
        ({"intercept": np.zeros(2)}, "tables"),
        (changed("intercept", 0, np.nan), "finite"),
        ({"level": "v9"}, "cannot run"),
        ({"dtype": "int8"}, "dtype"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        build(SMALL, **changes)


def test_shapes_types_and_shared_memory_of_a_call_are_checked():
    model = build(SMALL)
    for X, out, message in [
        (np.zeros((3, 8)), np.zeros((3, 3)), "width"),
        (np.zeros((3, 9)), np.zeros((3, 2)), "out has another shape"),
        (np.zeros((3, 9)), np.zeros((2, 3)), "out has another shape"),
        (np.zeros((3, 9), np.float32), np.zeros((3, 3), np.float32), "dtype"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.scores(X, out, 1)
    with pytest.raises(TypeError):
        model.scores(np.zeros((3, 9)), np.zeros((3, 3), np.float32), 1)
    memory = np.zeros(40)
    with pytest.raises(ValueError, match="shares memory"):
        model.scores(memory[:27].reshape(3, 9), memory[26:35].reshape(3, 3), 1)


# --- the linear part beside features ---------------------------------------------------------
MAPS = {
    "dense": dense_map(19, 27, "odd"),
    "independent": masked_map(37, 61, 1, 1, "single"),
    "shared": masked_map(37, 29, 8, 4, "odd"),
    "relu": masked_map(37, 61, 1, 1, relu=True),
    "fastfood": fastfood_map(27, 32, 3, "odd", kept_fraction=0.4, centred=True),
    "few read": masked_map(40, 3, 1, 1, "single"),
}
each_map = pytest.mark.parametrize("kind", MAPS)


def linear_part(matrix, dtype):
    pointers, rows, values = compressed(matrix, matrix != 0)
    return _native.linear_part(
        n_features=len(matrix), pointers=pointers, inputs=rows, values=values, dtype=dtype
    )


def draw_head(case, n_scores, dtype):
    rng = np.random.default_rng(n_scores)
    coef = rng.standard_normal((n_scores, case.n_outputs)).astype(dtype)
    linear = rng.standard_normal((case.n_features, n_scores))
    linear *= rng.random(linear.shape) < 0.6
    return coef, rng.standard_normal(n_scores).astype(dtype), linear


def fused(model, X, coef, intercept, linear, n_threads=1):
    out = np.full((len(X), len(coef)), np.nan, model.dtype)
    assert model.scores(X, coef, intercept, out, n_threads, linear)
    return out


@each_level
@each_dtype
@each_map
@pytest.mark.parametrize("n_scores", [1, 5, 17])
def test_features_and_a_linear_part_are_within_the_bound(n_scores, kind, dtype, level):
    case = MAPS[kind]
    model = case.model(_native, dtype, level)
    coef, intercept, linear = draw_head(case, n_scores, dtype)
    X = inputs(130, case.n_features, dtype)
    exact, bound = case.features_and_bound(X, dtype)
    products = np.abs(long(X)) @ np.abs(long(linear))
    expected = exact @ long(coef).T + long(X) @ long(linear) + long(intercept)
    # Terms of one sum meet the additions of the other too.
    n_terms = case.n_outputs + case.n_features + 4
    size = np.abs(exact) @ np.abs(long(coef)).T + products + np.abs(long(intercept))
    allowed = score_bound(exact, bound, coef, intercept, dtype) + UNIT[dtype] * n_terms * size
    part = linear_part(linear, dtype)
    for n in (1, 5, 6, 25, 64, 130):
        error = np.abs(fused(model, X[:n], coef, intercept, part) - expected[:n])
        assert (error <= allowed[:n]).all()
    for n_threads in (2, 3):
        np.testing.assert_array_equal(
            fused(model, np.tile(X, (4, 1)), coef, intercept, part, n_threads),
            np.tile(fused(model, X, coef, intercept, part), (4, 1)),
        )


@each_level
@each_map
def test_a_linear_part_of_zeros_changes_no_bit(kind, level):
    case = MAPS[kind]
    model = case.model(_native, "float32", level)
    coef, intercept, linear = draw_head(case, 4, "float32")
    part = linear_part(np.zeros_like(linear), "float32")
    X = inputs(70, case.n_features, "float32")
    for n in (1, 70):
        np.testing.assert_array_equal(
            fused(model, X[:n], coef, intercept, part), fused(model, X[:n], coef, intercept, None)
        )


def test_a_linear_part_that_does_not_fit_is_refused():
    case = MAPS["dense"]
    model = case.model(_native, "float64", LEVEL)
    coef, intercept, linear = draw_head(case, 3, "float64")
    X = inputs(5, case.n_features, "float64")
    for part, message in [
        (linear_part(linear[:-1], "float64"), "inputs or scores"),
        (linear_part(linear[:, :-1], "float64"), "inputs or scores"),
        (linear_part(linear, "float32"), "dtype"),
    ]:
        with pytest.raises(ValueError, match=message):
            fused(model, X, coef, intercept, part)
    with pytest.raises(ValueError, match="dtype"):
        linear_part(linear, "int8")

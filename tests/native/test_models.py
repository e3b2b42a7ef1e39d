"""Dense, masked and Fastfood models against the long-double oracle, bound (ii)."""

from __future__ import annotations

import numpy as np
import pytest

from cerflearn import _native
from oracle.features import COSINE_BOUND, TWO_PI, fastfood_typical_error
from oracle.random_maps import PAIRINGS, dense_map, fastfood_map, inputs, masked_map

each_level = pytest.mark.parametrize("level", _native.levels())
each_dtype = pytest.mark.parametrize("dtype", ["float32", "float64"])
each_pairing = pytest.mark.parametrize("pairing", PAIRINGS)

# One small map of each kind, with sizes that fill no vector.
MAPS = {
    "dense": lambda pairing="odd", **options: dense_map(19, 27, pairing, **options),
    "independent": lambda pairing="odd", **options: masked_map(37, 21, 1, 1, pairing, **options),
    "grouped": lambda pairing="odd", **options: masked_map(45, 11, 1, 8, pairing, **options),
    "shared": lambda pairing="odd", **options: masked_map(37, 29, 8, 4, pairing, **options),
    "fastfood": lambda pairing="odd", **options: fastfood_map(
        27, 32, 3, pairing, kept_fraction=0.4, **options
    ),
}
# Relu maps have single outputs.
RECTIFIED = {
    "relu_independent": lambda **options: masked_map(37, 21, 1, 1, relu=True, **options),
    "relu_grouped": lambda **options: masked_map(45, 11, 1, 8, relu=True, **options),
    "relu_shared": lambda **options: masked_map(37, 29, 8, 4, relu=True, **options),
}
ALL_MAPS = MAPS | RECTIFIED
each_cosine_map = pytest.mark.parametrize("kind", MAPS)
each_relu_map = pytest.mark.parametrize("kind", RECTIFIED)
each_map = pytest.mark.parametrize("kind", ALL_MAPS)
# Around the one-row form, the panel widths of both types (32, 64) and the Fastfood widths.
ROW_COUNTS = (1, 2, 5, 6, 11, 12, 23, 24, 25, 31, 32, 33, 63, 64, 65, 70)


def transform(model, X, n_threads=1):
    out = np.full((len(X), model.n_outputs), np.nan, dtype=model.dtype)
    assert model.transform(X, out, n_threads)
    return out


def huge_inputs(n, model):
    X = np.full((n, model.n_features), np.finfo(model.dtype).max, model.dtype)
    X[:, ::2] *= -1
    return X


def assert_within_bound(case, dtype, level, row_counts=(1, 70)):
    model = case.model(_native, dtype, level)
    X = inputs(max(row_counts), case.n_features, dtype)
    exact, bound = case.features_and_bound(X, dtype)
    for n in row_counts:
        error = np.abs(transform(model, X[:n]) - exact[:n])
        assert (error <= bound[:n]).all(), f"n={n}: {(error / bound[:n]).max()} times the bound"


@each_level
@each_dtype
@each_pairing
@each_cosine_map
def test_any_number_of_rows_is_within_the_bound(kind, pairing, dtype, level):
    assert_within_bound(MAPS[kind](pairing), dtype, level, ROW_COUNTS)


@each_level
@each_dtype
@each_relu_map
@pytest.mark.parametrize("turns", [1, 300])
def test_any_number_of_rows_of_a_relu_map_is_within_the_bound(kind, turns, dtype, level):
    assert_within_bound(RECTIFIED[kind](turns=turns), dtype, level, ROW_COUNTS)


@each_level
@each_dtype
@pytest.mark.parametrize("group_size", [1, 4, 16])
@pytest.mark.parametrize("per_mask", [1, 2, 3, 17])
@pytest.mark.parametrize("n_features", [1, 61, 500])
def test_relu_map_of_any_grouping(n_features, per_mask, group_size, dtype, level):
    case = masked_map(n_features, 35, per_mask, group_size, holes=True, relu=True)
    assert_within_bound(case, dtype, level)


@each_level
@each_dtype
@each_pairing
@pytest.mark.parametrize(
    ("n_features", "n_projections"),
    [
        *[(1, 1), (1, 7), (2, 3), (3, 15), (7, 16), (8, 17), (9, 5), (15, 6), (16, 1), (17, 48)],
        *[(31, 49), (33, 11), (64, 12), (65, 13), (300, 33)],
    ],
)
def test_dense_map_of_any_size(n_features, n_projections, pairing, dtype, level):
    assert_within_bound(dense_map(n_features, n_projections, pairing), dtype, level)


@each_level
@each_dtype
@pytest.mark.parametrize("group_size", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("per_mask", [1, 2, 3, 6, 16, 17])
@pytest.mark.parametrize("n_features", [1, 16, 61])
def test_masked_map_of_any_grouping(n_features, per_mask, group_size, dtype, level):
    for holes, pairing in [(False, "single"), (True, "odd")]:
        case = masked_map(n_features, 35, per_mask, group_size, pairing, holes=holes)
        assert_within_bound(case, dtype, level)


@each_level
@each_dtype
@pytest.mark.parametrize("n_features", [145, 500, 1000])
def test_masked_map_of_several_chunks(n_features, dtype, level):
    assert_within_bound(masked_map(n_features, 9, 1, 1, holes=True), dtype, level)


@each_level
@each_dtype
@pytest.mark.parametrize("padded", [2, 4, 8, 16, 32, 64, 128])
@pytest.mark.parametrize("shared_signs", [False, True])
@pytest.mark.parametrize("centred", [False, True])
def test_fastfood_map_of_any_padded_size(padded, shared_signs, centred, dtype, level):
    options = {"shared_signs": shared_signs, "centred": centred}
    for n_features, pairing, kept in [(padded, "single", 1.0), (padded // 2 + 1, "odd", 0.3)]:
        case = fastfood_map(n_features, padded, 3, pairing, kept_fraction=kept, **options)
        assert_within_bound(case, dtype, level, (1, 13))


@each_level
@each_dtype
@pytest.mark.parametrize("padded", [256, 512, 1024, 2048])
def test_fastfood_map_of_large_padded_size(padded, dtype, level):
    case = fastfood_map(padded - 3, padded, 1, "odd", centred=True, kept_fraction=0.3)
    assert_within_bound(case, dtype, level, (1, 13) if padded < 2048 else (1,))


@each_level
@each_dtype
@pytest.mark.parametrize("padded", [64, 512])
def test_fastfood_errors_grow_like_independent_roundings(padded, dtype, level):
    case = fastfood_map(padded - 5, padded, 1)
    X = inputs(70, case.n_features, dtype)
    typical = fastfood_typical_error(
        X, case.arguments["gaussian_diag"], case.arguments["row_scale"], dtype
    )
    # Six standard deviations: far below the rigorous bound, which must not hide lost digits.
    bound = COSINE_BOUND[dtype] + 6 * TWO_PI * typical
    for n in (1, 70):
        error = np.abs(transform(case.model(_native, dtype, level), X[:n]) - case.features(X[:n]))
        assert error.max() <= bound


@each_level
@each_dtype
@each_cosine_map
@pytest.mark.parametrize("turns", [10, 300])
def test_large_phases_are_within_the_bound(kind, turns, dtype, level):
    case = MAPS[kind]("paired", turns=turns)
    largest = np.abs(case.phases(inputs(70, case.n_features, dtype)).turns).max()
    assert 2 * turns < largest <= 1000 * 1.5  # up to about a thousand turns
    assert_within_bound(case, dtype, level)


@each_level
@each_dtype
@each_cosine_map
def test_huge_finite_inputs_give_bounded_numbers(kind, dtype, level):
    model = MAPS[kind]().model(_native, dtype, level)
    for n in (1, 30):
        assert np.abs(transform(model, huge_inputs(n, model))).max() <= 1


@each_level
@each_dtype
@each_relu_map
def test_huge_finite_inputs_of_a_relu_map_give_no_nan(kind, dtype, level):
    model = RECTIFIED[kind]().model(_native, dtype, level)
    for n in (1, 30):
        assert (transform(model, huge_inputs(n, model)) >= 0).all()  # infinity is legal


@each_level
@each_dtype
@each_map
@pytest.mark.parametrize("n", [3, 70])
def test_memory_order_changes_no_bit(kind, n, dtype, level):
    case = ALL_MAPS[kind]()
    model = case.model(_native, dtype, level)
    X = inputs(n, case.n_features, dtype)
    expected = transform(model, X)
    wide = np.zeros((2 * n, 3 * case.n_features), dtype)
    every_other = wide[::2, 1::3]
    part_of_rows = wide[:n, 2 : 2 + case.n_features]
    flipped = np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1]
    every_other[:] = X
    np.testing.assert_array_equal(transform(model, every_other), expected)
    part_of_rows[:] = X
    np.testing.assert_array_equal(transform(model, part_of_rows), expected)
    np.testing.assert_array_equal(transform(model, np.asfortranarray(X)), expected)
    np.testing.assert_array_equal(transform(model, flipped), expected)
    X.flags.writeable = False
    np.testing.assert_array_equal(transform(model, X), expected)
    repeated = np.broadcast_to(X[:1], X.shape)
    np.testing.assert_array_equal(
        transform(model, repeated), transform(model, np.ascontiguousarray(repeated))
    )


@each_level
@each_dtype
@each_map
def test_threads_and_cuts_of_the_rows_change_no_bit(kind, dtype, level):
    case = ALL_MAPS[kind]()
    model = case.model(_native, dtype, level)
    X = inputs(3 * 128 + 75, case.n_features, dtype)
    expected = transform(model, X)
    before = _native.get_num_threads()
    try:
        _native.set_num_threads(3)
        for n_threads in (2, 3, 100):
            np.testing.assert_array_equal(transform(model, X, n_threads), expected)
    finally:
        _native.set_num_threads(before)
    smallest = model.one_row_below  # fewer rows take the one-row form
    for size in (smallest, smallest + 1, 67):
        cuts = np.arange(size, len(X) - size, size)
        parts = [transform(model, part) for part in np.split(X, cuts)]
        np.testing.assert_array_equal(np.concatenate(parts), expected)


@each_level
@each_dtype
@each_map
def test_one_row_form_agrees_with_the_batch_form(kind, dtype, level):
    case = ALL_MAPS[kind]()
    model = case.model(_native, dtype, level)
    X = inputs(70, case.n_features, dtype)
    batch, (_, bound) = transform(model, X), case.features_and_bound(X, dtype)
    rows = np.concatenate([transform(model, X[i : i + 1]) for i in range(70)])
    assert (np.abs(rows - batch) <= 2 * bound).all()
    below = model.one_row_below - 1
    np.testing.assert_array_equal(transform(model, X[:below]), rows[:below])


@each_level
@each_dtype
@each_map
@pytest.mark.parametrize("n", [1, 70])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_are_refused_at_any_place(kind, n, value, dtype, level):
    model = ALL_MAPS[kind]().model(_native, dtype, level)
    out = np.empty((n, model.n_outputs), dtype)
    for order in "CF":
        X = np.asarray(inputs(n, model.n_features, dtype), order=order)
        for i in range(0, n, 3):
            for d in range(model.n_features):
                before, X[i, d] = X[i, d], value
                assert model.transform(X, out, 1) is False
                X[i, d] = before
        assert model.transform(X, out, 1) is True


@each_level
@each_dtype
def test_a_refused_value_ends_all_threads(dtype, level):
    model = dense_map(5, 3).model(_native, dtype, level)
    X = inputs(2000, 5, dtype)
    X[1999, 4] = np.nan
    assert model.transform(X, np.empty((2000, 3), dtype), 2) is False


@each_dtype
@each_map
def test_no_rows_are_fine(kind, dtype):
    model = ALL_MAPS[kind]().model(_native, dtype, "baseline")
    assert transform(model, np.empty((0, model.n_features), dtype)).shape == (0, model.n_outputs)


@each_level
@each_dtype
@each_map
def test_model_tells_what_it_is(kind, dtype, level):
    case = ALL_MAPS[kind]()
    model = case.model(_native, dtype, level)
    assert (model.n_features, model.n_outputs) == (case.n_features, case.n_outputs)
    assert (model.dtype, model.level) == (dtype, level)
    assert model.n_bytes >= len(case.offsets) * 2 * np.dtype(dtype).itemsize


@each_level
def test_masked_map_equals_dense_map_when_the_mask_is_full(level):
    dense = dense_map(23, 17)
    X = inputs(50, 23, "float64")
    expected = transform(dense.model(_native, "float64", level), X)
    every_input = np.arange(23, dtype=np.int32)
    same = dense.native_arguments() | {"n_features": 23, "group_size": 1}
    same |= {"dtype": "float64", "level": level}
    frequencies = same.pop("frequencies")
    shared = _native.masked_model(
        **same,
        mask_pointers=np.array([0, 23]),
        mask_inputs=every_input,
        projection_pointers=np.array([0, 17]),
        values=frequencies.ravel(),
    )
    independent = _native.masked_model(
        **same,
        mask_pointers=np.arange(18) * 23,
        mask_inputs=np.tile(every_input, 17),
        projection_pointers=np.arange(18),
        values=frequencies.T.ravel(),
    )
    _, bound = dense.features_and_bound(X, "float64")
    assert (np.abs(transform(shared, X) - expected) <= 2 * bound).all()
    assert (np.abs(transform(independent, X) - expected) <= 2 * bound).all()

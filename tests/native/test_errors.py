"""Wrong arrays are refused with a clean error, never read or written out of bounds."""

from __future__ import annotations

import numpy as np
import pytest

from cerflearn import _native
from oracle.random_maps import dense_map, fastfood_map, inputs, masked_map

LEVEL = _native.levels()[-1]
DENSE, MASKED = dense_map(6, 4), masked_map(12, 8, 2, 2)
FASTFOOD = fastfood_map(5, 8, 2, centred=True, kept_fraction=0.5)


def build(case, dtype="float64", level=LEVEL, **changes):
    constructor = getattr(_native, case.constructor)
    return constructor(**case.native_arguments(**changes), dtype=dtype, level=level)


def changed(array, index, value):
    copy = np.array(array)
    copy[index] = value
    return copy


@pytest.mark.parametrize("width", [0, 5, 7])
@pytest.mark.parametrize("n", [0, 1, 30])
def test_transform_refuses_another_width(n, width):
    with pytest.raises(ValueError, match="width"):
        build(DENSE).transform(np.zeros((n, width)), np.zeros((n, 4)), 1)


@pytest.mark.parametrize("shape", [(2, 4), (4, 4), (3, 3), (3, 5), (0, 4)])
def test_transform_refuses_another_shape_of_out(shape):
    with pytest.raises(ValueError, match="out has another shape"):
        build(DENSE).transform(np.zeros((3, 6)), np.zeros(shape), 1)


def test_transform_refuses_another_dtype_than_the_model():
    with pytest.raises(ValueError, match="dtype"):
        build(DENSE).transform(np.zeros((3, 6), np.float32), np.zeros((3, 4), np.float32), 1)
    with pytest.raises(ValueError, match="dtype"):
        build(DENSE, "float32").transform(np.zeros((3, 6)), np.zeros((3, 4)), 1)


@pytest.mark.parametrize(
    ("X", "out"),
    [
        (np.zeros((3, 6), np.float32), np.zeros((3, 4))),
        (np.zeros((3, 6)), np.zeros((3, 4), np.float32)),
        (np.zeros((3, 6), int), np.zeros((3, 4))),
        (np.zeros((3, 6), ">f8"), np.zeros((3, 4))),
        (np.zeros((3, 6), complex), np.zeros((3, 4))),
        (np.zeros((3, 6), object), np.zeros((3, 4))),
        (np.zeros(6), np.zeros((1, 4))),
        (np.zeros((1, 3, 6)), np.zeros((3, 4))),
        (np.zeros((3, 6)).tolist(), np.zeros((3, 4))),
        (None, np.zeros((3, 4))),
        (np.zeros((3, 6)), None),
        (np.zeros((3, 6)), np.zeros((4, 3)).T),
        (np.zeros((3, 6)), np.zeros((3, 8))[:, ::2]),
        (np.zeros((3, 6)), np.broadcast_to(0.0, (3, 4))),
    ],
)
def test_transform_never_converts_silently(X, out):
    with pytest.raises(TypeError):
        build(DENSE).transform(X, out, 1)


def test_strides_that_are_no_multiple_of_the_item_are_refused_or_right():
    records = np.zeros(30, dtype=[("flag", "i1"), ("x", "f8", (6,))])
    records["x"] = inputs(30, 6, "float64")
    out, expected = np.zeros((30, 4)), np.zeros((30, 4))
    build(DENSE).transform(records["x"].copy(), expected, 1)
    try:
        build(DENSE).transform(records["x"], out, 1)
    except (TypeError, BufferError):
        return
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("n_threads", [-5, 0, 10**6])
def test_any_number_of_threads_is_taken(n_threads):
    assert build(DENSE).transform(np.zeros((500, 6)), np.zeros((500, 4)), n_threads)


@pytest.mark.parametrize("n", [1, 30])
def test_out_that_shares_memory_with_the_input_is_refused(n):
    model, memory = build(DENSE), np.zeros((4 + 6 + 4) * n)
    X = memory[4 * n : 10 * n].reshape(n, 6)
    for view in (X, X[::-1], X[:, ::-1]):
        for begin in (1, 4 * n, 5 * n, 10 * n - 1):
            out = memory[begin : begin + 4 * n].reshape(n, 4)
            with pytest.raises(ValueError, match="out shares memory with X"):
                model.transform(view, out, 1)
        for begin in (0, 10 * n):
            assert model.transform(view, memory[begin : begin + 4 * n].reshape(n, 4), 1)


def test_out_of_scores_that_shares_memory_is_refused():
    model, memory = build(DENSE), np.zeros(200)
    arrays = {"X": (3, 6), "coef": (2, 4), "intercept": (2,)}
    for name in arrays:
        given = {key: np.zeros(shape) for key, shape in arrays.items()}
        given[name] = memory[: given[name].size].reshape(arrays[name])
        with pytest.raises(ValueError, match="out shares memory with X, coef or intercept"):
            model.scores(*given.values(), memory[1:7].reshape(3, 2), 1)
        assert model.scores(*given.values(), memory[100:106].reshape(3, 2), 1)


def test_out_of_finish_phases_that_shares_memory_is_refused():
    memory = np.zeros(12)
    with pytest.raises(ValueError, match="out shares memory with phases"):
        _native.finish_phases(
            memory.reshape(3, 4), *np.zeros((2, 4)), memory.reshape(3, 4), False, LEVEL, False
        )


def test_more_scores_than_the_core_can_number_are_refused():
    model = build(dense_map(1, 1), "float32")
    n_scores = 2**24 + 1
    coef, intercept = np.zeros((n_scores, 1), np.float32), np.zeros(n_scores, np.float32)
    with pytest.raises(ValueError, match=r"n_scores.*at most 2\^24"):
        model.scores(
            np.zeros((0, 1), np.float32), coef, intercept, coef[:0].reshape(0, n_scores), 1
        )


@pytest.mark.parametrize("case", [DENSE, MASKED, FASTFOOD], ids=lambda case: case.constructor)
@pytest.mark.parametrize("more", [2**32, 2**62])
def test_sizes_are_compared_before_they_are_narrowed(case, more):
    with pytest.raises(ValueError, match="n_outputs"):
        build(case, n_outputs=case.n_outputs + more)
    if "n_features" in case.arguments:
        with pytest.raises(ValueError, match="n_features"):
            build(case, n_features=case.n_features + more)
    if "group_size" in case.arguments:
        with pytest.raises(ValueError, match="group_size"):
            build(case, group_size=1 + more)


@pytest.mark.parametrize("case", [DENSE, MASKED, FASTFOOD], ids=lambda case: case.constructor)
def test_constructors_take_keywords_only(case):
    constructor = getattr(_native, case.constructor)
    with pytest.raises(TypeError):
        constructor(*case.native_arguments().values(), "float64", LEVEL)
    with pytest.raises(TypeError):
        build(case, frequency=1)


@pytest.mark.parametrize("case", [DENSE, MASKED, FASTFOOD], ids=lambda case: case.constructor)
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"offsets": np.zeros(0), "amplitudes": np.zeros(0), "n_outputs": 0}, "projections"),
        ({"amplitudes": np.zeros(3)}, "amplitudes"),
        ({"n_outputs": 1}, "n_outputs"),
        ({"n_outputs": -4}, "n_outputs"),
        ({"n_outputs": 5, "paired": True}, "n_outputs"),
        ({"n_outputs": 17, "paired": True}, "n_outputs"),
        ({"offsets": np.zeros(5), "amplitudes": np.zeros(5), "n_outputs": 5}, None),
        ({"level": "v9"}, "cannot run"),
        ({"level": ""}, "cannot run"),
        ({"dtype": "int8"}, "dtype"),
    ],
)
def test_constructors_check_the_outputs(case, changes, message):
    with pytest.raises(ValueError, match=message):
        build(case, **changes)


@pytest.mark.parametrize("shape", [(0, 4), (6, 3), (6, 5), (1, 0)])
def test_dense_model_checks_the_frequencies(shape):
    with pytest.raises(ValueError, match=r"frequencies|n_features"):
        build(DENSE, frequencies=np.zeros(shape))


POINTERS, INPUTS = MASKED.arguments["mask_pointers"], MASKED.arguments["mask_inputs"]
SERVED, VALUES = MASKED.arguments["projection_pointers"], MASKED.arguments["values"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_features": 0}, "n_features"),
        ({"n_features": -1}, "n_features"),
        ({"n_features": 2**24}, "n_features"),
        ({"n_features": int(INPUTS.max())}, "below n_features"),
        ({"mask_pointers": np.zeros(0, np.int64)}, "n_masks"),
        ({"mask_pointers": POINTERS[:-1]}, "n_masks"),
        ({"mask_pointers": POINTERS + 1}, "pointers"),
        ({"mask_pointers": changed(POINTERS, -1, 10**6)}, "pointers"),
        ({"mask_pointers": changed(POINTERS, 1, -1)}, "empty|pointers"),
        ({"mask_pointers": changed(POINTERS, 2, POINTERS[1])}, "empty|pointers"),
        ({"projection_pointers": changed(SERVED, -1, 9)}, "pointers"),
        ({"projection_pointers": changed(SERVED, 1, 0)}, "empty|pointers"),
        ({"projection_pointers": changed(SERVED, 1, 7)}, "empty|pointers"),
        ({"mask_inputs": changed(INPUTS, 0, -1)}, "inputs"),
        ({"mask_inputs": changed(INPUTS, -1, 12)}, "inputs"),
        ({"mask_inputs": changed(INPUTS, 1, INPUTS[0])}, "inputs"),
        ({"mask_inputs": INPUTS[:-1]}, "pointers"),
        ({"values": VALUES[:-1]}, "values"),
        ({"values": np.append(VALUES, 1.0)}, "values"),
        ({"group_size": 0}, "group_size"),
        ({"group_size": 3}, "group_size"),
        ({"group_size": 32}, "group_size"),
    ],
)
def test_masked_model_checks_its_arrays(changes, message):
    with pytest.raises(ValueError, match=message):
        build(MASKED, **changes)


def test_masked_model_checks_all_pointers_before_it_reads_inputs():
    # The inputs are the first three of a longer array, so that reading too far is seen: it would
    # complain about the inputs that follow.
    longer = np.array([0, 1, 2, -1, -1, -1], dtype=np.int32)
    with pytest.raises(ValueError, match=r"empty|pointers"):
        _native.masked_model(
            n_features=4,
            mask_pointers=np.array([0, 5, 3]),
            mask_inputs=longer[:3],
            projection_pointers=np.array([0, 1, 2]),
            values=np.zeros(3),
            group_size=1,
            offsets=np.zeros(2),
            amplitudes=np.ones(2),
            n_outputs=2,
            paired=False,
            dtype="float64",
            level=LEVEL,
        )


ROWS, KEPT = FASTFOOD.arguments["kept_rows"], FASTFOOD.arguments["kept_pointers"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_features": 9}, "padded"),
        ({"n_features": 0}, "n_features"),
        ({"gaussian_diag": np.zeros((2, 7))}, "power of two"),
        ({"gaussian_diag": np.zeros((2, 1)), "n_features": 1}, "power of two"),
        ({"gaussian_diag": np.zeros((2, 0))}, "power of two"),
        ({"gaussian_diag": np.zeros((0, 8))}, None),
        ({"gaussian_diag": np.zeros((3, 8))}, "must"),
        ({"signs": np.ones((3, 8))}, "signs"),
        ({"signs": np.ones((0, 8))}, "signs"),
        ({"signs": np.ones((2, 4))}, "signs"),
        ({"permutation": np.zeros((1, 8), np.int32)}, "permutation"),
        ({"permutation": np.full((2, 8), 8, np.int32)}, "permutation"),
        ({"permutation": np.full((2, 8), -1, np.int32)}, "permutation"),
        ({"row_scale": np.ones(7)}, "row_scale"),
        ({"kept_rows": changed(ROWS, 0, 8)}, "kept_rows"),
        ({"kept_rows": changed(ROWS, -1, -1)}, "kept_rows"),
        ({"kept_rows": ROWS[:-1]}, "kept_rows"),
        ({"kept_pointers": KEPT[:-1]}, "kept_pointers"),
        ({"kept_pointers": changed(KEPT, 0, 1)}, "kept_pointers"),
        ({"kept_pointers": changed(KEPT, 1, 100)}, "kept_pointers"),
        ({"kept_pointers": changed(KEPT, 1, -100)}, "kept_pointers"),
        ({"centres": np.zeros((1, 5))}, "centres"),
        ({"centres": np.zeros((2, 8))}, "centres"),
    ],
)
def test_fastfood_model_checks_its_arrays(changes, message):
    with pytest.raises(ValueError, match=message):
        build(FASTFOOD, **changes)


@pytest.mark.parametrize("function", [_native.cosine_turns, _native.sine_turns])
def test_cosine_takes_one_dimension_of_floats(function):
    for phases in (np.zeros((2, 2)), np.zeros(3, int), np.zeros(6)[::2], [0.5]):
        with pytest.raises(TypeError):
            function(phases, LEVEL)
    with pytest.raises(ValueError, match="cannot run"):
        function(np.zeros(3), "v9")


@pytest.mark.parametrize(
    ("shapes", "paired"),
    [
        (((3, 4), 3, 4, (3, 4)), False),
        (((3, 4), 4, 5, (3, 4)), False),
        (((3, 4), 4, 4, (2, 4)), False),
        (((3, 4), 4, 4, (3, 5)), False),
        (((3, 4), 4, 4, (3, 6)), True),
        (((3, 4), 4, 4, (3, 9)), True),
    ],
)
def test_finish_phases_checks_its_shapes(shapes, paired):
    arrays = [np.zeros(shape) for shape in shapes]
    with pytest.raises(ValueError, match=r"fit|columns"):
        _native.finish_phases(*arrays, paired, LEVEL, False)


def test_finish_phases_refuses_columns_that_are_not_contiguous():
    with pytest.raises(ValueError, match="contiguous"):
        _native.finish_phases(
            np.zeros((3, 8))[:, ::2], *np.zeros((2, 4)), np.zeros((3, 4)), False, LEVEL, False
        )


def test_relu_features_cannot_be_paired():
    message = "relu features have no sine: paired must be false"
    paired = {"paired": True, "n_outputs": 2 * len(MASKED.offsets)}
    assert build(MASKED, **paired, relu=False)
    with pytest.raises(ValueError, match=message):
        build(MASKED, **paired, relu=True)
    with pytest.raises(ValueError, match=message):
        _native.finish_phases(
            np.zeros((3, 4)), *np.zeros((2, 4)), np.zeros((3, 8)), True, LEVEL, True
        )


def test_use_level_refuses_unknown_levels_and_restores_the_old_one():
    before = _native.current_level()
    with pytest.raises(ValueError, match="v9"), _native.use_level("v9"):
        pass
    with _native.use_level("baseline"):
        assert _native.current_level() == "baseline"
    assert _native.current_level() == before

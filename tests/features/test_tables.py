"""Table maps and linear parts as objects: scores, costs, copies, refusals."""

from __future__ import annotations

import copy
import pickle
import threading

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array

from cerflearn import _native
from cerflearn.estimators.fused import bytes_of, cost_of, scores_of
from cerflearn.features import sparse as sparse_module
from cerflearn.features import tables as tables_module
from cerflearn.features.cost import Cost, StoredArray, compressed_array, stored_bytes
from cerflearn.features.dense import draw_dense_map
from cerflearn.features.linear import LinearPart
from cerflearn.features.tables import TableMap
from cerflearn.spectral import Gaussian
from map_samples import N_FEATURES, draw_masked
from oracle.random_maps import inputs
from oracle.tables import certain_bins, random_tables, scores_and_bound

CASE = random_tables(11, 9, 16, 4)


def table_map(case=CASE, **changes):
    arrays = {
        "frequencies": case.weights,
        "masks": case.masks,
        "offsets": case.offsets,
        "tables": case.tables,
        "linear": case.linear,
        "intercept": case.intercept,
    }
    return TableMap.from_dense(**(arrays | changes))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [1, 200])
def test_scores_are_those_of_the_oracle_in_the_dtype_of_the_rows(n, dtype):
    X = inputs(n, 11, dtype, seed=3)
    bins, certain = certain_bins(CASE, X, dtype)
    assert certain.all()
    expected, allowed = scores_and_bound(CASE, X, bins, dtype)
    scores = table_map().scores(X, n_threads=2)
    assert scores.dtype == dtype
    assert (np.abs(scores - expected) <= allowed).all()


def test_what_a_map_says_of_itself():
    made = table_map()
    assert (made.n_features, made.n_tables, made.n_bins, made.n_scores) == (11, 9, 16, 4)
    np.testing.assert_array_equal(made.masks, CASE.masks)
    np.testing.assert_array_equal(made.frequencies, CASE.weights)
    read = CASE.masks.any(axis=1) | CASE.linear.any(axis=1)
    np.testing.assert_array_equal(made.inputs_read, np.flatnonzero(read))
    assert repr(made) == "TableMap(n_features=11, n_tables=9, n_bins=16, n_scores=4)"
    assert repr(made.linear_part).startswith("LinearPart(n_features=11, n_scores=4, n_terms=")


def test_frequencies_outside_the_masks_are_ignored():
    made = table_map(frequencies=CASE.weights + 5.0 * ~CASE.masks)
    np.testing.assert_array_equal(made.frequencies, CASE.weights)


def test_masks_are_the_structure_not_the_values():
    made = table_map(frequencies=np.zeros_like(CASE.weights))
    np.testing.assert_array_equal(made.masks, CASE.masks)
    assert made.cost().macs == table_map().cost().macs


def test_no_tables_leave_a_linear_model():
    case = random_tables(11, 0, 16, 4)
    X = inputs(100, 11, "float64")
    expected = X @ case.linear + case.intercept
    np.testing.assert_allclose(table_map(case).scores(X), expected, rtol=0, atol=1e-13)
    np.testing.assert_allclose(table_map(case).scores(X[:1]), expected[:1], rtol=0, atol=1e-13)
    assert table_map(case).cost().macs == np.count_nonzero(case.linear)


def test_copies_and_pickles_give_equal_bits_and_leave_the_cache_behind():
    made = table_map()
    X = inputs(50, 11, "float32")
    expected = made.scores(X)
    for other in (copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert other._cache == {}
        assert not other.tables.flags.writeable
        np.testing.assert_array_equal(other.scores(X), expected)
    again = TableMap.from_arrays(made.to_arrays())
    np.testing.assert_array_equal(again.scores(X), expected)


def test_arrays_are_read_only_and_the_callers_stay_writable():
    tables = CASE.tables.copy()
    made = table_map(tables=tables)
    tables[:] = tables
    for array in (made.tables, made.values, made.linear, made.masks, made.frequencies):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n_threads", [1, 2])
def test_sparse_rows_have_the_bits_of_dense_ones(n_threads, dtype, monkeypatch):
    for module in (sparse_module, tables_module):
        monkeypatch.setattr(module, "DENSE_AT_ONCE", 11 * 40)  # several blocks
    X = random_array((333, 11), density=0.4, rng=np.random.default_rng(0), dtype=dtype)
    made = table_map()
    for given in (X, X.tocsr(), X.tocsc()):
        scores = made.scores_sparse(given, n_threads=n_threads)
        np.testing.assert_array_equal(scores, made.scores(X.toarray()))
    assert made.scores_sparse(csr_array((0, 11), dtype=dtype)).shape == (0, 4)


def test_sparse_rows_are_checked():
    made = table_map()
    with pytest.raises(ValueError, match="X has 10 features, the tables 11"):
        made.scores_sparse(csr_array((3, 10)))
    bad = csr_array(([np.nan], ([1], [2])), shape=(3, 11))
    with pytest.raises(ValueError, match="NaN or infinity"):
        made.scores_sparse(bad)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_rows_that_are_not_finite_are_refused(value):
    X = inputs(20, 11, "float64")
    X[7, 3] = value
    with pytest.raises(ValueError, match="NaN or infinity"):
        table_map().scores(X)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"masks": CASE.masks[:-1]}, "do not fit"),
        ({"offsets": CASE.offsets[:-1]}, "do not fit"),
        ({"tables": CASE.tables[:-1]}, "do not fit"),
        ({"tables": CASE.tables[:, :, 0]}, "do not fit"),
        ({"linear": CASE.linear[:, :-1]}, "do not fit"),
        ({"intercept": CASE.intercept[:-1]}, "do not fit"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        table_map(**changes)


def test_numbers_beyond_single_precision_are_refused_for_single_rows():
    X = inputs(3, 11, "float32")
    for name in ("tables", "linear"):
        made = table_map(**{name: np.where(getattr(CASE, name) > 1, 1e300, 0.0)})
        made.scores(X.astype(float))
        with pytest.raises(ValueError, match="single precision"):
            made.scores(X)
    with pytest.raises(ValueError, match="float32 or float64"):
        table_map().scores(X.astype(int))


def test_unaligned_rows_are_copied():
    records = np.zeros(30, dtype=[("flag", "i1"), ("x", "f8", (11,))])
    records["x"] = inputs(30, 11, "float64")
    made = table_map()
    np.testing.assert_array_equal(made.scores(records["x"]), made.scores(records["x"].copy()))


def test_threads_may_share_a_map():
    made, X = table_map(), inputs(100, 11, "float64")
    expected = table_map().scores(X)
    results = []
    threads = [threading.Thread(target=lambda: results.append(made.scores(X))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(result, expected) for result in results)


@pytest.mark.parametrize("level", _native.levels())
def test_a_forced_level_packs_anew(level):
    made, X = table_map(), inputs(100, 11, "float64")
    made.scores(X)
    with _native.use_level(level):
        assert made.model(X.dtype).level == level
        np.testing.assert_allclose(made.scores(X), table_map().scores(X), rtol=0, atol=1e-12)


# --- costs ------------------------------------------------------------------------------------
def test_a_table_costs_its_inputs_an_addition_a_score_and_a_lookup():
    cost = table_map().cost()
    n_values, n_terms = int(CASE.masks.sum()), np.count_nonzero(CASE.linear)
    n_parameters = n_values + 9 + 9 * 16 * 4 + n_terms + 4
    n_bytes = 4 * n_parameters + n_values + 2 * 10 + n_terms + 2 * 5
    assert cost == Cost(n_values + 9 * 4 + n_terms, 0, n_parameters, n_bytes, 9)


def test_smaller_storage_takes_fewer_bytes_and_the_same_operations():
    costs = {storage: table_map().cost(storage) for storage in ("float32", "int16", "int8")}
    stored = sum(array.n_values for array in table_map().stored_arrays())
    # Each of three arrays has a scale.
    assert costs["float32"].n_bytes - costs["int16"].n_bytes == 2 * stored - 12
    # Weights take two bytes at least.
    n_weights = len(table_map().values)
    assert costs["float32"].n_bytes - costs["int8"].n_bytes == 3 * stored - n_weights - 12
    assert len({cost.macs for cost in costs.values()}) == 1
    with pytest.raises(ValueError, match="storage='int4' is not valid"):
        table_map().cost("int4")


@pytest.mark.parametrize(
    ("n_features", "n_indices", "per_index", "per_pointer"),
    [
        (256, 10, 1, 2),
        (257, 10, 2, 2),
        (65_536, 65_535, 2, 2),
        (65_537, 65_535, 4, 2),
        (10, 65_536, 1, 4),
    ],
)
def test_indices_and_pointers_are_as_small_as_they_can_be(
    n_features, n_indices, per_index, per_pointer
):
    array = StoredArray(0, n_indices, 7)
    counted = stored_bytes("float32", n_features=n_features, arrays=[array], n_biases=0)
    assert counted == per_index * n_indices + 7 * per_pointer


def test_empty_arrays_take_no_bytes():
    empty = compressed_array(0, 5, 10)
    assert stored_bytes("int8", n_features=10, arrays=[empty], n_biases=2) == 8


def test_costs_with_lookups_add_up():
    assert Cost(1, 2, 3, 4, 5) + Cost(10, 20, 30, 40, 50) == Cost(11, 22, 33, 44, 55)


# --- the linear part beside features --------------------------------------------------------
def head(feature_map, n_scores=3):
    rng = np.random.default_rng(1)
    linear = rng.normal(size=(feature_map.n_features, n_scores))
    linear[::2] = 0
    return rng.normal(size=(n_scores, feature_map.n_outputs)), rng.normal(size=n_scores), linear


@pytest.mark.parametrize("n", [1, 150])
@pytest.mark.parametrize("kind", ["dense", "masked"])
def test_scores_add_the_linear_part(kind, n):
    rng = np.random.default_rng(0)
    made = {
        "dense": draw_dense_map(N_FEATURES, 30, Gaussian(1.0), rng),
        "masked": draw_masked(N_FEATURES, 30, Gaussian(1.0), rng),
    }[kind]
    coef, intercept, linear = head(made)
    X = inputs(n, N_FEATURES, "float64")
    expected = made.transform(X) @ coef.T + X @ linear + intercept
    part = LinearPart(coef=linear)
    for given in (linear, part):
        scores = made.scores(X, coef, intercept, linear=given)
        np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-12)
    for rows in (X, csr_array(X)):
        scores = scores_of(made, coef, intercept, rows, linear=part)
        np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-12)
    plain = cost_of(made, coef, intercept)
    more = cost_of(made, coef, intercept, part)
    n_terms = np.count_nonzero(linear)
    assert more.macs - plain.macs == n_terms
    assert more.n_parameters - plain.n_parameters == n_terms
    assert more.n_bytes - plain.n_bytes == 4 * (2 * n_terms + 4)


def test_bytes_of_a_predictor_follow_the_storage():
    made = draw_masked(N_FEATURES, 30, Gaussian(1.0), np.random.default_rng(0))
    coef, intercept, linear = head(made)
    part = LinearPart(coef=linear)
    n_terms = np.count_nonzero(linear)
    n_values = len(made.values) + coef.size + n_terms
    n_biases = (made.n_projections if made.offsets.any() else 0) + 3
    shared = made.n_masks < made.n_projections
    n_pointers = (2 if shared else 1) * len(made.mask_pointers) + 4
    n_indices = len(made.mask_inputs) + n_terms
    counted = bytes_of(made, coef, intercept, part)
    assert counted == 4 * (n_values + n_biases) + n_indices + 2 * n_pointers
    smaller = bytes_of(made, coef, intercept, part, storage="int8")
    assert counted - smaller == 3 * n_values - 4 * 3
    assert bytes_of(made, coef, intercept) < counted


def test_a_linear_part_is_checked():
    with pytest.raises(ValueError, match="no inputs and scores"):
        LinearPart(coef=np.zeros(3))
    with pytest.raises(ValueError, match="finite"):
        LinearPart(coef=[[np.nan]])
    part = LinearPart(coef=np.eye(3))
    assert LinearPart.of(part) is part
    assert pickle.loads(pickle.dumps(part)).n_terms == 3

"""Feature maps as objects: selection, arrays, copies, what is derived and kept."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from cerflearn import _native
from cerflearn.features.base import equal_amplitudes
from cerflearn.features.blocked import draw_blocked_map
from cerflearn.features.dense import DenseMap, draw_dense_map
from cerflearn.spectral import Gaussian
from map_samples import N_FEATURES, draw_masked, expected_features, rows

CHOICES = {"some": [0, 3, 4, 41, 70], "first": [0], "run": range(64, 75), "all": range(75)}


@pytest.mark.parametrize("choice", [*CHOICES])
def test_selected_map_has_the_columns_of_its_projections(feature_map, choice):
    chosen = np.array(CHOICES[choice])
    selected = feature_map.select(chosen)
    assert type(selected) is type(feature_map)
    columns = (2 * chosen[:, None] + [0, 1]).ravel() if feature_map.paired else chosen
    X = rows(30)
    wanted = feature_map.transform(X)[:, columns]
    np.testing.assert_allclose(selected.transform(X), wanted, atol=1e-12)
    np.testing.assert_array_equal(selected.frequencies, feature_map.frequencies[:, chosen])
    np.testing.assert_array_equal(selected.masks, feature_map.masks[:, chosen])
    np.testing.assert_array_equal(selected.amplitudes, feature_map.amplitudes[chosen])


def test_selection_twice_is_selection_of_the_selected(feature_map):
    twice = feature_map.select([1, 5, 66, 70]).select([1, 2])
    np.testing.assert_array_equal(twice.frequencies, feature_map.select([5, 66]).frequencies)


@pytest.mark.parametrize("wrong", [[], [3, 1], [1, 1], [-1, 2], [0, 150]])
def test_selection_must_be_ascending_and_not_empty(feature_map, wrong):
    with pytest.raises(ValueError, match="must be ascending indices below"):
        feature_map.select(wrong)


def test_reordered_maps_have_their_projections_in_another_order(feature_map):
    # Blocks of 64 rows, masks of a few projections: the first 64 behind the others.
    order = np.roll(np.arange(feature_map.n_projections), -64)
    moved = feature_map.reorder(order)
    columns = (2 * order[:, None] + [0, 1]).ravel() if feature_map.paired else order
    X = rows(30)
    np.testing.assert_allclose(moved.transform(X), feature_map.transform(X)[:, columns], atol=1e-12)
    np.testing.assert_array_equal(moved.frequencies, feature_map.frequencies[:, order])
    np.testing.assert_array_equal(moved.masks, feature_map.masks[:, order])
    assert moved.cost().macs == feature_map.cost().macs
    again = moved.reorder(np.argsort(order))
    np.testing.assert_array_equal(again.frequencies, feature_map.frequencies)


def test_an_order_is_a_permutation(feature_map):
    n = feature_map.n_projections
    for wrong in ([0], range(n - 1), [0, *range(n - 1)], range(1, n + 1)):
        with pytest.raises(ValueError, match=f"must be a permutation of {n}"):
            feature_map.reorder(wrong)


def test_projections_of_a_block_stay_together_and_masks_need_not():
    rng = np.random.default_rng(0)
    blocked = draw_blocked_map(N_FEATURES, 130, Gaussian(1.0), rng, paired=False)
    for order in ([0, 129, *range(1, 129)], [1, 0, *range(2, 130)]):
        with pytest.raises(ValueError, match="stay together and ascend"):
            blocked.reorder(order)
    masked = draw_masked(N_FEATURES, 8, Gaussian(1.0), rng, paired=False)
    order = [7, 0, 5, 2, 3, 4, 1, 6]
    np.testing.assert_array_equal(masked.reorder(order).frequencies, masked.frequencies[:, order])
    np.testing.assert_array_equal(masked.reorder(order).masks, masked.masks[:, order])


def test_selection_may_drop_the_last_sine():
    feature_map = draw_dense_map(N_FEATURES, 20, Gaussian(0.4), np.random.default_rng(0))
    selected = feature_map.select([2, 7], n_outputs=3)
    X = rows(30)
    wanted = feature_map.transform(X)[:, [4, 5, 14]]
    np.testing.assert_allclose(selected.transform(X), wanted, atol=1e-12)


def test_selection_keeps_masks_shared_and_drops_those_without_projections():
    feature_map = draw_masked(N_FEATURES, 32, Gaussian(1.0), np.random.default_rng(0), paired=False)
    selected = feature_map.select([0, 3, 9, 10, 11])  # masks 0 and 2 of 8
    assert selected.n_masks == 2
    np.testing.assert_array_equal(selected.projection_pointers, [0, 2, 5])
    assert len(selected.mask_inputs) == 2 * 12


def test_selection_drops_blocks_without_projections():
    rng = np.random.default_rng(0)
    feature_map = draw_blocked_map(N_FEATURES, 64 * 5, Gaussian(1.0), rng, paired=False)
    selected = feature_map.select([64, 70, 319])
    assert selected.blocks.n_blocks == 2
    np.testing.assert_array_equal(selected.kept_rows, [0, 6, 63])
    shared = draw_blocked_map(N_FEATURES, 640, Gaussian(1.0), rng, share=("signs",))
    assert shared.select([64, 319]).blocks.signs.shape == (1, 64)


def test_equal_amplitudes_make_the_norm_of_a_pair_map_one():
    feature_map = draw_dense_map(N_FEATURES, 50, Gaussian(1.0), np.random.default_rng(0))
    np.testing.assert_allclose(np.square(feature_map.transform(rows(4))).sum(axis=1), 1.0)
    assert equal_amplitudes(8, paired=False)[0] == 0.5
    assert equal_amplitudes(4, paired=True)[0] == 0.5


def test_arrays_describe_the_whole_map(feature_map):
    arrays = feature_map.to_arrays()
    assert all(isinstance(a, np.ndarray) and a.dtype != object for a in arrays.values())
    again = type(feature_map).from_arrays(arrays)
    assert (again.n_features, again.n_outputs, again.paired) == (
        N_FEATURES,
        150,
        feature_map.paired,
    )
    assert again.cost() == feature_map.cost()
    np.testing.assert_array_equal(again.transform(rows(30)), feature_map.transform(rows(30)))


@pytest.mark.parametrize(
    "duplicate",
    [copy.copy, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))],
    ids=["copy", "deepcopy", "pickle"],
)
def test_copies_have_the_same_bits_and_no_cache(feature_map, duplicate):
    size_before = len(pickle.dumps(feature_map))
    wanted = feature_map.transform(rows(30))
    _ = feature_map.frequencies, feature_map.masks
    assert len(pickle.dumps(feature_map)) == size_before
    again = duplicate(feature_map)
    assert again._cache == {}
    np.testing.assert_array_equal(again.transform(rows(30)), wanted)
    with pytest.raises(ValueError, match="read-only"):
        again.offsets[0] = 1.0


def test_a_map_cannot_be_changed(feature_map):
    with pytest.raises(FrozenInstanceError):
        feature_map.n_outputs = 3
    for array in (feature_map.frequencies, feature_map.amplitudes, feature_map.masks):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_the_arrays_of_the_caller_stay_writable():
    offsets = np.zeros(2)
    DenseMap(
        weights=np.ones((3, 2)), offsets=offsets, amplitudes=np.ones(2), n_outputs=4, paired=True
    )
    offsets[0] = 1.0


def test_weights_are_packed_once_for_each_dtype_and_level(feature_map):
    first = feature_map.model(np.dtype("float32"))
    assert feature_map.model(np.dtype("float32")) is first
    assert feature_map.model(np.dtype("float64")) is not first
    with _native.use_level(_native.levels()[0]):
        baseline = feature_map.model(np.dtype("float32"))
        assert baseline.level == _native.levels()[0]
        np.testing.assert_allclose(
            feature_map.transform(rows(30)), expected_features(feature_map, rows(30)), atol=1e-12
        )
    assert feature_map.model(np.dtype("float32")) is first


def test_threads_may_share_a_map(feature_map):
    X = rows(200)
    wanted = copy.copy(feature_map).transform(X)
    with ThreadPoolExecutor(4) as pool:
        for features in pool.map(feature_map.transform, [X] * 8):
            np.testing.assert_array_equal(features, wanted)


def test_representation_is_short(feature_map):
    n = feature_map.n_projections
    assert repr(feature_map) == (
        f"{type(feature_map).__name__}(n_features=40, n_projections={n}, n_outputs=150, "
        f"paired={feature_map.paired})"
    )


def test_inconsistent_fields_are_refused():
    with pytest.raises(ValueError, match="n_outputs=5"):
        DenseMap(
            weights=np.ones((3, 2)), offsets=[0, 0], amplitudes=[1, 1], n_outputs=5, paired=True
        )
    with pytest.raises(ValueError, match="1 amplitudes"):
        DenseMap(weights=np.ones((3, 2)), offsets=[0, 0], amplitudes=[1], n_outputs=4, paired=True)
    with pytest.raises(ValueError, match=r"\(3, 3\) weights for 2"):
        DenseMap(
            weights=np.ones((3, 3)), offsets=[0, 0], amplitudes=[1, 1], n_outputs=4, paired=True
        )

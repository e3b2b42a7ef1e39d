"""Features of images start with patches."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cerflearn import CERFClassifier, CERFRegressor, load, save
from cerflearn.training.pruning import Budget
from cerflearn.training.start import draw_network
from training_samples import RELU, make_task


def drawn(shape, macs=4000, n_components=40, usable=None, **more):
    """Masks (n_components, height, width, channels) of a network before it is trained."""
    n_inputs = int(np.prod(shape))
    task = make_task(n_samples=50, n_features=n_inputs)
    usable = np.ones(n_inputs, dtype=bool) if usable is None else usable
    budget = Budget(macs, 1, input_shape=(*shape, 1)[:3], **more)
    settings = replace(RELU, n_components=n_components)
    network = draw_network(
        task.problem(), settings, budget, usable, np.zeros(1), np.random.default_rng(0)
    )
    masks = np.zeros((n_components, n_inputs), dtype=bool)
    masks[network.features_of_entries(), network.inputs] = True
    return masks.reshape(n_components, *shape)


@pytest.mark.parametrize("shape", [(28, 28), (12, 30), (1, 200), (10, 10, 3)])
def test_inputs_of_a_feature_lie_in_a_patch_of_half_the_image_at_most(shape):
    masks = drawn(shape)
    places = set()
    for mask in masks:
        rows, columns = np.nonzero(mask)[:2]
        height, width = np.ptp(rows) + 1, np.ptp(columns) + 1
        assert height <= -(-shape[0] // 2)
        assert width <= -(-shape[1] // 2)
        assert mask.sum() >= 0.5 * height * width * (shape[2] if len(shape) > 2 else 1)
        places.add((rows.min(), columns.min()))
    assert len(places) > 10  # anywhere in the image
    assert masks.any(axis=0).mean() > 0.5


def test_constant_pixels_are_never_read_and_no_patch_is_empty():
    usable = np.zeros(400, dtype=bool)
    usable[[25, 210, 399]] = True
    masks = drawn((20, 20), usable=usable).reshape(40, 400)
    assert masks.any(axis=1).all()
    np.testing.assert_array_equal(np.flatnonzero(masks.any(axis=0)), [25, 210, 399])


def test_features_that_share_a_mask_share_a_patch():
    masks = drawn((16, 16), features_per_mask=4).reshape(10, 4, 256)
    assert (masks == masks[:, :1]).all()


@pytest.mark.parametrize("model", [CERFClassifier, CERFRegressor])
def test_images_of_another_size_are_refused(model):
    X, y = np.random.default_rng(0).normal(size=(30, 12)), np.arange(30) % 2
    with pytest.raises(ValueError, match=r"input_shape=\(3, 5\).*15 inputs, and X has 12 columns"):
        model(macs=20, input_shape=(3, 5)).fit(X, y)
    for wrong in ((12,), (3, 4.0), "12", (3, -4), (1, 2, 3, 2), 12, (True, 12)):
        with pytest.raises(ValueError, match="input_shape"):
            model(macs=20, input_shape=wrong).fit(X, y)


def test_neighbouring_pixels_are_found_with_few_rows(tmp_path):
    # The class is the sign of the mean contrast inside one of four corners' squares.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 14, 14))
    y = (X[:, 2:5, 2:5].sum(axis=(1, 2)) * X[:, 8:11, 8:11].sum(axis=(1, 2)) > 0.0).astype(int)
    X = X.reshape(700, 196)
    model = CERFClassifier(
        macs=60, activation="table", input_shape=(14, 14), alpha=3e-3, effort=0.2, random_state=0
    )
    model.fit(X[:600], y[:600])
    again = CERFClassifier(
        macs=60, input_shape=[14, 14], settings=model.settings_, effort=0.2, random_state=0
    ).fit(X[:600], y[:600])
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    save(model, tmp_path / "m.cerf")
    assert load(tmp_path / "m.cerf").input_shape == (14, 14)

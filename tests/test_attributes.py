"""Fitted attributes are those that the docstring of the class lists, no more and no fewer."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from numpydoc.docscrape import ClassDoc
from sklearn.base import BaseEstimator

import cerflearn
from cerflearn import rivals

pd = pytest.importorskip("pandas")

RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(60, 6)), columns=list("abcdef"))
LABELS = np.where(X["a"] > 0, "yes", "no")
NUMBERS = X["a"].to_numpy() + 0.1 * RNG.normal(size=60)
SMALL = {"n_components": 8}

# Target and parameters of each estimator, and documented attributes that this fit does not have.
NO_CVEM = {"rotation_", "scale_"}
UNLEARNED = NO_CVEM | {"errors_", "lower_bounds_", "n_iter_"}
NOT_COMPARED = {"chosen_selector_"}
NOT_TRAINED = NOT_COMPARED | {"teacher_coef_", "teacher_intercept_"}
EXACT = {"components_", "feature_map_", "mean_", "moments_"}
CASES = [
    ("ALaCarte", LABELS, {**SMALL, "max_iter": 2}, set()),
    ("BaNK", LABELS, {**SMALL, "n_sweeps": 2}, set()),
    ("BlockedCERF", None, SMALL, NO_CVEM),
    ("BlockedCERF", None, {**SMALL, "selector": "cvem"}, {"errors_"}),
    ("BlockedCERF", None, {**SMALL, "selector": "random"}, UNLEARNED),
    ("BlockedCERF", None, {**SMALL, "selector": "shared"}, {"rotation_"}),
    ("CERFClassifier", LABELS, {"macs": 40, "learn": "selection"}, set()),
    ("CERFClassifier", LABELS, {"macs": 40, "activation": "table", "effort": 0.1}, set()),
    ("CERFRegressor", NUMBERS, {"macs": 40, "learn": "selection"}, set()),
    ("CERFRegressor", NUMBERS, {"macs": 40, "effort": 0.1}, set()),
    ("FastfoodFeatures", None, SMALL, set()),
    ("KernelAutoencoder", None, {}, {"encoder_"}),
    ("KernelAutoencoder", None, {"macs": 30}, EXACT),
    ("KernelImputer", None, {"max_iter": 1}, set()),
    ("MaskedCERF", None, SMALL, NO_CVEM | NOT_TRAINED),
    ("MaskedCERF", None, {**SMALL, "selector": "cvem"}, {"errors_"} | NOT_TRAINED),
    ("MaskedCERF", None, {**SMALL, "selector": "random"}, UNLEARNED | NOT_TRAINED),
    ("MaskedCERF", None, {**SMALL, "selector": "shared"}, {"rotation_"} | NOT_TRAINED),
    (
        "MaskedCERF",
        None,
        {**SMALL, "selector": "trained"},
        NO_CVEM | NOT_COMPARED | {"lower_bounds_"},
    ),
    ("MaskedCERF", None, {**SMALL, "selector": "auto"}, NO_CVEM | {"lower_bounds_"}),
    ("MaskedFourierFeatures", None, SMALL, set()),
    ("MultipleKernelLearning", LABELS, {}, set()),
    ("RandomFourierFeatures", None, SMALL, set()),
    ("RandomKitchenSinks", LABELS, SMALL, set()),
    ("RandomizedKernelCCA", NUMBERS, {}, set()),
    ("RandomizedKernelPCA", None, {}, {"encoder_"}),
    ("RandomizedKernelPCA", None, {"macs": 30}, EXACT),
    (
        "RandomizedKernelPCA",
        None,
        {"fit_inverse_transform": False},
        {"encoder_", "inverse_mean_", "inverse_weights_"},
    ),
]


def public_estimators():
    """Public classes that can be fitted, by name."""
    owners = [(cerflearn, name) for name in cerflearn.__all__]
    owners += [(rivals, name) for name in rivals.__all__]
    classes = {name: getattr(module, name) for module, name in owners}
    return {
        name: value
        for name, value in classes.items()
        if inspect.isclass(value) and issubclass(value, BaseEstimator) and hasattr(value, "fit")
    }


def test_every_public_estimator_is_fitted_here():
    assert {name for name, *_ in CASES} == set(public_estimators())


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("name", "y", "parameters", "absent"), CASES)
def test_fitted_attributes_are_the_documented_ones(name, y, parameters, absent):
    estimator = public_estimators()[name](random_state=0, **parameters).fit(X, y)
    fitted = {
        attribute
        for attribute in dir(estimator)
        if attribute.endswith("_") and attribute[0] != "_" and hasattr(estimator, attribute)
    }
    documented = {entry.name for entry in ClassDoc(type(estimator))["Attributes"]}
    assert fitted == documented - absent

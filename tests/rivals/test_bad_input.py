"""Bad parameters and data: a ValueError with the name, the value and the remedy."""

from __future__ import annotations

import re

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from cerflearn import cost
from cerflearn.rivals import ALaCarte, BaNK, MultipleKernelLearning, RandomKitchenSinks
from cerflearn.rivals import mkl as mkl_module

X = np.random.default_rng(0).normal(size=(30, 5))
Y = (X[:, 0] > 0).astype(int)

GAMMA = "a positive number of at most 1e100, 'cv', 'scale' or 'median'."
RIVALS = [RandomKitchenSinks, MultipleKernelLearning, ALaCarte, BaNK]
BAD = [
    *((rival, {"gamma": -1}, f"gamma=-1 is not valid: it must be {GAMMA}") for rival in RIVALS),
    *(
        (rival, {"gamma": "auto"}, f"gamma='auto' is not valid: it must be {GAMMA}")
        for rival in RIVALS
    ),
    *((rival, {"random_state": -1}, "random_state=-1 is not valid") for rival in RIVALS),
    *(
        (rival, {"n_components": bad}, f"n_components={bad!r} is not valid: it must be a positive")
        for rival in (RandomKitchenSinks, ALaCarte, BaNK)
        for bad in (0, 2.5, True, None, 10**6)
    ),
    (RandomKitchenSinks, {"alpha": 0.0}, "alpha=0.0 is not valid: it must be a positive number"),
    (RandomKitchenSinks, {"alpha": "cv"}, "alpha='cv' is not valid: it must be a positive number"),
    (RandomKitchenSinks, {"bound": -2.0}, "bound=-2.0 is not valid: it must be a positive number"),
    (MultipleKernelLearning, {"widths": ()}, "widths=() is not valid: it must be a sequence"),
    (MultipleKernelLearning, {"widths": 1.0}, "widths=1.0 is not valid: it must be a sequence"),
    (MultipleKernelLearning, {"widths": "ab"}, "widths='ab' is not valid: it must be a sequence"),
    (MultipleKernelLearning, {"widths": (1, -1)}, "widths=-1 is not valid: it must be a sequence"),
    (MultipleKernelLearning, {"single_inputs": 1}, "single_inputs=1 is not valid"),
    (MultipleKernelLearning, {"alpha": -1.0}, "alpha=-1.0 is not valid: it must be a positive"),
    (MultipleKernelLearning, {"alpha": 1e-320}, "alpha=1e-320 is not valid: it must be a positive"),
    (MultipleKernelLearning, {"tol": 0}, "tol=0 is not valid: it must be a positive number"),
    (MultipleKernelLearning, {"max_iter": 0}, "max_iter=0 is not valid: it must be a positive"),
    (ALaCarte, {"n_groups": 0}, "n_groups=0 is not valid: it must be a positive integer"),
    (ALaCarte, {"max_iter": -1}, "max_iter=-1 is not valid: it must be a non-negative integer"),
    (BaNK, {"n_sweeps": 0}, "n_sweeps=0 is not valid: it must be a positive integer"),
    (BaNK, {"n_average": 21}, "n_average=21 is not valid: it must be a positive integer of at"),
    (BaNK, {"concentration": 0.0}, "concentration=0.0 is not valid: it must be a positive number"),
    (BaNK, {"max_mixture": 0}, "max_mixture=0 is not valid: it must be a positive integer"),
]


@pytest.mark.parametrize(
    ("rival", "parameters", "message"), BAD, ids=[f"{r.__name__}-{p}" for r, p, _ in BAD]
)
def test_bad_parameters_are_named_with_value_and_remedy(rival, parameters, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        rival(**parameters).fit(X, Y)


@pytest.mark.parametrize("rival", RIVALS)
def test_one_class_is_refused(rival):
    with pytest.raises(ValueError, match=r"y has one class, \[1\]: a classifier needs two"):
        rival().fit(X, np.ones(30, dtype=int))


@pytest.mark.parametrize("rival", RIVALS)
@pytest.mark.parametrize(("scale", "much"), [(1e-200, "little"), (1e160, "much"), (1e300, "much")])
def test_scales_at_which_the_variance_is_no_number_are_refused(rival, scale, much):
    with pytest.raises(ValueError, match=f"X varies too {much} for its variance to be a number"):
        rival().fit(X * scale, Y)


@pytest.mark.parametrize(("outlier", "alpha"), [(1e12, "auto"), (None, 1e-20)])
def test_kernels_that_are_lost_to_rounding_are_named(outlier, alpha):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(80, 6))
    labels = (rows[:, 0] * rows[:, 1] > 0).astype(int)
    if outlier is not None:
        rows[3] = outlier
    message = rf"kernels of X .* rounding exceeds alpha={alpha!r}.*Drop or clip rows of X"
    with pytest.raises(ValueError, match=message):
        MultipleKernelLearning(alpha=alpha, gamma="cv", random_state=0).fit(rows, labels)


@pytest.mark.parametrize("rival", RIVALS)
def test_a_fit_that_fails_leaves_no_old_model(rival):
    model = rival(random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="y has one class"):
        model.fit(X, np.ones(30))
    for use in (model.predict, model.predict_proba, lambda _: cost(model)):
        with pytest.raises(NotFittedError):
            use(X)


def test_too_many_rows_for_the_gram_matrices_are_refused(monkeypatch):
    monkeypatch.setattr(mkl_module, "MOST_NUMBERS", 3 * 29**2)
    message = "n_samples=30 is not valid: the Gram matrices of 3 kernels may have 29 rows. Fit a"
    with pytest.raises(ValueError, match=re.escape(message)):
        MultipleKernelLearning(widths=(0.1, 1.0, 4.0)).fit(X, Y)
    assert MultipleKernelLearning(widths=(0.1, 1.0, 4.0)).fit(X[:29], Y[:29]).n_iter_ >= 0
    with pytest.raises(ValueError, match="of 8 kernels may have 17 rows"):
        MultipleKernelLearning(widths=(0.1, 1.0, 4.0), single_inputs=True).fit(X[:29], Y[:29])


@pytest.mark.parametrize("rival", RIVALS)
def test_labels_of_different_kinds_are_refused(rival):
    with pytest.raises(TypeError, match=r"y mixes labels of different kinds.* pass all as text"):
        rival().fit(X, np.array(["a", 1] * 15, dtype=object))

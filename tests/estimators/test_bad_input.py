"""Bad parameters and data: a ValueError with the name, the value and the remedy."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

from cerflearn import (
    BlockedCERF,
    FastfoodFeatures,
    MaskedCERF,
    MaskedFourierFeatures,
    RandomFourierFeatures,
)
from cerflearn.spectral import Cauchy, Gaussian, GaussianMixture

ESTIMATORS = [
    RandomFourierFeatures,
    FastfoodFeatures,
    MaskedFourierFeatures,
    MaskedCERF,
    BlockedCERF,
]
MASKED = (MaskedFourierFeatures, MaskedCERF)
X = np.random.default_rng(0).normal(size=(30, 5))

COMMON = [
    ({"gamma": -1}, "gamma=-1 is not valid: it must be a positive number, 'scale' or 'median'."),
    ({"gamma": 0.0}, "gamma=0.0 is not valid: it must be a positive number"),
    ({"gamma": np.nan}, "gamma=nan is not valid: it must be a positive number"),
    ({"gamma": np.inf}, "gamma=inf is not valid: it must be a positive number"),
    ({"gamma": True}, "gamma=True is not valid: it must be a positive number"),
    ({"gamma": "auto"}, "gamma='auto' is not valid: it must be a positive number, 'scale'"),
    ({"gamma": None}, "gamma=None is not valid: it must be a positive number, 'scale'"),
    ({"gamma": np.float32(-2)}, "gamma=-2.0 is not valid: it must be a positive number"),
    ({"kernel": "poly"}, "kernel='poly' is not valid: it must be one of 'rbf', 'laplacian'"),
    ({"kernel": 3}, "kernel=3 is not valid: it must be one of 'rbf'"),
    (
        {"kernel": Gaussian(1.0), "gamma": 0.5},
        "gamma=0.5 has no effect with kernel=Gaussian(scale=1.0): a law has its own scale; leave",
    ),
    (
        {"n_components": 10, "macs": 100},
        "n_components=10 and macs=100 are not valid together: pass one of them",
    ),
    ({"n_components": 0}, "n_components=0 is not valid: it must be a positive integer of at most"),
    ({"n_components": 2.5}, "n_components=2.5 is not valid: it must be a positive integer"),
    ({"n_components": True}, "n_components=True is not valid: it must be a positive integer"),
    ({"macs": -5}, "macs=-5 is not valid: it must be a positive integer of at most"),
    ({"macs": "many"}, "macs='many' is not valid: it must be a positive integer of at most"),
    ({"paired": 1}, "paired=1 is not valid: it must be True or False."),
    ({"n_jobs": 0}, "n_jobs=0 is not valid: it must be None or an integer other than 0"),
    ({"n_jobs": 1.5}, "n_jobs=1.5 is not valid: it must be None or an integer"),
    ({"random_state": -1}, "random_state=-1 is not valid: it must be a non-negative integer"),
    ({"random_state": "a"}, "random_state='a' is not valid: it must be a non-negative integer"),
]


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize(("parameters", "message"), COMMON, ids=[str(p) for p, _ in COMMON])
def test_bad_parameters_are_named_with_value_and_remedy(estimator, parameters, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        estimator(**parameters).fit(X)


OWN = [
    (RandomFourierFeatures, {"orthogonal": 1}, "orthogonal=1 is not valid: it must be True or F"),
    (
        RandomFourierFeatures,
        {"orthogonal": True, "kernel": "laplacian"},
        "orthogonal=True is not valid: it must be False for kernel='laplacian', whose law is not "
        "isotropic; 'rbf', 'matern32' and 'matern52' can be orthogonal.",
    ),
    (
        RandomFourierFeatures,
        {"macs": 4},
        "macs=4 is not valid: a dense projection of 5 features costs 5 MACs. Pass macs=5 or more",
    ),
    (
        RandomFourierFeatures,
        {"kernel": GaussianMixture([[1.0, 2.0]], 1.0)},
        "is not a law of 5 features; draw other centres",
    ),
    (
        FastfoodFeatures,
        {"share": None},
        "share=None is not valid: it must be a tuple of none, some",
    ),
    (
        FastfoodFeatures,
        {"kernel": "cauchy"},
        "kernel='cauchy' is not valid: it must be 'rbf', 'matern32', 'matern52' or another "
        "isotropic law, as Fastfood needs; use RandomFourierFeatures for other kernels.",
    ),
    (FastfoodFeatures, {"kernel": Cauchy(1.0)}, "kernel=Cauchy(scale=1.0) is not valid"),
    (
        FastfoodFeatures,
        {"macs": 71},
        "macs=71 is not valid: a Fastfood block of 5 features costs 72 MACs. Pass macs=72 or more",
    ),
    (
        FastfoodFeatures,
        {"macs": 71, "share": ("signs",)},
        "macs=71 is not valid: a Fastfood block of 5 features costs 72 MACs.",
    ),
    (
        MaskedCERF,
        {"macs": 3, "mask_density": 0.8},
        "macs=3 is not valid: the first projection of 5 features costs 4 MACs. Pass macs=4 or "
        "more, or lower mask_density.",
    ),
    (BlockedCERF, {"spread": 1e308}, "spread=1e+308 is not valid: it must be a positive number of"),
    (BlockedCERF, {"scale_spread": 1e6}, "scale_spread=1000000.0 is not valid: it must be a numb"),
    (MaskedCERF, {"mask_density": 0.0}, "mask_density=0.0 is not valid: it must be a number abo"),
    (MaskedCERF, {"mask_density": 1.1}, "mask_density=1.1 is not valid: it must be a number abo"),
    (MaskedCERF, {"mask_density": "low"}, "mask_density='low' is not valid: it must be a number"),
    (
        MaskedCERF,
        {"mask_law": "uniform"},
        "mask_law='uniform' is not valid: it must be 'fixed' or 'beta_bernoulli'.",
    ),
    (MaskedCERF, {"group_size": 3}, "group_size=3 is not valid: it must be 1, 2, 4, 8 or 16."),
    (MaskedCERF, {"group_size": 2.0}, "group_size=2.0 is not valid: it must be 1, 2, 4, 8 or"),
    (MaskedCERF, {"features_per_mask": 0}, "features_per_mask=0 is not valid: it must be a pos"),
    (
        MaskedCERF,
        {"selector": "best"},
        "selector='best' is not valid: it must be 'greedy', 'shared'",
    ),
    (MaskedCERF, {"selector": None}, "selector=None is not valid: it must be 'greedy', 'shared'"),
    (
        MaskedCERF,
        {"n_components": 20_000, "selector": "greedy"},
        "50,000 candidate columns are too many for selector='greedy'",
    ),
    (
        MaskedCERF,
        {"selected_fraction": 1e-308},
        "Change selected_fraction=1e-308, or pass selector='random'.",
    ),
    (
        BlockedCERF,
        {"n_candidates": 20_000},
        "Change n_candidates=20000, or pass selector='random'.",
    ),
    (
        MaskedCERF,
        {"selector": "trained", "gamma": 1e-308},
        "outputs of teacher='rff' are constant on X: there is nothing to imitate. Pass another "
        "teacher or a larger gamma",
    ),
]


@pytest.mark.parametrize(
    ("estimator", "parameters", "message"), OWN, ids=[f"{e.__name__}{p}" for e, p, _ in OWN]
)
def test_bad_parameters_of_one_estimator_are_named_too(estimator, parameters, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        estimator(**parameters).fit(X)


def with_value(value):
    data = X.copy()
    data[3, 2] = value
    return data


def dated_frame():
    return pd.DataFrame(X, columns=list("abcde")).assign(a=pd.date_range("2020", periods=len(X)))


def text_frame():
    return pd.DataFrame({name: ["low", "high"] for name in "abcde"})


BAD_DATA = {
    "nan": (with_value(np.nan), "Input X contains NaN.*missing values"),
    "infinity": (with_value(np.inf), "Input X contains infinity.* Replace or drop such values"),
    "minus infinity": (with_value(-np.inf), "Input X contains infinity.* Replace or drop"),
    "sparse nan": (sp.csr_array(with_value(np.nan)), "Input X contains NaN"),
    "sparse infinity": (sp.csc_array(with_value(np.inf)), "Input X contains infinity"),
    "text": (np.full((4, 5), "tall"), "'tall'.* X must be numeric: encode text"),
    "object text": (np.full((4, 5), "tall", dtype=object), "'tall'.* X must be numeric: encode"),
    "text frame": (text_frame(), "'(low|high)'.* X must be numeric: encode text"),
    "no rows": (X[:0], r"0 sample\(s\) \(shape=\(0, 5\)\).* X must have at least one row"),
    "no columns": (X[:, :0], r"0 feature\(s\) \(shape=\(30, 0\)\).* X must have at least one row"),
    "long floats": (X.astype(np.longdouble) * np.longdouble("1e400"), "Input X contains infinity"),
    "records": (np.zeros((4, 5), dtype="f8,f8"), "X must be a table of numbers"),
    "dict": ({"a": 1.0}, "not 'dict'.* X must be a table of numbers"),
    "dates": (dated_frame(), "X must be a table of numbers"),
    "polars text": (pl.DataFrame({n: ["low"] for n in "abcde"}), "'low'.* X must be numeric: enc"),
    "lazy": (pl.DataFrame(X, schema=list("abcde")).lazy(), "X must be .* Collect a lazy frame"),
    "equal names": (pd.DataFrame(X, columns=list("aabcd")), "X must have a name of its own"),
    "one dimension": (X[0], "Expected 2D array, got 1D array.*Reshape your data"),
    "three dimensions": (X[None], "dim 3.* X must have two dimensions"),
    "complex": (X + 1j, r"^Complex data not supported\. X and y must be real"),
    "none": (None, "Expected 2D array, got scalar array"),
}


# scikit-learn 1.6 cannot read the column names of a polars frame, and warns of it before the error.
@pytest.mark.filterwarnings("ignore:X does not have valid feature names:UserWarning")
@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("name", [*BAD_DATA])
def test_bad_data_are_refused_by_fit_and_transform(estimator, name):
    data, message = BAD_DATA[name]
    with pytest.raises((TypeError, ValueError), match=f"(?s){message}"):
        estimator().fit(data)
    fitted = estimator().fit(X)
    message = "X has 0 features|X must have" if name == "no columns" else message
    if isinstance(data, pd.DataFrame | pl.DataFrame):
        fitted = estimator().fit(pd.DataFrame(X, columns=list("abcde")))
    with pytest.raises((TypeError, ValueError), match=f"(?s){message}"):
        fitted.transform(data)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_large_single_precision_is_read_without_warnings(estimator):
    large = (1e38 * np.where(X > 0.0, 1.0, -1.0)).astype(np.float32)
    estimator(random_state=0).fit(large)


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array, pd.DataFrame, np.ndarray.tolist])
@pytest.mark.parametrize("width", [4, 6])
def test_a_wrong_width_is_told(estimator, container, width):
    fitted = estimator().fit(X)
    message = f"X has {width} features, but {estimator.__name__} is expecting 5 features as input"
    with pytest.raises(ValueError, match=message):
        fitted.transform(container(np.ones((3, width))))


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("n_samples", [1, 30])
def test_the_fast_path_refuses_what_is_not_finite(estimator, dtype, bad, n_samples):
    data = X[:n_samples].astype(dtype)
    data[-1, -1] = bad
    with pytest.raises(ValueError, match=r"Input X contains (NaN|infinity)"):
        estimator().fit(X).transform(data)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_transform_before_fit_says_so(estimator):
    with pytest.raises(NotFittedError, match="is not fitted yet"):
        estimator().transform(X)


@pytest.mark.parametrize("scale", [1e-158, 1e200])
def test_gamma_that_cannot_be_read_off_the_data_is_told(scale):
    with pytest.raises(ValueError, match=r"gamma='scale' cannot be read off X.* scale X"):
        RandomFourierFeatures().fit(scale * X)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_failed_fit_checks_parameters_before_data(estimator):
    with pytest.raises(ValueError, match="gamma=-1"):
        estimator(gamma=-1).fit(X[:0])


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_fit_that_fails_leaves_the_estimator_not_fitted(estimator):
    X = np.random.default_rng(0).normal(size=(30, 40))
    sampler = estimator(macs=1, **({"mask_density": 0.5} if estimator in MASKED else {}))
    with pytest.raises(ValueError, match="macs=1"):
        sampler.fit(X)
    with pytest.raises(NotFittedError):
        sampler.transform(X)
    sampler.set_params(macs=None).fit(X[:, :7])
    with pytest.raises(ValueError, match="macs=1"):
        sampler.set_params(macs=1).fit(X)
    with pytest.raises(NotFittedError):
        sampler.transform(X[:, :7])


def test_budget_error_names_what_helps():
    X = np.random.default_rng(0).normal(size=(30, 64))
    with pytest.raises(ValueError, match=r"macs=5 .*Pass macs=16 or more.*group_size"):
        MaskedCERF(macs=5, mask_density=0.01, group_size=16).fit(X)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_n_jobs_set_after_fit_is_checked(estimator):
    X = np.random.default_rng(0).normal(size=(300, 6))
    sampler = estimator().fit(X).set_params(n_jobs="two")
    with pytest.raises(ValueError, match="n_jobs='two' is not valid"):
        sampler.transform(X)


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("kernel", ["rbf", "matern32"])
def test_a_gamma_that_overflows_is_named(estimator, kernel):
    with pytest.raises(ValueError, match=r"gamma=1e\+308 is not valid"):
        estimator(kernel=kernel, gamma=1e308).fit(np.eye(4))


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_wrong_width_says_what_to_pass(estimator):
    X = np.random.default_rng(0).normal(size=(30, 6))
    with pytest.raises(ValueError, match=r"expecting 6 features as input.*columns that fit saw"):
        estimator().fit(X).transform(X[:, :5])

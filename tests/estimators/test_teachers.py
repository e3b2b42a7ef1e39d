"""Teachers: what they yield, how they are fitted, and what is refused."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA, KernelPCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC
from sklearn.utils import get_tags

from cerflearn import BlockedCERF, MaskedCERF, RandomFourierFeatures
from cerflearn.estimators.input import TrainingData
from cerflearn.estimators.teachers import encode_labels, make_teacher
from cerflearn.spectral import Cauchy, Gaussian, Laplace, Product, StudentT

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 5))
Y = np.arange(60) % 3
LAW = Gaussian(0.5)


def rows_of(teacher, *, data=X, y=None, law=LAW, n_columns=100, paired=True, seed=0):
    given = TrainingData(data, data, y)
    made = make_teacher(teacher, given, law, n_columns, paired, np.random.default_rng(seed))
    return made.rows(0, data.shape[0])


@pytest.mark.parametrize("law", [LAW, Cauchy(0.2), StudentT(0.5, 3.0)], ids=repr)
@pytest.mark.parametrize("paired", [False, True])
def test_random_features_have_a_column_for_each_candidate_and_the_learners_kernel(law, paired):
    rows = rows_of("rff", law=law, n_columns=40_000, paired=paired)
    assert rows.shape == (60, 40_000)
    # Means of 20,000 values in [-1, 1] (pairs) or 40,000 in [-2, 2]: Hoeffding, 1e-7 a pair.
    bound = np.sqrt(2.0 * np.log(2.0 / 1e-7) / 20_000) * (1.0 if paired else np.sqrt(2.0))
    assert np.abs(rows @ rows.T - law.kernel(X)).max() < bound


def test_a_law_as_teacher_stands_for_random_features_of_it():
    law = Product(Gaussian(0.5), Gaussian(0.8))
    np.testing.assert_array_equal(rows_of(law), rows_of("rff", law=law))


@pytest.mark.parametrize("law", [LAW, Cauchy(0.2), Laplace(0.3), StudentT(0.5, 3.0)], ids=repr)
def test_nystroem_on_all_rows_has_the_exact_kernel(law):
    rows = rows_of("nystroem", law=law)
    np.testing.assert_allclose(rows @ rows.T, law.kernel(X), atol=1e-8)


def test_kernel_pca_on_all_rows_has_the_centred_kernel():
    rows = rows_of("kernel_pca")
    kernel = LAW.kernel(X)
    centre = np.eye(60) - 1.0 / 60.0
    np.testing.assert_allclose(rows @ rows.T, centre @ kernel @ centre, atol=1e-8)


@pytest.mark.parametrize("teacher", ["nystroem", "kernel_pca"])
def test_kernel_teachers_are_as_wide_as_candidates_and_rows_allow(teacher):
    assert rows_of(teacher, n_columns=7).shape == (60, 7)
    many = np.random.default_rng(0).normal(size=(1_500, 2))
    assert rows_of(teacher, data=many, n_columns=2_000).shape[1] == 1_000


def test_few_kernel_principal_components_are_those_of_all_rows():
    rows = rows_of("kernel_pca", n_columns=4)
    expected = KernelPCA(4, kernel="rbf", gamma=0.125).fit_transform(X)  # half the squared scale
    np.testing.assert_allclose(np.abs(rows), np.abs(expected), atol=1e-9)


@pytest.mark.parametrize("teacher", ["rff", "nystroem", "kernel_pca", PCA(3), Cauchy(1.0)])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_the_same_seed_gives_the_same_bits(teacher, container):
    data = container(X)
    np.testing.assert_array_equal(rows_of(teacher, data=data), rows_of(teacher, data=data))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_are_float64_whatever_the_data_are(dtype):
    data = X.astype(dtype)
    wanted = rows_of("rff", data=data.astype(np.float64))
    for container in (np.asarray, np.asfortranarray, sp.csr_array):
        rows = rows_of("rff", data=container(data))
        assert rows.dtype == np.float64
        np.testing.assert_array_equal(rows, wanted)


def test_few_rows_have_the_bits_they_have_among_many():
    given = TrainingData(X, X, None)
    made = make_teacher("rff", given, LAW, 30, True, np.random.default_rng(0))
    whole = made.rows(0, 60)
    for start, stop in ((0, 1), (57, 60), (10, 35)):
        np.testing.assert_array_equal(made.rows(start, stop), whole[start:stop])


# --- labels -----------------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [["b", "a", "b", "c"], [5, 1, 5, 9], [2.0, 1.0, 2.0, 3.0]])
def test_classes_become_one_hot_in_sorted_order(classes):
    wanted = np.array([[0, 1, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    np.testing.assert_array_equal(encode_labels(np.array(classes)), wanted)


def test_numbers_become_centred_targets():
    y = np.array([[1e9 + 0.25, -1.5], [1e9 + 0.75, 2.5]])
    np.testing.assert_array_equal(encode_labels(y), [[-0.25, -2.0], [0.25, 2.0]])
    np.testing.assert_array_equal(encode_labels(y[:, 1]), [[-2.0], [2.0]])


def test_tables_of_labels_keep_their_columns():
    y = np.array([[1, 0, 1], [0, 0, 1], [1, 1, 0]])
    wanted = y - y.mean(axis=0)
    np.testing.assert_allclose(encode_labels(y), wanted)
    np.testing.assert_allclose(encode_labels(sp.csr_array(y)), wanted)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.zeros(60, dtype=int), "y has one class only"),
        (np.full(60, "same"), "y has one class only"),
        (np.full(60, 0.5), "y is constant"),
        (Y[:-1], "inconsistent numbers of samples"),
        (np.where(Y == 0, np.nan, 0.5), "Input y contains NaN"),
        (np.array([object()] * 60), "Unknown label type"),
    ],
)
@pytest.mark.parametrize("estimator", [MaskedCERF, BlockedCERF])
def test_bad_labels_are_told(estimator, y, message):
    with pytest.raises(ValueError, match=message):
        estimator(teacher="labels", n_components=4).fit(X, y)


@pytest.mark.parametrize("teacher", ["labels", SVC()])
@pytest.mark.parametrize("estimator", [MaskedCERF, BlockedCERF])
def test_a_missing_target_is_named(estimator, teacher):
    message = f"teacher={teacher!r} requires y to be passed, but the target y is None."
    with pytest.raises(ValueError, match=re.escape(message)):
        estimator(teacher=teacher).fit(X)


@pytest.mark.parametrize(
    ("parameters", "required"),
    [
        ({}, False),
        ({"teacher": "labels"}, True),
        ({"teacher": "labels", "selector": "random"}, False),
        ({"teacher": SVC()}, True),
        ({"teacher": FrozenEstimator(SVC())}, False),
        ({"teacher": PCA()}, False),
        ({"teacher": LAW}, False),
        ({"teacher": "nobody"}, False),
        ({"selector": None, "teacher": None}, False),
    ],
    ids=str,
)
def test_the_tag_that_y_is_required_follows_the_parameters(parameters, required):
    assert get_tags(MaskedCERF(**parameters)).target_tags.required is required
    assert get_tags(BlockedCERF(**parameters)).target_tags.required is required


def test_y_is_ignored_unless_a_teacher_reads_it():
    first = MaskedCERF(n_components=6, random_state=0).fit(X)
    second = MaskedCERF(n_components=6, random_state=0).fit(X, ["not", "checked"])
    np.testing.assert_array_equal(first.frequencies_, second.frequencies_)


# --- estimators -------------------------------------------------------------------------------


def test_an_estimator_is_cloned_and_fitted():
    teacher = PCA(n_components=2)
    np.testing.assert_array_equal(rows_of(teacher), PCA(n_components=2).fit(X).transform(X))
    assert not hasattr(teacher, "components_")


def test_a_frozen_estimator_keeps_its_fit():
    fitted = PCA(n_components=2).fit(3.0 * X[:10])
    np.testing.assert_array_equal(rows_of(FrozenEstimator(fitted)), fitted.transform(X))


@pytest.mark.parametrize(
    ("teacher", "method"),
    [
        (make_pipeline(StandardScaler(), PCA(2)), "transform"),
        (SVC(), "decision_function"),
        (RandomForestClassifier(n_estimators=3, random_state=0), "predict_proba"),
        (LinearRegression(), "predict"),
    ],
    ids=str,
)
def test_predictors_can_teach_too(teacher, method):
    rows = rows_of(teacher, y=Y)
    wanted = getattr(teacher.fit(X, Y), method)(X)
    np.testing.assert_allclose(rows, wanted.reshape(60, -1), atol=1e-12)


def test_of_several_outputs_features_come_first():
    both = LinearDiscriminantAnalysis()
    np.testing.assert_array_equal(rows_of(both, y=Y), both.fit(X, Y).transform(X))


def test_sparse_output_becomes_dense():
    rows = rows_of(FunctionTransformer(sp.csr_array))
    np.testing.assert_array_equal(rows, X)


def test_missing_random_states_follow_the_seed():
    teacher = make_pipeline(StandardScaler(), RandomFourierFeatures(n_components=6))
    np.testing.assert_array_equal(rows_of(teacher, seed=3), rows_of(teacher, seed=3))
    assert not np.array_equal(rows_of(teacher, seed=3), rows_of(teacher, seed=4))
    own = RandomFourierFeatures(n_components=6, random_state=7)
    np.testing.assert_array_equal(rows_of(own, seed=3), rows_of(own, seed=4))


@pytest.mark.parametrize("estimator", [MaskedCERF, BlockedCERF])
def test_a_teacher_sees_the_columns_of_a_data_frame(estimator):
    frame = pd.DataFrame(X, columns=list("abcde"))
    teacher = make_column_transformer((StandardScaler(), ["b", "d"]))
    sampler = estimator(teacher=teacher, n_components=6).fit(frame)
    assert sampler.transform(frame).shape == (60, 6)
    frozen = FrozenEstimator(PCA(2).fit(frame))  # would warn of arrays without names
    assert estimator(teacher=frozen, n_components=6).fit(frame).n_components_ == 6


class Broken(TransformerMixin, BaseEstimator):
    """A teacher whose output is made by ``change``."""

    def __init__(self, change=None):
        self.change = change

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return self.change(np.array(X))


def with_nan(rows):
    rows[len(rows) // 2, 0] = np.nan
    return rows


BROKEN = {
    "too few rows": (lambda rows: rows[:-1], r"output of shape \(59, 5\) for 60 rows of X"),
    "too many rows": (lambda rows: np.vstack([rows, rows]), r"output of shape \(120, 5\)"),
    "three dimensions": (lambda rows: rows[None], r"output of shape \(1, 60, 5\)"),
    "no columns": (lambda rows: rows[:, :0], r"output of shape \(60, 0\).*at least one column"),
    "nan": (with_nan, "gives NaN or infinity in rows 0 to 59: its transform must be finite"),
    "infinity": (lambda rows: rows / np.where(rows > 2, 0.0, 1.0), "gives NaN or infinity"),
    "constant": (
        np.ones_like,
        r"The outputs of teacher=Broken\(.* are constant on X: there is nothing to",
    ),
}


@pytest.mark.parametrize("estimator", [MaskedCERF, BlockedCERF])
@pytest.mark.parametrize("selector", ["cvem", "shared", "greedy"])
@pytest.mark.parametrize("name", [*BROKEN])
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_a_broken_teacher_is_told(estimator, selector, name):
    change, message = BROKEN[name]
    sampler = estimator(teacher=Broken(change), selector=selector, n_components=4)
    with pytest.raises(ValueError, match=message):
        sampler.fit(X)


@pytest.mark.parametrize(
    "teacher", ["svm", None, 3, PCA, StandardScaler, RandomForestClassifier.fit, object()]
)
@pytest.mark.parametrize("estimator", [MaskedCERF, BlockedCERF])
def test_what_cannot_teach_is_refused(estimator, teacher):
    with pytest.raises(ValueError, match=r"teacher=.* is not valid: it must be 'rff', 'nystroem'"):
        estimator(teacher=teacher).fit(X)


@pytest.mark.parametrize("teacher", ["nystroem", "kernel_pca"])
def test_kernel_teachers_need_a_kernel_in_closed_form(teacher):
    law = Product(Cauchy(1.0), Cauchy(1.0))
    with pytest.raises(ValueError, match=r"'rff' for Product.* has no closed form"):
        MaskedCERF(kernel=law, teacher=teacher, n_components=4).fit(X)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("estimator", [MaskedCERF, BlockedCERF])
@pytest.mark.parametrize(
    ("y", "message"),
    [
        (1e200 * X[:, 0], "y varies too much for teacher='labels'.* scale y"),
        (1e-200 * X[:, 0], "y varies too little for teacher='labels'.* scale y"),
        (np.zeros((60, 0)), "y has no columns"),
        (np.array(["a", 1] * 30, dtype=object), "y mixes labels of different kinds.* as text"),
        (Y[:10], "X and y must have as many rows"),
        (3, "y must have a value for each row"),
    ],
)
def test_labels_that_cannot_be_a_teacher_are_refused_as_y(estimator, y, message):
    with pytest.raises((TypeError, ValueError), match=message):
        estimator(teacher="labels").fit(X, y)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("selector", ["greedy", "shared", "cvem"])
@pytest.mark.parametrize("scale", [1e90, 1e30, 1e-90])
def test_the_scale_of_targets_does_not_change_what_is_selected(selector, scale):
    sampler = MaskedCERF(n_components=4, teacher="labels", selector=selector, random_state=0)
    expected = sampler.fit(X, X[:, 0]).selected_
    assert np.array_equal(sampler.fit(X, scale * X[:, 0]).selected_, expected)


def test_boolean_labels_are_those_of_zeros_and_ones():
    labels = X[:, :2] > 0.0
    assert np.array_equal(encode_labels(labels), encode_labels(labels.astype(int)))


def test_outputs_of_a_teacher_that_overflow_are_refused():
    teacher = FunctionTransformer(lambda rows: 1e200 * rows)
    with pytest.raises(ValueError, match=r"outputs of the teacher vary too much.* scale them"):
        MaskedCERF(teacher=teacher).fit(X)

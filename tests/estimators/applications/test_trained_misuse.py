"""Uses of codes and completion within a budget that are refused, and what is said of them."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.frozen import FrozenEstimator
from sklearn.preprocessing import FunctionTransformer

from cerflearn import KernelAutoencoder, KernelImputer, MaskedCERF, RandomizedKernelPCA

DATA = np.random.default_rng(0)
X = np.tanh(DATA.normal(size=(120, 3)) @ DATA.normal(size=(3, 9)))
PATTERN = np.arange(9) >= 6


@pytest.mark.parametrize("scale", [1e-150, 1e-300, 1e150])
def test_a_kernel_that_has_no_width_is_told_of_as_the_teachers(scale):
    pca = RandomizedKernelPCA(macs=40, n_components=3, fit_inverse_transform=False, random_state=0)
    if scale > 1.0:
        assert pca.fit(X * scale).n_components_ == 3
        return
    with pytest.raises(ValueError, match=r"teacher='rff'.*scale X") as found:
        pca.fit(X * scale)
    assert "gamma" not in str(found.value)


def test_a_map_says_which_gamma_it_was_given():
    with pytest.raises(ValueError, match=r"gamma='scale' cannot be read off X.*scale X"):
        MaskedCERF(macs=40, selector="trained").fit(X * 1e-150)
    with pytest.raises(ValueError, match=r"gamma=1e\+200 is not valid"):
        MaskedCERF(macs=40, selector="trained", gamma=1e200).fit(X)


def test_a_teacher_with_a_scale_of_its_own_needs_no_width():
    teacher = FunctionTransformer(lambda rows: rows / np.abs(rows).max())
    found = [
        RandomizedKernelPCA(macs=40, n_components=3, teacher=teacher, random_state=0)
        .fit(rows)
        .explained_variance_ratio_
        for rows in (X, 2.0**-500 * X)
    ]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12)


@pytest.mark.parametrize("teacher", [PCA, 3, "labels", "nothing"])
def test_what_teachers_codes_may_have(teacher):
    with pytest.raises(ValueError, match="must be 'rff', 'nystroem', 'kernel_pca', a law") as found:
        RandomizedKernelPCA(macs=40, teacher=teacher).fit(X)
    assert "'labels'" not in str(found.value).split("must be")[1]


@pytest.mark.parametrize("make", [
    lambda teacher: MaskedCERF(macs=40, selector="trained", teacher=teacher),
    lambda teacher: MaskedCERF(macs=40, teacher=teacher),
    lambda teacher: RandomizedKernelPCA(macs=40, teacher=teacher),
    lambda teacher: KernelAutoencoder(macs=40, objective="teacher", teacher=teacher),
])  # fmt: skip
def test_a_teacher_that_does_not_fit_is_named(make):
    frozen = FrozenEstimator(PCA(2).fit(X[:, :5]))
    with pytest.raises(ValueError, match=r"teacher FrozenEstimator.* fitted on 5 .*X has 9"):
        make(frozen).fit(X)
    with pytest.raises(ValueError, match=r"teacher FunctionTransformer.*complex"):
        make(FunctionTransformer(lambda rows: rows + 1j)).fit(X)


def test_more_codes_than_the_only_column_of_a_teacher():
    with pytest.raises(
        ValueError, match="at most 1, the smaller of n_samples=120 and the 1 column"
    ):
        RandomizedKernelPCA(macs=40, n_components=2, teacher=PCA(1)).fit(X)


@pytest.mark.parametrize("model", [RandomizedKernelPCA, KernelAutoencoder])
def test_a_budget_below_one_feature_may_be_met_by_fewer_codes(model):
    with pytest.raises(ValueError, match=r"macs=5 .*9 codes costs 10 MACs.*lower n_components"):
        model(macs=5, n_components=9).fit(X)
    with pytest.raises(ValueError, match=r"macs=1 .*1 code costs 2 MACs.*Pass macs=2 or more\.$"):
        model(macs=1, n_components=1).fit(X)


def test_a_budget_of_completion_is_said_with_the_codes_that_were_asked_for():
    with pytest.raises(ValueError, match=r"macs=5 .*2 codes and a decoder.*costs 9 MACs.*leave"):
        KernelImputer(macs=5, n_components=2, patterns=PATTERN).fit(X)
    with pytest.raises(ValueError, match=r"macs=3 .*3 missing columns costs 4 MACs.*more\.$"):
        KernelImputer(macs=3, patterns=PATTERN).fit(X)


def test_patterns_of_numbers_are_refused_by_their_type():
    for dtype in (int, float):
        with pytest.raises(ValueError, match=f"patterns of {np.dtype(dtype)} are not valid"):
            KernelImputer(macs=40, patterns=PATTERN.astype(dtype)).fit(X)
    with pytest.raises(ValueError, match=r"patterns of shape \(8,\) are not valid"):
        KernelImputer(macs=40, patterns=PATTERN[1:]).fit(X)


def test_other_columns_than_those_of_the_pattern_of_a_network():
    imputer = KernelImputer(macs=20, patterns=PATTERN, random_state=0).fit(X)
    with pytest.raises(ValueError, match=r"Column 0 of X has missing values.*macs=20.*leave macs"):
        imputer.transform(np.where(np.arange(9) == 0, np.nan, X))


def test_progress_does_not_speak_of_labels(capsys):
    KernelAutoencoder(macs=20, n_components=2, verbose=1, random_state=0).fit(X)
    told = capsys.readouterr().out
    assert told.count("held-out loss") > 3
    assert "labels" not in told

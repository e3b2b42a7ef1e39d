"""MaskedCERF with trained features, and the choice between trained and chosen ones."""

from __future__ import annotations

import re

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.linear_model import RidgeClassifierCV
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

from cerflearn import BlockedCERF, MaskedCERF, RandomFourierFeatures, Trained, cost
from cerflearn.estimators.components import CodeTargets

DIGITS = load_digits()
X, Y = DIGITS.data / 16.0, DIGITS.target
TRAIN, TEST = slice(0, 1200), slice(1200, None)
BUDGET = {"macs": 120, "random_state": 0}


def accuracy(model):
    head = RidgeClassifierCV(alphas=np.logspace(-6, 1, 8))
    head.fit(model.transform(X[TRAIN]), Y[TRAIN])
    return head.score(model.transform(X[TEST]), Y[TEST])


@pytest.fixture(scope="module")
def trained():
    return MaskedCERF(selector="trained", **BUDGET).fit(X[TRAIN])


def test_trained_features_beat_chosen_ones_without_labels(trained):
    greedy = MaskedCERF(selector="greedy", **BUDGET).fit(X[TRAIN])
    assert trained.n_components_ == greedy.n_components_
    assert accuracy(trained) > accuracy(greedy) + 0.05


def test_the_budget_is_kept_and_used(trained):
    assert 0.9 * 120 <= trained.n_macs_ <= 120
    assert cost(trained).macs == trained.n_macs_
    assert trained.masks_.sum() == trained.n_macs_
    assert trained.masks_.any(axis=0).all()


def test_the_linear_map_gives_components_of_the_teacher(trained):
    assert trained.teacher_coef_.shape == (40, trained.n_components_)
    found = trained.transform(X[TRAIN]) @ trained.teacher_coef_.T + trained.teacher_intercept_
    variances = found.var(axis=0)
    assert np.abs(np.corrcoef(found[:, :3].T) - np.eye(3)).max() < 0.1  # components are orthogonal
    assert variances[0] > variances[10] > variances[30]
    assert 0.0 < trained.errors_[0] < 0.5
    assert trained.n_iter_ == 1


def test_components_of_a_given_teacher_are_learned():
    teacher = PCA(5)
    model = MaskedCERF(
        n_components=20, mask_density=0.5, teacher=teacher, selector=Trained(n_targets=5),
        random_state=0,
    ).fit(X[TRAIN])  # fmt: skip
    exact = PCA(5).fit(X[TRAIN]).transform(X[TEST])
    found = model.transform(X[TEST]) @ model.teacher_coef_.T + model.teacher_intercept_
    exact *= np.sign((exact * found).sum(axis=0))
    assert 1.0 - np.square(exact - found).sum() / np.square(exact).sum() > 0.9


def components_with(variances, n_rows=400):
    """Components of given sample variances, of a teacher that has nothing else."""
    columns = np.linalg.qr(np.random.default_rng(0).normal(size=(n_rows, len(variances) + 1)))[0]
    centred = np.linalg.qr(columns - columns.mean(axis=0))[0][:, : len(variances)]
    return CodeTargets(centred * np.sqrt((n_rows - 1) * np.array(variances)), float(sum(variances)))


@pytest.mark.parametrize(
    ("variances", "n_projections", "expected"),
    [
        (np.ones(100), 500, 80),  # nine tenths are 90, more than are learned
        (np.ones(69), 500, 63),
        (np.ones(70), 50, 50),  # one for each projection
        (np.ones(70), 5, 40),
        (0.5 ** np.arange(60), 500, 40),  # four would do
    ],
)
def test_as_many_components_are_learned_as_have_most_of_the_variance(
    variances, n_projections, expected
):
    settings = Trained(effort=0.3)._with_targets_of(components_with(variances), n_projections)
    assert (settings.n_targets, settings.effort) == (expected, 0.3)
    given = Trained(n_targets=3)
    assert given._with_targets_of(components_with(variances), n_projections) is given


def test_the_number_of_components_follows_the_teacher_and_the_budget():
    flat = np.random.default_rng(1).normal(size=(300, 100))
    options = {"selector": Trained(effort=0.05), "mask_density": 0.02, "random_state": 0}
    found = [
        MaskedCERF(macs=macs, teacher=teacher, **options).fit(flat).teacher_coef_.shape[0]
        for macs, teacher in ((120, "rff"), (120, PCA(50)), (400, "rff"))
    ]
    # 60 projections; nine tenths of 50 components of nearly equal variance; 200 projections.
    assert (found[0], found[2]) == (60, 80)
    assert 40 < found[1] < 50


@pytest.mark.parametrize(("n_components", "paired"), [(9, True), (8, True), (7, False)])
def test_as_many_columns_as_asked_for(n_components, paired):
    model = MaskedCERF(
        n_components=n_components, paired=paired, selector=Trained(effort=0.1), random_state=0
    ).fit(X[:300])
    assert model.transform(X).shape == (1797, n_components)
    assert model.n_projections_ == (n_components + 1) // 2 if paired else n_components
    squares = np.square(model.transform(X)).sum(axis=1)
    assert squares.max() <= 2.0 + 1e-9
    if paired and n_components % 2 == 0:
        np.testing.assert_allclose(squares, 1.0, rtol=1e-9)


def test_blocks_of_inputs_and_shared_masks_are_kept():
    model = MaskedCERF(
        macs=96, group_size=4, features_per_mask=2, selector=Trained(effort=0.1), random_state=0
    ).fit(X[:300])
    varies = X[:300].max(axis=0) > X[:300].min(axis=0)
    read = model.masks_.reshape(16, 4, -1).any(axis=1).repeat(4, axis=0)
    assert (model.masks_ == read & varies[:, None]).all()
    assert model.n_macs_ <= 96


def test_bits_do_not_depend_on_threads_or_the_blas():
    found = []
    for n_jobs, blas in ((1, 1), (2, 2)):
        with threadpool_limits(blas):
            model = MaskedCERF(selector="trained", macs=60, n_jobs=n_jobs, random_state=2)
            found.append(model.fit(X[:600]).transform(X))
    np.testing.assert_array_equal(*found)


def test_auto_is_the_better_of_both_and_the_same_map():
    auto = MaskedCERF(selector="auto", **BUDGET).fit(X[TRAIN])
    assert auto.chosen_selector_ == "trained"
    # Where few columns of the teacher are to be learned from as many features, greedy may do.
    small = MaskedCERF(selector="auto", n_components=4, random_state=0).fit(X[:40])
    assert small.chosen_selector_ in ("greedy", "trained")
    assert hasattr(small, "teacher_coef_") == (small.chosen_selector_ == "trained")


def test_auto_reads_frames_and_labels():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X[:200], columns=[f"pixel {i}" for i in range(64)])
    labels = pd.Series(Y[:200])
    model = MaskedCERF(selector="auto", macs=40, teacher="labels", random_state=0)
    assert model.fit(frame, labels).transform(frame).shape[0] == 200
    assert list(model.fit(frame, Y[:200].tolist()).feature_names_in_) == list(frame.columns)


def test_settings_clone_and_are_searched_over():
    search = GridSearchCV(
        make_pipeline(
            MaskedCERF(macs=40, selector=Trained(effort=0.1), random_state=0),
            RidgeClassifierCV(),
        ),
        {"maskedcerf__selector__n_targets": [2, 20]},
        cv=2,
    ).fit(X[:300], Y[:300])
    assert search.best_params_["maskedcerf__selector__n_targets"] == 20
    assert clone(Trained(n_targets=7)).n_targets == 7


def test_progress_is_printed_when_asked(capsys):
    MaskedCERF(selector=Trained(effort=0.1), macs=40, random_state=0, verbose=1).fit(X[:200])
    lines = capsys.readouterr().out.splitlines()
    assert any("held-out loss" in line for line in lines)
    assert "unexplained share of the teacher" in lines[-1]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"selector": Trained(n_targets=0)}, "n_targets=0 is not valid"),
        ({"selector": Trained(effort=0.0)}, "effort=0.0 is not valid"),
        ({"selector": "learned"}, "selector='learned' is not valid"),
        ({"selector": "trained", "macs": 2}, "macs=2"),
        ({"selector": "trained", "n_candidates": 99}, "n_candidates=99 has no effect"),
        ({"selector": "trained", "weights": "nnls"}, "weights='nnls' has no effect"),
    ],
)
def test_bad_parameters_are_refused_with_a_remedy(parameters, message):
    with pytest.raises(ValueError, match=message):
        MaskedCERF(**parameters).fit(X[:100])


def test_blocks_cannot_be_trained():
    with pytest.raises(ValueError, match="selector='trained' is not valid"):
        BlockedCERF(selector="trained").fit(X[:100])
    with pytest.raises(ValueError, match="is not valid"):
        BlockedCERF(selector=Trained()).fit(X[:100])


def test_there_is_no_partial_fit():
    assert not hasattr(MaskedCERF(selector="trained"), "partial_fit")
    assert not hasattr(MaskedCERF(selector=Trained()), "partial_fit")


def test_a_constant_teacher_is_refused():
    class Constant(RandomFourierFeatures):
        def transform(self, X):
            return np.ones((len(X), 3))

    with pytest.raises(ValueError, match=r"outputs of teacher=.* are constant on X"):
        MaskedCERF(selector="trained", teacher=Constant()).fit(X[:50])
    with pytest.raises(ValueError, match="X is constant"):
        MaskedCERF(selector="trained").fit(np.ones((20, 4)))


@pytest.mark.parametrize("selector", ["trained", "auto"])
def test_groups_with_constant_inputs_give_all_columns_and_read_no_constant(selector):
    some = np.random.default_rng(0).normal(size=(80, 5))
    some[:, [1, 2, 4]] = 1.0
    model = MaskedCERF(n_components=20, group_size=4, selector=selector, random_state=0).fit(some)
    assert model.transform(some).shape == (80, 20)
    assert set(model.inputs_read_) <= {0, 3}


@pytest.mark.parametrize(
    ("size", "most"), [({"n_components": 2}, 8), ({"macs": 33}, 33), ({"macs": 124}, 124)]
)
def test_masks_are_shared_by_at_most_all_projections(size, most):
    some = np.random.default_rng(0).normal(size=(80, 8))
    model = MaskedCERF(
        features_per_mask=16, group_size=4, selector=Trained(effort=0.1), random_state=0, **size
    ).fit(some)
    assert model.n_macs_ <= most
    assert model.n_components_ >= (2 if "n_components" in size else 2 * (most // 8))


@pytest.mark.parametrize("place", range(0, 40, 3))
def test_auto_is_greedy_where_a_part_of_the_rows_cannot_be_learned_from(place):
    some = np.random.default_rng(0).normal(size=(40, 4))
    labels = np.zeros(40, dtype=int)
    labels[place] = 1
    model = MaskedCERF(macs=12, selector="auto", teacher="labels", random_state=0)
    assert model.fit(some, labels).chosen_selector_ in ("greedy", "trained")
    rare = np.zeros((40, 3))
    rare[place, 0] = 1.0
    assert MaskedCERF(n_components=4, selector="auto", random_state=0).fit(rare).n_components_ == 4


@pytest.mark.parametrize("y", [np.arange(50), "text", {"a": 1}, [[1], [2, 3]]])
def test_a_target_that_is_not_read_may_be_anything(y):
    assert MaskedCERF(macs=30, selector="auto", random_state=0).fit(X[:60], y).n_macs_ <= 30


def test_two_rows_are_enough():
    assert MaskedCERF(n_components=4, selector="auto").fit(X[:2]).n_components_ == 4


def test_too_many_columns_are_refused_before_training():
    with pytest.raises(ValueError, match="too many for selector"):
        MaskedCERF(n_components=60_000, selector="trained").fit(X[:20])


def test_an_unknown_selector_is_told_all_names():
    with pytest.raises(ValueError, match=r"'trained', 'auto', 'random', or a .* or Trained"):
        MaskedCERF(selector="foo").fit(X[:20])
    with pytest.raises(ValueError, match=r"'cvem', 'random', or a CVEM, Shared or Greedy"):
        BlockedCERF(selector="foo").fit(X[:20])


def test_steps_are_fewer_where_targets_of_many_features_take_long(capsys):
    """The head of training is no part of the budget, but takes most of the time."""
    steps = {}
    for n_components in (40, 800):
        selector = Trained(n_targets=40)
        model = MaskedCERF(n_components=n_components, selector=selector, random_state=0, verbose=1)
        assert model.fit(X[:64]).n_components_ == n_components
        told = re.findall(r"(\d+) steps, ", capsys.readouterr().out)
        steps[n_components] = max(map(int, told))
    assert 1 <= 2 * steps[800] < steps[40]

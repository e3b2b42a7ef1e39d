"""``partial_fit`` of learned maps: what it equals, what it refuses, what it keeps."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import RidgeClassifier, SGDClassifier
from sklearn.utils.validation import check_is_fitted

from cerflearn import CVEM, BlockedCERF, Greedy, MaskedCERF, Shared
from cerflearn.estimators.cerf.candidates import keep_places

RNG = np.random.default_rng(0)
X = RNG.normal(size=(900, 8))
Y = np.where(X[:, 0] * X[:, 1] > 0.0, "yes", "no")
MAPS = [MaskedCERF, BlockedCERF]
SELECTORS = ["cvem", "shared"]
SMALL = {"n_components": 32, "n_candidates": 64, "random_state": 0}


def batches(rows=X, size=150):
    return [rows[start : start + size] for start in range(0, len(rows), size)]


def streamed(model, rows=X, y=None, size=150):
    for start in range(0, rows.shape[0], size):
        part = slice(start, start + size)
        model.partial_fit(rows[part], None if y is None else y[part])
    return model


def small(cls=MaskedCERF, selector="cvem", **parameters):
    return cls(**(SMALL | {"selector": selector} | parameters))


@pytest.mark.parametrize("cls", MAPS)
@pytest.mark.parametrize("teacher", ["rff", "nystroem", "kernel_pca", "labels"])
@pytest.mark.parametrize(
    ("selector", "of_fit"),
    [
        (CVEM(), CVEM(max_stages=1, n_closing_stages=0)),
        (Shared(max_stages=5), Shared(max_stages=5)),
    ],
    ids=["cvem", "shared"],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_one_call_with_all_rows_is_one_stage_of_fit_to_the_bit(cls, teacher, selector, of_fit):
    stream = small(cls, selector, teacher=teacher).partial_fit(X, Y)
    batch = small(cls, of_fit, teacher=teacher).fit(X, Y)
    assert stream.transform(X).tobytes() == batch.transform(X).tobytes()
    assert stream.selected_.tolist() == batch.selected_.tolist()
    assert stream.gamma_ == batch.gamma_
    assert stream.feature_proba_.tobytes() == batch.feature_proba_.tobytes()
    assert stream.scale_ == batch.scale_


@pytest.mark.parametrize("cls", MAPS)
@pytest.mark.parametrize("selector", SELECTORS)
def test_a_stream_begins_with_two_rows_for_each_candidate(cls, selector):
    model = small(cls, selector)
    model.partial_fit(X[:100])
    assert model.n_features_in_ == 8
    for call in (lambda: model.transform(X), lambda: model.transform(X.tolist())):
        with pytest.raises(NotFittedError, match=r"has seen 100 rows.*128.*28 more rows"):
            call()
    with pytest.raises(NotFittedError):
        check_is_fitted(model)
    model.partial_fit(X[100:127])
    with pytest.raises(NotFittedError, match="1 more rows"):
        model.transform(X)
    model.partial_fit(X[127:130])
    check_is_fitted(model)
    assert model.transform(X).shape == (900, 32)
    assert model.n_iter_ == 1
    # How the first rows came does not matter.
    at_once = small(cls, selector).partial_fit(X[:130])
    assert model.transform(X).tobytes() == at_once.transform(X).tobytes()
    assert model.partial_fit(X[130:]).n_iter_ == 2
    assert len(model.lower_bounds_) == 1


@pytest.mark.parametrize("cls", MAPS)
@pytest.mark.parametrize("selector", SELECTORS)
def test_threads_pickles_containers_and_caches_do_not_change_the_bits(cls, selector):
    def bits(selector=selector, rows=X, size=150, **parameters):
        # A number: the mean of a sparse matrix, which "scale" would need, is rounded otherwise.
        model = streamed(small(cls, selector, gamma=0.1, **parameters), rows, size=size)
        return model.transform(X).tobytes()

    assert bits(n_jobs=2, size=450) == bits(size=450)
    for size in (60, 150):  # copied while rows wait, and later
        model = small(cls, selector, gamma=0.1)
        for part in batches(size=size):
            model = pickle.loads(pickle.dumps(model)).partial_fit(part)
        assert model.transform(X).tobytes() == bits(size=size)
    assert bits(rows=sp.csr_array(X)) == bits(rows=np.asfortranarray(X)) == bits()
    without = {"cvem": CVEM(cache_bytes=0), "shared": Shared(cache_bytes=0)}[selector]
    assert bits(without) == bits()


def test_frames_with_names_reach_the_teacher():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=list("abcdefgh"))

    class Named(TransformerMixin, BaseEstimator):
        def fit(self, X, y=None):
            self.columns_ = list(X.columns)
            return self

        def transform(self, X):
            assert list(X.columns) == self.columns_
            return np.asarray(X) ** 2

    model = streamed(small(teacher=Named()), frame, size=50)
    assert model.transform(frame).shape == (900, 32)
    with pytest.raises(ValueError, match="feature names"):
        model.partial_fit(frame.rename(columns={"a": "z"}))


@pytest.mark.parametrize("cls", MAPS)
@pytest.mark.parametrize("selector", SELECTORS)
def test_fit_and_partial_fit_start_anew_after_each_other(cls, selector):
    model = streamed(small(cls, selector)).fit(X)
    assert model.transform(X).tobytes() == small(cls, selector).fit(X).transform(X).tobytes()
    waiting = small(cls, selector).partial_fit(X[:10]).fit(X)
    assert waiting.transform(X).tobytes() == model.transform(X).tobytes()
    model.partial_fit(X[:150, :5])  # of another width, too
    wanted = small(cls, selector).partial_fit(X[:150, :5])
    assert model.transform(X[:, :5]).tobytes() == wanted.transform(X[:, :5]).tobytes()
    model.fit(X).partial_fit(X[:100])
    with pytest.raises(NotFittedError, match="28 more rows"):
        model.transform(X)


def test_partial_fit_exists_where_the_selector_has_it():
    for selector in ("cvem", "shared", CVEM(), Shared(), CVEM(schedule="incremental")):
        assert hasattr(MaskedCERF(selector=selector), "partial_fit")
        assert hasattr(BlockedCERF(selector=selector), "partial_fit")
    for selector in ("greedy", "random", Greedy(), CVEM(solver="admm"), "nonsense"):
        assert not hasattr(MaskedCERF(selector=selector), "partial_fit")
    assert not hasattr(MaskedCERF(selector="cvem", weights="nnls"), "partial_fit")
    with pytest.raises(AttributeError) as caught:
        MaskedCERF(selector="greedy").partial_fit(X)
    assert "selector='cvem'" in str(caught.value.__cause__)
    with pytest.raises(AttributeError) as caught:
        MaskedCERF(selector="cvem", weights="nnls").partial_fit(X)
    assert "weights='equal'" in str(caught.value.__cause__)


def test_rows_that_wait_are_copied():
    model, rows = small(teacher="labels"), np.empty((60, 8))
    labels = Y[:60].copy()
    for start in range(0, 180, 60):
        rows[:] = X[start : start + 60]
        labels[:] = Y[start : start + 60]
        model.partial_fit(rows, labels)
    wanted = streamed(small(teacher="labels"), X[:180], Y[:180], size=60)
    assert model.transform(X).tobytes() == wanted.transform(X).tobytes()


def test_settings_of_execution_and_weights_may_change():
    model = small(selector=CVEM(), teacher=RidgeClassifier())
    model = streamed(model, X[:300], Y[:300])
    model.set_params(n_jobs=2, verbose=0, selector__learning_decay=1.0)
    pickle.loads(pickle.dumps(model)).partial_fit(X[300:600], Y[300:600])


def test_a_fitted_teacher_does_not_need_targets_any_more():
    model = streamed(small(teacher=RidgeClassifier()), X[:300], Y[:300])
    model.partial_fit(X[300:600])
    assert model.n_iter_ == 3


def test_numbers_are_centred_as_the_first_rows_are():
    target = X[:, 0] + 5.0
    model = streamed(small(teacher="labels", selector="shared"), X, target)
    shifted = streamed(small(teacher="labels", selector="shared"), X, target + 100.0)
    np.testing.assert_array_equal(model.selected_, shifted.selected_)


@pytest.mark.parametrize("cls", MAPS)
@pytest.mark.parametrize("selector", SELECTORS)
def test_features_that_stay_chosen_keep_their_columns(cls, selector):
    model = small(cls, selector)
    moved = stayed = 0
    before = None
    for part in batches(size=130):
        model.partial_fit(part)
        if before is not None:
            features = dict(zip(before.tolist(), range(32), strict=True))
            for column, feature in enumerate(model.selected_.tolist()):
                if feature in features:
                    assert features[feature] == column
                    stayed += 1
                else:
                    moved += 1
        before = model.selected_
        drawn = model._stream.candidates.feature_map.with_amplitudes(
            np.full(32, model.feature_map_.amplitudes[0])
        )
        np.testing.assert_allclose(
            model.transform(X), drawn.transform(X)[:, model.selected_], atol=1e-12
        )
    assert stayed > 100


def test_places_of_whole_pieces_are_kept_and_parts_follow():
    pieces = np.arange(10) // 2
    order = keep_places(np.array([2, 3, 6, 7, 8]), np.zeros(0, dtype=int), pieces)
    assert order.tolist() == [2, 3, 6, 7, 8]
    order = keep_places(np.array([0, 1, 6, 7, 9]), order, pieces)
    assert order.tolist() == [0, 1, 6, 7, 9]
    order = keep_places(np.array([2, 3, 7, 8, 9]), order, pieces)
    assert order.tolist() == [2, 3, 8, 9, 7]
    # Fewer whole pieces than before: the last place is gone.
    assert keep_places(np.array([3, 7, 8, 9]), order, pieces).tolist() == [8, 9, 3, 7]


def test_a_model_of_the_outputs_can_be_trained_beside():
    model, head = small(selector="shared"), SGDClassifier(random_state=0)
    rows = np.random.default_rng(5).normal(size=(6000, 8))
    labels = rows[:, 0] > 0.3
    for part, own in zip(batches(rows), batches(labels), strict=True):
        head.partial_fit(model.partial_fit(part).transform(part), own, classes=[False, True])
    test = np.random.default_rng(6).normal(size=(1000, 8))
    assert head.score(model.transform(test), test[:, 0] > 0.3) > 0.75


@pytest.mark.parametrize("selector", SELECTORS)
def test_a_stream_that_changes_is_followed(selector):
    """The teacher is of the first four inputs, then of the last four."""
    rng = np.random.default_rng(0)
    model = MaskedCERF(
        gamma=0.2,
        n_components=20,
        n_candidates=80,
        mask_density=0.25,
        features_per_mask=1,
        teacher="labels",
        selector=selector,
        random_state=0,
    )
    shares = []
    for t in range(150):
        rows = rng.normal(size=(160, 8))
        read = rows[:, :4] if t < 50 else rows[:, 4:]
        model.partial_fit(rows, np.hstack([np.cos(read), np.sin(read)]))
        shares.append(model.masks_[4:].sum() / model.masks_.sum())
    assert shares[49] < 0.3
    assert shares[-1] > 0.7


@pytest.mark.parametrize("selector", SELECTORS)
def test_memory_does_not_grow_with_the_rows(selector):
    model = small(selector=selector)
    rng = np.random.default_rng(0)
    sizes = []
    for _ in range(60):
        model.partial_fit(rng.normal(size=(200, 8)))
        sizes.append(len(pickle.dumps(model)))
    assert max(sizes[30:]) < 1.01 * max(sizes[:30])


def test_budgets_hold_in_every_call():
    model = MaskedCERF(macs=60, mask_law="beta_bernoulli", selector="cvem", random_state=0)
    for part in batches():
        model.partial_fit(part)
        if hasattr(model, "feature_map_"):
            assert model.n_macs_ <= 60
    assert model.n_iter_ > 1


def test_each_mini_batch_is_reported(capsys):
    streamed(small(verbose=1), X[:450])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == [
        f"[MaskedCERF] mini-batch {number}" for number in range(3)
    ]
    streamed(small(selector="shared", verbose=1), X[:150])
    assert "unexplained share of the teacher" in capsys.readouterr().out


def test_generators_are_shared_and_clones_have_no_stream():
    rng = np.random.default_rng(0)
    first, second = (streamed(small(random_state=rng)) for _ in range(2))
    assert not np.array_equal(first.frequencies_, second.frequencies_)
    again = streamed(clone(small()))
    assert again.transform(X).tobytes() == streamed(small()).transform(X).tobytes()
    assert "_stream" not in clone(again).__dict__

"""Comparison of settings: against sums over rows, and on choices known to be right."""

import numpy as np
import pytest

from cerflearn.training.model_selection import (
    HeldOutResult,
    SelectionRule,
    accuracy,
    minus_squared_error,
    rule_for,
)
from cerflearn.training.scores import log_likelihood
from cerflearn.training.settings import TrainingSettings

LABELS, KERNEL = TrainingSettings(4, 1e-3, "labels"), TrainingSettings(4, 1e-3, "kernel")
SELECTED = TrainingSettings(4, 1e-3, "labels", "selection")
EVEN = np.full(6, 1 / 6)


def result(criterion, settings=LABELS, weights=EVEN):
    criterion = np.asarray(criterion, dtype=float)
    return HeldOutResult(settings, criterion, criterion[:, None], criterion[:, None], weights)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_log_likelihood_is_that_of_the_best_factor(n_classes):
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(80, 1 if n_classes == 2 else n_classes))
    classes = rng.integers(n_classes, size=80)
    targets = classes[:, None].astype(float) if n_classes == 2 else np.eye(n_classes)[classes]
    # The right class scores more, or no factor is best.
    scores += 1.5 * (2.0 * targets - 1.0)
    weights = rng.uniform(0.5, 1.5, size=80)
    kind = "binary" if n_classes == 2 else "multiclass"
    found = log_likelihood(scores, targets, weights, kind)
    both = np.hstack([np.zeros((80, 1)), scores]) if n_classes == 2 else scores

    def slow(factor):
        powers = np.exp(factor * both)
        return np.log(powers[np.arange(80), classes] / powers.sum(axis=1))

    best = max(weights @ slow(factor) for factor in np.geomspace(0.1, 10.0, 400))
    assert weights @ found == pytest.approx(best, rel=1e-4)
    assert weights @ found >= best
    # Neither the scale of the scores nor that of the weights matters.
    np.testing.assert_allclose(
        log_likelihood(3.0 * scores, targets, 2.0 * weights, kind), found, atol=1e-4
    )


def test_scores_beyond_the_range_of_exp_have_a_finite_likelihood():
    scores, targets = np.array([[800.0], [-800.0], [800.0]]), np.array([[1.0], [0.0], [0.0]])
    assert np.isfinite(log_likelihood(scores, targets, np.ones(3), "binary")).all()


def test_accuracy_and_squared_error():
    scores, targets = np.array([[0.2], [-1.0], [3.0]]), np.array([[1.0], [1.0], [0.0]])
    np.testing.assert_array_equal(accuracy(scores, targets, EVEN, "binary"), [1.0, 0.0, 0.0])
    classes = np.eye(3)[[0, 2, 2]]
    np.testing.assert_array_equal(accuracy(np.eye(3), classes, EVEN, "multiclass"), [1, 0, 1])
    labels = accuracy(np.array([[1.0, -1.0]]), np.ones((1, 2)), EVEN, "multilabel")
    np.testing.assert_array_equal(labels, [0.5])
    errors = minus_squared_error(scores, targets, EVEN, "regression")
    np.testing.assert_allclose(errors, [-0.64, -4.0, -9.0])


def test_later_settings_win_by_more_than_the_margin_only():
    first, better = result([0, 1, 0, 1, 0, 1]), result([1, 1, 0, 1, 1, 0])  # .5 and .67
    assert SelectionRule(minus_squared_error, 0.0).best([first, better]) is better
    assert SelectionRule(minus_squared_error, 2.0).best([first, better]) is first
    assert SelectionRule(minus_squared_error, 0.0).best([first, result(first.criterion)]) is first


def test_weights_decide_what_is_better():
    heavy = np.array([0.5, 0.1, 0.1, 0.1, 0.1, 0.1])
    first = result([1, 0, 0, 0, 0, 0], weights=heavy)
    other = result([0, 1, 1, 1, 1, 0], weights=heavy)
    assert SelectionRule(minus_squared_error, 0.0).best([first, other]) is first


def test_the_first_and_the_best_others_are_continued_in_their_order():
    results = [result(np.full(6, value)) for value in (0.0, 3.0, 1.0, 2.0)]
    assert SelectionRule(minus_squared_error, 0.0).continued(results) == results
    assert SelectionRule(minus_squared_error, 0.0, n_continued=3).continued(results) == [
        results[0],
        results[1],
        results[3],
    ]


def path(scores, selected=None):
    settings = [TrainingSettings(4, 0.1**step, "labels") for step in range(len(scores))]
    results = [result(np.full(6, s), setting) for s, setting in zip(scores, settings, strict=True)]
    if selected is not None:
        results.append(result(np.full(6, selected), SELECTED))
    return results


def test_on_a_path_neighbours_decide():
    results = path([0.0, 3.0, 5.0, 4.5, 1.0, 6.0, -9.0])
    rule = rule_for([result.settings for result in results], classifies=False)
    assert rule.along_path
    # Means of three: 2.7, 4.2, 3.5, 3.8; the lone 6.0 has 1.0 and -9.0 beside it.
    assert rule.best(results) is results[2]
    assert rule.best(path([9.0, 3.0, 5.0, 4.5])).settings.alpha == 1.0
    drawn = path([0.0, 3.0, 5.0, 4.5], selected=8.0)
    assert rule.best(drawn) is drawn[-1]


def test_only_falling_alphas_of_one_kind_are_a_path():
    settings = [result.settings for result in path([0.0, 0.0, 0.0])]
    assert rule_for(settings, classifies=False).along_path
    for other in (
        settings[::-1],
        settings[:2],
        [*settings, KERNEL],
        [TrainingSettings(9, 1.0, "labels"), *settings],
    ):
        assert not rule_for(other, classifies=False).along_path


def test_settings_without_a_score_never_win():
    results = path([1.0, 2.0, np.nan, 2.0, 3.0, 2.0])
    rule = rule_for([result.settings for result in results], classifies=False)
    assert rule.best(results) is results[4]


def test_kinds_that_are_hard_to_compare_have_margins():
    assert rule_for([KERNEL, LABELS], classifies=True).n_errors == 2.0
    assert rule_for([KERNEL, LABELS], classifies=True).n_continued == 2
    assert rule_for([LABELS, KERNEL], classifies=False).n_errors == 1.0
    assert (
        rule_for([result.settings for result in path([0.0] * 3)], classifies=False).n_errors == 2.0
    )
    assert rule_for([LABELS], classifies=True).n_errors == 0.0


def test_the_criterion_depends_on_what_is_compared():
    assert rule_for([LABELS, KERNEL], classifies=False).criterion is minus_squared_error
    assert rule_for([LABELS, KERNEL], classifies=True).criterion is accuracy
    for same in ([LABELS, LABELS], [KERNEL, KERNEL, SELECTED], [SELECTED]):
        assert rule_for(same, classifies=True).criterion is log_likelihood

"""How recipes are compared: against sums over rows, and on choices that are known to be right."""

import numpy as np
import pytest

from cerflearn.training.calibration import log_likelihood
from cerflearn.training.judging import (
    Judge,
    Trial,
    closeness,
    judge_for,
    right_answers,
)
from cerflearn.training.training import Recipe

LABELS, KERNEL = Recipe(4, 1e-3, distil=False), Recipe(4, 1e-3, distil=True)
EVEN = np.full(6, 1 / 6)


def trial(merits, recipe=LABELS, weights=EVEN):
    merits = np.asarray(merits, dtype=float)
    return Trial(recipe, merits, merits[:, None], merits[:, None], weights)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_log_likelihood_is_that_of_the_best_factor(n_classes):
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(80, 1 if n_classes == 2 else n_classes))
    classes = rng.integers(n_classes, size=80)
    targets = classes[:, None].astype(float) if n_classes == 2 else np.eye(n_classes)[classes]
    # The right class scores more, or no factor is best.
    scores += 1.5 * (2.0 * targets - 1.0)
    weights = rng.uniform(0.5, 1.5, size=80)
    found = log_likelihood(scores, targets, weights)
    both = np.hstack([np.zeros((80, 1)), scores]) if n_classes == 2 else scores

    def slow(factor):
        powers = np.exp(factor * both)
        return np.log(powers[np.arange(80), classes] / powers.sum(axis=1))

    best = max(weights @ slow(factor) for factor in np.geomspace(0.1, 10.0, 400))
    assert weights @ found == pytest.approx(best, rel=1e-4)
    assert weights @ found >= best
    # Neither the scale of the scores nor that of the weights matters.
    np.testing.assert_allclose(
        log_likelihood(3.0 * scores, targets, 2.0 * weights), found, atol=1e-4
    )


def test_scores_beyond_the_range_of_exp_have_a_finite_likelihood():
    scores, targets = np.array([[800.0], [-800.0], [800.0]]), np.array([[1.0], [0.0], [0.0]])
    assert np.isfinite(log_likelihood(scores, targets, np.ones(3))).all()


def test_right_answers_and_closeness():
    scores, targets = np.array([[0.2], [-1.0], [3.0]]), np.array([[1.0], [1.0], [0.0]])
    np.testing.assert_array_equal(right_answers(scores, targets, EVEN), [1.0, 0.0, 0.0])
    np.testing.assert_array_equal(right_answers(np.eye(3), np.eye(3)[[0, 2, 2]], EVEN), [1, 0, 1])
    np.testing.assert_allclose(closeness(scores, targets, EVEN), [-0.64, -4.0, -9.0])


def test_a_later_trial_wins_by_more_than_the_margin_only():
    first, better = trial([0, 1, 0, 1, 0, 1]), trial([1, 1, 0, 1, 1, 0])  # .5 and .67
    assert Judge(closeness, 0.0).winner([first, better]) is better
    assert Judge(closeness, 2.0).winner([first, better]) is first
    assert Judge(closeness, 0.0).winner([first, trial(first.merits)]) is first


def test_weights_decide_what_is_better():
    heavy = np.array([0.5, 0.1, 0.1, 0.1, 0.1, 0.1])
    first = trial([1, 0, 0, 0, 0, 0], weights=heavy)
    other = trial([0, 1, 1, 1, 1, 0], weights=heavy)
    assert Judge(closeness, 0.0).winner([first, other]) is first


def test_finalists_are_the_first_and_the_best_of_the_rest_in_their_order():
    trials = [trial(np.full(6, value)) for value in (0.0, 3.0, 1.0, 2.0)]
    assert Judge(closeness, 0.0).finalists(trials) == trials
    assert Judge(closeness, 0.0, n_finalists=3).finalists(trials) == [
        trials[0],
        trials[1],
        trials[3],
    ]


def path(scores, drawn=None):
    recipes = [Recipe(4, 0.1**step, distil=False) for step in range(len(scores))]
    trials = [
        trial(np.full(6, score), recipe) for score, recipe in zip(scores, recipes, strict=True)
    ]
    if drawn is not None:
        recipe = Recipe(4, 1.0, distil=False, learned_masks=False, refined=False)
        trials.append(trial(np.full(6, drawn), recipe))
    return trials


def test_on_a_path_neighbours_decide():
    trials = path([0.0, 3.0, 5.0, 4.5, 1.0, 6.0, -9.0])
    judge = judge_for([trial.recipe for trial in trials], classes=False)
    assert judge.along_path
    # Means of three: 2.7, 4.2, 3.5, 3.8; the lone 6.0 has 1.0 and -9.0 beside it.
    assert judge.winner(trials) is trials[2]
    assert judge.winner(path([9.0, 3.0, 5.0, 4.5])).recipe.penalty == 1.0
    drawn = path([0.0, 3.0, 5.0, 4.5], drawn=8.0)
    assert judge.winner(drawn) is drawn[-1]


def test_only_falling_penalties_of_one_kind_are_a_path():
    recipes = [trial.recipe for trial in path([0.0, 0.0, 0.0])]
    assert judge_for(recipes, classes=False).along_path
    for other in (
        recipes[::-1],
        recipes[:2],
        [*recipes, KERNEL],
        [Recipe(9, 1.0, False), *recipes],
    ):
        assert not judge_for(other, classes=False).along_path


def test_a_trial_without_a_score_never_wins():
    trials = path([1.0, 2.0, np.nan, 2.0, 3.0, 2.0])
    judge = judge_for([trial.recipe for trial in trials], classes=False)
    assert judge.winner(trials) is trials[4]


def test_kinds_that_are_hard_to_compare_have_margins():
    assert judge_for([KERNEL, LABELS], classes=True).n_errors == 2.0
    assert judge_for([KERNEL, LABELS], classes=True).n_finalists == 2
    assert judge_for([LABELS, KERNEL], classes=False).n_errors == 1.0
    assert judge_for([trial.recipe for trial in path([0.0] * 3)], classes=False).n_errors == 2.0
    assert judge_for([LABELS], classes=True).n_errors == 0.0


def test_what_counts_depends_on_what_is_compared():
    drawn = Recipe(4, 1e-3, distil=False, learned_masks=False, refined=False)
    assert judge_for([LABELS, KERNEL], classes=False).score is closeness
    assert judge_for([LABELS, KERNEL], classes=True).score is right_answers
    for same in ([LABELS, LABELS], [KERNEL, KERNEL, drawn], [drawn]):
        assert judge_for(same, classes=True).score is log_likelihood

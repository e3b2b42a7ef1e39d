"""How large networks are within a budget, and how long they are trained."""

from __future__ import annotations

import numpy as np

from cerflearn.training import policy
from cerflearn.training.pruning import Budget
from cerflearn.training.settings import TrainingSettings


def least_macs(budget: Budget, n_features: int) -> int:
    """MACs of the smallest network: one block of inputs, and the scores of its features."""
    return budget.features_per_mask * (min(budget.group_size, n_features) + budget.n_scores)


def default_macs(n_features: int, n_scores: int) -> int:
    """Budget if none is given: that of a linear model, or of 32 small features if that is more."""
    n_components, n_inputs = policy.DEFAULT_FEATURES
    return max(n_features * n_scores, n_components * (min(n_features, n_inputs) + n_scores))


def usual_inputs(n_features: int, n_scores: int) -> float:
    r"""Return the inputs that a feature keeps in a usual network: :math:`\sqrt{D C} / 3`.

    D inputs, C scores; at least 2.
    """
    usual = np.sqrt(n_features * n_scores) / policy.USUAL_DIVISOR
    return float(np.clip(usual, min(n_features, 2), n_features))


def n_components_for(
    budget: Budget,
    n_inputs: float,
    n_features: int,
    n_samples: int,
    n_bins: int | None = None,
) -> int:
    r"""Features of so many inputs that share a budget, at most :math:`5 \sqrt N` for N rows.

    Tables of ``n_bins`` bins must fit its bytes, too.
    """
    n_inputs = max(n_inputs, min(budget.group_size, n_features))
    fitting = budget.macs / (n_inputs + budget.n_scores)
    most = policy.MOST_FEATURES_PER_ROOT * np.sqrt(n_samples)
    width = min(budget.features_per_mask, max(1, int(most)))
    found = max(width, int(min(fitting, most)) // width * width)
    while found > width and not budget.admits(budget.macs, int(found * n_inputs), found, 0, n_bins):
        found = max(width, int(0.9 * found) // width * width)
    return found


def part_of_budget(
    budget: Budget, n_inputs: float, n_features: int, n_components: int
) -> int | None:
    """Operations of features of so many inputs, where their number is bounded by the rows.

    The whole budget would give each of them more inputs. None if the budget bounds their number.
    """
    per_feature = max(n_inputs, min(budget.group_size, n_features)) + budget.n_scores
    if (n_components + budget.features_per_mask) * per_feature > budget.macs:
        return None
    return int(n_components * per_feature)


def n_knots_for(n_samples: int) -> int:
    """Knots of a table that is trained on so many rows.

    Examples
    --------
    >>> n_knots_for(200), n_knots_for(2_000), n_knots_for(500_000)
    (17, 17, 51)
    """
    return round(
        float(policy.N_KNOTS * max(1.0, n_samples / policy.KNOT_ROWS) ** policy.KNOT_GROWTH)
    )


def start_inputs(settings: TrainingSettings, budget: Budget, n_usable: int) -> int:
    """Return how many inputs each feature starts with."""
    if settings.n_components == 0:
        return 0
    kept = budget.within(settings.macs).macs / settings.n_components - budget.n_scores
    if settings.learn == "features":  # masks are drawn, and stay
        return int(np.clip(kept, 1, n_usable))
    return int(
        np.clip(
            np.ceil(policy.START_FACTOR * kept), min(policy.LEAST_START_INPUTS, n_usable), n_usable
        )
    )


def step_work(settings: TrainingSettings, budget: Budget, n_usable: int, n_samples: int) -> float:
    """Multiply-adds of one step, about: forward and backward, with the inputs of the start."""
    n_inputs = start_inputs(settings, budget, n_usable)
    entries = settings.n_components * n_inputs + n_usable * budget.n_scores * settings.linear_part
    heads = settings.n_components * budget.n_scores * policy.SCORE_WORK[settings.activation]
    return min(policy.BATCH_SIZE, n_samples) * (entries + heads)


def n_steps_for(
    settings: TrainingSettings, budget: Budget, n_usable: int, n_samples: int, effort: float = 1.0
) -> int:
    """Count the steps of one training: they grow with the square root of the rows.

    Fewer where a step of a large network takes long, as with very many classes.
    """
    work = max(1.0, step_work(settings, budget, n_usable, n_samples))
    within = policy.MOST_WORK_PER_ROW * n_samples / work
    return max(1, round(effort * min(float(policy.STEPS_PER_ROOT * np.sqrt(n_samples)), within)))


def work_of(settings: TrainingSettings, budget: Budget, n_usable: int, n_samples: int) -> float:
    """Multiply-adds of one training, about."""
    n_steps = n_steps_for(settings, budget, n_usable, n_samples)
    return n_steps * step_work(settings, budget, n_usable, n_samples)


def boosting_rounds_for(n_samples: int, n_features: int, n_scores: int) -> int:
    """Count the rounds of boosted trees as teacher, on so many rows; maybe too few to compare."""
    n_rows = min(n_samples, policy.SEARCH_ROWS)
    per_input = policy.TREE_INPUT_WORK + policy.TREE_ROW_WORK * n_rows
    tree = policy.TREE_WORK + n_features * per_input
    within = policy.BOOSTING_SHARE * policy.WORK_PER_ROW * n_rows / (n_scores * tree)
    return min(policy.BOOSTING_ROUNDS[1], int(within))


def efforts_of_brackets(effort: float) -> list[float]:
    """Effort of each bracket of the search: one more for each doubling.

    From the third on, each takes twice as long.

    Examples
    --------
    >>> efforts_of_brackets(1.0), efforts_of_brackets(2.0), efforts_of_brackets(4.0)
    ([1.0], [1.0, 1.0], [1.0, 1.0, 2.0])
    """
    n_brackets = 1 + int(np.floor(np.log2(max(effort, 1.0))))
    share = effort / 2.0 ** (n_brackets - 1)
    return [share * 2.0 ** max(0, bracket - 1) for bracket in range(n_brackets)]

r"""Settings of a network, which of them are compared, and how long training takes.

Every constant of training stands here with its origin: "suite" means chosen on the development
suite (docs/predictors.md), on data that figures are not reported for.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from cerflearn.training.network import Activation
from cerflearn.training.pruning import Budget

Learn: TypeAlias = Literal["masks", "features", "selection"]
"""What is learned: masks, frequencies and scores; the latter two; a selection, and scores."""

Scaling: TypeAlias = Literal["column", "common", "robust", "none"]
"""Inputs divided by their own deviation, all by one, by their own quartiles' distance where that is
less than their deviation (heavy tails), or as they are."""

# --- one training ---------------------------------------------------------------------------
STEPS_PER_ROOT = 67.0
"""Steps for each square root of a row: 3,000 for 2,000 rows, 47,000 for 500,000 (suite; covtype
needs 20,000 and gains up to 60,000)."""

MOST_WORK_PER_ROW = 2e7
"""Multiply-adds of one training for each row, at most: about 2 ms a row. Reached by networks of
hundreds of classes only."""

BATCH_SIZE = 256
"""Rows of a step (suite: 128 loses .3 points, all 2,000 rows take 8 times as long)."""

LEARNING_RATE = 0.02
"""Of Adam at its highest; it rises over 2 % of the steps and falls along half a cosine (suite)."""

LARGEST_RATE_STEP = 1.0
"""A step changes every weight: a projection of D inputs by up to the rate times sqrt(D) of its
deviation; this bounds that product."""

SECOND_DECAY = 0.99
"""Of Adam's second moments (suite)."""

PRUNING_SPAN = (1 / 6, 2 / 3)
"""Shares of the steps between which entries are pruned; the rest repairs (suite)."""

N_PRUNINGS = 8
"""Equal ratios in which the operations fall to the budget (suite)."""

START_FACTOR = 4.0
"""Inputs that a feature starts with, times those it can keep; 2, 8 and all do as well (MNIST-4000:
94.8 to 95.2 %)."""

LEAST_START_INPUTS = 32
"""Inputs that a feature starts with at least, where there are so many: cheap, and nothing is
missed."""

MOMENT_HORIZON = 4096
"""Rows over which running moments of projections average: their error is 1.6 % of a deviation."""

FIRST_HEAD, FIRST_NOISE = 0.1, 0.02
"""Deviation of the first head, or slope of a first table; and of noise on its knots (suite)."""

RELU_OFFSETS = 0.5
"""Deviation of the first offsets of relu features, whose projections have deviation one (suite)."""

SCALE_SPREAD = (0.5, 1.5)
"""Cosines start with so many radians a deviation of the projection, uniformly (suite)."""

N_KNOTS = 17
"""Of a table while it is trained on up to 2,000 rows (suite; 33 are tried for sharp functions).
They grow with the fifth root of the rows, the rate at which splines of a smooth function converge
best (Stone, 1982): covtype with 100,000 rows has 88.4 % with 17 and 90.2 % with 33."""

REGRESSOR_VARIANCES = {"cosine": 0.5, "relu": 0.34, "table": 1.0}
"""Variance of a feature: alpha is in units of it, as in ridge regression. A cosine of random phase
has 1/2, max(y, 0) of a normal y has 1/2 - 1/(2 pi); tables are penalised by their mean square."""

WEIGHT_SHARE, SCALE_SHARE, LINEAR_SHARE, CURVATURE = 0.1, 0.2, 0.1, 4.0
"""Penalties of weights, scales of cosines, the linear part and second differences of tables, for
one unit of that of the heads (suite)."""

N_BINS = (32, 64, 128, 256)
"""Numbers of bins that a deployed table may have."""

BIN_LOSS = 0.001
"""Share of the loss of constant scores that bins may add on the training rows to the loss of
interpolated tables: the fewest bins are taken, or the most if all add more."""

BINS_WITHIN_BYTES = 64
"""Bins of a table where bytes are bounded; half and twice as many are compared later."""

EARLY_STOPPING_CHECKS = 8
"""Networks after pruning that are compared on held-out rows."""

# --- size of a network ----------------------------------------------------------------------
FEW_INPUTS = 1.5
"""Inputs a feature of the narrowest networks that are compared (suite)."""

MOST_FEATURES_PER_ROOT = 5.0
"""Features for each square root of a row, at most: more overfit."""

# --- search ---------------------------------------------------------------------------------
ALPHAS = (3e-3, 3e-4, 3e-2, 3e-5)
"""Penalties that are compared, the likeliest first (suite)."""

SEARCH_ROWS = 16_000
"""Rows that settings are compared on, at most: held-out losses differ little beyond."""

HELD_OUT_PARTS = 4
"""One of which is held out."""

HELD_OUT_ROWS = 1_500
"""Rows that finalists are compared on, if several folds are needed for so many."""

MOST_FOLDS = 3
"""Folds that finalists are compared in."""

FIRST_SHARE, SECOND_SHARE = 1 / 6, 1 / 3
"""Shares of the steps in the first and second round of the search."""

SURVIVORS = 1 / 4
"""Share of the candidates of the first round that go on."""

N_DRAWS = 2
"""Random starts of each candidate in the first round, at most (small networks depend on them)."""

COUNTS = ((6, 10**6), (4, 24), (2, 3), (1, 9))
"""Fewest and most candidates of the three rounds, and trainings of the finalists in all folds."""

RESUMED_STEPS, RESUMED_RATE = 1 / 3, 0.5
"""Shares of steps and rate with which a network of a part of the rows is trained on with all."""

WORK_PER_ROW = 6e6
"""Multiply-adds of each round at effort 1 for each row that settings are compared on: about two
seconds of one core for 2,000 rows. It bounds the number of candidates."""

TRAINING_OVERHEAD = 5e7
"""Of one training beside its multiply-adds, in the same unit: about 5 ms."""

SIMPLER_WITHIN = 0.25
"""Paired standard errors within which the simpler of two candidates is taken (suite)."""


@dataclass(frozen=True)
class TrainingSettings:
    """How one network is trained, in the words of the estimators' parameters.

    Attributes
    ----------
    activation : {"cosine", "relu", "table"}
        Of the features.
    n_components : int
        Features that training starts with; 0 for the linear part alone.
    alpha : float
        Penalty of the heads, in units of the features' variance, beside the mean loss.
    teacher : str
        ``"labels"``, ``"kernel"``, or ``"estimator"``.
    learn : {"masks", "features", "selection"}
        See :data:`Learn`.
    linear_part : bool
        Whether inputs add to the scores directly, too.
    scaling : {"column", "common", "robust", "none"}
        Of the inputs.
    frequency_scale : float
        Times the usual radians a deviation that cosines start with.
    gamma : float or None
        Kernel coefficient of the first frequencies of unscaled inputs; None: ``frequency_scale``.
    n_knots : int
        Of a table.
    n_bins : int or None
        Of a deployed table; None: chosen when it is trained.
    draw : int
        Number of the random start.
    n_resumed : int
        Networks of parts of the rows, one a fold, that are trained on with all rows beside a new
        one; the best is taken. The search sets it, so that settings give the same network again.
    """

    activation: Activation
    n_components: int
    alpha: float
    teacher: str = "labels"
    learn: Learn = "masks"
    linear_part: bool = False
    scaling: Scaling = "column"
    frequency_scale: float = 1.0
    gamma: float | None = None
    n_knots: int = N_KNOTS
    n_bins: int | None = None
    draw: int = 0
    n_resumed: int = 0

    def __str__(self) -> str:
        words = [f"activation={self.activation!r}", f"n_components={self.n_components}"]
        words += [f"alpha={self.alpha:g}", f"teacher={self.teacher!r}", f"learn={self.learn!r}"]
        extra = {
            "linear part": self.linear_part,
            f"{self.scaling} scaling": self.scaling != "column",
            f"frequencies x {self.frequency_scale:g}": self.frequency_scale != 1.0,
            f"{self.n_knots} knots": self.activation == "table" and self.n_knots != N_KNOTS,
            f"{self.n_bins} bins": self.n_bins is not None,
            f"start {self.draw}": self.draw > 0,
        }
        named = [name for name, holds in extra.items() if holds]
        return ", ".join(words) + (f" ({', '.join(named)})" if named else "")

    @property
    def complexity(self) -> tuple[int, int, float]:
        """Order in which settings are called simple: kind, number of features, penalty."""
        kinds = {"relu": 1, "cosine": 2, "table": 3}
        return (kinds[self.activation] if self.n_components else 0, self.n_components, -self.alpha)


@dataclass(frozen=True)
class SettingsRequest:
    """Settings that the user gives; None stands for "auto".

    Attributes
    ----------
    learn, teacher, activation, alpha, n_components, gamma
        See :class:`TrainingSettings`.
    tables : bool
        Whether tables may be compared.
    linear_part : bool
        Whether a linear part may be compared.
    settings : TrainingSettings or None
        The only candidate, if given.
    """

    learn: Learn | None = None
    teacher: str | None = None
    activation: Activation | None = None
    alpha: float | None = None
    n_components: int | None = None
    gamma: float | None = None
    tables: bool = True
    linear_part: bool = True
    settings: TrainingSettings | None = None


def least_macs(budget: Budget, n_features: int) -> int:
    """MACs of the smallest network: one block of inputs, and the scores of its features."""
    return budget.features_per_mask * (min(budget.group_size, n_features) + budget.n_scores)


def default_macs(n_features: int, n_scores: int) -> int:
    """Budget if none is given: that of a linear model, or of 32 small features if that is more."""
    return max(n_features * n_scores, 32 * (min(n_features, 8) + n_scores))


def usual_inputs(n_features: int, n_scores: int) -> float:
    r"""Return the inputs that a feature keeps in a usual network: :math:`\sqrt{D C} / 3`.

    D inputs, C scores; at least 2.
    """
    return float(np.clip(np.sqrt(n_features * n_scores) / 3.0, min(n_features, 2), n_features))


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
    most = MOST_FEATURES_PER_ROOT * np.sqrt(n_samples)
    width = min(budget.features_per_mask, max(1, int(most)))
    found = max(width, int(min(fitting, most)) // width * width)
    while found > width and not budget.admits(budget.macs, int(found * n_inputs), found, 0, n_bins):
        found = max(width, int(0.9 * found) // width * width)
    return found


def n_knots_for(n_samples: int) -> int:
    """Knots of a table that is trained on so many rows.

    Examples
    --------
    >>> n_knots_for(200), n_knots_for(2_000), n_knots_for(500_000)
    (17, 17, 51)
    """
    return round(float(N_KNOTS * max(1.0, n_samples / 2_000) ** 0.2))


def start_inputs(settings: TrainingSettings, budget: Budget, n_usable: int) -> int:
    """Return how many inputs each feature starts with."""
    if settings.n_components == 0:
        return 0
    kept = budget.macs / settings.n_components - budget.n_scores
    if settings.learn == "features":  # masks are drawn, and stay
        return int(np.clip(kept, 1, n_usable))
    return int(np.clip(np.ceil(START_FACTOR * kept), min(LEAST_START_INPUTS, n_usable), n_usable))


def step_work(settings: TrainingSettings, budget: Budget, n_usable: int, n_samples: int) -> float:
    """Multiply-adds of one step, about: forward and backward, with the inputs of the start."""
    n_inputs = start_inputs(settings, budget, n_usable)
    entries = settings.n_components * n_inputs + n_usable * budget.n_scores * settings.linear_part
    per_score = 8.0 if settings.activation == "table" else 4.0
    heads = settings.n_components * budget.n_scores * per_score
    return min(BATCH_SIZE, n_samples) * (entries + heads)


def n_steps_for(
    settings: TrainingSettings, budget: Budget, n_usable: int, n_samples: int, effort: float = 1.0
) -> int:
    """Count the steps of one training: they grow with the square root of the rows.

    Fewer where a step of a large network takes long, as with very many classes.
    """
    within = MOST_WORK_PER_ROW * n_samples / step_work(settings, budget, n_usable, n_samples)
    return max(1, round(effort * min(float(STEPS_PER_ROOT * np.sqrt(n_samples)), within)))


def work_of(settings: TrainingSettings, budget: Budget, n_usable: int, n_samples: int) -> float:
    """Multiply-adds of one training, about."""
    n_steps = n_steps_for(settings, budget, n_usable, n_samples)
    return n_steps * step_work(settings, budget, n_usable, n_samples)


def candidate_settings(
    request: SettingsRequest, budget: Budget, n_usable: int, n_samples: int
) -> list[TrainingSettings]:
    """List the settings of the first round, each once, the likeliest first.

    A value that is given replaces that of every candidate.
    """
    if request.settings is not None:
        return [request.settings]
    activations: tuple[Activation, ...] = ("table", "cosine", "relu")
    if request.activation is not None:
        activations = (request.activation,)
    elif not request.tables or request.gamma is not None:
        activations = ("cosine", "relu") if request.gamma is None else ("cosine",)
    found = list(_candidates(request, activations, budget, n_usable, n_samples))
    return list(dict.fromkeys(_with_given(setting, request) for setting in found))


def _candidates(
    request: SettingsRequest,
    activations: tuple[Activation, ...],
    budget: Budget,
    n_usable: int,
    n_samples: int,
) -> Iterable[TrainingSettings]:
    usual = usual_inputs(n_usable, budget.n_scores)
    direct = request.linear_part and request.learn in (None, "masks")
    learn: Learn = "masks" if request.learn is None else request.learn
    n_knots = n_knots_for(min(n_samples, SEARCH_ROWS))
    for alpha in ALPHAS:
        if direct and request.n_components is None:
            yield TrainingSettings(activations[0], 0, alpha, linear_part=True)
        for n_inputs in (usual, FEW_INPUTS):
            for activation in activations:
                bounded = activation == "table" and budget.max_bytes is not None
                n_bins = BINS_WITHIN_BYTES if bounded else None
                width = n_components_for(budget, n_inputs, n_usable, n_samples, n_bins)
                setting = TrainingSettings(
                    activation, width, alpha, learn=learn, n_bins=n_bins, n_knots=n_knots
                )
                yield setting
                if direct:
                    yield replace(setting, linear_part=True)


def _with_given(setting: TrainingSettings, request: SettingsRequest) -> TrainingSettings:
    given = {
        name: value
        for name in ("teacher", "alpha", "n_components")
        if (value := getattr(request, name)) is not None
    }
    if request.gamma is not None:
        given |= {"gamma": request.gamma, "scaling": "none"}
    return replace(setting, **given)


def for_more_rows(settings: TrainingSettings, n_compared: int, n_samples: int) -> TrainingSettings:
    """Return settings of the last training, on more rows than settings were compared on.

    A prior weighs as much beside the sum of more losses, so alpha, beside their mean, falls with
    one over the rows; knots grow, see :data:`N_KNOTS`.
    """
    more = n_knots_for(n_samples) / n_knots_for(n_compared)
    return replace(
        settings,
        alpha=settings.alpha * n_compared / n_samples,
        n_knots=round(more * settings.n_knots),
    )


def neighbours(setting: TrainingSettings, request: SettingsRequest) -> list[TrainingSettings]:
    """List settings that differ from a good one in what the first round did not vary."""
    found = [replace(setting, draw=setting.draw + 1)]
    if request.gamma is None and setting.n_components > 0:
        found += [replace(setting, scaling=scaling) for scaling in ("common", "robust")]
        if setting.activation == "cosine":
            found.append(replace(setting, frequency_scale=2.0))
        if setting.activation == "table":
            found.append(replace(setting, n_knots=2 * setting.n_knots - 1))
    if setting.n_bins is not None:
        found.append(replace(setting, n_bins=setting.n_bins // 2))
    if request.teacher is None and setting.teacher == "labels":
        found.append(replace(setting, teacher="kernel"))
    return found

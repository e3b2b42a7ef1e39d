"""Settings of a network, and those that a user gives."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

from cerflearn.training.network import Activation
from cerflearn.training.policy import N_KNOTS

Learn: TypeAlias = Literal["masks", "features", "selection"]
"""What is learned: masks, frequencies and scores; the latter two; a selection, and scores."""

Scaling: TypeAlias = Literal["column", "common", "robust", "none"]
"""Inputs divided by their own deviation, all by one, by their own quartiles' distance where that is
less than their deviation (heavy tails), or as they are."""


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
        ``"labels"``, ``"kernel"``, ``"boosting"`` or ``"estimator"``.
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
        Of a deployed table; None: chosen on held-out rows.
    refit : float or None
        Rows that the trained values of tables weigh as much as, when bins are fitted to the
        targets; 0: they are not. None: chosen on held-out rows.
    draw : int
        Number of the random start.
    n_resumed : int
        Networks of parts of the rows, one a fold, that are trained on with all rows beside a new
        one; the best is taken. The search sets it, so that settings give the same network again.
    macs : int or None
        Most operations of the network, if it is to use a part of the budget only.
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
    refit: float | None = None
    draw: int = 0
    n_resumed: int = 0
    macs: int | None = None

    def __str__(self) -> str:
        return self.described(f"teacher={self.teacher!r}", f"learn={self.learn!r}")

    def described(self, *more: str) -> str:
        """Return a line of the settings of the network, and of more after its penalty."""
        words = [f"activation={self.activation!r}", f"n_components={self.n_components}"]
        words += [f"alpha={self.alpha:g}", *more]
        extra = {
            "linear part": self.linear_part,
            f"{self.scaling} scaling": self.scaling != "column",
            f"frequencies x {self.frequency_scale:g}": self.frequency_scale != 1.0,
            f"{self.n_knots} knots": self.activation == "table" and self.n_knots != N_KNOTS,
            f"{self.n_bins} bins": self.n_bins is not None,
            f"bins fitted with {self.refit or 0:g} prior rows": bool(self.refit),
            f"{self.macs} operations": self.macs is not None,
            f"start {self.draw}": self.draw > 0,
        }
        named = [name for name, holds in extra.items() if holds]
        return ", ".join(words) + (f" ({', '.join(named)})" if named else "")

    @property
    def kind(self) -> str:
        """Activation of the features, or ``"linear"`` if there are none."""
        return self.activation if self.n_components else "linear"

    @property
    def complexity(self) -> tuple[int, int, float, float]:
        """Order in which settings are called simple: kind, features, operations, penalty."""
        kinds = ("linear", "relu", "cosine", "table")
        macs = math.inf if self.macs is None else self.macs
        return (kinds.index(self.kind), self.n_components, macs, -self.alpha)


@dataclass(frozen=True)
class SettingsRequest:
    """Settings that the user gives; None stands for "auto".

    Attributes
    ----------
    learn, teacher, activation, alpha, n_components, gamma
        See :class:`TrainingSettings`.
    teachers : tuple of str
        Teachers that labels are compared with, if none is given.
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
    teachers: tuple[str, ...] = ("kernel",)
    tables: bool = True
    linear_part: bool = True
    settings: TrainingSettings | None = None

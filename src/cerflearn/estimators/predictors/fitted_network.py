"""A network that was chosen and trained, with what was found, and what training on needs of it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from cerflearn._typing import Float64Array, FloatArray
from cerflearn.estimators.scaling import InputScaling
from cerflearn.training.deployed import FeatureNetwork
from cerflearn.training.network import TrainableNetwork
from cerflearn.training.scores import TargetKind, fit_inverse_temperature, smoothed_targets
from cerflearn.training.settings import TrainingSettings
from cerflearn.training.task import Task
from cerflearn.training.trials import HeldOutResult


@dataclass(frozen=True, eq=False)
class FittedNetwork:
    """A network with what was found on the way to it.

    Attributes
    ----------
    network : FeatureNetwork
        Of scaled inputs.
    settings : TrainingSettings
        It was trained with.
    held_out : HeldOutResult or None
        Scores of held-out rows by networks of these settings; None if nothing was compared.
    importances : ndarray of shape (n_features,)
        Of the inputs.
    task : Task
        Training rows, scaled.
    scaling : InputScaling
        Of the inputs.
    gamma : float
        Coefficient of the kernel that frequencies were drawn with.
    alpha : float
        Penalty of the last training.
    trained : TrainableNetwork or None
        Network before it was deployed, for training on; None if features were selected.
    """

    network: FeatureNetwork
    settings: TrainingSettings
    held_out: HeldOutResult | None
    importances: Float64Array
    task: Task
    scaling: InputScaling
    gamma: float
    alpha: float
    trained: TrainableNetwork | None = None

    @property
    def trains(self) -> bool:
        """Whether features were trained, not only selected."""
        return self.settings.learn != "selection"

    def inverse_temperature(self, kind: TargetKind) -> float:
        """Factor of the scores for probabilities, by held-out rows where there are any."""
        found = self.held_out
        if found is None:
            return 1.0
        targets = smoothed_targets(found.targets, kind)
        return fit_inverse_temperature(found.scores, targets, found.weights, kind)


@dataclass(frozen=True, eq=False)
class TrainingState:
    """What training on needs of a fit.

    Attributes
    ----------
    network : TrainableNetwork
        Before it was deployed.
    settings : TrainingSettings
        It was trained with.
    alpha : float
        Penalty of its last training on all rows.
    task : Task
        Kind of targets, budget and inputs that may be read; without rows.
    scaling : InputScaling
        Of the inputs.
    gamma : float
        Kernel coefficient that frequencies were drawn with.
    units, shift : ndarray of shape (n_scores,) or float
        Targets are units times scores plus the shift.
    n_chosen : int
        Rows that masks were chosen on.
    n_seen : int
        Rows seen, these and later ones.
    seed, n_calls : int
        Of randomness, and how often it was trained on.
    """

    network: TrainableNetwork
    settings: TrainingSettings
    alpha: float
    task: Task
    scaling: InputScaling
    gamma: float
    units: FloatArray | float
    shift: FloatArray | float
    n_chosen: int
    n_seen: int
    seed: int = 0
    n_calls: int = 0

    @classmethod
    def of(
        cls, fitted: FittedNetwork, units: FloatArray | float, shift: FloatArray | float
    ) -> TrainingState | None:
        """State after a fit; None if features were selected."""
        if fitted.trained is None:
            return None
        task = fitted.task
        no_rows = replace(
            task,
            X=np.empty((0, task.X.shape[1]), dtype=np.float32),
            targets=np.empty((0, task.n_scores)),
            weights=np.empty(0),
            strata=np.empty(0, dtype=np.int64),
            blocks=None,
        )
        return cls(
            fitted.trained, fitted.settings, fitted.alpha, no_rows, fitted.scaling, fitted.gamma,
            units, shift, task.n_samples, task.n_samples,
        )  # fmt: skip

    def standardised(self, targets: Float64Array) -> Float64Array:
        """Numbers in units of the scores; 0 where all numbers of the fit were equal."""
        units = np.atleast_1d(self.units)
        if targets.shape[1] != len(units):
            raise ValueError(
                f"y has {targets.shape[1]} targets a row, and the first call had {len(units)}."
            )
        varies = units > 0.0
        scaled: Float64Array = (targets - self.shift) / np.where(varies, units, 1.0)
        return np.where(varies, scaled, 0.0)

    def generator(self, *numbers: int) -> np.random.Generator:
        """Return the generator of this call."""
        return np.random.default_rng([self.seed, self.n_calls, *numbers])

"""A network that was chosen and trained, with what was found on the way to it."""

from __future__ import annotations

from dataclasses import dataclass

from cerflearn._typing import Float64Array
from cerflearn.estimators.scaling import InputScaling
from cerflearn.training.deployed import FeatureNetwork
from cerflearn.training.held_out import HeldOutResult
from cerflearn.training.network import TrainableNetwork
from cerflearn.training.scores import TargetKind, fit_inverse_temperature, smoothed_targets
from cerflearn.training.settings import TrainingSettings
from cerflearn.training.task import Task


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

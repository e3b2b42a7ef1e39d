"""BaNK: Bayesian nonparametric kernel learning."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from cerflearn._typing import Float64Array, RandomStateLike
from cerflearn._validation import Constraint, NoEffect, Number, Whole, check_integer
from cerflearn.features.dense import DenseMap
from cerflearn.rivals._base import (
    COMPONENTS_CONSTRAINT,
    GAMMA_CONSTRAINT,
    RivalClassifier,
    RivalData,
    RivalGamma,
    choose_gamma,
    fit_ridge,
    relative_alpha,
)
from cerflearn.rivals._dirichlet import MixturePrior
from cerflearn.rivals._sampler import Chain, ChainState

_SHAPE = 3.0  # of the inverse gamma law of variances: mean 2 gamma, as wide as that
_CENTRE_STRENGTH = 1.0


class BaNK(RivalClassifier):
    r"""Frequencies of a Dirichlet-process mixture of Gaussians, sampled (Oliva et al., 2016).

    .. math:: s(x) = A^\top \tfrac1{\sqrt P} [\cos \omega_j^\top x, \sin \omega_j^\top x]_j + a,
              \quad \omega_j \sim N(m_{z_j}, \operatorname{diag} s^2_{z_j}),
              \quad z \sim \mathrm{DP}(c)

    of standardised inputs: the kernel is a mixture of Gaussian spectra that follows the labels.
    Baseline of the comparison in Table 4, not part of the method.

    Parameters
    ----------
    n_components : int, default=100
        Output columns, cosine and sine for each of P projections; an odd number drops the last
        sine.
    n_sweeps : int, default=20
        Sweeps of the Markov chain.
    n_average : int, default=1
        Last sweeps whose models are averaged at prediction. Each is a model of its own with
        ``n_components`` columns, and its MACs are counted.
    gamma : {"cv", "scale", "median"} or float, default="cv"
        Variances of the mixture have the prior mean 2 gamma, and the chain starts there; ``"cv"``
        by the leave-one-out error of kernel ridge regression on 500 training rows.
    concentration : float, default=1.0
        Concentration c of the Dirichlet process. No effect with ``max_mixture=1``.
    max_mixture : int, default=20
        Truncation of the process: most components of the mixture.
    random_state : int, RandomState, Generator or None, default=None
        Seed.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels.
    feature_map_ : DenseMap
        Cosines and sines of raw inputs, of all averaged models.
    head_coef_ : ndarray of shape (n_scores, n_average * n_components)
        Mean of the models' posterior means; one score for two classes.
    head_intercept_ : ndarray of shape (n_scores,)
        Intercepts.
    assignments_ : ndarray of shape (n_projections,), int
        z in the last sweep.
    centres_ : ndarray of shape (max_mixture, n_features)
        m of the mixture in the last sweep, of standardised inputs.
    variances_ : ndarray of shape (max_mixture, n_features)
        :math:`s^2` of the mixture in the last sweep, of standardised inputs.
    noise_ : float
        Variance of the noise of the scores in the last sweep.
    acceptance_ : float
        Share of proposed frequencies that were accepted.
    gamma_ : float
        Half the prior mean of the variances, as chosen.
    n_macs_ : int
        MACs of one row.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if all are strings.

    See Also
    --------
    ALaCarte : A mixture of spectra that maximises the marginal likelihood.
    RandomKitchenSinks : Cosines of a law that is not learned.
    MultipleKernelLearning : Exact kernels, combined.

    Notes
    -----
    A sweep draws the head, the variances of noise and head, the mixture (Gibbs), and each
    frequency by one Metropolis step with a proposal from its component, as the source does. It
    differs in that components have diagonal covariances (normal-inverse-gamma law), the process
    is truncated (blocked Gibbs sampling), and classes are regressed, to -1 and 1 or one score a
    class, so that the head is drawn exactly. The intercept is not penalised. Probabilities are a
    sigmoid or softmax of the scores times a factor fitted to leave-one-out scores. 20 sweeps
    are far from a converged chain of hundreds of frequencies: they suffice for a point estimate.

    References
    ----------
    J. B. Oliva, A. Dubey, A. G. Wilson, B. Poczos, J. Schneider and E. P. Xing, "Bayesian
    nonparametric kernel-learning", AISTATS 2016. Blocked sampling: H. Ishwaran and L. F. James,
    "Gibbs sampling methods for stick-breaking priors", JASA 2001.
    Wangni, Zhuo and Zhu, "Learning Random Fourier Features by Hybrid Constrained
    Optimization" (Table 4).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from cerflearn.rivals import BaNK
    >>> X, y = load_iris(return_X_y=True)
    >>> model = BaNK(n_components=32, random_state=0).fit(X, y)
    >>> model.n_macs_, model.score(X, y) > 0.95
    (160, True)
    """

    _constraints: ClassVar[dict[str, Constraint]] = {
        "n_components": COMPONENTS_CONSTRAINT,
        "n_sweeps": Whole("a positive integer"),
        "gamma": GAMMA_CONSTRAINT,
        "concentration": Number("a positive number", above=0.0),
        "max_mixture": Whole("a positive integer"),
    }
    _without_effect: ClassVar[tuple[NoEffect, ...]] = (
        NoEffect(
            "concentration",
            "max_mixture",
            lambda estimator: estimator.max_mixture == 1,
            "the mixture has one component, of weight 1; pass a larger max_mixture",
        ),
    )

    def __init__(
        self,
        *,
        n_components: int = 100,
        n_sweeps: int = 20,
        n_average: int = 1,
        gamma: RivalGamma = "cv",
        concentration: float = 1.0,
        max_mixture: int = 20,
        random_state: RandomStateLike = None,
    ) -> None:
        self.n_components = n_components
        self.n_sweeps = n_sweeps
        self.n_average = n_average
        self.gamma = gamma
        self.concentration = concentration
        self.max_mixture = max_mixture
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        must_be = f"a positive integer of at most n_sweeps={self.n_sweeps}"
        check_integer("n_average", self.n_average, must_be, at_most=int(self.n_sweeps))

    def _fit_rows(self, data: RivalData, rng: np.random.Generator) -> None:
        self.gamma_ = choose_gamma(self.gamma, data, rng)
        prior = MixturePrior(
            n_components=int(self.max_mixture),
            concentration=float(self.concentration),
            shape=_SHAPE,
            rate=2.0 * self.gamma_ * (_SHAPE - 1.0),
            centre_strength=_CENTRE_STRENGTH,
        )
        targets = data.targets - data.targets.mean(axis=0)
        chain = Chain(data.X, targets, int(self.n_components), prior)
        state, n_accepted, kept = chain.start(rng), 0, []
        for sweep in range(int(self.n_sweeps)):
            state = chain.sweep(state, rng)
            n_accepted += state.n_accepted
            if sweep >= int(self.n_sweeps) - int(self.n_average):
                kept.append(state)
        self.acceptance_ = n_accepted / (int(self.n_sweeps) * len(state.frequencies))
        self.assignments_, self.noise_ = state.mixture.assignments, state.noise
        self.centres_, self.variances_ = state.mixture.centres, state.mixture.variances
        self._average(data, kept)

    def _average(self, data: RivalData, states: list[ChainState]) -> None:
        """Store the mean of the models of some states, side by side in one map."""
        n_outputs, n_models = int(self.n_components), len(states)
        heads, biases, scores = [], [], []
        for state in states:
            features = _pairs(data, state.frequencies, n_outputs, 1).transform(data.raw)
            found = fit_ridge(data, features, (relative_alpha(features, state.penalty),))
            heads.append(found.head / n_models)
            biases.append(found.bias)
            scores.append(found.left_out)
        if n_models > 1 and n_outputs % 2:  # a sine that was dropped has a place, and no weight
            heads = [np.vstack([head, np.zeros((1, head.shape[1]))]) for head in heads]
        head = np.vstack(heads)
        together = np.vstack([state.frequencies for state in states])
        self._store(_pairs(data, together, len(head), n_models), head, np.mean(biases, axis=0))
        self._calibrate(data, np.mean(scores, axis=0))


def _pairs(data: RivalData, frequencies: Float64Array, n_outputs: int, n_models: int) -> DenseMap:
    """Cosines and sines of raw inputs."""
    weights, offsets = data.unscale(frequencies.T)
    n_projections = len(frequencies)
    return DenseMap(
        weights=weights,
        offsets=np.mod(offsets, 2.0 * np.pi),
        amplitudes=np.full(n_projections, np.sqrt(n_models / n_projections)),
        n_outputs=n_outputs,
        paired=True,
    )

"""A la carte: mixtures of Fastfood expansions whose spectra are learned."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.optimize import minimize

from cerflearn._typing import Float64Array
from cerflearn._validation import check_integer
from cerflearn.features.blocked import BlockedMap, draw_blocked_map
from cerflearn.rivals._base import (
    RivalClassifier,
    Training,
    check_gamma,
    check_n_components,
    choose_gamma,
    fit_ridge,
    relative_penalty,
)
from cerflearn.rivals._evidence import EvidenceProblem, Spectrum
from cerflearn.spectral import Gaussian

_LOG_LIMIT = 12.0  # of the logarithms that are learned, about their start
_MEMORY = 20  # past steps that L-BFGS remembers
_CENTRE_SHARE = 0.3  # of the scale, where centres start: at zero they would have no slope
_WIDTH_RANGE = 2.0  # scales of the groups start between gamma's divided and multiplied by it


class ALaCarte(RivalClassifier):
    r"""Kernel learned as a mixture of Gaussian spectra, expanded by Fastfood (Yang et al., 2015).

    .. math:: k(x, y) = \sum_q w_q \cos(m_q^\top (x - y))
              \exp(-\tfrac12 |\operatorname{diag}(s_q) (x - y)|^2)

    with projections :math:`\omega_p = s_q \odot v_p + m_q` of Fastfood rows :math:`v_p`: scales,
    centres and weights of the groups and the noise maximise the marginal likelihood of the
    scores, of standardised inputs. Baseline of the comparison in Table 4, not part of the method.

    Parameters
    ----------
    n_components : int, default=100
        Output columns, cosine and sine for each projection; an odd number drops the last sine.
    n_groups : int, default=4
        Most components q of the mixture. A group has whole Fastfood blocks, of as many
        projections as inputs padded to a power of two: fewer blocks mean fewer groups.
    gamma : {"cv", "scale", "median"} or float, default="cv"
        Coefficient of the Gaussian kernel, of standardised inputs, to start from; ``"cv"`` by
        the leave-one-out error of kernel ridge regression on 500 training rows.
    max_iter : int, default=15
        Most iterations of L-BFGS; 0 keeps the start.
    random_state : int, RandomState, Generator or None, default=None
        Seed.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels.
    feature_map_ : BlockedMap
        Fastfood blocks that take raw inputs.
    coef_, intercept_ : ndarray of shape (n_scores, n_components) and (n_scores,)
        Posterior mean of the weights; one score for two classes.
    scales_, centres_ : ndarray of shape (n_groups_, n_features)
        :math:`s_q` and :math:`m_q`, of standardised inputs.
    weights_ : ndarray of shape (n_groups_,)
        :math:`w_q`.
    noise_ : float
        Variance of the noise of the scores.
    log_evidence_ : float
        Log marginal likelihood of the training rows at the end, per row.
    gamma_ : float
        As chosen.
    n_iter_ : int
        Iterations of L-BFGS.
    n_macs_ : int
        MACs of one row.

    Notes
    -----
    Scales are folded into the diagonal B of a block (S H G P H B), so that they cost nothing; a
    centre costs one MAC an input for each block. The source learns on regression; here classes
    are regressed, to -1 and 1 or one score a class, and the row lengths S are drawn rather than
    learned. The intercept is not penalised. Probabilities are a sigmoid or softmax of the scores
    times a factor that suits rows left out.

    References
    ----------
    Z. Yang, A. J. Smola, L. Song and A. G. Wilson, "A la carte - learning fast kernels",
    AISTATS 2015.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from cerflearn.rivals import ALaCarte
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ALaCarte(n_components=32, random_state=0).fit(X, y)
    >>> model.scales_.shape, model.n_macs_, model.score(X, y) > 0.95
    ((4, 4), 224, True)
    """

    def __init__(
        self,
        *,
        n_components: Any = 100,
        n_groups: Any = 4,
        gamma: Any = "cv",
        max_iter: Any = 15,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.n_groups = n_groups
        self.gamma = gamma
        self.max_iter = max_iter
        self.random_state = random_state

    def _check_parameters(self) -> None:
        check_n_components(self.n_components)
        check_integer("n_groups", self.n_groups, "a positive integer")
        check_gamma(self.gamma)
        check_integer("max_iter", self.max_iter, "a non-negative integer", at_least=0)

    def _fit_training(self, training: Training, rng: np.random.Generator) -> None:
        self.gamma_ = choose_gamma(self.gamma, training, rng)
        n_features, n_outputs = training.X.shape[1], int(self.n_components)
        drawn = draw_blocked_map(n_features, n_outputs, Gaussian(1.0), rng)
        n_blocks = drawn.blocks.n_blocks
        group_of_block = np.arange(n_blocks) * min(int(self.n_groups), n_blocks) // n_blocks
        problem = EvidenceProblem(
            training.X,
            training.targets - training.targets.mean(axis=0),
            drawn.frequencies,
            group_of_block[drawn.block_of_projection],
            n_outputs,
        )
        start = self._start(problem, rng)
        spectrum, self.log_evidence_, self.n_iter_ = maximise(problem, start, int(self.max_iter))
        self.scales_, self.centres_ = np.exp(spectrum.log_scale), spectrum.centre
        self.weights_ = np.exp(spectrum.log_weight)
        self.noise_ = float(np.exp(spectrum.log_noise))
        feature_map = _learned_map(drawn, training, spectrum, problem)
        # Through the map itself, whose columns are interleaved.
        features = feature_map.transform(training.raw)
        found = fit_ridge(training, features, (relative_penalty(features, self.noise_),))
        self._store(feature_map, found.head, found.bias)
        self._calibrate(training, found.left_out)

    def _start(self, problem: EvidenceProblem, rng: np.random.Generator) -> Spectrum:
        """Scales about gamma's, one for each group; small random centres; half noise."""
        n_groups = int(problem.groups.max()) + 1
        n_features = problem.X.shape[1]
        powers = np.linspace(-1.0, 1.0, n_groups) if n_groups > 1 else np.zeros(1)
        scale = np.sqrt(2.0 * self.gamma_) * _WIDTH_RANGE ** powers[:, None]
        centre = _CENTRE_SHARE * scale * rng.standard_normal((n_groups, n_features))
        half = 0.5 * float(np.square(problem.targets).mean())
        return Spectrum(
            np.log(scale) + np.zeros((n_groups, n_features)),
            centre,
            np.full(n_groups, np.log(half / n_groups)),
            float(np.log(half)),
        )


def maximise(
    problem: EvidenceProblem, start: Spectrum, max_iter: int
) -> tuple[Spectrum, float, int]:
    """Climb the log evidence with L-BFGS.

    Returns
    -------
    spectrum : Spectrum
        Where it ended.
    log_evidence : float
        Per row, there.
    n_iter : int
        Iterations made.
    """
    if max_iter == 0:
        return start, -problem.objective(start)[0], 0

    def objective(values: Float64Array) -> tuple[float, Float64Array]:
        value, gradient = problem.objective(start.unpack(values))
        return value, gradient.pack()

    first = start.pack()
    limits = np.full(len(first), _LOG_LIMIT)
    limits[start.centre.size : 2 * start.centre.size] = np.inf
    found = minimize(
        objective,
        first,
        jac=True,
        method="L-BFGS-B",
        bounds=np.column_stack([first - limits, first + limits]),
        options={"maxiter": max_iter, "maxfun": 2 * max_iter, "maxcor": _MEMORY},
    )
    return start.unpack(found.x), -float(found.fun), int(found.nit)


def _learned_map(
    drawn: BlockedMap, training: Training, spectrum: Spectrum, problem: EvidenceProblem
) -> BlockedMap:
    """Blocks with the learned scales in B, the learned centres, and raw inputs."""
    blocks, (mean, scale) = drawn.blocks, (training.scaling.mean, training.scaling.scale)
    group_of_block = problem.groups[drawn.kept_pointers[:-1]]
    signs = blocks.signs.copy()
    signs[:, : blocks.n_features] *= np.exp(spectrum.log_scale)[group_of_block] / scale
    centres = spectrum.centre[group_of_block] / scale
    learned = replace(
        drawn,
        blocks=replace(blocks, signs=signs, centres=centres),
        amplitudes=spectrum.amplitudes(problem.groups),
    )
    offsets = np.mod(-mean @ learned.frequencies, 2.0 * np.pi)
    return replace(learned, offsets=offsets)

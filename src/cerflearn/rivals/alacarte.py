"""A la carte: mixtures of Fastfood expansions whose spectra are learned."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np
from scipy.optimize import minimize

from cerflearn._typing import Float64Array, RandomStateLike
from cerflearn._validation import Constraint, Whole
from cerflearn.features.blocked import BlockedMap, draw_blocked_map
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
from cerflearn.rivals._evidence import EvidenceProblem, Spectrum
from cerflearn.spectral import Gaussian

_LOG_LIMIT = 12.0  # of the logarithms that are learned, about their start
_LBFGS_MEMORY = 20  # past steps that L-BFGS remembers
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
    head_coef_ : ndarray of shape (n_scores, n_components)
        Posterior mean of the weights of the features; one score for two classes.
    head_intercept_ : ndarray of shape (n_scores,)
        Intercepts.
    scales_ : ndarray of shape (n_groups_fitted, n_features)
        :math:`s_q`, of standardised inputs.
    centres_ : ndarray of shape (n_groups_fitted, n_features)
        :math:`m_q`, of standardised inputs.
    weights_ : ndarray of shape (n_groups_fitted,)
        :math:`w_q`.
    noise_ : float
        Variance of the noise of the scores.
    log_evidence_ : float
        Log marginal likelihood of the training rows at the end, per row.
    gamma_ : float
        Coefficient of the kernel to start from, as chosen.
    n_iter_ : int
        Iterations of L-BFGS.
    n_macs_ : int
        MACs of one row.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if all are strings.

    See Also
    --------
    RandomKitchenSinks : Cosines of a law that is not learned.
    BaNK : A mixture of spectra that is sampled.
    MultipleKernelLearning : Exact kernels, combined.

    Notes
    -----
    Scales are folded into the diagonal B of a block (S H G P H B), so that they cost nothing; a
    centre costs one MAC an input for each block. The source learns on regression; here classes
    are regressed, to -1 and 1 or one score a class, and the row lengths S are drawn rather than
    learned. The intercept is not penalised. Probabilities are a sigmoid or softmax of the scores
    times a factor fitted to leave-one-out scores.

    References
    ----------
    Z. Yang, A. J. Smola, L. Song and A. G. Wilson, "A la carte - learning fast kernels",
    AISTATS 2015.
    Wangni, Zhuo and Zhu, "Learning Random Fourier Features by Hybrid Constrained
    Optimization" (Table 4).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from cerflearn.rivals import ALaCarte
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ALaCarte(n_components=32, random_state=0).fit(X, y)
    >>> model.scales_.shape, model.n_macs_, model.score(X, y) > 0.95
    ((4, 4), 224, True)
    """

    _constraints: ClassVar[dict[str, Constraint]] = {
        "n_components": COMPONENTS_CONSTRAINT,
        "n_groups": Whole("a positive integer"),
        "gamma": GAMMA_CONSTRAINT,
        "max_iter": Whole("a non-negative integer", at_least=0),
    }

    def __init__(
        self,
        *,
        n_components: int = 100,
        n_groups: int = 4,
        gamma: RivalGamma = "cv",
        max_iter: int = 15,
        random_state: RandomStateLike = None,
    ) -> None:
        self.n_components = n_components
        self.n_groups = n_groups
        self.gamma = gamma
        self.max_iter = max_iter
        self.random_state = random_state

    def _fit_rows(self, data: RivalData, rng: np.random.Generator) -> None:
        self.gamma_ = choose_gamma(self.gamma, data, rng)
        n_features, n_outputs = data.X.shape[1], int(self.n_components)
        drawn = draw_blocked_map(n_features, n_outputs, Gaussian(1.0), rng)
        n_blocks = drawn.blocks.n_blocks
        group_of_block = np.arange(n_blocks) * min(int(self.n_groups), n_blocks) // n_blocks
        problem = EvidenceProblem(
            data.X,
            data.targets - data.targets.mean(axis=0),
            drawn.frequencies,
            group_of_block[drawn.block_of_projection],
            n_outputs,
        )
        start = self._start(problem, rng)
        spectrum, self.log_evidence_, self.n_iter_ = maximise(problem, start, int(self.max_iter))
        self.scales_, self.centres_ = np.exp(spectrum.log_scale), spectrum.centre
        self.weights_ = np.exp(spectrum.log_weight)
        self.noise_ = float(np.exp(spectrum.log_noise))
        feature_map = _learned_map(drawn, data, spectrum, problem)
        # Through the map itself, whose columns are interleaved.
        features = feature_map.transform(data.raw)
        found = fit_ridge(data, features, (relative_alpha(features, self.noise_),))
        self._store(feature_map, found.head, found.bias)
        self._calibrate(data, found.left_out)

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
    """Maximise the log evidence with L-BFGS.

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
        options={"maxiter": max_iter, "maxfun": 2 * max_iter, "maxcor": _LBFGS_MEMORY},
    )
    return start.unpack(found.x), -float(found.fun), int(found.nit)


def _learned_map(
    drawn: BlockedMap, data: RivalData, spectrum: Spectrum, problem: EvidenceProblem
) -> BlockedMap:
    """Blocks with the learned scales in B, the learned centres, and raw inputs."""
    blocks, (mean, scale) = drawn.blocks, (data.scaling.mean, data.scaling.scale)
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

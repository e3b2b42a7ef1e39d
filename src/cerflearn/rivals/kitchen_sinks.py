"""Random kitchen sinks: random cosines, of which only the weights are learned."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from scipy.optimize import minimize

from cerflearn._typing import Float64Array, RandomStateLike
from cerflearn._validation import Constraint, Number
from cerflearn.features.base import draw_offsets
from cerflearn.features.dense import DenseMap
from cerflearn.linalg.ridge import RIDGE_ALPHAS
from cerflearn.rivals._base import (
    ALPHA_CONSTRAINT,
    COMPONENTS_CONSTRAINT,
    GAMMA_CONSTRAINT,
    RivalClassifier,
    RivalData,
    RivalGamma,
    choose_gamma,
    fit_ridge,
)
from cerflearn.spectral import law_from_kernel


class RandomKitchenSinks(RivalClassifier):
    r"""Weighted sum of random cosines (Rahimi and Recht, 2008).

    .. math:: s(x) = \sum_k A_k \cos(\omega_k^\top x + b_k) + a, \qquad |A_k| \le C / K

    with :math:`\omega_k \sim N(0, 2 \gamma I)` and uniform :math:`b_k`, of standardised inputs.
    Baseline of the comparison in Table 4, not part of the method.

    Parameters
    ----------
    n_components : int, default=100
        K: cosines.
    gamma : {"cv", "scale", "median"} or float, default="cv"
        Coefficient of the Gaussian kernel of standardised inputs; ``"cv"`` by the leave-one-out
        error of kernel ridge regression on 500 training rows.
    alpha : float or "auto", default="auto"
        Penalty of the squared weights beside the mean squared error over rows, in units of the
        mean variance of a cosine; ``"auto"`` by leave-one-out error.
    bound : float or None, default=None
        C of the constraint, which all weights then satisfy; None leaves it to the penalty.
    random_state : int, RandomState, Generator or None, default=None
        Seed.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels.
    feature_map_ : DenseMap
        The cosines of raw inputs.
    head_coef_ : ndarray of shape (n_scores, n_components)
        Weights A of the cosines; one score for two classes.
    head_intercept_ : ndarray of shape (n_scores,)
        Intercepts a.
    gamma_ : float
        Coefficient of the kernel, as chosen.
    alpha_ : float
        Penalty, as chosen: passed as ``alpha`` it gives the same model.
    n_macs_ : int
        MACs of one row.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if all are strings.

    See Also
    --------
    MultipleKernelLearning : Exact kernels, combined.
    ALaCarte : Cosines whose law is learned.
    BaNK : Cosines whose law is sampled.

    Notes
    -----
    The source bounds each weight by C / K and leaves loss and law open; it also uses a quadratic
    penalty in place of the bound, as is the default here, with squared loss, one score for each
    of three classes or more. With ``bound`` the weights minimise the penalised loss within it.
    Probabilities are a sigmoid or softmax of the scores times a factor fitted to
    leave-one-out scores (with ``bound``: to scores of the training rows).

    References
    ----------
    A. Rahimi and B. Recht, "Weighted sums of random kitchen sinks: replacing minimization with
    randomization in learning", NIPS 2008.
    Wangni, Zhuo and Zhu, "Learning Random Fourier Features by Hybrid Constrained
    Optimization" (Table 4).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from cerflearn.rivals import RandomKitchenSinks
    >>> X, y = load_iris(return_X_y=True)
    >>> model = RandomKitchenSinks(n_components=50, random_state=0).fit(X, y)
    >>> model.n_macs_, model.score(X, y) > 0.95
    (350, True)
    """

    _constraints: ClassVar[dict[str, Constraint]] = {
        "n_components": COMPONENTS_CONSTRAINT,
        "gamma": GAMMA_CONSTRAINT,
        "alpha": ALPHA_CONSTRAINT,
        "bound": Number("a positive number or None", above=0.0, also=(None,)),
    }

    def __init__(
        self,
        *,
        n_components: int = 100,
        gamma: RivalGamma = "cv",
        alpha: float | Literal["auto"] = "auto",
        bound: float | None = None,
        random_state: RandomStateLike = None,
    ) -> None:
        self.n_components = n_components
        self.gamma = gamma
        self.alpha = alpha
        self.bound = bound
        self.random_state = random_state

    def _fit_rows(self, data: RivalData, rng: np.random.Generator) -> None:
        self.gamma_ = choose_gamma(self.gamma, data, rng)
        n_features, n_components = data.X.shape[1], int(self.n_components)
        drawn = law_from_kernel("rbf", self.gamma_).sample(n_features, n_components, rng)
        phases = draw_offsets(n_components, False, rng)
        features = np.cos(data.X @ drawn + phases)
        alphas = RIDGE_ALPHAS if isinstance(self.alpha, str) else (float(self.alpha),)
        found = fit_ridge(data, features, alphas)
        self.alpha_, head, bias, scores = found.alpha, found.head, found.bias, found.left_out
        if self.bound is not None:
            most = float(self.bound) / n_components
            head, bias = bounded_ridge(features, data.targets, found.penalty, most, head)
            scores = features @ head + bias
        frequencies, offsets = data.unscale(drawn)
        feature_map = DenseMap(
            weights=frequencies,
            offsets=np.mod(phases + offsets, 2.0 * np.pi),
            amplitudes=np.ones(n_components),
            n_outputs=n_components,
            paired=False,
        )
        self._store(feature_map, head, bias)
        self._calibrate(data, scores)


def bounded_ridge(
    features: Float64Array,
    targets: Float64Array,
    penalty: float,
    most: float,
    start: Float64Array,
) -> tuple[Float64Array, Float64Array]:
    r"""Minimise :math:`\tfrac1n |T - F A - a|^2 + \lambda |A|^2` over :math:`|A_{kc}| \le m`.

    By L-BFGS-B: with bounds there is no linear system to solve.

    Parameters
    ----------
    features : ndarray of shape (n_samples, n_outputs)
        F.
    targets : ndarray of shape (n_samples, n_scores)
        T.
    penalty : float
        :math:`\lambda`.
    most : float
        m.
    start : ndarray of shape (n_outputs, n_scores)
        Weights to start from, clipped.

    Returns
    -------
    head : ndarray of shape (n_outputs, n_scores)
        A.
    bias : ndarray of shape (n_scores,)
        a.
    """
    mean, target_mean = features.mean(axis=0), targets.mean(axis=0)
    centred = features - mean
    gram = centred.T @ centred / len(features)
    gram.flat[:: len(gram) + 1] += penalty
    cross = centred.T @ (targets - target_mean) / len(features)

    def objective(values: Float64Array) -> tuple[float, Float64Array]:
        head = values.reshape(cross.shape)
        product = gram @ head
        value = float(np.vdot(head, 0.5 * product - cross))
        return value, (product - cross).ravel()

    found = minimize(
        objective,
        np.clip(start, -most, most).ravel(),
        jac=True,
        method="L-BFGS-B",
        bounds=[(-most, most)] * cross.size,
        options={"maxiter": 2000, "maxfun": 4000, "ftol": 1e-13, "gtol": 1e-9},
    )
    head = found.x.reshape(cross.shape)
    return head, target_mean - mean @ head

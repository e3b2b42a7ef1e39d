"""The whole of CVEM as printed, slowly: Eqs. 21-34 with the rotation as ADMM leaves it.

Shares no code with src. Corrections without which the equations are not defined: W for W^T in
Eq. 21, no exponential in Eq. 25, the scale c in Eq. 29, alpha / mu in Eq. 33.
"""

from __future__ import annotations

import numpy as np

from oracle.cvem import beta_integrals, prox_by_bisection, sweeps_in_turn


def literal_cvem(teacher, learner, *, n_stages, share=None, initial_proba=0.5, n_sweeps=10):
    """Probabilities, rotation, scale and noise after so many stages, nothing normalised.

    ``share`` is the spectral penalty as a share of the one from which on W = 0; None: adaptive.
    """
    n_samples, n_candidates = learner.shape
    n_values = n_samples * max(teacher.shape[1], n_candidates)
    proba = np.full_like(learner, initial_proba)
    left, _, right = np.linalg.svd(teacher.T @ (proba * learner), full_matrices=False)
    rotation = left @ right
    # The start has an orthogonal rotation.
    linear = np.vdot(rotation, teacher.T @ (proba * learner))
    quadratic = (proba * learner**2).sum()
    scale = linear / quadratic
    energy = (teacher**2).sum() - 2.0 * scale * linear + scale**2 * quadratic
    noise = np.sqrt(energy / n_values)
    tau = posterior(proba)
    relaxed, dual = rotation, np.zeros_like(rotation)
    for _ in range(n_stages):
        integrals = np.array([beta_integrals(t)[:2] for t in tau])
        odds = integrals[:, 0] - integrals[:, 1]
        proba = sweeps_in_turn(teacher, learner, rotation, scale, noise, odds, proba, n_sweeps)
        tau = posterior(proba)
        relaxed, dual = printed_admm(teacher, scale * proba * learner, relaxed, dual, share)
        rotation = relaxed
        scale, noise = scale_and_noise(teacher, learner, proba, rotation, n_values)
    return tau[:, 0] / tau.sum(axis=1), rotation, scale, noise


def posterior(proba):
    """Eq. 26 with gamma = K."""
    return np.stack([proba.sum(axis=0) + 1.0, (1.0 - proba).sum(axis=0) + 1.0], axis=1)


def printed_admm(teacher, design, rotation, dual, share, n_iter=30, tol=1e-3):
    """Eqs. 29-33: V, U, W in turn, from where the last stage ended."""
    cross, gram = teacher.T @ design, design.T @ design
    alpha = None if share is None else share * np.linalg.svd(cross, compute_uv=False).sum()
    mu = np.trace(gram) / len(gram)
    inverse = np.linalg.inv(gram + mu * np.eye(len(gram)))
    for _ in range(n_iter):
        auxiliary = (cross + mu * rotation + dual) @ inverse
        dual = dual + mu * (rotation - auxiliary)
        before = rotation
        target = auxiliary - dual / mu
        if alpha is None:
            left, values, right = np.linalg.svd(target, full_matrices=False)
            rotation = left @ np.diag(np.minimum(values, 1.0)) @ right
        else:
            rotation = prox_by_bisection(target, alpha / mu)
        gap = np.linalg.norm(rotation - auxiliary)
        step = mu * np.linalg.norm(rotation - before)
        if gap <= tol * np.linalg.norm(rotation) and step <= tol * np.linalg.norm(dual):
            break
    return rotation, dual


def scale_and_noise(teacher, learner, proba, rotation, n_values):
    """Maximisers of the bound, with the selector's variance."""
    mean = proba * learner @ rotation.T
    variance = ((proba * (1.0 - proba) * learner**2) @ (rotation**2).sum(axis=0)).sum()
    linear, quadratic = np.vdot(teacher, mean), (mean**2).sum() + variance
    scale = linear / quadratic
    error = (teacher**2).sum() - 2.0 * scale * linear + scale**2 * quadratic
    return scale, np.sqrt(error / n_values)

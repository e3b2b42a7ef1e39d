"""Constrained variational EM, slowly and straight from the equations; shares no code with src.

Samples are rows: teacher T (N, M), learner L (N, K), rotation W (M, K). A teacher narrower than the
learner is padded with zeros and W completed to a square orthogonal matrix before anything else.
"""

from __future__ import annotations

import itertools

import numpy as np
from scipy.linalg import null_space


def pad(teacher, rotation):
    """Zero-padded teacher and square orthogonal rotation, if the teacher is the narrower one."""
    n_outputs, n_candidates = rotation.shape
    if n_outputs >= n_candidates:
        return teacher, rotation
    missing = n_candidates - n_outputs
    padded = np.hstack([teacher, np.zeros((len(teacher), missing))])
    return padded, np.vstack([rotation, null_space(rotation).T])


def beta_integrals(tau):
    """E[ln pi], E[ln(1 - pi)] and entropy of Beta(tau), by the trapezoidal rule in x = logit pi.

    The integrand is analytic and falls off as exp(-tau |x|), so the rule is exact to rounding.
    """
    x = np.linspace(-120.0, 120.0, 9601)
    log_present, log_absent = -np.logaddexp(0.0, -x), -np.logaddexp(0.0, x)
    weights = np.exp(tau[0] * log_present + tau[1] * log_absent)  # dpi = pi (1 - pi) dx
    log_norm = np.log(weights.sum() * (x[1] - x[0]))
    weights /= weights.sum()
    present, absent = weights @ log_present, weights @ log_absent
    entropy = log_norm - (tau[0] - 1.0) * present - (tau[1] - 1.0) * absent
    return present, absent, entropy


def all_selectors(n_candidates):
    return [np.array(bits, dtype=float) for bits in itertools.product((0, 1), repeat=n_candidates)]


def posterior_by_enumeration(teacher, learner, rotation, scale, noise, log_present, log_absent):
    """P(z_nk = 1) over all 2^K selectors of each sample, given E[ln pi] and E[ln(1 - pi)]."""
    teacher, rotation = pad(teacher, rotation)
    selectors = all_selectors(learner.shape[1])
    proba = np.zeros_like(learner)
    for n in range(len(learner)):
        logs = []
        for z in selectors:
            error = teacher[n] - scale * rotation @ (z * learner[n])
            log = -error @ error / (2.0 * noise**2)
            logs.append(log + z @ log_present + (1.0 - z) @ log_absent)
        weights = np.exp(np.array(logs) - max(logs))
        weights /= weights.sum()
        proba[n] = sum(w * z for w, z in zip(weights, selectors, strict=True))
    return proba


def energy_change(teacher, learner, rotation, scale, proba):
    """Delta_nk of Eq. 24, with xi_nk of Eq. 21 (W, not its transpose), one entry at a time."""
    delta = np.zeros_like(learner)
    for n, k in np.ndindex(*learner.shape):
        xi = teacher[n].copy()
        for other in range(learner.shape[1]):
            if other != k:
                xi -= scale * rotation[:, other] * learner[n, other] * proba[n, other]
        column = rotation[:, k]
        delta[n, k] = scale**2 * learner[n, k] ** 2 * (column @ column)
        delta[n, k] -= 2.0 * scale * learner[n, k] * (column @ xi)
    return delta


def parallel_sweeps(teacher, learner, rotation, scale, noise, odds, proba, n_sweeps):
    """Updates of Eqs. 22-24 of all features at once, which is not coordinate ascent."""
    for _ in range(n_sweeps):
        delta = energy_change(teacher, learner, rotation, scale, proba)
        proba = np.exp(-np.logaddexp(0.0, delta / (2.0 * noise**2) - odds))
    return proba


def sweeps_in_turn(teacher, learner, rotation, scale, noise, odds, proba, n_sweeps):
    """Updates of Eqs. 22-24, one feature of one sample at a time."""
    proba = proba.copy()
    for _ in range(n_sweeps):
        for k in range(learner.shape[1]):
            delta = energy_change(teacher, learner, rotation, scale, proba)[:, k]
            proba[:, k] = np.exp(-np.logaddexp(0.0, delta / (2.0 * noise**2) - odds[k]))
    return proba


def bound_terms(teacher, learner, rotation, scale, noise, proba, tau, concentration):
    """Likelihood, selector, divergence of q(pi), entropy of q(Z): Eq. 15, by enumeration."""
    padded, square = pad(teacher, rotation)
    n_samples, n_outputs = padded.shape
    n_candidates = learner.shape[1]
    likelihood = -0.5 * n_samples * n_outputs * np.log(2.0 * np.pi * noise**2)
    entropy = 0.0
    for n in range(n_samples):
        for z in all_selectors(n_candidates):
            q = np.prod(np.where(z == 1, proba[n], 1.0 - proba[n]))
            error = padded[n] - scale * square @ (z * learner[n])
            likelihood -= q * (error @ error) / (2.0 * noise**2)
            entropy -= q * np.log(q) if q > 0 else 0.0
    selector = divergence = 0.0
    for k in range(n_candidates):
        present, absent, beta_entropy = beta_integrals(tau[k])
        selector += proba[:, k].sum() * present + (1.0 - proba[:, k]).sum() * absent
        a = concentration / n_candidates
        prior = np.log(a) + (a - 1.0) * present  # density of Beta(a, 1) is a pi^(a - 1)
        divergence += -beta_entropy - prior
    return likelihood, selector, divergence, entropy


def bound(*args):
    likelihood, selector, divergence, entropy = bound_terms(*args)
    return likelihood + selector - divergence + entropy


def prox_by_bisection(matrix, beta):
    """argmin 1/2 |W - A|^2 + beta |W|_2: clip singular values to the level that costs beta."""
    left, values, right = np.linalg.svd(matrix, full_matrices=False)
    if values.sum() <= beta:
        return np.zeros_like(matrix)
    low, high = 0.0, values[0]
    for _ in range(200):
        middle = 0.5 * (low + high)
        if np.maximum(values - middle, 0.0).sum() > beta:
            low = middle
        else:
            high = middle
    return left @ np.diag(np.minimum(values, high)) @ right


def spectral_penalised_regression(teacher, expected_learner, scale, alpha, n_iter=20000):
    """argmin_W 1/2 |T - c Lbar W^T|^2 + alpha |W|_2 by accelerated proximal gradient, restarted."""
    design = scale * expected_learner
    step = 1.0 / np.linalg.norm(design, 2) ** 2
    rotation = momentum = np.zeros((teacher.shape[1], design.shape[1]))
    weight = 1.0
    for _ in range(n_iter):
        gradient = -(teacher - design @ momentum.T).T @ design
        new = prox_by_bisection(momentum - step * gradient, alpha * step)
        if np.vdot(momentum - new, new - rotation) > 0.0:  # O'Donoghue and Candes' restart
            weight = 1.0
        if np.abs(new - rotation).max() < 1e-15:
            return new
        new_weight = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * weight**2))
        momentum = new + (weight - 1.0) / new_weight * (new - rotation)
        rotation, weight = new, new_weight
    return rotation


def pursuit_by_regression(teacher, learner, blocks, n_blocks, given=()):
    """Simultaneous OMP: each step tries every block in a full least-squares fit of the teacher.

    Columns in ``given`` are in every fit. Errors that differ by rounding are equal, and the first
    block of equals is taken.
    """
    rounding = 1e-9 * np.linalg.norm(teacher) ** 2
    chosen = []
    for _ in range(n_blocks):
        errors = {}
        for label in range(len(blocks)):
            if label not in chosen:
                columns = [*given, *(k for c in [*chosen, label] for k in blocks[c])]
                fit = np.linalg.lstsq(learner[:, columns], teacher, rcond=1e-10)[0]
                errors[label] = np.linalg.norm(teacher - learner[:, columns] @ fit) ** 2
        least = min(errors.values()) + rounding
        chosen.append(next(label for label, error in errors.items() if error <= least))
    return chosen


def shared_selector(teacher, learner, counts):
    """Keep the best columns, ever fewer: polar factor and scores from the data itself."""
    kept = np.arange(learner.shape[1])
    for count in counts:
        left, _, right = np.linalg.svd(teacher.T @ learner[:, kept], full_matrices=False)
        aligned = (learner[:, kept] * (teacher @ (left @ right))).sum(axis=0)
        scores = np.maximum(aligned, 0.0) ** 2 / (learner[:, kept] ** 2).sum(axis=0)
        kept = kept[np.argsort(-scores)[:count]]
    return np.sort(kept)

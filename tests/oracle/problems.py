"""Small random problems for tests of learning."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

SHAPES = [(4, 4), (7, 4), (2, 5), (6, 6), (1, 3), (3, 1)]
"""Teacher and learner widths: equal, wider and narrower teacher, single columns."""


def random_orthogonal(n_outputs, n_candidates, rng):
    """Orthonormal columns, or rows if there are more columns than rows."""
    size = max(n_outputs, n_candidates)
    return np.linalg.qr(rng.normal(size=(size, size)))[0][:n_outputs, :n_candidates]


def small_problem(seed, n_samples, n_outputs, n_candidates):
    """Data and a random point in the space of all parameters, far from any optimum."""
    rng = np.random.default_rng(seed)
    return SimpleNamespace(
        teacher=rng.normal(size=(n_samples, n_outputs)),
        learner=rng.normal(size=(n_samples, n_candidates)),
        rotation=random_orthogonal(n_outputs, n_candidates, rng),
        scale=rng.uniform(0.3, 1.5),
        noise=rng.uniform(0.4, 1.5),
        tau=rng.uniform(0.6, 5.0, size=(n_candidates, 2)),
        concentration=rng.uniform(0.5, 2.0) * n_candidates,
        proba=rng.uniform(0.02, 0.98, size=(n_samples, n_candidates)),
    )


def planted_problem(seed, n_samples=400, n_candidates=24, n_planted=8, noise=0.3):
    """Learner columns of which only the planted ones make up the teacher, rotated."""
    rng = np.random.default_rng(seed)
    learner = rng.normal(size=(n_samples, n_candidates)) * rng.uniform(0.5, 2.0, n_candidates) + 3.0
    planted = np.sort(rng.choice(n_candidates, n_planted, replace=False))
    signal = (learner[:, planted] - 3.0) / learner[:, planted].std(axis=0)
    teacher = signal @ random_orthogonal(n_planted, n_planted, rng)
    return teacher + noise * rng.normal(size=teacher.shape) - 1.0, learner, planted

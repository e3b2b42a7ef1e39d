"""Codes within a budget: their teacher, and the network that is trained to give them."""

from __future__ import annotations

from typing import Any

import numpy as np

from cerflearn._validation import (
    Constraint,
    Flag,
    NoEffect,
    Number,
    Passes,
    Verbosity,
    Whole,
    invalid,
)
from cerflearn.estimators.applications.inner_map import (
    DEFAULT_CODES,
    MACS_CONSTRAINT,
    check_inner_map,
)
from cerflearn.estimators.applications.linear_codes import best_codes, code_moments
from cerflearn.estimators.components import TEACHER_COLUMNS, CodeTargets, teacher_codes
from cerflearn.estimators.encoder import Encoder, EncoderOptions, train_encoder
from cerflearn.estimators.gamma import resolve_law
from cerflearn.estimators.input import TrainingData, check_n_jobs, thread_count, varying_inputs
from cerflearn.estimators.teachers import TEACHERS, is_teacher, make_teacher
from cerflearn.linalg.moments import CrossMoments
from cerflearn.spectral import SpectralLaw, law_from_kernel

_LARGEST_REGRESSED = 1e140  # its square times the number of entries is still a number

BUDGET_EFFECTS = (
    NoEffect(
        "feature_map",
        "macs",
        lambda estimator: estimator.macs is not None,
        "codes within a budget are made by a network of their own; pass the map as teacher, or "
        "leave macs out",
    ),
    NoEffect(
        "teacher",
        "macs",
        lambda estimator: estimator.macs is None,
        "exact components of feature_map need no teacher; pass macs, or the teacher as feature_map",
    ),
)
"""Combinations of ``macs`` in which a parameter changes nothing."""


def check_code_teacher(name: str, teacher: Any) -> None:
    """Refuse what is no teacher of codes: labels are none."""
    if not is_teacher(teacher) or (isinstance(teacher, str) and teacher == "labels"):
        names = ", ".join(repr(each) for each in TEACHERS if each != "labels")
        must_be = f"{names}, a law of cerflearn.spectral, or a transformer (not a class)"
        raise invalid(name, teacher, must_be)


def teacher_targets(
    teacher: Any, data: TrainingData, n_codes: int | None, rng: np.random.Generator, n_threads: int
) -> CodeTargets:
    """Leading principal components of a teacher.

    Parameters
    ----------
    teacher : {"rff", "nystroem", "kernel_pca"}, SpectralLaw or transformer
        With a name: of the Gaussian kernel with ``gamma="scale"``.
    data : TrainingData
        The rows.
    n_codes : int or None
        J; None: 15, or fewer where the teacher or the rows are fewer.
    rng : numpy.random.Generator
        Source of randomness.
    n_threads : int
        Threads.

    Returns
    -------
    CodeTargets
        Of the training rows.
    """
    made = make_teacher(teacher, data, _law_of(teacher, data.X), TEACHER_COLUMNS, True, rng)
    n_columns = made.rows(0, 1).shape[1]
    most = min(n_columns, data.n_samples)
    if n_codes is not None and n_codes > most:
        raise invalid(
            "n_components",
            n_codes,
            f"at most {most}, the smaller of n_samples={data.n_samples} and the {n_columns} "
            f"column{'' if n_columns == 1 else 's'} of teacher",
        )
    n_codes = min(DEFAULT_CODES, most) if n_codes is None else n_codes
    return teacher_codes(teacher, made, data.n_samples, n_codes, n_threads)


def _law_of(teacher: Any, X: Any) -> SpectralLaw:
    """Law of a teacher with a name; others have their own, and are given one that is not read."""
    if not isinstance(teacher, str):
        return law_from_kernel("rbf", 1.0)
    try:
        return resolve_law("rbf", "scale", X)[0]
    except ValueError as error:
        raise ValueError(
            f"teacher={teacher!r} has a kernel whose width is that of X, which varies too much or "
            "too little: scale X, for example with StandardScaler."
        ) from error


CODE_CONSTRAINTS: dict[str, Constraint] = {
    "n_components": Whole("a positive integer or None", also=(None,)),
    "feature_map": Passes(check_inner_map),
    "alpha": Number(
        "a number that is not negative, in units of the mean variance of the codes",
        at_least=0.0,
    ),
    "fit_inverse_transform": Flag(),
    "n_jobs": Passes(lambda _, value: check_n_jobs(value)),
    "macs": MACS_CONSTRAINT,
    "teacher": Passes(check_code_teacher),
    "verbose": Verbosity(),
}
"""What the parameters of encoders must be."""


def check_reducible(X: Any) -> None:
    """Refuse rows that have no principal components."""
    n_samples = int(X.shape[0])
    if n_samples < 2:
        raise ValueError(
            f"X has one sample (n_samples = {n_samples}): principal components need two or more."
        )
    if not varying_inputs(X).any():
        raise ValueError("X is constant, all its rows are equal: there is nothing to reduce.")


def check_regressed(X: Any) -> None:
    """Refuse inputs whose squares are no numbers."""
    largest = max(float(X.max()), -float(X.min()))
    if largest > _LARGEST_REGRESSED:
        raise ValueError(
            f"X holds values of {largest:.3e}, above {_LARGEST_REGRESSED:g}, which cannot "
            "be regressed on codes: scale X, for example with StandardScaler."
        )


def takes_batches(estimator: Any) -> bool:
    """Whether there is ``partial_fit``; ``AttributeError`` with the reason if not."""
    if estimator.macs is not None:
        raise AttributeError(
            f"partial_fit is not possible with macs={estimator.macs}: a network within a budget is "
            "trained on all rows at once. Call fit, or leave macs out."
        )
    return True


def train_codes(
    model: Any, data: TrainingData, targets: CodeTargets, rng: np.random.Generator
) -> tuple[Encoder, CrossMoments]:
    """Train a network of codes, of mean zero on the training rows.

    Parameters
    ----------
    model : RandomizedKernelPCA
        With checked ``macs``, ``n_jobs``, ``verbose`` and ``fit_inverse_transform``.
    data : TrainingData
        The rows.
    targets : CodeTargets
        What the codes are to be.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    encoder : Encoder
        Within the budget.
    moments : CrossMoments
        Of codes and inputs; of codes alone if there is no inverse.
    """
    n_threads, name = thread_count(model.n_jobs, data.n_samples), type(model).__name__
    options = EncoderOptions(
        int(model.macs),
        targets.values.shape[1],
        n_threads=n_threads,
        report=(lambda line: print(f"[{name}] {line}")) if model.verbose else None,
    )
    seed = np.random.SeedSequence(rng.integers(2**63, size=2))
    if targets.of_inputs:
        encoder = best_codes(data, targets, options, seed, float(model.alpha))
    else:
        encoder = train_encoder(data.X, targets.values, options, seed)
    inverse = bool(model.fit_inverse_transform)
    moments = code_moments(encoder, data, n_threads, with_inputs=inverse)
    return encoder.shifted(-moments.left_mean), moments

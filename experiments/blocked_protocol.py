"""Kernel approximation by blocks, section 4.1 of the paper: data, laws, sides, errors.

The teacher is a dense random Fourier map of K = 320 cosines whose frequencies are elementwise
products of draws of P1 (normal or Cauchy) and P2 (normal). Every side draws K candidates without
knowing P2, keeps some by CVEM, and is judged on rows that nothing has seen by the mean absolute
difference between its Gram matrix and the teacher's, and the exact kernel's.
"""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator

from cerflearn import CVEM, BlockedCERF, Greedy, MaskedCERF, RandomFourierFeatures, Shared
from cerflearn.spectral import Cauchy, Gaussian, Product, SpectralLaw, StudentT
from experiments.datasets import bundled, fold, read

PUBLISHED = Path(__file__).parents[1] / "benchmarks" / "results" / "blocked.json"
"""What ``benchmarks/blocked.py`` chose on satimage, and its cells at all scales of P2."""

N_INPUTS = 16  # after PCA
N_CANDIDATES = 16 * 20
FRACTIONS = (0.4, 0.2)
TOL = 1e-2  # of CVEM, which then converges in about ten stages

FILES = {
    "raw": ("digits_raw", "X"),
    "hog": ("digits_hog", "X_hellinger"),
    "satimage": ("satimage", "X"),
}

MEANINGS = {
    "median": "`unit` times the parameter, in units of the smallest of its law, over the median "
    "distance of the training rows (Euclidean for Gauss, city block for Cauchy)",
    "scale": "the scale of the frequencies as printed, pixels 0 to 255",
    "gamma": "the coefficient of exp(-p |d|^2) (Gauss) or exp(-p |d|_1) (Cauchy) as printed",
}
"""What a parameter of Table 2 may mean; the first is ours."""


@dataclass(frozen=True)
class Reading:
    """What the paper leaves open of the problem itself: the scale of P2, what a parameter means."""

    p2_scale: float
    unit: float = 1.0
    meaning: str = "median"


@dataclass(frozen=True)
class Row:
    """A row of Table 2: data, law of P1 and P0, its parameter as printed."""

    data: str
    law: str
    parameter: float

    @property
    def label(self) -> str:
        """Name of the row."""
        return f"{self.data}, {self.law}, {self.parameter:g}"

    def scale(self, X: NDArray, reading: Reading) -> float:
        """Scale of P1 for training rows X."""
        if reading.meaning == "scale":
            return self.parameter
        if reading.meaning == "gamma":
            return float(np.sqrt(2.0 * self.parameter)) if self.law == "Gauss" else self.parameter
        metric = "euclidean" if self.law == "Gauss" else "cityblock"
        distance = float(np.median(pdist(X[:1000], metric)))
        return reading.unit * self.parameter / self._smallest / distance

    @property
    def _smallest(self) -> float:
        parameters = (r.parameter for r in TABLE if (r.data, r.law) == (self.data, self.law))
        return min(parameters, default=self.parameter)

    def base_law(self, X: NDArray, reading: Reading) -> SpectralLaw:
        """P1, and P0 of which the learners draw."""
        scale = self.scale(X, reading)
        return Gaussian(scale) if self.law == "Gauss" else Cauchy(scale)


TABLE = (
    Row("raw", "Gauss", 2.5e-5),
    Row("raw", "Gauss", 5e-5),
    Row("raw", "Cauchy", 5e-5),
    Row("raw", "Cauchy", 1e-4),
    Row("hog", "Gauss", 1e-3),
    Row("hog", "Cauchy", 1e-3),
    # Ours, to choose settings on; only the ratio of the parameters matters.
    *(Row("satimage", law, parameter) for law in ("Gauss", "Cauchy") for parameter in (1.0, 2.0)),
)


IN_THE_PAPERS_SETTING = ("paper", "literal", "paper_rff")


@dataclass(frozen=True)
class Side:
    """A way to draw candidates and keep some.

    ``kind``: "cerf", Fastfood blocks around centres drawn from P0; "fastfood", blocks of P0
    itself, or of the isotropic Cauchy law where P0 is Cauchy; "dense", unstructured frequencies of
    P0, as many as fit the MACs of "cerf"; "paper" and "literal", ``BlockedCERF.paper_setting``, the
    latter as printed; "paper_rff", blocks of P0 in that setting, without masks. ``factor``
    multiplies P0's frequencies.
    """

    kind: str
    normalize: str | None = None
    spread: float = 1.0
    scale_spread: float = 0.0
    factor: float = 1.0
    select: str = "blocks"
    share: tuple[str, ...] = ()
    selector: str = "cvem"
    spaced_offsets: bool = True

    def estimator(self, law: SpectralLaw, n_columns: int, macs: int, **learning: Any) -> Any:
        """Estimator, not fitted, that keeps ``n_columns`` columns; a dense one within ``macs``."""
        if self.kind in IN_THE_PAPERS_SETTING:
            return self._in_the_papers_setting(law, n_columns, **learning)
        law = law.rescaled(self.factor)
        parameters: dict[str, Any] = {"paired": False, "selector": self.made_selector(), **learning}
        if self.selector != "random":
            parameters["n_candidates"] = N_CANDIDATES
        if self.kind == "dense":
            width = {"mask_density": 1.0, "features_per_mask": 1, "macs": macs}
            return MaskedCERF(kernel=law, **width, **parameters)
        parameters |= {
            "n_components": n_columns,
            "unit": {"blocks": "block", "outputs": "output"}[self.select],
            "share": tuple(self.share),
            "spaced_offsets": self.spaced_offsets,
        }
        if self.kind == "cerf":
            parameters |= {"spread": self.spread, "scale_spread": self.scale_spread}
        elif isinstance(law, Cauchy):
            law = StudentT(law.scale, 1.0)
        return BlockedCERF(kernel=law, **parameters)

    def _in_the_papers_setting(self, law: SpectralLaw, n_columns: int, **learning: Any) -> Any:
        """Estimator of "paper", "literal" and "paper_rff"."""
        setting: dict[str, Any] = {"spread": self.spread, "tol": TOL}
        if self.kind == "paper_rff":
            setting |= {"spread": None, "mask_density": None, "mask_law": "fixed"}
            law = StudentT(law.scale, 1.0) if isinstance(law, Cauchy) else law
        return BlockedCERF.paper_setting(
            literal=self.kind == "literal",
            kernel=law,
            n_components=n_columns,
            n_candidates=N_CANDIDATES,
            **setting,
            **learning,
        )

    def made_selector(self) -> Any:
        """Selector with its settings; for greedy, centred columns are as good as scaled ones."""
        of_greedy = None if self.normalize is None else "standardize"
        makers: dict[str, Any] = {
            "cvem": lambda: CVEM(normalize=self.normalize, tol=TOL),
            "shared": lambda: Shared(normalize=self.normalize),
            "greedy": lambda: Greedy(normalize=of_greedy),
            "random": lambda: "random",
        }
        return makers[self.selector]()


@lru_cache(maxsize=1)
def published() -> dict[str, Any]:
    """Results of ``benchmarks/blocked.py``; "chosen" has the reading and all sides' settings."""
    return json.loads(PUBLISHED.read_text())


def chosen_reading() -> Reading:
    """Return the reading that ``benchmarks/blocked.py`` chose on satimage."""
    return Reading(**published()["chosen"]["reading"])


def macs_of(fraction: float) -> int:
    """MACs of the blocks that are kept: 2 d log2 d + 3 d each, and d more with a centre."""
    return -(-round(fraction * N_CANDIDATES) // N_INPUTS) * 12 * N_INPUTS


class Problem:
    """Rows, teacher and Gram matrices of one row of the table and one seed."""

    def __init__(self, row: Row, reading: Reading, seed: int, n_train: int, n_test: int) -> None:
        self.X, self.X_test = reduced(row.data, seed, n_train, n_test)
        self.law = row.base_law(self.X, reading)
        self.product = Product(self.law, Gaussian(reading.p2_scale))
        dense = RandomFourierFeatures(
            kernel=self.product, n_components=N_CANDIDATES, paired=False, random_state=seed
        )
        self.teacher = FrozenEstimator(dense.fit(self.X))
        self.seed, self.row = seed, row

    @cached_property
    def truths(self) -> dict[str, NDArray]:
        """Gram matrices of the test rows."""
        features = self.teacher.transform(self.X_test)
        return {"teacher": features @ features.T, "exact": self.product.kernel(self.X_test)}

    def errors(self, side: Side, fraction: float, weights: str) -> dict[str, Any]:
        """MACs, columns, and 1,000 times the mean absolute error to each truth.

        With equal weights also after one factor for all outputs, the c of the paper's Eq. 7, by
        which the Gram matrix of the training rows is nearest to the teacher's.
        """
        n_columns = round(fraction * N_CANDIDATES)
        learning = {} if side.selector == "random" else {"teacher": self.teacher}
        sampler = side.estimator(
            self.law,
            n_columns,
            macs_of(fraction),
            weights=weights,
            random_state=1000 + self.seed,
            **learning,
        )
        return self.judge(sampler, weights)

    def judge(self, sampler: Any, weights: str) -> dict[str, Any]:
        """Fit an estimator to the training rows; what :meth:`errors` returns."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            sampler.fit(self.X)
        features = sampler.transform(self.X_test)
        gram = features @ features.T
        errors = {weights: self.distances(gram)}
        if weights == "equal":
            learner = sampler.transform(self.X)
            cross = self.teacher.transform(self.X).T @ learner
            factor = np.square(cross).sum() / np.square(learner.T @ learner).sum()
            errors["scaled"] = self.distances(factor * gram)
        return {"columns": sampler.n_components_, "macs": sampler.n_macs_, "errors": errors}

    def distances(self, gram: NDArray) -> dict[str, float]:
        """1,000 times the mean absolute error of a Gram matrix of the test rows to each truth."""
        return {
            name: round(float(1e3 * np.abs(gram - truth).mean()), 2)
            for name, truth in self.truths.items()
        }


@lru_cache(maxsize=5)
def problem_of(row: Row, reading: Reading, seed: int, n_train: int, n_test: int) -> Problem:
    """Return the problem, kept for the next side of the same cell and seed."""
    return Problem(row, reading, seed, n_train, n_test)


@lru_cache(maxsize=5)
def reduced(data: str, seed: int, n_train: int, n_test: int) -> tuple[NDArray, NDArray]:
    """Training and test rows of a fold, projected to the principal components of the former."""
    split = bundled(seed) if data == "digits" else fold(*read(*FILES[data]), seed)
    pca = PCA(N_INPUTS, svd_solver="full").fit(split.X_train)
    train, test = (pca.transform(X) for X in (split.X_train[:n_train], split.X_test[:n_test]))
    return np.ascontiguousarray(train), np.ascontiguousarray(test)

"""What the detour by teacher and rotation (Eqs. 6-9) loses against the kernel itself (Eq. 5).

    python benchmarks/direct.py           # about ten minutes; writes results/direct.json
    python benchmarks/direct.py --table   # tables of docs/theory.md from the results
    python benchmarks/direct.py --tiny    # bundled digits, for tests; writes nothing

80 of 200 masked candidates (Beta-Bernoulli masks of density .4) are chosen from 500 rows; all have
the weight 2/80. The kernel error is the root mean square difference of inner products and the exact
rbf kernel over all pairs of different rows, of 500 other rows; "best scale": with the common weight
(c² of Eq. 5) that is best on the rows of the fit; "centred": of the inner products and of the
kernel after centring, all that kernel PCA or a linear head with an intercept depends on. gamma is
the median heuristic's. Inputs are standardised but for HOG. Five seeds draw rows, candidates and
teacher. Data: see ``datasets``.

Methods: "random" takes the first candidates; "cvem" is the paper's setting (ADMM, standardised
embeddings, at most 20 stages), "literal" its equations as printed; "shared" and "greedy" the
library's other selectors; all four read the teacher's rows. "direct, teacher" fits the teacher's
Gram matrix, "direct" the exact kernel's, "direct, centred" the centred kernel with centred
candidates. "all candidates" and "teacher" (200 dense cosines) are no choices.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import StandardScaler

import datasets
from cerflearn import CVEM, MaskedCERF, RandomFourierFeatures
from cerflearn.learning.direct import fit_direct
from experiments.methods import median_gamma
from experiments.provenance import made_by
from experiments.store import plain, write_json

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "direct.json"

DATA = {
    "HOG": "digits_hog",
    "satimage": "satimage",
    "letter": "uci_letter",
    "mfeat_fourier": "suite/mfeat_fourier",
    "dry_bean": "suite/dry_bean",
}
N_CANDIDATES, N_COMPONENTS = 200, 80
N_ROWS, SEEDS, STARTS = 500, 5, 10
SHOWN = {False: "cosines", True: "pairs"}
MEASURES = {
    "errors": "equal weights",
    "errors at the best scale": "best common weight",
    "centred errors": "centred",
}
LABELS = {
    "random": "random",
    "cvem": "CVEM",
    "literal": "CVEM as printed",
    "shared": "shared",
    "greedy": "greedy",
    "direct, teacher": "teacher's Gram matrix",
    "direct, centred": "direct, centred",
    "direct": "direct",
}
METHODS = tuple(LABELS)

Array = NDArray[np.float64]


def inputs_of(name: str, rng: np.random.Generator) -> Array:
    """Rows of a dataset, twice as many as one side needs, in random order."""
    if name == "digits":
        X = datasets.bundled(0).X_train
    else:
        X = datasets.read(DATA[name], "X_hellinger" if name == "HOG" else "X")[0]
    X = X[rng.permutation(len(X))[: 2 * N_ROWS]].astype(np.float64)
    return X if name == "HOG" else StandardScaler().fit_transform(X)


def candidates(teacher: Any, seed: int, *, paired: bool, **parameters: Any) -> MaskedCERF:
    """Return the estimator that draws the candidates of a seed, whatever it keeps of them."""
    return MaskedCERF.paper_setting(
        gamma=teacher.gamma,
        teacher=FrozenEstimator(teacher),
        n_candidates=N_CANDIDATES,
        paired=paired,
        random_state=seed,
        **parameters,
    )


def draw(X: Array, n_fitted: int, seed: int, *, paired: bool) -> tuple[Any, Array, Array]:
    """Teacher, its rows, and candidates of all rows in columns of amplitude one."""
    rff = RandomFourierFeatures(
        n_components=N_CANDIDATES,
        gamma=median_gamma(X[:n_fitted]),
        paired=paired,
        random_state=1000 + seed,
    ).fit(X[:n_fitted])
    keep_all = candidates(rff, seed, paired=paired, n_components=N_CANDIDATES, selector="greedy")
    learner = keep_all.fit(X[:n_fitted]).transform(X)
    return rff, rff.transform(X), np.sqrt(N_CANDIDATES / 2.0) * learner


SELECTORS: dict[str, Any] = {
    "cvem": CVEM(solver="admm"),
    "literal": CVEM(solver="admm", e_step="literal", normalize=None),
    "shared": "shared",
    "greedy": "greedy",
}


def chosen_columns(
    method: str, X: Array, rff: Any, learner: Array, seed: int, *, paired: bool
) -> tuple[NDArray[np.int64], bool]:
    """Columns that a method keeps, given the rows to fit, and whether it converged."""
    if method == "random":
        return np.arange(N_COMPONENTS), True
    if method in SELECTORS:
        settings = {"n_components": N_COMPONENTS, "selector": SELECTORS[method]}
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always", ConvergenceWarning)
            fitted = candidates(rff, seed, paired=paired, **settings).fit(X)
        weight = np.sqrt(2.0 / N_COMPONENTS)
        np.testing.assert_allclose(
            fitted.transform(X), weight * learner[:, fitted.selected_], atol=1e-12
        )
        return fitted.selected_, not told
    teacher = rff.transform(X)
    gram = teacher @ teacher.T if method == "direct, teacher" else rbf_kernel(X, gamma=rff.gamma)
    if method == "direct, centred":
        gram, learner = centred(gram), learner - learner.mean(axis=0)
    return fit_direct(gram, learner, N_COMPONENTS, units=units_of(paired)).selected, True


def units_of(paired: bool) -> NDArray[np.int64]:
    """Projection of each candidate."""
    return np.arange(N_CANDIDATES) // (2 if paired else 1)


def kernel_error(features: Array, kernel: Array) -> float:
    """Root mean square difference over all pairs of different rows."""
    difference = features @ features.T - kernel
    np.fill_diagonal(difference, 0.0)
    n_rows = len(kernel)
    return float(np.sqrt(np.square(difference).sum() / (n_rows * (n_rows - 1))))


def centred(kernel: Array) -> Array:
    """Kernel of features whose means over the rows are taken off."""
    means = kernel.mean(axis=0)
    return kernel - means - means[:, None] + means.mean()


def best_scale(features: Array, kernel: Array) -> float:
    """Factor of the features for which their inner products of different rows fit best."""
    gram, kernel = features @ features.T, kernel.copy()
    for square in (gram, kernel):
        np.fill_diagonal(square, 0.0)
    return float(np.sqrt(max((gram * kernel).sum() / np.square(gram).sum(), 0.0)))


def run(name: str, seed: int, *, paired: bool) -> dict[str, Any]:
    """Errors and seconds of all methods on one draw."""
    X = inputs_of(name, np.random.default_rng(seed))
    old, new = slice(0, len(X) // 2), slice(len(X) // 2, None)
    rff, teacher, learner = draw(X, len(X) // 2, seed, paired=paired)
    kernel, judged = (rbf_kernel(X[part], gamma=rff.gamma) for part in (old, new))
    weight = np.sqrt(2.0 / N_COMPONENTS)
    errors, scaled, middle, training, seconds, converged = {}, {}, {}, {}, {}, {}
    for method in METHODS:
        began = time.perf_counter()
        kept, converged[method] = chosen_columns(
            method, X[old], rff, learner[old], seed, paired=paired
        )
        seconds[method] = time.perf_counter() - began
        fitted, other = (weight * learner[part][:, kept] for part in (old, new))
        errors[method] = kernel_error(other, judged)
        scaled[method] = kernel_error(best_scale(fitted, kernel) * other, judged)
        middle[method] = kernel_error(other - other.mean(axis=0), centred(judged))
        training[method] = kernel_error(fitted, kernel)
    errors["all candidates"] = kernel_error(np.sqrt(2.0 / N_CANDIDATES) * learner[new], judged)
    errors["teacher"] = kernel_error(teacher[new], judged)
    starts = other_starts(kernel, learner[old], units_of(paired), seed)
    return {
        "data": name,
        "seed": seed,
        "paired": paired,
        "errors": errors,
        "errors at the best scale": scaled,
        "centred errors": middle,
        "training errors": training,
        "training errors of other starts": starts,
        "seconds": seconds,
        "converged": {method: converged[method] for method in ("cvem", "literal")},
    }


def other_starts(kernel: Array, learner: Array, units: NDArray[np.int64], seed: int) -> list[float]:
    """Training errors at which exchanges from random choices end, beside that of the usual end."""
    rng, found = np.random.default_rng(seed), []
    n_pairs = len(kernel) * (len(kernel) - 1)
    for _ in range(STARTS):
        drawn = rng.permutation(units.max() + 1)[: N_COMPONENTS * (units.max() + 1) // len(units)]
        start = np.flatnonzero(np.isin(units, drawn))
        result = fit_direct(kernel, learner, N_COMPONENTS, units=units, start=start)
        found.append(float(np.sqrt(result.errors[-1] / n_pairs)))
    return found


def errors_of(
    rows: list[dict[str, Any]], name: str, kind: str, *, paired: bool
) -> dict[str, Array]:
    """Errors of each method on a dataset, one entry a seed."""
    some = [row[kind] for row in rows if (row["data"], row["paired"]) == (name, paired)]
    return {method: np.array([errors[method] for errors in some]) for method in some[0]}


def cell(values: Array) -> str:
    """Mean and standard error, in thousandths."""
    error = values.std(ddof=1) / np.sqrt(len(values))
    return f"{1000 * values.mean():.1f} ± {1000 * error:.1f}"


def table(results: dict[str, Any]) -> str:
    """Markdown: errors of random choice and of the direct fit, and what the others are above it.

    Of cosines, with equal weights; differences are paired.
    """
    rows, others = results["rows"], [*SELECTORS, "direct, teacher"]
    lines = [["1,000 x kernel error", "random", LABELS["direct"]]]
    lines[0] += [f"{LABELS[method]} - direct" for method in others]
    for name in dict.fromkeys(row["data"] for row in rows):
        errors = errors_of(rows, name, "errors", paired=False)
        best = errors["direct"]
        cells = [cell(errors["random"]), cell(best), *(cell(errors[m] - best) for m in others)]
        lines.append([name, *cells])
    return markdown(lines)


def means(results: dict[str, Any]) -> str:
    """Markdown: errors of all methods, by all measures, averaged over datasets and seeds."""
    lines = [["1,000 x kernel error", *(LABELS[method] for method in METHODS)]]
    for paired, shown in SHOWN.items():
        rows = [row for row in results["rows"] if row["paired"] == paired]
        for kind, measure in MEASURES.items():
            found = [np.mean([row[kind][method] for row in rows]) for method in METHODS]
            lines.append([f"{shown}, {measure}", *(f"{1000 * value:.0f}" for value in found)])
    return markdown(lines)


def markdown(lines: list[list[str]]) -> str:
    """Return a table of a header and rows."""
    text = ["| " + " | ".join(cells) + " |" for cells in lines]
    return "\n".join([text[0], "|---" * len(lines[0]) + "|", *text[1:]])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--table", action="store_true", help="print the table of the results")
    parser.add_argument("--tiny", action="store_true", help="one draw of the bundled digits")
    arguments = parser.parse_args()
    if arguments.table:
        results = json.loads(RESULTS.read_text())
        print(table(results), means(results), sep="\n\n")
        return
    names = ["digits"] if arguments.tiny else [*DATA]
    made, rows = made_by("benchmarks/direct.py"), []
    for name in names:
        for seed in range(2 if arguments.tiny else SEEDS):
            rows += [plain(run(name, seed, paired=paired)) for paired in (False, True)]
            print(name, seed, rows[-2]["errors"], flush=True)
    results = {"versions": made, "rows": rows}
    if not arguments.tiny:
        write_json(RESULTS, results)
    print(table(results), means(results), sep="\n\n")


if __name__ == "__main__":
    main()

"""``cerf demo``: feature maps with a ridge head on scikit-learn's digits, beside RBFSampler."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np

WIDTHS = (64, 128, 256, 512, 1024)
TABLE_WIDTH = 256
KERNEL_WIDTHS = (0.1, 0.3, 1.0, 3.0)  # candidates for gamma, in units of the median heuristic


@dataclass(frozen=True)
class Row:
    """One method at one width, averaged over the seeds."""

    method: str
    n_components: int
    macs: int
    accuracy: float
    error: float  # standard error of the accuracy over the seeds
    microseconds: float  # per row, transform and head

    def line(self) -> str:
        """Format one line of the table."""
        return (
            f"{self.method:28} {self.n_components:>8} {self.macs:>9,} "
            f"{100 * self.accuracy:>8.2f} ± {100 * self.error:<5.2f} {self.microseconds:>10.2f}"
        )


HEADER = f"{'features + ridge':28} {'outputs':>8} {'MACs/row':>9} {'accuracy %':>16} {'us/row':>10}"


def _methods() -> dict[str, Callable[..., Any]]:
    from sklearn.kernel_approximation import RBFSampler

    from cerflearn import FastfoodFeatures, MaskedCERF, RandomFourierFeatures

    return {
        "RBFSampler (scikit-learn)": RBFSampler,
        "RandomFourierFeatures": RandomFourierFeatures,
        "FastfoodFeatures": FastfoodFeatures,
        "MaskedCERF, untrained": partial(MaskedCERF, selector="random"),
    }


def _splits(seeds: range) -> Iterator[tuple[int, Any, Any, Any, Any]]:
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    X, y = load_digits(return_X_y=True)
    X = (X / 16.0).astype(np.float32)
    for seed in seeds:
        yield (seed, *train_test_split(X, y, test_size=0.4, random_state=seed, stratify=y))


def _head() -> Any:
    from sklearn.linear_model import RidgeClassifierCV

    return RidgeClassifierCV(alphas=np.logspace(-4, 2, 7))


def _best_gamma(X: Any, y: Any, seed: int) -> float:
    """Kernel width by validation inside the training part, for RBFSampler; all methods share it."""
    from sklearn.kernel_approximation import RBFSampler
    from sklearn.model_selection import train_test_split

    from cerflearn import RandomFourierFeatures

    median = RandomFourierFeatures(gamma="median", n_components=1).fit(X).gamma_
    fit_X, check_X, fit_y, check_y = train_test_split(X, y, test_size=0.3, random_state=seed)

    def accuracy(factor: float) -> float:
        sampler = RBFSampler(gamma=factor * median, n_components=256, random_state=seed).fit(fit_X)
        head = _head().fit(sampler.transform(fit_X), fit_y)
        return float(head.score(sampler.transform(check_X), check_y))

    return max(KERNEL_WIDTHS, key=accuracy) * float(median)


def _time_per_row(predict: Callable[[Any], Any], X: Any, repeats: int = 7) -> float:
    """Best of several runs over a few thousand rows, in microseconds."""
    X = np.ascontiguousarray(np.vstack([X] * 6))
    best = np.inf
    for _ in range(repeats):
        start = time.perf_counter()
        predict(X)
        best = min(best, time.perf_counter() - start)
    return best / len(X) * 1e6


def _one_seed(make: Callable[..., Any], split: Any, gamma: float) -> tuple[float, float, int]:
    """Accuracy, microseconds a row and MACs of one method on one split."""
    from sklearn.pipeline import make_pipeline

    from cerflearn import cost

    seed, train_X, test_X, train_y, test_y = split
    model = make_pipeline(make(gamma=gamma, random_state=seed), _head()).fit(train_X, train_y)
    return model.score(test_X, test_y), _time_per_row(model.predict, test_X), cost(model).macs


def _linear_row(splits: list[Any]) -> Row:
    from cerflearn import cost

    heads = [_head().fit(split[1], split[3]) for split in splits]
    accuracies = [head.score(split[2], split[4]) for head, split in zip(heads, splits, strict=True)]
    spent = min(
        _time_per_row(head.predict, split[2]) for head, split in zip(heads, splits, strict=True)
    )
    width = splits[0][1].shape[1]
    return _row("linear model (no features)", width, cost(heads[0]).macs, accuracies, [spent])


def _row(method: str, width: int, macs: int, accuracies: list[float], spent: list[float]) -> Row:
    error = float(np.std(accuracies, ddof=1) / np.sqrt(len(accuracies)))
    return Row(method, width, macs, float(np.mean(accuracies)), error, min(spent))


def compare(n_seeds: int, progress: Callable[[str], None]) -> list[Row]:
    """Run every method at every width.

    Parameters
    ----------
    n_seeds : int
        Splits and draws to average over.
    progress : callable
        Called with a short text before each method and width.

    Returns
    -------
    list of Row
        The linear model first, then method by method with rising width.
    """
    splits = list(_splits(range(n_seeds)))
    progress("kernel width")
    gammas = [_best_gamma(split[1], split[3], split[0]) for split in splits]
    progress("linear model")
    rows = [_linear_row(splits)]
    for method, estimator in _methods().items():
        for width in WIDTHS:
            progress(f"{method}, {width} outputs")
            runs = [
                _one_seed(partial(estimator, n_components=width), split, g)
                for split, g in zip(splits, gammas, strict=True)
            ]
            accuracies, spent, macs = map(list, zip(*runs, strict=True))
            rows.append(_row(method, width, macs[0], accuracies, spent))
    return rows


def _verdict(rows: list[Row]) -> str:
    """Our cheapest row that is as accurate as RBFSampler, to one standard error."""
    rival = next(r for r in rows if r.method.startswith("RBF") and r.n_components == TABLE_WIDTH)
    equal = [
        row
        for row in rows
        if not row.method.startswith(("RBF", "linear"))
        and row.accuracy >= rival.accuracy - rival.error
    ]
    if not equal:
        return "None of our maps reaches RBFSampler's accuracy here."
    ours = min(equal, key=lambda row: row.macs)
    return (
        f"{ours.method} with {ours.n_components} outputs is as accurate as RBFSampler with "
        f"{rival.n_components} ({100 * ours.accuracy:.1f} and {100 * rival.accuracy:.1f} %), with "
        f"{rival.macs / ours.macs:.1f} times fewer MACs, "
        f"{rival.microseconds / ours.microseconds:.1f} times as fast."
    )


def _draw(rows: list[Row], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(10, 4), sharey=True, layout="constrained")
    for axis, what, label in (
        (axes[0], "macs", "multiply-accumulates per prediction"),
        (axes[1], "microseconds", "microseconds per prediction, one thread"),
    ):
        for method in dict.fromkeys(row.method for row in rows):
            line = [row for row in rows if row.method == method]
            axis.errorbar(
                [getattr(row, what) for row in line],
                [100 * row.accuracy for row in line],
                [100 * row.error for row in line],
                marker="o" if len(line) > 1 else "*",
                markersize=5 if len(line) > 1 else 10,
                capsize=2,
                label=method,
            )
        axis.set_xscale("log")
        axis.set_xlabel(label)
        axis.grid(alpha=0.3, which="both")
    axes[0].set_ylabel("test accuracy, %")
    axes[0].legend(fontsize=8, loc="lower right")
    figure.suptitle("scikit-learn's digits, random features + ridge (mean and standard error)")
    figure.savefig(path, dpi=120)
    plt.close(figure)


def _write_picture(rows: list[Row], path: Path) -> str:
    """Draw if matplotlib is there; say what happened in one line."""
    try:
        _draw(rows, path)
    except ImportError:
        return "No picture: matplotlib is missing (pip install 'cerflearn[report]')."
    except OSError as error:
        return f"No picture: {path} cannot be written ({error.strerror})."
    return f"Picture: {path.resolve()}"


@click.command(name="demo")
@click.option(
    "--seeds",
    default=5,
    show_default=True,
    type=click.IntRange(2, 100),
    help="Splits and draws to average over.",
)
@click.option(
    "--picture",
    default="cerf-demo.png",
    show_default=True,
    type=click.Path(path_type=Path),
    help="Where to write the picture.",
)
def command(seeds: int, picture: Path) -> None:
    r"""Compare RBFSampler with cerflearn's maps on scikit-learn's digits.

    Each map is followed by a ridge classifier; the kernel width is chosen for RBFSampler on a
    part of the training data and used for all. MACs count the map and the head.

    \b
    Examples:
      cerf demo
      cerf demo --seeds 10 --picture digits.png
    """
    from threadpoolctl import threadpool_limits

    n_steps = 2 + len(_methods()) * len(WIDTHS)
    with click.progressbar(length=n_steps, label="comparing", show_pos=True) as bar:

        def progress(text: str) -> None:
            bar.label = f"{text:42}"
            bar.update(1)

        with threadpool_limits(1):
            rows = compare(seeds, progress)
    click.echo(f"\nDigits, 64 inputs, 10 classes, one thread, mean of {seeds} splits\n")
    click.echo(HEADER)
    for row in rows:
        if row.n_components == TABLE_WIDTH or row.method.startswith("linear"):
            click.echo(row.line())
    click.echo(f"\n{_verdict(rows)}\n{_write_picture(rows, picture)}")

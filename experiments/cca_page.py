"""Page of kernel CCA: correlations and retrieval of each pair of views, cost, what they say."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.markdown import bullets, table
from experiments.verdicts import is_above, mean, paired

Results = dict[str, Any]
Config = dict[str, Any]

LINEAR = "linear"
MEANING = {
    LINEAR: "linear CCA: the same estimator on the inputs themselves (`FunctionTransformer`)",
    "rff": "`RandomFourierFeatures`: dense, cosine and sine of each projection",
    "default": "`MaskedFourierFeatures`: sparse masks, cosine and sine of each projection",
    "untrained bbp": "cosines of the paper's setting as drawn: masks of a Beta-Bernoulli process",
    "cerf bbp": "`MaskedCERF.paper_setting()`, chosen by CVEM with the exact M-step; alpha and "
    "width as for those it is chosen from",
}
MEASURES = {"correlation": "sum of correlations", "retrieval": "retrieval, %"}


def values(results: Results, pair: str, method: str, key: str) -> NDArray[np.float64]:
    """Value of each split."""
    runs = results[pair]
    return np.array([runs[seed][method][key] for seed in sorted(runs, key=int)], dtype=float)


def over_pairs(results: Results, method: str, key: str) -> NDArray[np.float64]:
    """Value of each split, averaged over the pairs of views."""
    return np.mean([values(results, pair, method, key) for pair in results], axis=0)


def summary(results: Results, config: Config) -> list[str]:
    """Return means over the pairs of views, and in how many pairs each method is above linear."""
    header = ["method", "sum of correlations", "minus linear", "retrieval, %", "minus linear"]
    rows = []
    for method in config["methods"]:
        row = [method]
        for key in MEASURES:
            found = over_pairs(results, method, key)
            row.append(_shown(mean(found), key))
            less = paired(found, over_pairs(results, LINEAR, key))
            row.append("" if method == LINEAR else _shown(less, key))
        costs = [over_pairs(results, method, key).mean() for key in ("macs", "seconds")]
        rows.append([*row, f"{costs[0]:,.0f}", f"{costs[1]:.2f}"])
    text = (
        f"Test correlations of {config['n_pairs']} canonical pairs, summed, and how often the "
        f"nearest of {config['n_test']} test samples in the other view is the same sample; means "
        f"over {len(results)} pairs of views, ± standard error over {config['seeds']} splits, "
        "differences paired. MACs are those of the variates of both views."
    )
    lines = [_count_line(results, name) for name in config["methods"] if name != LINEAR]
    lines.append(_learned_line(results))
    header += ["MACs", "seconds to fit and test"]
    return [text, table(header, rows), bullets(lines)]


def _count_line(results: Results, method: str) -> str:
    """Count the pairs of views in which a method is above linear CCA."""
    counts, below = [], []
    for key in MEASURES:
        gains = {
            pair: paired(values(results, pair, method, key), values(results, pair, LINEAR, key))
            for pair in results
        }
        clear = sum(is_above(gain, errors=-1) for gain in gains.values())
        counts.append((sum(is_above(gain) for gain in gains.values()), clear))
        below.append([pair for pair, gain in gains.items() if not is_above(gain)])
    named = f"; below by the correlations: {'; '.join(below[0])}" if below[0] else ""
    return (
        f"{method} is above linear CCA in {counts[0][0]} of {len(results)} pairs of views by the "
        f"correlations ({counts[0][1]} by more than a standard error), in {counts[1][0]} by "
        f"retrieval ({counts[1][1]}){named}."
    )


def _learned_line(results: Results) -> str:
    """Return what choosing masks changes."""
    gains = [
        _shown(paired(*(over_pairs(results, m, key) for m in ("cerf bbp", "untrained bbp"))), key)
        for key in MEASURES
    ]
    return (
        f"Chosen masks (cerf bbp) minus those as drawn (untrained bbp): {gains[0]} in the sum of "
        f"correlations, {gains[1]} in retrieval."
    )


def section(results: Results, config: Config) -> str:
    """Return everything in the order in which it is read."""
    parts = [_protocol(config)]
    for key, title in MEASURES.items():
        parts += [f"## {title[0].upper()}{title[1:]}", _pairs(results, config, key)]
    return "\n\n".join([*parts, "## Cost and settings", _costs(results, config)])


def _protocol(config: Config) -> str:
    grids = [", ".join(f"{value:g}" for value in config[key]) for key in ("alphas", "widths")]
    meaning = bullets(f"**{name}**: {MEANING[name]}" for name in config["methods"])
    return (
        "The paper names kernel CCA among the uses of random features (section 1) and has no "
        "experiment with it. Data: five views of 2,000 handwritten digits (UCI, multiple "
        f"features), rows in the same order. {config['seeds']} splits: {config['n_test']} test "
        f"rows, {config['n_held']} rows on which alpha (of {grids[0]}) and, for kernels, the width "
        f"(of {grids[1]} times one over the median squared distance) are chosen by the sum of "
        "correlations; then fitted on all rows that are not test rows. Inputs are standardised. "
        f"{config['n_pairs']} canonical pairs, maps of {config['n_outputs']} columns. Retrieval: "
        "the nearest sample of the other view by the angle between the variates, averaged over "
        f"both directions; chance is {100.0 / config['n_test']:.2g} %.\n\n{meaning}"
    )


def _shown(found: Any, key: str) -> str:
    return str(found) if key == "retrieval" else f"{found.value:.2f} ± {found.error:.2f}"


def _pairs(results: Results, config: Config, key: str) -> str:
    others = [name for name in config["methods"] if name != LINEAR]
    rows = []
    for pair in results:
        found = {name: values(results, pair, name, key) for name in config["methods"]}
        cells = [_shown(mean(found[name]), key) for name in config["methods"]]
        gains = [_shown(paired(found[name], found[LINEAR]), key) for name in others]
        rows.append([pair, *cells, *gains])
    header = ["views", *config["methods"], *(f"{name} minus linear" for name in others)]
    return table(header, rows)


def _costs(results: Results, config: Config) -> str:
    rows = []
    for method in config["methods"]:
        costs = [
            over_pairs(results, method, key).mean() for key in ("macs", "microseconds", "seconds")
        ]
        chosen = []
        for key in ("alpha", "width"):
            found = np.concatenate([values(results, pair, method, key) for pair in results])
            counts = {f"{value:g}": int((found == value).sum()) for value in np.unique(found)}
            chosen.append(", ".join(f"{value}: {n}" for value, n in counts.items()))
        if method == LINEAR:
            chosen[1] = ""
        rows.append([method, f"{costs[0]:,.0f}", f"{costs[1]:.2f}", f"{costs[2]:.2f}", *chosen])
    header = ["method", "MACs, both views", "microseconds a row of the first view"]
    header += ["seconds to fit and test", "alpha: times chosen", "width: times chosen"]
    return table(header, rows)

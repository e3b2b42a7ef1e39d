"""Page of Table 4: the paper's errors beside ours, all methods, costs, a picture."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from experiments import paper
from experiments.markdown import bullets, table
from experiments.pictures import COLOURS, new_figure, save, spread
from experiments.verdicts import Mean, mean, paired, verdict

Results = dict[str, Any]
Config = dict[str, Any]

TOLERANCE = 1.0  # points of error that count as the same
PICTURE = "table4.svg"
RIVALS = ("RKS", "MKL", "AlaC", "BaNK")
OURS = ("cerf", "untrained", "default", "greedy", "classifier")
MEANING = {
    "RKS": "random kitchen sinks",
    "MKL": "multiple kernel learning",
    "AlaC": "à la carte, learned Fastfood mixture",
    "BaNK": "Bayesian nonparametric kernel",
    "cerf": "CERF: 768 candidates with masks of density .4, of which CVEM keeps .4",
    "untrained": "768 masked cosines of density .4 as drawn",
    "default": "`MaskedFourierFeatures(n_components=768)`: sparse masks, cosine and sine",
    "greedy": "768 candidates of the default, of which greedy pursuit keeps .4",
    "classifier": "`CERFClassifier`",
    "rff": "768 dense cosines",
    "orthogonal": "768 dense cosines, orthogonal frequencies",
    "nystroem": "Nyström, at the MACs of 768 dense cosines",
    "svm": "RBF support vector machine, exact kernel",
    "linear": "logistic regression on the inputs",
    "mlp": "ReLU perceptron at the MACs of CERFClassifier",
}
SHOWN = (*RIVALS, "cerf", "untrained", "default", "classifier", "rff", "linear", "mlp")
"""Methods among the answers."""
OTHERS = tuple(name for name in MEANING if name not in OURS)


def errors(results: Results, data: str, method: str) -> list[float]:
    """Mean error of each repetition of five folds."""
    repeats = results.get(data, {}).get(method, {})
    return [float(np.mean(repeats[key]["errors"])) for key in sorted(repeats, key=int)]


def cost_of(results: Results, data: str, method: str, name: str) -> float:
    """Mean of a number over all folds."""
    repeats = results[data][method].values()
    return float(np.mean([*chain.from_iterable(np.atleast_1d(r[name]) for r in repeats)]))


def difference(results: Results, data: str, method: str, other: str) -> Mean:
    """Error of a method minus that of another, over the repetitions that both have."""
    pair = [errors(results, data, name) for name in (method, other)]
    count = min(len(values) for values in pair)
    return paired(pair[0][:count], pair[1][:count])


def measured(results: Results, data: str, names: tuple[str, ...]) -> list[str]:
    """Those of the methods that are there."""
    return [name for name in names if results.get(data, {}).get(name)]


def best(results: Results, data: str, names: tuple[str, ...]) -> str:
    """Return the method with the least mean error."""
    return min(
        measured(results, data, names), key=lambda name: mean(errors(results, data, name)).value
    )


def printed(data: str) -> dict[str, float]:
    """Errors of the paper, none for data of ours."""
    return paper.numbers("table4").get(data, {})


def section(results: Results, config: Config, folder: Path) -> str:
    """Return protocol, two tables for each dataset, the picture."""
    _draw(results, config, folder / PICTURE)
    parts = [_protocol(config)]
    for data in config["datasets"]:
        parts += [f"## {data}", _table(results, data), _differences(results, data)]
    caption = (
        "Error against MACs of one prediction; bars are standard errors, lines the paper's CERF"
    )
    return "\n\n".join([*parts, f"![{caption}]({PICTURE})"])


def summary(results: Results, config: Config) -> list[str]:
    """Return errors beside the paper's, and a sentence a dataset on the best methods."""
    lines = [*_best_lines(results, config), *_trained_lines(results, config)]
    return [_beside_the_paper(results, config), bullets(lines)]


def _beside_the_paper(results: Results, config: Config) -> str:
    """Test errors and MACs of the methods that the paper has, and of the main others."""
    datasets = config["datasets"]
    rows = []
    for name in SHOWN:
        if not all(measured(results, data, (name,)) for data in datasets):
            continue
        row = [name]
        for data in datasets:
            theirs = printed(data).get({"cerf": "CERF"}.get(name, name))
            row.append("" if theirs is None else f"{theirs:g}")
            row.append(str(mean(errors(results, data, name))))
            row.append(f"{cost_of(results, data, name, 'macs'):,.0f}")
        rows.append(row)
    header = ["test error, %"]
    for data in datasets:
        header += [f"{data}: paper", "ours", "MACs"]
    return table(header, rows)


def _best_lines(results: Results, config: Config) -> list[str]:
    lines = []
    for data in config["datasets"]:
        rival, least, other = (best(results, data, names) for names in (RIVALS, OURS, OTHERS))
        lines.append(
            f"{data}: best of ours {_with_cost(results, data, least)}, best rival of the paper's "
            f"{_with_cost(results, data, rival)}, best of all others "
            f"{_with_cost(results, data, other)}; {least} minus {other}, over the "
            f"repetitions that both have: {difference(results, data, least, other)}."
        )
    return lines


def relation(gain: Mean) -> str:
    """Return what a difference of errors says; within two standard errors it is a tie."""
    if abs(gain.value) <= 2.0 * gain.error:
        return "tie with"
    return "are better than" if gain.value < 0.0 else "are worse than"


def _trained_lines(results: Results, config: Config) -> list[str]:
    """Say whether trained masks differ from untrained ones, of which they are chosen."""
    lines = []
    for data in config["datasets"]:
        gain = difference(results, data, "cerf", "untrained")
        ratio = cost_of(results, data, "cerf", "macs") / cost_of(results, data, "untrained", "macs")
        lines.append(
            f"{data}: trained masks {relation(gain)} untrained ones (error {gain.value:+.2f} ± "
            f"{gain.error:.2f}; within two standard errors is a tie), at {ratio:.2f} of the MACs."
        )
    return lines


def _with_cost(results: Results, data: str, name: str) -> str:
    macs = cost_of(results, data, name, "macs")
    return f"{name} {mean(errors(results, data, name))} ({macs:,.0f} MACs)"


def _protocol(config: Config) -> str:
    few = {name: n for name, n in config["repeats_of"].items() if name in config["methods"]}
    fewer = "".join(f"; {name}: {n}" for name, n in few.items())
    return (
        f"Test error in per cent, {config['repeats']} times five folds (means of five folds, ± "
        f"their standard error over the repetitions, which share the rows{fewer}). All methods "
        "have the same folds; inputs are standardised on the training part, and settings chosen "
        f"inside it: gamma and C of a map with logistic regression by {config['inner_folds']}-fold "
        "cross-validated log loss, transferred to the maps that are chosen from candidates of its "
        "kind; rivals and CERFClassifier choose their own. MACs are those of a whole prediction, "
        f"scores included. The paper: {paper.numbers('table4')['source']}; it does not say how its "
        "rivals were tuned, and prints errors for them above that of logistic regression on the "
        "inputs. CVEM's M-step is the exact one: the paper's ADMM takes a minute a fit here. "
        f"Within {TOLERANCE:g} point, or a standard error, counts as reproduced."
    )


def _table(results: Results, data: str) -> str:
    names = measured(results, data, tuple(MEANING))
    rival = best(results, data, RIVALS)
    rows = []
    for name in names:
        found = mean(errors(results, data, name))
        theirs = printed(data).get({"cerf": "CERF"}.get(name, name))
        judged = verdict(found.value, found.error, theirs, better="lower", tolerance=TOLERANCE)
        less = "" if name == rival else str(difference(results, data, name, rival))
        costs = [cost_of(results, data, name, key) for key in ("macs", "microseconds")]
        rows.append(
            [
                name,
                MEANING[name],
                str(found),
                "" if theirs is None else f"{theirs:g}",
                "" if theirs is None else judged,
                less,
                f"{costs[0]:,.0f}",
                f"{costs[1]:.1f}",
                f"{cost_of(results, data, name, 'fit_seconds'):.2f}",
            ]
        )
    header = ["method", "what", "error", "paper", "against the paper", f"minus {rival}", "MACs"]
    return table([*header, "microseconds a row", "seconds to fit"], rows)


def _differences(results: Results, data: str) -> str:
    """Our methods minus the paper's CERF, the best of its rivals, and the best of all others."""
    others = (best(results, data, RIVALS), best(results, data, OTHERS))
    theirs = printed(data).get("CERF")
    rows = []
    for name in measured(results, data, OURS):
        found = errors(results, data, name)
        row = [name, "" if theirs is None else str(mean(np.array(found) - theirs))]
        for other in others:
            ratio = cost_of(results, data, other, "macs") / cost_of(results, data, name, "macs")
            row += [str(difference(results, data, name, other)), f"{ratio:.2g}"]
        rows.append(row)
    header = ["error of ours minus", "the paper's CERF"]
    for other, words in zip(others, ("best of the paper's rivals", "best of others"), strict=True):
        header += [f"{other}, {words}", "its MACs / ours"]
    return table(header, rows)


def _draw(results: Results, config: Config, path: Path) -> None:
    figure, axes = new_figure(1, len(config["datasets"]), width=5.4, height=4.0)
    for axis, data in zip(axes.ravel(), config["datasets"], strict=True):
        axis.set_xscale("log")
        axis.margins(y=0.1)
        if printed(data):
            axis.axhline(printed(data)["CERF"], color=COLOURS["paper's CERF"], linewidth=1.2)
        _draw_panel(axis, results, data)
        axis.set_title(data)
        axis.set_xlabel("MACs of one prediction")
        axis.set_ylabel("test error, %")
        axis.grid(alpha=0.3)
    save(figure, path)


def _draw_panel(axis: Any, results: Results, data: str) -> None:
    """One point a method, with its name at the right."""
    names = measured(results, data, tuple(MEANING))
    found = {name: mean(errors(results, data, name)) for name in names}
    macs = [cost_of(results, data, name, "macs") for name in names]
    for name, x in zip(names, macs, strict=True):
        ours, colour = name in OURS, COLOURS.get(name, "#555555")
        axis.errorbar(
            x,
            found[name].value,
            None if found[name].count == 1 else found[name].error,
            marker="o" if ours else "s",
            markersize=6 if ours else 4,
            color=colour,
            capsize=2,
        )
    _label(axis, dict(zip(names, macs, strict=True)), {n: found[n].value for n in names})


def _label(axis: Any, macs: dict[str, float], values: dict[str, float]) -> None:
    """Write the names at the right, apart from each other, with a line to each point."""
    low, high = axis.get_ylim()
    least = 0.058 * (high - low)
    bounds = (low + least / 2.0, high - least / 2.0)
    places = spread([*values.values()], least=least, bounds=bounds)
    for (name, value), place in zip(values.items(), places, strict=True):
        colour = COLOURS.get(name, "#555555")
        axis.annotate(
            name,
            xy=(macs[name], value),
            xytext=(4.0 * max(macs.values()), place),
            color=colour,
            fontsize=8,
            va="center",
            arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.4},
        )
    axis.set_xlim(0.5 * min(macs.values()), 60.0 * max(macs.values()))
    axis.set_ylim(low, high)

"""Page of Table 3 with the wide grid: what was chosen, and the maps beside the short grid."""

from __future__ import annotations

from experiments.markdown import bullets, table
from experiments.table3_results import HEADS, Config, Results, cells, judged_cells, over_cells
from experiments.table3_summary import edges_line
from experiments.table3_variants_page import (
    MASK_GAINS,
    MASKS,
    gain_line,
    gains_table,
    name_of,
)
from experiments.verdicts import paired


def summary(results: Results, config: Config, beside: Results | None = None) -> list[str]:
    """Return the maps with the wide grid, and the counts over the cells."""
    judged = judged_cells(config)
    maps = [name for name in MASKS if name in config["maps"]]
    gains = [pair for pair in MASK_GAINS if {*pair} <= {*maps}]
    parts = [_protocol(config), gains_table(results, config, maps, gains)]
    if beside is not None:
        parts.append(_beside(results, beside, config))
    lines = [edges_line(results, config), *(gain_line(results, judged, *pair) for pair in gains)]
    return [*parts, bullets(lines)]


def _protocol(config: Config) -> str:
    widths, values = (", ".join(f"{v:g}" for v in config[key]) for key in ("widths", "C"))
    once = [name for name, entry in config["datasets"].items() if entry.get("choose_once")]
    names = ", ".join(once)
    note = (
        f" For {names} the choice is made on the training rows of seed 0, for all seeds."
        if once
        else ""
    )
    return (
        f"Kernel width of {widths} times one over the median squared distance, the paper's grid, "
        f"and C of {values}, by 5-fold cross-validation of RFF.{note} C above 1 is not tried at "
        f"widths that are more than {config['give_up']:g} points below the best, and C above the "
        "largest not at all (on RAW LIBSVM takes about 40 times as long at C = 100 as at 1). "
        "Accuracy in per cent with the linear SVM at equal MACs, averaged over the MAC counts of a "
        "dataset."
    )


def _beside(results: Results, beside: Results, config: Config) -> str:
    """Differences of CERF and RFF with the wide grid and the short one."""
    pairs = [("cerf", "rff"), ("cerf bbp", "rff")]
    rows = []
    for dataset in config["datasets"]:
        some = [cell for cell in cells(dataset, config) if cell.judged]
        row = [dataset]
        for ours, other in pairs:
            for found in (beside, results):
                values = [over_cells(found, some, method) for method in (ours, other)]
                row.append(str(paired(*values)))
        rows.append(row)
    header = ["data"]
    for ours, other in pairs:
        name = f"{name_of(ours)} - {name_of(other)}"
        header += [f"{name}: short grid", "wide grid"]
    return table(header, rows)


def section(results: Results, config: Config) -> str:
    """Return settings and all cells."""
    parts = [_protocol(config), "## Settings", edges_line(results, config)]
    parts += [_settings(results, config), "## All cells", _all_cells(results, config)]
    return "\n\n".join(parts)


def _settings(results: Results, config: Config) -> str:
    """Width and C of each choice, and the cross-validated accuracy of the best C of each width."""
    rows = []
    for dataset, chosen in results["choice"].items():
        for seed in sorted(chosen, key=int):
            record = chosen[seed]
            best = [max(v for v in row if v is not None) for row in record["accuracy"]]
            row = [dataset, seed, f"{record['width']:g}", f"{record['C']:g}"]
            rows.append([*row, *(f"{value:.1f}" for value in best)])
    header = ["data", "seed", "width", "C", *(f"accuracy at {w:g}" for w in config["widths"])]
    return table(header, rows)


def _all_cells(results: Results, config: Config) -> str:
    rows = []
    for cell in judged_cells(config):
        values = [
            " / ".join(f"{cell.mean(results, method, head).value:.1f}" for head in HEADS)
            for method in config["maps"]
        ]
        rows.append([cell.dataset, cell.label, *values])
    names = [name_of(method) for method in config["maps"]]
    return table(["data; SVM / ridge", "MACs", *names], rows)

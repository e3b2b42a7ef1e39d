"""Page of Table 4 with two heads and two laws of masks."""

from __future__ import annotations

from experiments.markdown import bullets, table
from experiments.table4_page import (
    TOLERANCE,
    Config,
    Results,
    cost_of,
    difference,
    errors,
    printed,
    relation,
)
from experiments.verdicts import Mean, mean, verdict

HEADS = {"": "logistic regression", " svm": "linear SVM"}
MAPS = {
    "rff": "768 dense cosines",
    "untrained": "768 masked cosines of density .4, each of as many inputs, as drawn",
    "cerf": "768 candidates of that kind, of which CVEM keeps .4",
    "untrained bbp": "768 masked cosines of density .4 by a Beta-Bernoulli process, as drawn",
    "cerf bbp": "768 candidates of that kind, of which CVEM keeps .4",
}
GAINS = (("cerf", "untrained"), ("cerf bbp", "untrained bbp"), ("cerf", "rff"), ("cerf bbp", "rff"))


def summary(results: Results, config: Config) -> list[str]:
    """Return errors with both heads, and the differences that matter."""
    text = (
        f"Test error in per cent, {config['repeats']} times five folds, ± standard error; the "
        "paper has a kernel SVM on 768 features. Settings of the SVM are chosen by its error, of "
        "logistic regression by its log loss, both by cross-validation inside the training part. "
        "A difference within two standard errors is called a tie."
    )
    lines = [_paper_line(results, data) for data in config["datasets"] if printed(data)]
    lines += [_line(results, data, head) for data in config["datasets"] for head in HEADS]
    return [text, _table(results, config), bullets(lines)]


def section(results: Results, config: Config) -> str:
    """Return what the maps are, errors, and all differences."""
    parts = [
        "The protocol of [Table 4](table4.md), its folds and its grids of settings. "
        f"{config['repeats']} repetitions. The SVM is LIBSVM's, linear in the features, whose "
        "total variance is 1.",
        bullets(f"**{name}**: {words}" for name, words in MAPS.items()),
        _table(results, config),
        "## Paired differences of errors",
        _differences(results, config),
    ]
    return "\n\n".join(parts)


def _table(results: Results, config: Config) -> str:
    header = ["test error, %"]
    for data in config["datasets"]:
        header += [f"{data}: {words}" for words in HEADS.values()] + ["MACs"]
    rows = []
    for name in MAPS:
        row = [name]
        for data in config["datasets"]:
            row += [str(mean(errors(results, data, name + head))) for head in HEADS]
            row.append(f"{cost_of(results, data, name, 'macs'):,.0f}")
        rows.append(row)
    theirs = ["the paper's CERF"]
    for data in config["datasets"]:
        value = printed(data).get("CERF")
        theirs += ["", "" if value is None else f"{value:g}", ""]
    return table(header, [*rows, theirs])


def _differences(results: Results, config: Config) -> str:
    rows = []
    for data in config["datasets"]:
        for head, words in HEADS.items():
            gains = [difference(results, data, a + head, b + head) for a, b in GAINS]
            rows.append([data, words, *map(_two, gains)])
    return table(["data", "head", *(f"{a} minus {b}" for a, b in GAINS)], rows)


def _two(found: Mean) -> str:
    return f"{found.value:+.2f} ± {found.error:.2f}"


def _paper_line(results: Results, data: str) -> str:
    """Compare the paper's CERF with its own head and masks."""
    found = mean(errors(results, data, "cerf bbp svm"))
    theirs = printed(data)["CERF"]
    judged = verdict(found.value, found.error, theirs, better="lower", tolerance=TOLERANCE)
    return (
        f"{data}: with the SVM and Beta-Bernoulli masks, as in the paper, the error of CERF is "
        f"{found}, the paper's {theirs:g}: {judged}."
    )


def _line(results: Results, data: str, head: str) -> str:
    """Say whether trained masks, untrained ones and dense features differ."""
    words = {
        "cerf": "trained masks",
        "cerf bbp": "trained Beta-Bernoulli masks",
        "untrained": "untrained ones",
        "untrained bbp": "untrained ones",
        "rff": "dense features",
    }
    parts = []
    for ours, other in GAINS:
        gain = difference(results, data, ours + head, other + head)
        parts.append(f"{words[ours]} {relation(gain)} {words[other]} ({_two(gain)})")
    return f"{data}, {HEADS[head]}: {'; '.join(parts)}."

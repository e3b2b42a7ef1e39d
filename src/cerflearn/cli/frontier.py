"""``cerf frontier``: the comparison on a table of one's own."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cerflearn.cli._help import examples

if TYPE_CHECKING:
    from cerflearn.comparison.table import Frontier

METHOD_NAMES = (
    "linear", "mlp", "pruned_mlp", "rff", "fastfood", "nystroem",
    "masked", "cvem", "blocked", "trees", "refined", "cerf",
)  # fmt: skip
"""As in :data:`cerflearn.comparison.methods.METHODS`, without importing it for ``--help``."""

_LARGEST_BUDGET = 10**12


class BudgetList(click.ParamType):  # type: ignore[type-arg]
    """Positive integers with commas between them."""

    name = "INT,INT,..."

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Read ``"500,1000"`` as [500, 1000]."""
        if isinstance(value, list):
            return value
        try:
            budgets = [int(part.replace("_", "")) for part in value.split(",")]
        except ValueError:
            budgets = []
        if not budgets or min(budgets) < 1:
            self.fail(
                f"{value!r} is no list of positive integers such as 500,1000,2000.", param, ctx
            )
        if max(budgets) > _LARGEST_BUDGET:
            self.fail(f"{value!r} has a budget of more than {_LARGEST_BUDGET:,} MACs.", param, ctx)
        return budgets


class MethodList(click.ParamType):  # type: ignore[type-arg]
    """Names of methods with commas between them."""

    name = "NAME,NAME,..."

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Read ``"linear, cerf"`` as ["linear", "cerf"]."""
        if isinstance(value, list):
            return value
        names = [name.strip() for name in value.split(",")]
        for name in names:
            if name not in METHOD_NAMES:
                known = ", ".join(METHOD_NAMES)
                self.fail(f"{name!r} is no method; the methods are {known}.", param, ctx)
        return names


def rows_as_json(found: Frontier) -> str:
    """Rows as a JSON list; NaN, the standard error of one seed, becomes null."""

    def plain(value: Any) -> Any:
        return None if isinstance(value, float) and not math.isfinite(value) else value

    rows = [{name: plain(value) for name, value in row.items()} for row in found.rows]
    return json.dumps(rows, indent=1, allow_nan=False) + "\n"


@click.command(
    name="frontier",
    epilog=examples(
        "cerf frontier data.csv --target label --macs 500,1000,2000",
        "cerf frontier data.csv --target price --macs 200 --methods linear,mlp,cerf",
        "cerf frontier data.csv --target label --macs 500 --picture a.png --output a.json",
    ),
)
@click.argument(
    "path",
    metavar="DATA.CSV",
    type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path),
)
@click.option("--target", required=True, help="Name of the column to predict.")
@click.option(
    "--macs",
    required=True,
    type=BudgetList(),
    help="Budgets: most multiply-accumulates of a prediction.",
)
@click.option(
    "--methods",
    default=None,
    type=MethodList(),
    help=f"Some of {', '.join(METHOD_NAMES)}.  [default: all]",
)
@click.option(
    "--task",
    default="auto",
    show_default=True,
    type=click.Choice(["auto", "classification", "regression"]),
    help="What the target is.",
)
@click.option(
    "--test-size",
    default=0.25,
    show_default=True,
    type=click.FloatRange(0.0, 1.0, min_open=True, max_open=True),
    help="Share of the rows to test on.",
)
@click.option(
    "--seeds",
    default=1,
    show_default=True,
    type=click.IntRange(1, 100),
    help="Random splits to average over.",
)
@click.option(
    "--picture",
    default=None,
    type=click.Path(path_type=Path),
    help="Where to write a picture (.png, .pdf, .svg).",
)
@click.option(
    "--output",
    default=None,
    type=click.Path(path_type=Path),
    help="Where to write all rows as JSON; - is the standard output, without the table.",
)
def command(
    path: Path,
    target: str,
    macs: list[int],
    methods: list[str] | None,
    task: str,
    test_size: float,
    seeds: int,
    picture: Path | None,
    output: Path | None,
) -> None:
    """Compare methods on a CSV file at equal MACs: accuracy, MACs, time.

    The file (- for the standard input) is UTF-8 text with commas and a header; all columns but
    the target are numbers. A target of words or whole numbers is classified, other numbers are
    predicted by regression.
    """
    from cerflearn.cli._csv import read_csv
    from cerflearn.cli._files import check_writable, write_file
    from cerflearn.cli._messages import in_options, printable
    from cerflearn.cli._picture import check_picture, write_picture

    to_stdout = str(output) == "-"
    if output is not None and not to_stdout:
        check_writable(output, "--output", path)
    if picture is not None:
        check_picture(picture, path, output)
    X, y = read_csv(path, target, task)

    from cerflearn import frontier

    try:
        found = frontier(
            X, y, macs, methods, test_size=test_size, task=task, n_seeds=seeds, verbose=True
        )
    except ValueError as error:
        raise click.ClickException(in_options(str(error), target)) from error
    name = "standard input" if str(path) == "-" else printable(path.name)
    if to_stdout:
        click.echo(rows_as_json(found), nl=False)
    else:
        click.echo(f"\n{name}: {found}")
    if output is not None and not to_stdout:
        write_file(output, rows_as_json(found).encode())
        click.echo(f"Rows: {output.resolve()}")
    if picture is not None:
        write_picture(found, picture, f"{name}: {printable(target)}", err=to_stdout)

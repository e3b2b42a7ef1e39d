"""``cerf frontier``: the comparison on a table of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click


class Budgets(click.ParamType):  # type: ignore[type-arg]
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
        return budgets


def read_csv(path: Path, target: str) -> tuple[Any, Any]:
    """Read inputs (n_samples, n_features) and the target column of a file with a header.

    Parameters
    ----------
    path : Path
        CSV file; all columns but the target must be numbers.
    target : str
        Name of the column to predict.
    """
    import csv

    import numpy as np

    with path.open(newline="", encoding="utf-8-sig") as file:
        table = [row for row in csv.reader(file) if row]
    if len(table) < 2:
        raise click.ClickException(f"{path} has no rows below a header.")
    header, rows = table[0], table[1:]
    if target not in header:
        raise click.ClickException(
            f"{path} has no column {target!r}; its columns are {', '.join(header)}."
        )
    for number, row in enumerate(rows, start=2):
        if len(row) != len(header):
            raise click.ClickException(
                f"Line {number} of {path} has {len(row)} values, the header {len(header)}."
            )
    place = header.index(target)
    columns = [_numbers([row[i] for row in rows]) for i in range(len(header))]
    words = [name for i, name in enumerate(header) if i != place and columns[i] is None]
    if words:
        raise click.ClickException(
            f"These columns of {path} are not all numbers: {', '.join(words)}. "
            "Encode or drop them, and fill in missing values."
        )
    if len(header) < 2:
        raise click.ClickException(f"{path} has no column beside {target!r}.")
    y = columns[place]
    inputs = np.column_stack([column for i, column in enumerate(columns) if i != place])
    return inputs, np.array([row[place] for row in rows]) if y is None else y


def _numbers(values: list[str]) -> Any:
    """Column of finite numbers, or None if some value is none."""
    import numpy as np

    try:
        column = np.array([float(value) for value in values])
    except ValueError:
        return None
    return column if np.isfinite(column).all() else None


@click.command(name="frontier")
@click.argument(
    "path", metavar="DATA.CSV", type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
@click.option("--target", required=True, help="Name of the column to predict.")
@click.option("--macs", required=True, type=Budgets(), help="Budgets: most MACs of a prediction.")
@click.option("--methods", default=None, help="Methods with commas between them.  [default: all]")
@click.option(
    "--task",
    default="auto",
    show_default=True,
    type=click.Choice(["auto", "classification", "regression"]),
    help="What the target is.",
)
@click.option("--test-size", default=0.25, show_default=True, help="Share of rows to judge by.")
@click.option("--seeds", default=1, show_default=True, type=click.IntRange(1, 100), help="Splits.")
@click.option(
    "--picture", default=None, type=click.Path(path_type=Path), help="Where to write one."
)
@click.option("--output", default=None, type=click.Path(path_type=Path), help="JSON of all rows.")
def command(
    path: Path,
    target: str,
    macs: list[int],
    methods: str | None,
    task: str,
    test_size: float,
    seeds: int,
    picture: Path | None,
    output: Path | None,
) -> None:
    r"""Compare methods on a CSV file at equal MACs: accuracy, MACs, time.

    The file has a header; all columns but the target are numbers. Words or whole numbers as
    target are classes, other numbers are regressed.

    \b
    Examples:
      cerf frontier data.csv --target label --macs 500,1000,2000
      cerf frontier data.csv --target price --macs 200 --methods linear,mlp,cerf --picture a.png
    """
    import json

    from cerflearn import frontier

    X, y = read_csv(path, target)
    names = None if methods is None else [name.strip() for name in methods.split(",")]
    try:
        found = frontier(
            X, y, macs, names, test_size=test_size, task=task, n_seeds=seeds, verbose=True
        )
    except ValueError as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"\n{path.name}: {found}")
    if output is not None:
        output.write_text(json.dumps(found.rows, indent=1) + "\n", encoding="utf-8")
        click.echo(f"Rows: {output.resolve()}")
    if picture is not None:
        from cerflearn.cli._picture import write_picture

        click.echo(write_picture(found, picture, f"{path.name}: {target}"))

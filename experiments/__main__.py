"""Command line of the experiments.

    python -m experiments run                              # all, quick: one seed, minutes
    python -m experiments run table3 figure1 --size full --jobs 2
    python -m experiments status --size full
    python -m experiments render                           # docs/reproduction.md and its tables
    python -m experiments render --html                    # all of it in build/reproduction.html

A piece whose result is there is not run again, so that a run can be stopped and taken up.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
from functools import partial
from pathlib import Path

# Before NumPy is imported, here and in the workers: each piece is a process of one thread.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")

from experiments.catalogue import NAMES, config_of, module_of
from experiments.provenance import provenance
from experiments.runner import run
from experiments.store import SIZES, OtherResultsError, Store, path_of


def _say(name: str, line: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {name}: {line}", flush=True)


def _open(name: str, arguments: argparse.Namespace) -> Store:
    """Results of an experiment, to go on with."""
    path = path_of(name, arguments.size, arguments.folder)
    config = config_of(name, arguments.size, full_grid=arguments.full_grid)
    if arguments.again:
        path.unlink(missing_ok=True)
    made_by = provenance(module_of(name).pieces(config))
    return Store(path, config, made_by, keep=arguments.keep)


def run_all(arguments: argparse.Namespace) -> bool:
    """Run the experiments one after the other; return whether all their pieces are there."""
    if arguments.size != "tiny" and not os.environ.get("CERF_DATA"):
        print("CERF_DATA must name the folder of the data files: see experiments/datasets.py")
        return False
    deadline = time.monotonic() + 60.0 * arguments.minutes
    complete = True
    for name in arguments.names or NAMES:
        store = _open(name, arguments)
        pieces = module_of(name).pieces(store.config)
        complete &= run(
            pieces,
            store,
            jobs=arguments.jobs,
            deadline=deadline,
            say=partial(_say, name),
        )
    print("all pieces are there" if complete else "some pieces are missing: run again to go on")
    return complete


def show_status(arguments: argparse.Namespace) -> bool:
    """Print how many pieces of each experiment are there and what they took."""
    complete = True
    for name in arguments.names or NAMES:
        store = Store(path_of(name, arguments.size, arguments.folder))
        config = store.content.get("config") or config_of(name, arguments.size)
        keys = [piece.key for piece in module_of(name).pieces(config)]
        there = sum(store.get(key) is not None for key in keys)
        spent = sum(store.content["seconds"].values())
        print(f"{name}: {there} of {len(keys)} pieces, {spent / 60:.1f} minutes of one core")
        complete &= there == len(keys)
    return complete


def render(arguments: argparse.Namespace) -> bool:
    """Write the pages from the results of a size."""
    from experiments.page import write_html, write_pages

    wanted = (arguments.size, arguments.names or NAMES, arguments.folder)
    for path in [write_html(*wanted)] if arguments.html else write_pages(*wanted):
        print(path)
    return True


def parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    main = argparse.ArgumentParser(
        prog="python -m experiments",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = main.add_subparsers(required=True, metavar="run|status|render")
    for name, function, size in (
        ("run", run_all, "quick"),
        ("status", show_status, "full"),
        ("render", render, "full"),
    ):
        command = commands.add_parser(name, help=(function.__doc__ or "").splitlines()[0])
        command.set_defaults(function=function)
        command.add_argument("--size", choices=SIZES, default=size, help=f"default {size}")
        command.add_argument("--folder", type=Path, help="of results and pages, if not the usual")
        command.add_argument("names", nargs="*", metavar="experiment", help=", ".join(NAMES))
        if name == "render":
            command.add_argument("--html", action="store_true", help="one file, pictures inside")
        if name == "run":
            command.add_argument("--full-grid", action="store_true", help="of widths and C; hours")
            command.add_argument("--jobs", type=int, default=2, help="processes, default 2")
            command.add_argument("--minutes", type=float, default=math.inf, help="start no more")
            command.add_argument("--again", action="store_true", help="forget earlier results")
            command.add_argument(
                "--keep", action="store_true", help="though config or code changed"
            )
    return main


def main(argv: list[str] | None = None) -> int:
    """Run one command; 0 if everything is there."""
    arguments = parser().parse_args(argv)
    unknown = sorted({*arguments.names} - {*NAMES})
    if unknown:
        parser().error(f"no experiment {', '.join(unknown)}: choose of {', '.join(NAMES)}")
    try:
        return 0 if arguments.function(arguments) else 1
    except OtherResultsError as error:
        print(error, file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())

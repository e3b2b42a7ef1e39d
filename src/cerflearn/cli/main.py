"""Entry point of ``cerf``: a table of commands, each imported only when it is called."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

from cerflearn.cli._help import examples

# command -> (module, one line for --help): nothing heavy is imported to print the help.
COMMANDS = {
    "demo": ("cerflearn.cli.demo", "Accuracy against MACs and time of five methods, on digits."),
    "frontier": ("cerflearn.cli.frontier", "The same on a CSV file of your own."),
    "info": ("cerflearn.cli.info", "Version, instruction-set level and threads of this machine."),
}


class LazyGroup(click.Group):
    """A click group whose commands are modules, imported on use."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Names of the commands, in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:  # noqa: ARG002
        """Import the module of one command."""
        if name not in COMMANDS:
            return None
        command: click.Command = import_module(COMMANDS[name][0]).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the list of commands from the table, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run a command; a full disk or memory ends it with one line and exit code 1."""
        try:
            return super().main(*args, **kwargs)
        except OSError as error:
            reason = error.strerror or str(error)
        except MemoryError as error:
            reason = f"There is not enough memory. {error}".rstrip(". ")
        click.echo(f"Error: {reason}.", err=True)
        raise SystemExit(1)


def _print_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        from cerflearn import __version__

        click.echo(f"cerf {__version__}")
        ctx.exit()


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=examples(
        "cerf demo                  a comparison on bundled data, in under a minute",
        "cerf demo --picture a.png  ... with the picture written elsewhere",
        "cerf frontier --help       ... on a CSV file of your own",
        "cerf info                  version and instruction-set level",
    ),
)
@click.option(
    "--version",
    is_flag=True,
    callback=_print_version,
    expose_value=False,
    is_eager=True,
    help="Print the version and exit.",
)
def main() -> None:
    """Kernel machines on a compute budget."""

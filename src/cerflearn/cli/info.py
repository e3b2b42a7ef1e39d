"""``cerf info``: what the package runs on."""

from __future__ import annotations

import json
import platform

import click

from cerflearn.cli._help import examples


@click.command(name="info", epilog=examples("cerf info", "cerf info --peak --json"))
@click.option("--peak", is_flag=True, help="Also measure the multiply-add peak of one thread.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of lines.")
def command(peak: bool, as_json: bool) -> None:
    """Show the version, the instruction-set level in use and the threads."""
    import cerflearn
    from cerflearn import _native

    facts: dict[str, object] = {
        "version": cerflearn.__version__,
        "python": platform.python_version(),
        **_native.backend_info(),
    }
    if peak:
        level = _native.current_level()
        for dtype in ("float32", "float64"):
            facts[f"{dtype} peak (GFLOP/s)"] = round(_native.fma_peak(dtype, level), 1)
    if as_json:
        click.echo(json.dumps(facts, indent=2))
        return
    for name, value in facts.items():
        text = ", ".join(value) if isinstance(value, list) else value
        click.echo(f"{name:24} {text}")

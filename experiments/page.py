"""The page of results: every section from its JSON, in Markdown and as one HTML file."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from pathlib import Path

from experiments import markdown
from experiments.catalogue import NAMES, config_of, module_of
from experiments.store import ROOT, Store, path_of, plain

OPENING = Path(__file__).with_name("opening.md")
PICTURES = "reproduction"
STYLE = """
body { max-width: 60em; margin: 2em auto; padding: 0 1em; font: 16px/1.5 sans-serif; color: #222; }
table { border-collapse: collapse; font-size: 14px; display: block; overflow-x: auto; }
th, td { border: 1px solid #ccc; padding: .2em .5em; text-align: left; }
figure { margin: 1em 0; } figure img { max-width: 100%; } figcaption { color: #555; }
pre, code { background: #f4f4f4; }
"""


def write_page(size: str, names: Sequence[str] = NAMES, folder: Path | None = None) -> list[Path]:
    """Write pictures, reproduction.md and reproduction.html; return the two pages.

    Results are read from ``folder`` and the pages written there; None: from where runs keep them,
    into docs for the full size and beside the results for others.
    """
    stores = {name: Store(path_of(name, size, folder)) for name in names}
    target = folder or (ROOT / "docs" if size == "full" else path_of("", size).parent)
    target.mkdir(parents=True, exist_ok=True)
    text = page(stores, target / PICTURES, size)
    written = {"reproduction.md": text, "reproduction.html": as_html(text, target)}
    for name, content in written.items():
        (target / name).write_text(content, encoding="utf-8")
    return [target / name for name in written]


def page(stores: dict[str, Store], pictures: Path, size: str) -> str:
    """Markdown of everything; experiments that are not complete are named instead of shown."""
    findings: list[str] = []
    sections: list[str] = []
    for name, store in stores.items():
        module = module_of(name)
        if reason := _what_is_missing(name, store, size):
            findings.append(f"**{module.TITLE}**: {reason}.")
            continue
        lines = module.summary(store.results, store.config) if hasattr(module, "summary") else []
        findings += [f"**{module.TITLE}**", markdown.bullets(lines)]
        body = module.section(store.results, store.config, pictures)
        sections.append(f"## {module.TITLE}\n\n{body.strip()}\n\n{_provenance(name, store)}")
    opening = OPENING.read_text(encoding="utf-8").strip()
    opening = opening.replace("{findings}", "\n\n".join(findings))
    if size != "full":
        opening += f"\n\nThis page is of the size **{size}**: a check of the machinery, no result."
    return opening + "\n\n" + "\n\n".join(sections) + "\n"


def _what_is_missing(name: str, store: Store, size: str) -> str:
    """Return why an experiment cannot be shown; nothing if it can."""
    if not store.results:
        return "not run"
    config = config_of(name, size, full_grid=store.config.get("full_grid", False))
    if store.config != plain(config):
        return "run with another configuration, run it again"
    keys = [piece.key for piece in module_of(name).pieces(config)]
    missing = sum(store.get(key) is None for key in keys)
    return f"{missing} of {len(keys)} pieces are missing, run it again" if missing else ""


def _provenance(name: str, store: Store) -> str:
    versions = store.content.get("versions", {})
    made = ", ".join(f"{key} {value}" for key, value in versions.items())
    minutes = store.content["wall_seconds"] / 60.0
    return (
        f"Made by `python -m experiments run {name} --size {store.config['size']}` in "
        f"{minutes:.1f} minutes, with {made}."
    )


def as_html(text: str, folder: Path) -> str:
    """Return one file that needs no other: pictures are inside."""

    def read_picture(address: str) -> str:
        kind = {".svg": "svg+xml", ".png": "png"}[Path(address).suffix]
        data = base64.b64encode((folder / address).read_bytes()).decode("ascii")
        return f'<img alt="" src="data:image/{kind};base64,{data}">'

    title = text.splitlines()[0].lstrip("# ")
    head = f'<meta charset="utf-8"><title>{title}</title><style>{STYLE}</style>'
    body = markdown.to_html(text, read_picture)
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n{body}\n</body></html>\n'

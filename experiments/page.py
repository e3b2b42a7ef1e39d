"""The pages of results, made from JSON: answers, tables of each experiment, one HTML file."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from experiments import markdown
from experiments.catalogue import NAMES, config_of, module_of
from experiments.headline import headline
from experiments.store import ROOT, Store, path_of, plain

OPENING = Path(__file__).with_name("opening.md")
APPENDIX = "reproduction"
BACK = "Answers and context: [reproduction.md](../reproduction.md)."
STYLE = """
body { max-width: 60em; margin: 2em auto; padding: 0 1em; font: 16px/1.5 sans-serif; color: #222; }
table { border-collapse: collapse; font-size: 14px; display: block; overflow-x: auto; }
th, td { border: 1px solid #ccc; padding: .2em .5em; text-align: left; }
figure { margin: 1em 0; } figure img { max-width: 100%; } figcaption { color: #555; }
pre, code { background: #f4f4f4; }
"""


def write_pages(size: str, names: Sequence[str] = NAMES, folder: Path | None = None) -> list[Path]:
    """Write the pages and their pictures; return the paths of the pages, the answers first.

    Results are read from ``folder`` and the pages written there; None: from where runs keep them,
    into docs for the full size and beside the results for others.
    """
    target = folder or (ROOT / "docs" if size == "full" else path_of("", size).parent)
    written = pages(_stores(size, names, folder), target / APPENDIX, size)
    for name, text in written.items():
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        (target / name).write_text(text, encoding="utf-8")
    return [target / name for name in written]


def write_html(size: str, names: Sequence[str] = NAMES, folder: Path | None = None) -> Path:
    """Write all pages as one HTML file, its pictures inside; return its path.

    It goes to ``folder``, or to build/ for the full size and beside the results for others.
    """
    target = folder or (ROOT / "build" if size == "full" else path_of("", size).parent)
    written = pages(_stores(size, names, folder), target / APPENDIX, size)
    path = target / "reproduction.html"
    path.write_text(as_html(written, target), encoding="utf-8")
    return path


def _stores(size: str, names: Sequence[str], folder: Path | None) -> dict[str, Store]:
    return {name: Store(path_of(name, size, folder)) for name in names}


def pages(stores: dict[str, Store], pictures: Path, size: str) -> dict[str, str]:
    """Markdown of each page by its path: the answers, then the tables of each experiment.

    Experiments that are not complete are named among the answers and have no page; nor have those
    that are told on another one, which they name as ``PAGE``.
    """
    pictures.mkdir(parents=True, exist_ok=True)
    answers: list[str] = []
    tables: dict[str, str] = {}
    for name, store in stores.items():
        module = module_of(name)
        if reason := _what_is_missing(name, store, size):
            answers += [f"### {module.TITLE}", f"Not shown: {reason}."]
            continue
        elsewhere = getattr(module, "PAGE", None)
        path = elsewhere or f"{APPENDIX}/{name}.md"
        answers.append(f"### [{module.TITLE}]({path})")
        answers += module.summary(store.results, store.config, *_beside(module, stores, size))
        if elsewhere:
            continue
        body = module.section(store.results, store.config, pictures)
        parts = [f"# {module.TITLE}", BACK, body.strip(), provenance(name, store)]
        tables[path] = "\n\n".join(parts) + "\n"
    opening = OPENING.read_text(encoding="utf-8").strip()
    opening = opening.replace("{headline}", headline(_complete(stores, size)))
    opening = opening.replace("{answers}", "\n\n".join(answers))
    if size != "full":
        opening += f"\n\nThis page is of the size **{size}**: it tests the programs only."
    return {"reproduction.md": opening + "\n", **tables}


def _complete(
    stores: dict[str, Store], size: str
) -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    """Results and configuration of the experiments that are complete."""
    return {
        name: (store.results, store.config)
        for name, store in stores.items()
        if not _what_is_missing(name, store, size)
    }


def _beside(module: ModuleType, stores: dict[str, Store], size: str) -> list[dict[str, Any]]:
    """Results of the experiment that a module shows its own beside, if they are complete."""
    name = getattr(module, "BESIDE", "")
    found = _complete({name: stores[name]} if name in stores else {}, size)
    return [results for results, _ in found.values()]


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


def provenance(name: str, store: Store) -> str:
    """Say what an experiment's results were made by and with."""
    versions = store.content.get("versions", {})
    made = ", ".join(f"{key} {value}" for key, value in versions.items())
    minutes = store.content["wall_seconds"] / 60.0
    return (
        f"Made by `python -m experiments run {name} --size {store.config['size']}` in "
        f"{minutes:.1f} minutes, with {made}."
    )


def as_html(written: dict[str, str], folder: Path) -> str:
    """Return one file that needs no other: all pages one below the other, pictures inside."""
    body = []
    for name, text in written.items():
        place = (folder / name).parent

        def read_picture(address: str, place: Path = place) -> str:
            kind = {".svg": "svg+xml", ".png": "png"}[Path(address).suffix]
            data = base64.b64encode((place / address).read_bytes()).decode("ascii")
            return f'<img alt="" src="data:image/{kind};base64,{data}">'

        content = markdown.to_html(_with_anchors(text.replace(BACK, "")), read_picture)
        body.append(f'<section id="{Path(name).stem}">\n{content}\n</section>')
    title = written["reproduction.md"].splitlines()[0].lstrip("# ")
    head = f'<meta charset="utf-8"><title>{title}</title><style>{STYLE}</style>'
    return (
        f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n'
        + "\n".join(body)
        + "\n</body></html>\n"
    )


def _with_anchors(text: str) -> str:
    """Let links to our tables lead to their place in the file, and drop those to other files."""
    text = re.sub(rf"\]\({APPENDIX}/(\w+)\.md\)", r"](#\1)", text)
    return re.sub(r"(?<!!)\[([^]]*)\]\((?!#)[^)\s]+\)", r"\1", text)

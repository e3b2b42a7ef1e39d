"""The Markdown that the page uses: tables out, HTML of it."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Sequence


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; cells are text of one line."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def bullets(lines: Iterable[str]) -> str:
    """Return a list."""
    return "\n".join(f"- {line}" for line in lines)


def to_html(text: str, read_picture: Callable[[str], str]) -> str:
    """Return the body of a page: headings, paragraphs, lists, tables, fences, pictures.

    Parameters
    ----------
    text : str
        Markdown; blocks are separated by blank lines. Unsafe characters are escaped.
    read_picture : callable
        HTML to put in the place of a picture, for its address.
    """
    return "\n".join(_block(block, read_picture) for block in _blocks(text))


def _blocks(text: str) -> list[str]:
    """Split at blank lines, but not inside fences."""
    blocks: list[str] = [""]
    inside = False
    for line in text.splitlines():
        inside ^= line.startswith("```")
        if line.strip() or inside:
            blocks[-1] += line + "\n"
        elif blocks[-1]:
            blocks.append("")
    return [block.rstrip("\n") for block in blocks if block]


def _block(block: str, read_picture: Callable[[str], str]) -> str:
    lines = block.split("\n")
    if block.startswith("```"):
        return f"<pre>{html.escape(chr(10).join(lines[1:-1]))}</pre>"
    if found := re.match(r"(#{1,4}) (.*)", block):
        level = len(found[1])
        words = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", found[2])
        anchor = re.sub(r"[^a-z0-9 -]", "", words.lower()).replace(" ", "-")
        return f'<h{level} id="{anchor}">{_line(found[2])}</h{level}>'
    if found := re.fullmatch(r"!\[([^]]*)\]\(([^)]*)\)", block):
        caption = html.escape(found[1])
        return f"<figure>{read_picture(found[2])}<figcaption>{caption}</figcaption></figure>"
    if lines[0].startswith("|"):
        return _table(lines)
    if lines[0].startswith("- "):
        items = re.split(r"^- ", block, flags=re.MULTILINE)[1:]
        return "<ul>" + "".join(f"<li>{_line(item.strip())}</li>" for item in items) + "</ul>"
    return f"<p>{_line(block)}</p>"


def _table(lines: list[str]) -> str:
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    rows = []
    for index, row in enumerate(cells):
        if index != 1:  # the rule below the header
            tag = "td" if index else "th"
            rows.append("".join(f"<{tag}>{_line(cell)}</{tag}>" for cell in row))
    return "<table>" + "".join(f"<tr>{row}</tr>" for row in rows) + "</table>"


def _line(text: str) -> str:
    """Code, strong and links of a line."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(
        f"<code>{html.escape(part[1:-1])}</code>" if part.startswith("`") else _marks(part)
        for part in parts
    )


def _marks(text: str) -> str:
    text = html.escape(text, quote=False)
    text = re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", text)
    return re.sub(r"\[([^]]+)\]\(([^)\s]+)\)", r'<a href="\2">\1</a>', text)

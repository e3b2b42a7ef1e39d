"""Pages with pieces between markers, ``<!-- name -->`` and ``<!-- end of name -->``."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path


def fill(page: str, texts: Mapping[str, str], name_of_page: str) -> str:
    """Page with the text of each name between its two markers."""
    for name, text in texts.items():
        pattern = rf"(<!-- {name} -->\n).*?(<!-- end of {name} -->)"
        page, count = re.subn(
            pattern, lambda found, text=text: f"{found[1]}{text}\n{found[2]}", page, flags=re.S
        )
        if count != 1:
            sys.exit(f"{name_of_page} must have the markers of {name!r} once, not {count} times")
    return page


def write_or_check(path: Path, wanted: str, script: str, *, check: bool) -> None:
    """Write a page, or exit with an error if it is another one."""
    if not check:
        path.write_text(wanted)
    elif path.read_text() != wanted:
        sys.exit(f"{path.name} does not show what was measured: run benchmarks/{script}")

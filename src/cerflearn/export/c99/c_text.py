"""Text that is safe in C: identifiers, strings, comments, numbers, arrays."""

from __future__ import annotations

import re
import string
import textwrap
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

_PLAIN = frozenset(string.ascii_letters + string.digits + " _-+=.,:;!#$%&'()*/<>@[]^`{|}~")
_RESERVED = frozenset(
    re.findall(
        r"\w+",
        """alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl
        const constexpr continue default delete do double else enum explicit export extern false
        float for friend goto if inline int long main mutable namespace new not not_eq nullptr
        operator or or_eq private protected public register restrict return short signed sizeof
        static struct switch template this throw true try typedef typename union unsigned using
        virtual void volatile while xor xor_eq""",
    )
)
_WIDTH = 100


def identifier(name: str) -> str:
    """Make an identifier of C and C++ of any text: ASCII letters, digits, single underscores.

    Examples
    --------
    >>> identifier("my model-2.h"), identifier("9 lives"), identifier("int"), identifier("__x")
    ('my_model_2_h', 'm_9_lives', 'int_model', 'x')
    """
    text = re.sub(r"_+", "_", re.sub(r"[^A-Za-z0-9]", "_", name)).strip("_")
    if not text or text[0].isdigit():
        text = f"m_{text}".strip("_")
    return f"{text}_model" if text in _RESERVED else text


def string_literal(text: str) -> str:
    r"""Quote text as UTF-8 bytes; all but plain characters become octal escapes.

    Examples
    --------
    >>> print(string_literal('a"b'), string_literal("??/"), string_literal("\u00e9\0"))
    "a\042b" "\077\077/" "\303\251\000"
    """
    parts = []
    for byte in text.encode("utf-8", "surrogatepass"):
        character = chr(byte)
        parts.append(character if character in _PLAIN else f"\\{byte:03o}")
    return '"' + "".join(parts) + '"'


def comment_text(text: str) -> str:
    r"""Make text that neither ends a comment nor holds a trigraph, in printable ASCII.

    Examples
    --------
    >>> print(comment_text("a*/b ??/ \n \\"))
    a* /b ? ?/ <U+000A> <U+005C>
    """
    parts = [c if " " <= c <= "~" and c != "\\" else f"<U+{ord(c):04X}>" for c in text]
    safe = "".join(parts)
    while "*/" in safe or "/*" in safe or "??" in safe:
        safe = safe.replace("*/", "* /").replace("/*", "/ *").replace("??", "? ?")
    return safe


def comment_block(lines: Iterable[str]) -> str:
    """Write lines as a block comment, each wrapped; an indent is kept."""
    out = []
    for line in lines:
        safe = comment_text(line)
        indent = " " * (len(safe) - len(safe.lstrip()))
        wrapped = textwrap.wrap(
            safe, _WIDTH - 3, subsequent_indent=indent + "  ", break_on_hyphens=False
        )
        out += [f" * {part}".rstrip() for part in (wrapped or [""])]
    if out:
        out[0] = "/*" + out[0][2:]
    return "\n".join([*out, " */"])


def float_literal(value: float) -> str:
    """Write a float32 so that it reads back as the same number.

    Examples
    --------
    >>> float_literal(0.1), float_literal(3.0), float_literal(1e20)
    ('0.100000001f', '3.0f', '1.00000002e+20f')
    """
    with np.errstate(over="ignore"):
        number = np.float32(value)
    if not np.isfinite(number):
        raise ValueError(f"{value!r} is beyond single precision: scale the inputs of the model.")
    text = f"{number:.9g}"
    return text + ("f" if any(c in text for c in ".en") else ".0f")


def integer_literal(value: int) -> str:
    """Write an integer of up to 64 bits; the least 32-bit one has no literal of its own."""
    if value == -(2**31):
        return "(-2147483647 - 1)"
    return f"{value}" if value < 2**31 else f"{value}u"


def array_text(ctype: str, name: str, values: NDArray[Any]) -> str:
    """Write ``static const`` values as one flat array."""
    flat = np.ravel(values)
    write: Any = float_literal if ctype == "float" else (lambda value: integer_literal(int(value)))
    body = textwrap.fill(
        ", ".join(write(value) for value in flat.tolist()),
        _WIDTH,
        initial_indent="    ",
        subsequent_indent="    ",
    )
    return f"static const {ctype} {name}[{len(flat)}] = {{\n{body}\n}};"

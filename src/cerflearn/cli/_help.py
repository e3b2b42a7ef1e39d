"""Text of ``--help`` that click must not wrap."""

from __future__ import annotations


def examples(*lines: str) -> str:
    r"""Epilog with one example a line.

    A paragraph that starts with the character backspace is printed as it is.

    Examples
    --------
    >>> examples("cerf demo", "cerf info")
    '\x08\nExamples:\n  cerf demo\n  cerf info'
    """
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)

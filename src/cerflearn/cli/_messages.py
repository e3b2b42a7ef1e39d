"""Messages of the Python interface in the words of the command line."""

from __future__ import annotations

import re

_OPTION_NAMES = {
    "macs": "--macs",
    "methods": "--methods",
    "n_seeds": "--seeds",
    "task": "--task",
    "test_size": "--test-size",
}
_GIVEN = re.compile(rf"\b({'|'.join(_OPTION_NAMES)})=('[^']*'|\[[^\]]*\]|[^\s:,]+)")


def in_options(message: str, target: str) -> str:
    """Replace parameters by options, y by the name of its column and X by the file's inputs.

    Parameters
    ----------
    message : str
        Of an error of :func:`cerflearn.frontier`.
    target : str
        Name of the column to predict.

    Examples
    --------
    >>> in_options("y has 40 different values: pass task='regression' if ...", "price")
    "Column 'price' has 40 different values: pass --task regression if ..."
    """

    def option(found: re.Match[str]) -> str:
        value = found[2].strip("'")
        return f"{_OPTION_NAMES[found[1]]} {value}"

    message = _GIVEN.sub(option, message)
    message = re.sub(r"\btest_size\b", "--test-size", message)
    message = re.sub(r"\by\b(?! of)", lambda _: f"column {target!r}", message)
    message = re.sub(r"\bX\b", "the table of inputs", message)
    return message[:1].upper() + message[1:]


def printable(name: str) -> str:
    r"""Return a name of a file or column on one line, whatever characters it has.

    Examples
    --------
    >>> printable("größe"), printable("two\nlines"), printable("")
    ('größe', "'two\\nlines'", "''")
    """
    return name if name.isprintable() and name.strip() else repr(name)


def listed(names: list[str], most: int = 12) -> str:
    """Names with commas between them, the first few of many.

    Examples
    --------
    >>> listed(["a", "b", "c"], most=2)
    'a, b and 1 more'
    """
    text = ", ".join(map(printable, names[:most]))
    return text if len(names) <= most else f"{text} and {len(names) - most:,} more"

"""What stands in a loaded model for a parameter that model files do not hold."""

from __future__ import annotations

import re

_LONGEST_TEXT = 200  # characters


class NotStored:
    """A teacher, a generator or another object that a model file only names.

    A loaded model predicts and transforms without it; what needs it, such as ``fit``, raises.

    Parameters
    ----------
    text : str
        What it was; cut after 200 characters.

    Examples
    --------
    >>> NotStored("SVC()")
    <not stored in the model file: SVC()>
    """

    def __init__(self, text: str) -> None:
        self.text = text[:_LONGEST_TEXT]

    @classmethod
    def of(cls, value: object) -> NotStored:
        """Name a value, without its address in memory, which differs from process to process."""
        if isinstance(value, NotStored):
            return value
        return cls(re.sub(r" at 0x[0-9A-Fa-f]+", "", " ".join(repr(value).split())))

    def __repr__(self) -> str:
        return f"<not stored in the model file: {self.text}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NotStored) and other.text == self.text

    def __hash__(self) -> int:
        return hash((NotStored, self.text))

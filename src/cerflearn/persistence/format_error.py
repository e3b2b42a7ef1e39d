"""The one error of files that are not good models."""

from __future__ import annotations


class CerfFormatError(ValueError):
    """A file is not a model of cerflearn, is damaged, or needs a newer version.

    See Also
    --------
    load : Raises it.

    Examples
    --------
    >>> from cerflearn import CerfFormatError
    >>> issubclass(CerfFormatError, ValueError)
    True
    """

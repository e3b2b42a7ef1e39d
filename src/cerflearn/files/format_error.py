"""The one error of files that are damaged, or not ours."""

from __future__ import annotations


class CerfFormatError(ValueError):
    """A file is not one of cerflearn, is damaged, or needs a newer version.

    See Also
    --------
    load : Raises it for model files.
    MaskedCERF : Its ``fit`` raises it for checkpoints.

    Examples
    --------
    >>> from cerflearn import CerfFormatError
    >>> issubclass(CerfFormatError, ValueError)
    True
    """

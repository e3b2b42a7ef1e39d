"""Saving fitted estimators to files, and loading them."""

from __future__ import annotations

import mmap as memory_map
import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import sklearn
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from cerflearn._atomic import write_atomically
from cerflearn.files.container import (
    digest_of,
    header_of,
    lay_out,
    raw_bytes,
    read_bytes,
    unpack,
)
from cerflearn.files.format_error import CerfFormatError
from cerflearn.files.strict_json import canonical, parse
from cerflearn.persistence.data_kinds import data_kinds
from cerflearn.persistence.estimator_kinds import estimator_kinds
from cerflearn.persistence.kinds import Kinds
from cerflearn.persistence.linear_kinds import LINEAR_MODELS, linear_kinds
from cerflearn.persistence.pipeline_kinds import pipeline_kinds
from cerflearn.persistence.sklearn_kinds import SKLEARN_KINDS
from cerflearn.persistence.specs import Reader, Writer

FORMAT = 1
"""Number of the format that is written; all numbers up to it can be read."""

OUR_TRANSFORMERS = (
    "RandomFourierFeatures", "MaskedFourierFeatures", "FastfoodFeatures", "MaskedCERF",
    "BlockedCERF", "RandomizedKernelPCA", "KernelAutoencoder", "RandomizedKernelCCA",
    "KernelImputer",
)  # fmt: skip
"""Estimators of cerflearn with ``transform``."""

TRANSFORMERS = (
    *OUR_TRANSFORMERS, "StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler",
    "SimpleImputer", "OneHotEncoder", "FunctionTransformer", "ColumnTransformer", "Pipeline",
)  # fmt: skip
"""What may be a step of a Pipeline, or an inner map."""

PREDICTORS = ("CERFClassifier", "CERFRegressor", *LINEAR_MODELS)
"""What may be the last step of a Pipeline."""

_DOCUMENT_KEYS = {"digest", "format", "model", "versions"}


@cache
def stored_kinds() -> Kinds:
    """All kinds that a file may hold."""
    return Kinds(
        data_kinds(TRANSFORMERS)
        | estimator_kinds(TRANSFORMERS)
        | SKLEARN_KINDS
        | linear_kinds()
        | pipeline_kinds(TRANSFORMERS, PREDICTORS)
    )


def save(estimator: BaseEstimator, path: str | os.PathLike[str]) -> None:
    """Save a fitted estimator to a file.

    Parameters
    ----------
    estimator : estimator
        Fitted: any estimator of cerflearn; or a ``Pipeline`` of ``SimpleImputer``,
        ``StandardScaler``, ``MinMaxScaler``, ``MaxAbsScaler``, ``RobustScaler``,
        ``OneHotEncoder`` and ``ColumnTransformer`` of these, maps of cerflearn, and a predictor of
        cerflearn or a linear model of scikit-learn.
    path : str or path-like
        File to write, usually ``*.cerf``. It is replaced in one step once all is written, so that
        an error leaves an old file as it was.

    See Also
    --------
    load : The other direction.
    export_onnx : For ONNX Runtime.
    export_c : For C.

    Notes
    -----
    The file is in the safetensors format, with the model's structure as JSON in one entry of its
    metadata. It holds numbers and text, and no code. The same model gives the same bytes.

    Teachers are not stored, and neither are statistics of ``partial_fit`` of learned maps, random
    generators and functions: such a parameter reads ``<not stored in the model file: ...>`` after
    loading, and ``fit`` raises until another is given. ``predict`` and ``transform`` give the same
    bits as before.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> from cerflearn import MaskedFourierFeatures, load, save
    >>> X = np.random.default_rng(0).normal(size=(20, 5))
    >>> model = MaskedFourierFeatures(n_components=8, random_state=0).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.cerf")
    ...     save(model, path)
    ...     loaded = load(path)
    >>> np.array_equal(loaded.transform(X), model.transform(X))
    True
    """
    check_is_fitted(estimator)
    writer = Writer(stored_kinds())
    model = writer.kinds.encode(estimator, writer, "model", TRANSFORMERS + PREDICTORS)
    table, arrays = lay_out(writer.tensors)
    document: dict[str, Any] = {"format": FORMAT, "model": model, "versions": _versions()}
    document["digest"] = digest_of(document, table, arrays)
    header = header_of(table, canonical(document))
    _check_readable(document, writer.tensors)
    write_atomically({Path(path): [header, *map(raw_bytes, arrays)]})


def load(path: str | os.PathLike[str], *, mmap: bool = False) -> Any:
    """Load an estimator that :func:`save` has written.

    Parameters
    ----------
    path : str or path-like
        File to read.
    mmap : bool, default=False
        Map the file into memory instead of reading it: processes that load the same file share
        its pages. The file must not be changed while the model is in use; a process that reads
        from a file that was cut off is ended by the operating system.

    Returns
    -------
    estimator
        Fitted, with the parameters it had; see the notes of :func:`save` for those that are not
        stored.

    Raises
    ------
    CerfFormatError
        If the file is no model, was damaged, or comes from a newer version: sizes, types, ranges
        of all indices and a checksum are verified before anything is made of it. No code is run,
        and nothing is imported that the file names.

    See Also
    --------
    save : The other direction.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from cerflearn import CerfFormatError, load
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "model.cerf"
    ...     _ = path.write_bytes(b"123")
    ...     try:
    ...         load(path)
    ...     except CerfFormatError as error:
    ...         print(str(error).partition("loaded: ")[2])
    It has 3 bytes: too short for a file of cerflearn.
    """
    buffer = _mapped(path) if mmap else read_bytes(path)
    try:
        return decoded(buffer)
    except CerfFormatError as error:
        raise CerfFormatError(f"{os.fspath(path)} cannot be loaded: {error}") from error


def decoded(buffer: memoryview) -> Any:
    """Make the estimator of the bytes of a file."""
    content = unpack(buffer)
    document = parse(content.document, "The model's JSON")
    if not isinstance(document, dict) or set(document) != _DOCUMENT_KEYS:
        raise CerfFormatError("The model's JSON lacks an entry, or has one too many.")
    number = document["format"]
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise CerfFormatError("The format has no number.")
    if number > FORMAT:
        raise CerfFormatError(
            f"It has format {number}, and this version of cerflearn reads formats up to {FORMAT}: "
            "update cerflearn."
        )
    if digest_of(document, content.table, content.data) != document["digest"]:
        raise CerfFormatError("Its checksum is wrong: the file was damaged or changed.")
    return _model_of(document, content.tensors)


def _model_of(document: dict[str, Any], tensors: Mapping[str, NDArray[Any]]) -> Any:
    """Make the estimator of a document, with all checks but that of the digest."""
    reader = Reader(stored_kinds(), dict(tensors))
    model = reader.kinds.decode(document["model"], reader, "model", TRANSFORMERS + PREDICTORS)
    if reader.tensors:
        raise CerfFormatError(f"{len(reader.tensors)} arrays belong to nothing.")
    return model


def _check_readable(document: dict[str, Any], tensors: Mapping[str, NDArray[Any]]) -> None:
    """Refuse to write what :func:`load` would refuse."""
    try:
        _model_of(parse(canonical(document), "The model's JSON"), tensors)
    except CerfFormatError as error:
        raise ValueError(
            f"The model cannot be stored, as it could not be loaded: {error}"
        ) from error


def _versions() -> dict[str, str]:
    """Versions that wrote the file: a record, which nothing depends on."""
    from cerflearn import __version__

    return {
        "cerflearn": __version__,
        "numpy": np.__version__,
        "scikit-learn": sklearn.__version__,
        "scipy": scipy.__version__,
    }


def _mapped(path: str | os.PathLike[str]) -> memoryview:
    with open(path, "rb") as file:
        if os.fstat(file.fileno()).st_size == 0:
            return memoryview(b"")
        return memoryview(memory_map.mmap(file.fileno(), 0, access=memory_map.ACCESS_READ))

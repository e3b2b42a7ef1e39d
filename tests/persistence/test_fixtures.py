"""Files of earlier versions load, and give what they gave."""

from __future__ import annotations

import numpy as np
import pytest

from cerflearn import load
from cerflearn.persistence.model_file import FORMAT
from persistence.fixtures import FOLDER, output_of
from persistence.stored_models import frame, towns

MADE = {"frame": frame, "text": towns}
FILES = sorted(FOLDER.glob("format*/*.cerf"))


def test_there_are_files_of_every_format():
    assert {file.parent.name for file in FILES} == {f"format{n + 1}" for n in range(FORMAT)}


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_files_load_and_give_what_they_gave(file):
    if file.stem == "frame":
        pytest.importorskip("pandas")
    with np.load(file.parent / "expected.npz", allow_pickle=False) as expected:
        given = expected[file.stem]
        X = MADE[file.stem]() if file.stem in MADE else expected[f"{file.stem}.X"]
    found = output_of(load(file), X)
    if given.dtype.kind in "fc":  # other CPUs round otherwise
        np.testing.assert_allclose(found, given, rtol=1e-9, atol=1e-9)
    else:
        assert found.tolist() == given.tolist()

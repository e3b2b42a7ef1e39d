"""Files of each format number, which load for ever: written once, never again.

    python -m persistence.fixtures      # in tests/, when the format number has changed

writes the files of the present format, and what their models give for some rows.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from cerflearn import save
from cerflearn.persistence.model_file import FORMAT
from persistence.stored_models import MODELS

FOLDER = Path(__file__).parents[1] / "fixtures"
N_ROWS = 5


def output_of(model, X):
    """Return what a model gives for the first rows: labels, numbers or columns."""
    method = "predict" if hasattr(model, "predict") else "transform"
    return np.asarray(getattr(model, method)(X[:N_ROWS]))


def main() -> None:
    """Write the files of the present format."""
    folder = FOLDER / f"format{FORMAT}"
    folder.mkdir(parents=True)  # files that are there stay what they are
    expected = {}
    for name, build in MODELS.items():
        model, X = build()
        save(model, folder / f"{name}.cerf")
        expected[name] = output_of(model, X)
        if isinstance(X, np.ndarray) and X.dtype != object:
            expected[f"{name}.X"] = X[:N_ROWS]
    np.savez_compressed(folder / "expected.npz", **expected)


if __name__ == "__main__":
    main()

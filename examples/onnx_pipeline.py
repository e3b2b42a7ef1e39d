"""A Pipeline as an ONNX file, checked against scikit-learn's predictions and run without them.

    python examples/onnx_pipeline.py

A scaler, masked features and a ridge classifier on scikit-learn's digits are written to one file,
which ONNX Runtime then reads: labels and scores of pixels, without Python's estimators.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from cerflearn import MaskedFourierFeatures, export_onnx


def main() -> None:
    try:
        import onnxruntime
    except ImportError:
        print("needs onnxruntime: pip install 'cerflearn[onnx]'")
        return
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    train, test = order[:1000], order[1000:]
    features = MaskedFourierFeatures(n_components=500, random_state=0)
    model = make_pipeline(MinMaxScaler(), features, RidgeClassifier(alpha=0.01))
    model.fit(X[train], y[train])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "digits.onnx"
        report = export_onnx(model, path, X=X[train])
        print(str(report).replace(f"{folder}/", ""))
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    labels, _ = session.run(None, {"X": X[test].astype(np.float32)})
    accuracy, expected = np.mean(labels == y[test]), model.score(X[test], y[test])
    print(f"accuracy in ONNX Runtime: {100 * accuracy:.1f} %, in Python: {100 * expected:.1f} %")


if __name__ == "__main__":
    main()

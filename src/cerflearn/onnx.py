"""ONNX: importing this module tells skl2onnx how to convert our estimators.

``skl2onnx.to_onnx`` then converts Pipelines that hold them, RBFSampler or Nystroem.
:func:`export_onnx` does without an import of this module, and checks what it writes.

Examples
--------
>>> import numpy as np
>>> from skl2onnx import to_onnx
>>> import cerflearn.onnx
>>> from cerflearn import MaskedFourierFeatures
>>> X = np.random.default_rng(0).normal(size=(60, 5)).astype(np.float32)
>>> model = to_onnx(MaskedFourierFeatures(random_state=0).fit(X), X[:1], target_opset=17)
>>> {"MatMul", "Cos", "Sin"} <= {node.op_type for node in model.graph.node}
True
"""

from __future__ import annotations

from cerflearn.export.onnx.onnx_converters import register_converters
from cerflearn.export.onnx.onnx_export import OnnxReport, export_onnx

__all__ = ["OnnxReport", "export_onnx", "register_converters"]

try:
    register_converters()
except ImportError as error:
    raise ImportError(
        f"{error}. cerflearn.onnx needs it: pip install 'cerflearn[onnx]'."
    ) from error

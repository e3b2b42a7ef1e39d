"""ONNX: steps as nodes, converters for skl2onnx, compared with the estimator in ONNX Runtime."""

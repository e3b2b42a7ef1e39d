"""Models that leave Python: fitted estimators as plain steps, written as ONNX or C99."""

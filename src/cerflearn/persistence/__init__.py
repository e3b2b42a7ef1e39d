"""Model files: fitted estimators as safetensors with strict JSON, read without executing code."""

"""Files that are read without executing code: safetensors with strict JSON; checkpoints of fits."""

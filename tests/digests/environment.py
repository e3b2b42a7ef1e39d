"""What the bits of a result may depend on beside code and data."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import sklearn
from threadpoolctl import threadpool_info

from cerflearn import _native


def cpu_model() -> str:
    """Name of the CPU, or what the platform tells of it."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def environment() -> dict[str, Any]:
    """CPU, instruction levels, compiler, versions, and the BLAS libraries that are loaded."""
    core = _native.backend_info()
    libraries = {
        f"{info['prefix']} {info['version']} {info.get('architecture', 'unknown')}"
        for info in threadpool_info()
        if info["user_api"] == "blas"
    }
    return {
        "cpu": cpu_model(),
        "level": core["level"],
        "compiler": core["compiler"],
        "numpy": np.__version__,
        "numpy instruction sets": np.show_config(mode="dicts")["SIMD Extensions"]["found"],
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "blas": sorted(libraries),
    }

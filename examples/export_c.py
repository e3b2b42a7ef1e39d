"""Train a small classifier, write it as C for a microcontroller, compile it and run it.

python examples/export_c.py
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from cerflearn import CERFClassifier, cost, export_c

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
model = CERFClassifier(macs=500, max_bytes=3_400, storage="int8", effort=0.2, random_state=0)
model.fit(X_train, y_train)
print(f"Python: {100 * model.score(X_test, y_test):.1f} % at {model.n_macs_} MACs a row")
flash, ram = cost(model).flash, cost(model).ram
for dtype in flash:
    print(f"{dtype:>8}: {flash[dtype]:,} bytes of flash, {ram[dtype]} of RAM")

with tempfile.TemporaryDirectory() as folder:
    print(export_c(model, Path(folder, "digits.h"), X=X_train, dtype="int8"))
    if shutil.which("cc"):
        subprocess.run(["cc", "-O2", "example_main.c", "-o", "example"], cwd=folder, check=True)
        rows = "\n".join(" ".join(map(str, row)) for row in X_test)
        out = subprocess.run(
            [Path(folder, "example")], input=rows, capture_output=True, text=True, check=True
        ).stdout
        right = [int(label) == truth for label, truth in zip(out.split(), y_test, strict=True)]
        print(f"C, int8: {100 * sum(right) / len(right):.1f} %")
    else:
        print("no C compiler: the header was written, and not run")

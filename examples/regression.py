"""Regression within a budget: Friedman's function of ten inputs, five of which matter.

    python examples/regression.py [folder]    # writes regression.png

CERFRegressor at three budgets beside a linear model. The error is the root mean squared error on
new rows; the noise alone is 1.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_friedman1
from sklearn.linear_model import LinearRegression

from cerflearn import CERFRegressor, cost

BUDGETS = (20, 40, 80)


def main(folder: Path) -> None:
    X, y = make_friedman1(n_samples=1500, noise=1.0, random_state=0)
    train, test = slice(0, 400), slice(400, None)

    def error(model: object) -> float:
        return float(np.sqrt(np.mean((model.predict(X[test]) - y[test]) ** 2)))

    linear = LinearRegression().fit(X[train], y[train])
    models = {"linear model": linear}
    for macs in BUDGETS:
        models[f"CERFRegressor {macs}"] = CERFRegressor(macs=macs, random_state=0).fit(
            X[train], y[train]
        )
    for name, model in models.items():
        print(f"{name:16} {cost(model).macs:>3} MACs, error {error(model):.2f}")

    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
    for name in ("linear model", f"CERFRegressor {BUDGETS[-1]}"):
        left.plot(y[test], models[name].predict(X[test]), ".", alpha=0.3, label=name)
    left.axline((0, 0), slope=1, color="black", linewidth=0.8)
    left.set(xlabel="target", ylabel="prediction")
    left.legend()
    costs, errors = zip(
        *[(cost(model).macs, error(model)) for model in models.values()], strict=True
    )
    right.plot(costs[:1], errors[:1], "*", markersize=10, label="linear model")
    right.plot(costs[1:], errors[1:], "o-", label="CERFRegressor")
    right.axhline(1.0, color="black", linewidth=0.8, linestyle=":", label="noise")
    right.set(xlabel="multiply-accumulates per prediction", ylabel="root mean squared error")
    right.legend()
    path = folder / "regression.png"
    figure.savefig(path, dpi=120)
    print(f"wrote {path}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))

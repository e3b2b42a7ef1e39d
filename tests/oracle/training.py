"""Loss of a network of masked features written from its formula, in double precision."""

import numpy as np

TABLE_END = 3.0


def normalised(projections, weights, eps=1e-8):
    """Projections of mean 0 and variance 1 over the weighted rows."""
    total = weights.sum()
    mean = weights @ projections / total
    variance = weights @ (projections - mean) ** 2 / total
    return (projections - mean) / np.sqrt(variance + eps), mean, variance


def interpolate(table, y):
    """Rows (n, O) of a table (M, O) of evenly spaced knots at y, one number at a time."""
    n_knots = len(table)
    out = np.zeros((len(y), table.shape[1]))
    knots = np.linspace(-TABLE_END, TABLE_END, n_knots)
    for i, value in enumerate(y):
        for o in range(table.shape[1]):
            out[i, o] = np.interp(value, knots, table[:, o])
    return out


def scores(kind, X, weights, network):
    """Scores (n, O): ``network`` has dense W, scales, offsets, heads, linear, bias."""
    total = X @ network["linear"] + network["bias"]
    for k in range(network["W"].shape[1]):
        y = normalised(X @ network["W"][:, k], weights)[0]
        head = network["heads"][k]
        if kind == "table":
            total = total + interpolate(head, y)
        elif kind == "cosine":
            feature = np.cos(network["scales"][k] * y + network["offsets"][k])
            total = total + feature[:, None] * head
        else:
            total = total + np.maximum(y + network["offsets"][k], 0.0)[:, None] * head
    return total


def loss(name, found, targets, weights):
    """Mean over rows of the loss, each times its weight."""
    if name == "squared":
        each = 0.5 * ((found - targets) ** 2).sum(axis=1)
    elif name == "logistic":
        each = (np.logaddexp(0.0, found) - targets * found).sum(axis=1)
    else:
        top = found.max(axis=1, keepdims=True)
        log_sum = top[:, 0] + np.log(np.exp(found - top).sum(axis=1))
        each = log_sum - (targets * found).sum(axis=1)
    return float((weights * each).mean())


def penalty(kind, network, rates):
    """Half the weighted sums of squares; ``rates`` as the trainer takes them."""
    by_weights, by_scales, by_heads, by_curvature, by_linear = rates
    value = by_weights * (network["W"] ** 2).sum() + by_linear * (network["linear"] ** 2).sum()
    value += by_scales * (network["scales"] ** 2).sum()
    for head in network["heads"]:
        if kind == "table":
            second = head[2:] - 2.0 * head[1:-1] + head[:-2]
            value += by_heads / len(head) * (head**2).sum() + by_curvature * (second**2).sum()
        else:
            value += by_heads * (head**2).sum()
    return 0.5 * float(value)

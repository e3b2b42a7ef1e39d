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
    """Rows (n, O) of a table (M, O) of evenly spaced knots at y, one score at a time."""
    knots = np.linspace(-TABLE_END, TABLE_END, len(table))
    return np.stack([np.interp(y, knots, table[:, o]) for o in range(table.shape[1])], axis=1)


def scores(kind, X, weights, network, moments=None, eps=1e-8):
    """Scores (n, O): ``network`` has dense W, scales, offsets, heads, linear, bias.

    ``moments`` are means and variances of the projections; None: those of the weighted rows.
    """
    total = X @ network["linear"] + network["bias"]
    for k in range(network["W"].shape[1]):
        z = X @ network["W"][:, k]
        if moments is None:
            y = normalised(z, weights, eps)[0]
        else:
            y = (z - moments[0][k]) / np.sqrt(moments[1][k] + eps)
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


def clamped_moments(projections, weights, mean, variance, rate, eps=1e-8, least=0.0):
    """Running mean and variance after one batch, deviations from the mean clamped.

    The variance of the clamped ones is at least a share of that of the projections.
    """
    bound = TABLE_END * np.sqrt(variance + eps)
    apart = np.clip(projections - mean, -bound, bound)
    shift = np.average(apart, weights=weights)
    spread = np.average((apart - shift) ** 2, weights=weights)
    middle = np.average(projections, weights=weights)
    spread = max(spread, least * np.average((projections - middle) ** 2, weights=weights))
    return mean + rate * shift, (1.0 - rate) * variance + rate * spread


def adam_step(parameters, gradient, first, second, count, rate, decays, tiny=1e-8):
    """Parameters and moments after step ``count`` (from 1) of Adam (Kingma and Ba, 2015)."""
    first = decays[0] * first + (1.0 - decays[0]) * gradient
    second = decays[1] * second + (1.0 - decays[1]) * gradient**2
    unbiased = first / (1.0 - decays[0] ** count), second / (1.0 - decays[1] ** count)
    return parameters - rate * unbiased[0] / (np.sqrt(unbiased[1]) + tiny), first, second

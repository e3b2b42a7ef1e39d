r"""Networks trained on the targets: gradients, pruning, distillation, choice of a recipe.

Arrays only. A network is :math:`f(X \Omega + b) A + a` with a mask on :math:`\Omega`, f the cosine
or the positive part; the estimators turn it into a feature map and a linear head.
"""

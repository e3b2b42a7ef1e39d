r"""Cosine networks trained on the targets: gradients, pruning, distillation, choice of a recipe.

Arrays only. A network is :math:`\cos(X \Omega + b) A + a` with a mask on :math:`\Omega`; the
estimators turn it into a feature map and a linear head.
"""

"""scikit-learn estimators: parameters, their checks, fitted attributes and documentation.

``maps`` draws feature maps at random, ``cerf`` learns them from a teacher, ``predictors`` has the
classifier and the regressor, ``applications`` kernel PCA, autoencoder, imputer and CCA on an inner
map. The modules here are shared: ``input`` checks X and y, ``gamma`` finds the coefficient of the
kernel, ``teachers`` has what learned maps imitate, ``targets`` encodes labels, ``fused`` computes
scores of a map with a linear head, ``cost`` and ``sklearn_cost`` count for any fitted estimator.
"""

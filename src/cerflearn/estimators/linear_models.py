"""Linear models of scikit-learn that a Pipeline may end with, for files and exports."""

from __future__ import annotations

from sklearn import linear_model, svm

LINEAR_CLASSIFIERS: tuple[type, ...] = (
    linear_model.LogisticRegression,
    linear_model.LogisticRegressionCV,
    linear_model.RidgeClassifier,
    linear_model.RidgeClassifierCV,
    linear_model.SGDClassifier,
    linear_model.Perceptron,
    svm.LinearSVC,
)
"""Classifiers with a score for each class, or one for two classes: ``X @ coef_.T + intercept_``."""

LINEAR_REGRESSORS: tuple[type, ...] = (
    linear_model.LinearRegression,
    linear_model.Ridge,
    linear_model.RidgeCV,
    linear_model.Lasso,
    linear_model.LassoCV,
    linear_model.ElasticNet,
    linear_model.ElasticNetCV,
    linear_model.MultiTaskLasso,
    linear_model.MultiTaskLassoCV,
    linear_model.MultiTaskElasticNet,
    linear_model.MultiTaskElasticNetCV,
    linear_model.Lars,
    linear_model.LarsCV,
    linear_model.LassoLars,
    linear_model.LassoLarsCV,
    linear_model.LassoLarsIC,
    linear_model.OrthogonalMatchingPursuit,
    linear_model.OrthogonalMatchingPursuitCV,
    linear_model.ARDRegression,
    linear_model.BayesianRidge,
    linear_model.HuberRegressor,
    linear_model.QuantileRegressor,
    linear_model.TheilSenRegressor,
    linear_model.SGDRegressor,
    svm.LinearSVR,
)
"""Regressors that predict ``X @ coef_.T + intercept_``."""

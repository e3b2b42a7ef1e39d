"""Classifier and regressor within a budget of multiply-accumulates."""

"""Rivals at equal cost: each method gets a budget of multiply-accumulates and does its best.

``frontier.py`` runs them, ``methods.py`` lists them, ``table.py`` holds what came out.
"""

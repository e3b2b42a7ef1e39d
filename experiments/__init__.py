"""Reproduction of the paper's tables and figures; ``python -m experiments --help``."""

"""Linear algebra behind the applications, on arrays alone (NumPy and SciPy).

``moments`` streams means and second moments of two sets of columns and merges them; ``principal``,
``ridge`` and ``canonical`` solve principal components, ridge regression and canonical correlations
from them; ``columns`` has a ridge regression for each column, each on rows of its own.
"""

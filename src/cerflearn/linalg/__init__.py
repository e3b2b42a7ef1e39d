"""Linear algebra shared by the other packages, each algorithm once, on arrays alone.

``distances``: squared Euclidean distances of rows, and evenly spaced rows. ``signs``: the sign of a
direction. ``moments``: means and second moments of two sets of columns, streamed and merged; from
them ``principal`` and ``canonical`` find directions and ``ridge`` regressors. ``ridge`` also has
the regression of rows with the penalty chosen by leaving one row out. ``columns``: a ridge
regression for each column, each on rows of its own.
"""

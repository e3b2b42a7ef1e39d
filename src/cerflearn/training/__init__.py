r"""Networks of masked features trained on targets: arrays only.

A network adds functions of sparse projections (cosines, relu features or tables) and a sparse
linear part. :mod:`~cerflearn.training.trainer` trains one with given settings,
:mod:`~cerflearn.training.policy` says which settings are compared and for how long, and
:mod:`~cerflearn.training.search` compares them on held-out rows.
"""

r"""Networks of masked features trained on targets: arrays only.

A network is :math:`f(X \Omega + b) A + a` with a mask on :math:`\Omega`, f the cosine or the
positive part. :mod:`~cerflearn.training.train` trains one with given settings,
:mod:`~cerflearn.training.settings` lists the settings to compare, and
:mod:`~cerflearn.training.model_selection` compares them on held-out rows.
"""

"""Learning which features to keep: constrained variational EM and other selectors, on arrays only.

Read in this order: ``cvem`` is the outer loop; ``state`` has what is learned and ``normalization``
centres and scales; ``e_step`` (Eqs. 21-26), ``m_step`` with ``admm``, ``prox`` and ``orthogonal``
(Eqs. 27-34) and ``bound`` (Eq. 15) are the steps, which ``stats`` sums over blocks of rows.
``ranking`` turns probabilities into one selector; ``shared`` and ``greedy`` choose it directly;
``weights`` has the non-negative weights of what was chosen; ``direct`` fits Eq. 5 itself, for few
rows. ``rows`` is the interface to the data, ``saved_state`` that to states kept elsewhere.
"""

"""Learning which features to keep: constrained variational EM and its rivals, on arrays only.

Read in this order: ``state`` and ``stats`` hold what is learned and the sums it needs;
``normalization`` centres and scales; ``e_step`` (Eqs. 21-26), ``m_step`` with ``prox`` and
``orthogonal`` (Eqs. 27-34) and ``bound`` (Eq. 15) are the steps, ``passes`` takes them over a block
of rows, ``cvem`` is the outer loop. ``selection`` turns probabilities into one selector; ``shared``
and ``greedy`` choose it directly; ``weights`` weighs what was chosen. ``rows`` says what an engine
must offer.
"""

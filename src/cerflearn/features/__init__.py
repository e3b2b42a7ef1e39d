"""Feature maps: how phases come from inputs, what they cost, how they are drawn.

``base`` has what all maps share; ``dense`` (Eq. 1), ``masked`` (Eq. 35) and ``blocked`` (Prop. 5)
are the maps; ``masks`` and ``fastfood`` draw their structure, ``masked_sampler`` and
``block_sampler`` maps within a budget; ``sparse`` runs maps over sparse rows; ``cost`` counts.
"""

"""scikit-learn estimators: parameters, their checks and documentation; little else.

``_base`` has what all feature maps share; ``rff``, ``fastfood``, ``masked`` and ``blocked`` have
one class each; ``gamma`` reads the kernel's width off the data; ``cost`` counts for any fitted
estimator.

Maps that learn: ``_learned`` has their ``fit``, ``_masked_drawing`` and ``_blocked_drawing`` draw
candidates, ``teachers`` what they imitate, ``_rows`` both in blocks, ``_selection`` ranks and
chooses, ``_weights`` weighs, ``_progress`` tells.
"""

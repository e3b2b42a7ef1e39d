"""scikit-learn estimators: parameters, their checks and documentation; little else.

``_base`` has what all feature maps share; ``rff``, ``fastfood`` and ``masked`` have one class
each; ``gamma`` reads the kernel's width off the data; ``cost`` counts for any fitted estimator.
"""

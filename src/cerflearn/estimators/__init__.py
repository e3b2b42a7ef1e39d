"""scikit-learn estimators: parameters, their checks and documentation; little else.

``_base`` has what all feature maps share; ``rff``, ``fastfood``, ``masked`` and ``blocked`` have
one class each; ``kernel_pca``, ``autoencoder``, ``imputer`` and ``cca`` reduce, reconstruct,
complete and relate data in the features of an inner map; ``gamma`` reads the kernel's width;
``cost`` counts for any fitted estimator.

Maps that learn: ``_learned`` has their ``fit``, ``_masked_drawing`` and ``_blocked_drawing`` draw
candidates, ``teachers`` what they imitate, ``_rows`` both in blocks, ``_selection`` ranks and
chooses, ``_weights`` weighs, ``_progress`` tells.

Applications: ``_inner`` fits and runs the inner map, ``_codes`` has what kernel PCA and autoencoder
share, ``_imputation`` the stages of the imputer and ``_patterns`` what they hide in training.
"""

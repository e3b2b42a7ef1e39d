"""Methods compared at equal cost: each gets a budget of multiply-accumulates.

``frontier.py`` is the public function. ``dataset.py`` checks and splits the data, ``methods.py``
lists the methods, ``maps.py`` has those made of a random feature map, ``pruned_mlp.py`` a pruned
perceptron and ``trees.py`` boosted trees, ``tuning.py`` chooses settings, ``limits.py`` bounds the
size of a model, ``runs.py`` runs a method and averages over seeds, ``table.py`` and ``picture.py``
show the result.
"""

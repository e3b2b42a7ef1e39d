"""Methods compared at equal cost: each gets a budget of multiply-accumulates.

``frontier.py`` is the public function. ``dataset.py`` checks and splits the data, ``methods.py``
lists the methods, ``maps.py`` has those made of a random feature map, ``runs.py`` runs one of them
and averages over seeds, ``table.py`` holds the result.
"""

"""Engines: map a pure function over fixed row blocks and merge the results in a fixed order.

``base`` has the grid of rows, the sources of blocks, the merge tree and the one-thread limit for
BLAS; ``serial`` and ``threads`` run the blocks. All give the same bits. Nothing of the library is
imported here.
"""

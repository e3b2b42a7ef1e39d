"""Engines: map a pure function over fixed row blocks and merge the results in a fixed order.

``base`` has the interface and the merge tree, ``blocks`` the grid of rows and the sources of
blocks, ``blas`` the one-thread limit for BLAS; ``local`` runs the blocks serially or on threads,
with the same bits. Nothing of the library is imported here.
"""

"""Engines: map a pure function over fixed row blocks and merge the results in a fixed order.

``engines`` has the interface, the merge tree, and the serial and the threaded engine, with the same
bits; ``blocks`` the grid of rows and the sources of blocks; ``blas`` the one-thread limit for BLAS.
Nothing of the library is imported here.
"""

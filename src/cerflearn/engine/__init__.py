"""Engines: map a pure function over fixed row blocks and merge the results in a fixed order.

``engines`` has the interface, the merge tree, and the serial and the threaded engine,
``dask_engine`` that of a cluster, all with the same bits; ``blocks`` the grid of rows and the
sources of blocks. Nothing of the library is imported here.
"""

"""The command ``cerf``: thin over the public API, one file per command."""

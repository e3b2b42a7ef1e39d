"""Lets ``threadpoolctl.threadpool_limits`` cap the threads of the native core too."""

from __future__ import annotations

import threadpoolctl


class CerfController(threadpoolctl.LibController):  # type: ignore[misc]
    """How threadpoolctl finds the extension and reads or sets its cap."""

    user_api = "cerflearn"
    internal_api = "cerflearn"
    filename_prefixes = ("_core",)
    check_symbols = ("cerf_get_num_threads", "cerf_set_num_threads")

    def get_num_threads(self) -> int:
        """Cap in force."""
        # Other packages have a _core too; threadpoolctl asks before it checks the symbols.
        get = getattr(self.dynlib, "cerf_get_num_threads", lambda: 1)
        return int(get())

    def set_num_threads(self, num_threads: int) -> None:
        """Change the cap."""
        self.dynlib.cerf_set_num_threads(num_threads)

    def get_version(self) -> None:
        """No version apart from the package's."""

    def set_additional_attributes(self) -> None:
        """Nothing to add."""


threadpoolctl.register(CerfController)

"""How many threads the native core takes: the cores there are, or what threadpoolctl says."""

from __future__ import annotations

import joblib
import threadpoolctl

from cerflearn._native import _core


def available_cores() -> int:
    """Cores that this process may use: those of its affinity mask, or fewer by a CPU quota.

    It is what joblib counts, and so what ``n_jobs=-1`` means everywhere else.
    """
    return int(joblib.cpu_count())


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
_core.set_default_num_threads(available_cores())

"""What is watched during a fit: stages as they end, memory of processes."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import numpy as np


class StageClock:
    """Standard output that notes the time of each stage that ``verbose`` reports."""

    def __init__(self) -> None:
        self.wall: list[float] = []
        self.cpu: list[float] = []

    def write(self, text: str) -> None:
        """Note the time."""
        if "stage" in text:
            self.wall.append(time.perf_counter())
            self.cpu.append(time.process_time())

    def flush(self) -> None:
        """Nothing is kept back."""

    def seconds(self) -> tuple[list[float], list[float]]:
        """Wall and CPU time from each stage to the next."""
        return np.diff(self.wall).tolist(), np.diff(self.cpu).tolist()


class MemoryWatch:
    """Most anonymous memory (RssAnon) of some processes, in MB, read 50 times a second."""

    def __init__(self, processes: dict[int, str]) -> None:
        self.processes, self.most = processes, dict.fromkeys(processes.values(), 0.0)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> MemoryWatch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        stopped = False
        while not stopped:
            stopped = self._stop.wait(0.02)  # a short fit is read once, at its end
            for process, name in self.processes.items():
                self.most[name] = max(self.most[name], anonymous(process))


def anonymous(process: int) -> float:
    """RssAnon of a process in MB; 0 if it has gone."""
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return 0.0
    kib = [line.split()[1] for line in status.splitlines() if line.startswith("RssAnon")]
    return int(kib[0]) * 1024 / 1e6 if kib else 0.0

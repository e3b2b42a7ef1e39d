"""A stage of a fit on many workers, simulated from the costs of its parts.

A pass over the rows is a graph of tasks, each of some blocks of rows, whose sums are merged in
pairs along a binary tree. Workers take tasks in order from one queue. The scheduler serves one task
after the other, each in the same time. The worker that ends the second of a pair merges it, and
fetches the other sums if another worker has them. Before its first task a worker fetches the state
from one that has it, so that those that have it double in each round. At the end the client fetches
the sums, and takes the M-step alone.

Not in the model: workers of different speed or that die, transfers that share a network, and
reading of rows beyond what a block costs in the measured fit.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, replace
from typing import Any

BLOCK_ROWS = 1024
WORKERS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000)
TASK_BLOCKS = (1, 4, 16, 64, 256)


@dataclass(frozen=True)
class Costs:
    """Seconds of the parts of a stage, and bytes of its sums."""

    block: float  # a block of rows: teacher, candidates, E-step and sums
    add: float  # merging two sums
    alone: float  # the M-step, by the client
    dispatch: float  # a task in the scheduler
    latency: float  # a message
    bytes_per_second: float
    n_bytes: int  # of the sums, and of the state

    @property
    def transfer(self) -> float:
        """Seconds of sending the sums or the state."""
        return self.latency + self.n_bytes / self.bytes_per_second

    def without_merging(self) -> Costs:
        """Return costs of sums that are added, and sent, in no time."""
        return replace(self, add=0.0, n_bytes=0, latency=0.0)


def simulate(costs: Costs, n_rows: int, n_workers: int, task_blocks: int = 16) -> float:
    """Seconds of a stage."""
    n_blocks = math.ceil(n_rows / BLOCK_ROWS)
    n_tasks = math.ceil(n_blocks / task_blocks)
    sizes = [min(task_blocks, n_blocks - i * task_blocks) for i in range(n_tasks)]
    levels = [n_tasks]
    while levels[-1] > 1:
        levels.append(math.ceil(levels[-1] / 2))
    holders: dict[tuple[int, int], int] = {}
    scheduler, next_task, end = 0.0, 0, 0.0
    # What ends next: time, worker, level and place in the tree; workers begin with the state.
    running = [
        (costs.transfer * (1 + math.ceil(math.log2(worker + 1))), worker, -1, 0)
        for worker in range(min(n_workers, n_tasks))
    ]
    heapq.heapify(running)
    while running:
        now, worker, level, place = heapq.heappop(running)
        end = max(end, now)
        merged = None
        while level >= 0:
            holders[level, place] = worker
            other = place ^ 1
            if level + 1 == len(levels):
                break
            if other >= levels[level]:  # the last of an odd number goes up as it is
                level, place = level + 1, place // 2
                continue
            if (level, other) in holders:
                merged = level + 1, place // 2
            break
        if merged is not None:
            fetched = holders[level, other] != worker
            seconds = costs.add + (costs.transfer if fetched else 0.0)
            job = merged
        elif next_task < n_tasks:
            seconds = sizes[next_task] * costs.block + (sizes[next_task] - 1) * costs.add
            job = 0, next_task
            next_task += 1
        else:
            continue
        scheduler = max(scheduler, now) + costs.dispatch
        heapq.heappush(running, (scheduler + seconds, worker, *job))
    return end + costs.transfer + costs.alone


def curve(costs: Costs, n_rows: int) -> list[dict[str, Any]]:
    """Seconds of a stage by workers, and how much of the workers' time is left for the rows."""
    alone = simulate(costs, n_rows, 1)
    found = []
    for n_workers in WORKERS:
        seconds = simulate(costs, n_rows, n_workers)
        free = simulate(costs.without_merging(), n_rows, n_workers)
        found.append(
            {
                "workers": n_workers,
                "seconds": seconds,
                "speed_up": alone / seconds,
                "merging": (seconds - free) / seconds,
            }
        )
    return found


def bound_by_merging(costs: Costs, n_rows: int, most: int = 4_096) -> int | None:
    """Return the least number of workers for which merging takes half of a stage, in powers of two.

    None if that is more than ``most``.
    """
    n_workers = 1
    while n_workers <= most:
        seconds = simulate(costs, n_rows, n_workers)
        free = simulate(costs.without_merging(), n_rows, n_workers)
        if seconds - free > 0.5 * seconds:
            return n_workers
        n_workers *= 2
    return None


def by_task(costs: Costs, n_rows: int, n_workers: int) -> dict[int, float]:
    """Seconds of a stage by blocks of a task."""
    return {n: simulate(costs, n_rows, n_workers, n) for n in TASK_BLOCKS}

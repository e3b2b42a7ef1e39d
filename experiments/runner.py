"""Runs the pieces that are missing, in worker processes, and keeps each when it is done."""

from __future__ import annotations

import multiprocessing
import time
import traceback
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from typing import Any

from experiments.pieces import Piece
from experiments.store import Store

Say = Callable[[str], None]


def run(
    pieces: Iterable[Piece],
    store: Store,
    *,
    jobs: int = 1,
    deadline: float = float("inf"),
    say: Say,
) -> bool:
    """Run what the store has not; return whether everything is there then.

    Parameters
    ----------
    pieces : iterable of Piece
        Started in this order, but for those that wait for another.
    store : Store
        Where results are kept.
    say : callable
        Told a line for each piece.
    jobs : int, default=1
        Worker processes; 1 runs the pieces in this one.
    deadline : float, default=inf
        ``time.monotonic()`` after which no piece is started.
    """
    wanted = list(pieces)
    waiting = [piece for piece in wanted if store.get(piece.key) is None]
    say(f"{len(wanted) - len(waiting)} of {len(wanted)} pieces are there")
    begin = time.monotonic()
    loop = _run_here if jobs == 1 or len(waiting) < 2 else _run_in_workers
    loop(waiting, store, jobs, deadline, say)
    store.add_wall_seconds(time.monotonic() - begin)
    return all(store.get(piece.key) is not None for piece in wanted)


def call(piece: Piece, given: Any) -> tuple[dict[str, Any] | None, float, str]:
    """Return the result (None after an error), seconds, and the text of the error."""
    begin = time.monotonic()
    extra = {"given": given} if piece.needs else {}
    try:
        result = piece.function(**piece.arguments, **extra)
    except Exception:  # one piece must not stop the others; the run reports it and fails
        return None, time.monotonic() - begin, traceback.format_exc()
    return result, time.monotonic() - begin, ""


def _take_ready(waiting: list[Piece], store: Store) -> Piece | None:
    """Remove and return the first piece that waits for nothing."""
    for index, piece in enumerate(waiting):
        if not piece.needs or store.get(piece.needs) is not None:
            return waiting.pop(index)
    return None


def _keep(piece: Piece, outcome: tuple[Any, float, str], store: Store, left: int, say: Say) -> None:
    result, seconds, error = outcome
    if result is None:
        say(f"{piece.name}: failed\n{error}")
    else:
        store.put(piece.key, result, seconds)
        say(f"{piece.name}: {seconds:.1f} s, {left} left")


def _run_here(waiting: list[Piece], store: Store, jobs: int, deadline: float, say: Say) -> None:
    del jobs
    while time.monotonic() < deadline and (piece := _take_ready(waiting, store)) is not None:
        _keep(piece, call(piece, store.get(piece.needs)), store, len(waiting), say)


def _run_in_workers(
    waiting: list[Piece], store: Store, jobs: int, deadline: float, say: Say
) -> None:
    # Fresh processes: the threads of a library do not survive a fork.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context) as pool:
        running: dict[Future[Any], Piece] = {}
        while True:
            while len(running) < jobs and time.monotonic() < deadline:
                piece = _take_ready(waiting, store)
                if piece is None:
                    break
                running[pool.submit(call, piece, store.get(piece.needs))] = piece
            if not running:
                return
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                left = len(waiting) + len(running) - 1
                _keep(running.pop(future), future.result(), store, left, say)

"""Runs the points of a sweep in processes of this machine.

``concurrent.futures`` does not suffice, because a process that dies breaks its whole pool, and running calls cannot be stopped.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import pickle
import signal
import time
from collections import deque
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING, Any

from wane._errors import WaneError
from wane._worker import run_point

if TYPE_CHECKING:
    from multiprocessing.context import SpawnContext

    from wane._sweep import Points

#: How often a point is tried if its process dies, such as when the system needs memory or a user kills it.
TRIES = 3

#: Seconds between two steps that a process reports, and between two looks at all processes.
TOLD_EVERY, LOOKED_EVERY = 0.2, 0.1


class _Process:
    """A process, and the point that it runs."""

    def __init__(self, context: SpawnContext, policies: bytes | None) -> None:
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, policies), daemon=True)
        self.process.start()
        theirs.close()
        self.point: int | None = None
        self.is_ready = False

    def end(self) -> None:
        """Ends the process, whatever it does."""
        self.connection.close()
        self.process.terminate()
        self.process.join()


def run(points: Points, policies: bytes | None) -> None:
    """Runs the waiting points of a sweep. A point whose process dies is run again.

    Raises:
        WaneError: Processes cannot start.
    """
    context = multiprocessing.get_context("spawn")
    waiting = deque(points.waiting())
    count = min(points.workers(), len(waiting))
    deaths: dict[int, int] = {}
    pool: list[_Process] = []
    try:
        while waiting or any(process.point is not None for process in pool):
            busy = sum(process.point is not None for process in pool)
            while len(pool) < min(count, len(waiting) + busy):
                pool.append(_Process(context, policies))
            # A process that finished before another died gets the point that waits again here.
            for process in pool:
                if process.is_ready and process.point is None and waiting:
                    _send(process, points, waiting)
            for connection in wait([process.connection for process in pool], LOOKED_EVERY):
                process = next(process for process in pool if process.connection is connection)
                if not _hear(process, points):
                    pool.remove(process)
                    _mourn(process, points, waiting, deaths)
            points.tell()
    finally:
        for process in pool:
            process.end()


def _send(process: _Process, points: Points, waiting: deque[int]) -> None:
    process.point = waiting.popleft()
    # If it has died since its last message, its end of the pipe reports that next.
    with contextlib.suppress(ConnectionError):
        process.connection.send(points.job(process.point))


def _hear(process: _Process, points: Points) -> bool:
    """Handles a message of a process; returns false if it has died."""
    try:
        kind, value = process.connection.recv()
    except (EOFError, ConnectionError):
        return False
    process.is_ready = True
    if process.point is None:
        return True
    if kind == "step":
        points.step(process.point, *value)
        return True
    point, process.point = process.point, None
    if kind == "done":
        points.take(point, value)
    else:
        points.fail(point, value)
    return True


def _mourn(process: _Process, points: Points, waiting: deque[int], deaths: dict[int, int]) -> None:
    process.end()
    code = process.process.exitcode
    if not process.is_ready:
        raise WaneError(
            f"a process of the sweep could not start (exit code {code}); a script that sweeps in processes does so below the line "
            'if __name__ == "__main__":'
        )
    point = process.point
    if point is None:
        return
    deaths[point] = deaths.get(point, 0) + 1
    if deaths[point] < TRIES:
        waiting.appendleft(point)
    else:
        sentence = (
            f"its process died {TRIES} times, the last with exit code {code}; it may need more memory than there is"
        )
        points.fail(point, WaneError(sentence))


def _serve(connection: Connection, policies: bytes | None) -> None:
    """Main function of a process: runs one point after another, until the pipe is closed."""
    # Ctrl-C goes to all processes of a terminal; the process that started this one ends it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    told = time.monotonic()

    def tell(*step: Any) -> None:
        nonlocal told
        now = time.monotonic()
        if now - told >= TOLD_EVERY:
            told = now
            connection.send(("step", step))

    try:
        connection.send(("ready", None))
        while True:
            job = connection.recv()
            try:
                answer: tuple[str, Any] = "done", run_point(job, policies, tell)
            except BaseException as error:
                # A policy may raise exceptions that would otherwise end the process.
                answer = "failed", _sendable(error)
            connection.send(answer)
    except (EOFError, ConnectionError):
        return


def _sendable(error: BaseException) -> BaseException:
    """The error, or an error with its text if it cannot be sent to another process."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        notes = "\n".join(getattr(error, "__notes__", []))
        return WaneError(f"{type(error).__name__}: {error}\n{notes}".rstrip())
    return error

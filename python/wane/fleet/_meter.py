"""Progress of a verb on the standard error output: one line that changes on a terminal, elsewhere a line now and then."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from wane.fleet._plain import shown

#: Seconds between two lines where they do not replace each other.
EVERY_SECONDS = 10


class Meter:
    """Prints lines of progress while it is entered.

    Args:
        clock: Time in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._told: float | None = None
        self._is_terminal = sys.stderr is not None and sys.stderr.isatty()

    def __enter__(self) -> Meter:
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_terminal and self._told is not None:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    def tell(self, line: str) -> None:
        """Prints a line, the first one at once."""
        now = self._clock()
        if self._is_terminal:
            print(f"\r\x1b[K{shown(line)}", end="", file=sys.stderr, flush=True)
        elif self._told is None or now - self._told >= EVERY_SECONDS:
            print(shown(line), file=sys.stderr, flush=True)
        else:
            return
        self._told = now

"""Progress of `predict`, and an estimate of its time: at once from the number of drive-days, later from the time that the work took so far."""

from __future__ import annotations

import time
from collections.abc import Callable

#: Seconds of each part of the work for a million drive-days, measured on two processors: 432,551 drive-days took 96 s in all. How long a part takes
#: by itself differs from machine to machine; how parts compare hardly does.
SECONDS = {"read": 11.0, "logistic": 3.3, "boosting": 12.0, "judge": 1.0}

#: Seconds of a bootstrap draw for a million drive-days.
DRAW_SECONDS = 0.009

#: Share of the work from which on its own time counts, and not the time measured elsewhere.
OWN_MIN = 0.08


class Pace:
    """Tells how much of the work is done, and how long the rest may take.

    Args:
        tell: Function that is called with a line at the beginning and after each part.
        drive_days: Number of drive-days.
        draws: Number of bootstrap draws of each judgment.
        clock: Time in seconds.
    """

    def __init__(
        self,
        tell: Callable[[str], object],
        drive_days: int,
        draws: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._tell = tell
        self._clock = clock
        self._began = clock()
        self._drive_days = drive_days
        self._millions = drive_days / 1e6
        self._draws = draws
        self._whole = 0.0
        self._done = 0.0

    def begin(self, parts: list[str], words: str) -> None:
        """Tells the estimate for all parts of the work, each of them one of ``SECONDS``."""
        self._whole = sum(self._weight(part) for part in parts)
        self._tell(f"{self._drive_days:,} drive-days, {words}: about {duration(self._whole)}")

    def done(self, part: str, words: str) -> None:
        """Tells that a part is done."""
        self._done = min(self._done + self._weight(part), self._whole)
        share = self._done / self._whole
        if self._done >= self._whole:
            return
        left = self._whole - self._done
        if share >= OWN_MIN:
            left *= (self._clock() - self._began) / self._done
        self._tell(f"{100 * share:.0f} % done, about {duration(left)} left; {words}")

    def _weight(self, part: str) -> float:
        seconds = SECONDS[part] + (DRAW_SECONDS * self._draws if part == "judge" else 0)
        return seconds * self._millions


def duration(seconds: float) -> str:
    """A time for people: "40 s", "3 min", "2.5 h"."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    if seconds < 90 * 60:
        return f"{round(seconds / 60)} min"
    return f"{seconds / 3600:.1f} h"

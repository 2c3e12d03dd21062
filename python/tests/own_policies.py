"""Policies of tests that are sent to other processes, which import them from here."""

import os
import signal
import threading
from pathlib import Path

from wane.policies import GcView, IndexSpec, Setting


class Greedy:
    """The blocks with the fewest valid pages first."""

    def index(self) -> IndexSpec:
        return IndexSpec(lowest_only=True)

    def choose(self, view: GcView) -> int | None:
        valid = view.lowest()
        if valid is None or valid == view.units_per_block():
            return None
        return view.bucket_head(valid)


class Generous:
    """Greedy with slack: victims may hold some more pages than the emptiest block."""

    def __init__(self, more: int) -> None:
        self.parameters = {"more": more}

    def choose(self, view: GcView) -> int | None:
        valid = view.lowest()
        if valid is None or valid == view.units_per_block():
            return None
        for found in range(min(valid + self.parameters["more"], view.units_per_block() - 1), valid, -1):
            block = view.bucket_head(found)
            if block is not None:
                return block
        return view.bucket_head(valid)


class Deadly(Greedy):
    """Greedy that kills its process, for a given number of first drives."""

    def __init__(self, folder: Path, deaths: int) -> None:
        self._folder = folder
        self._deaths = deaths

    def begin(self, setting: Setting) -> None:
        """Counts deaths by files, so that two processes that begin at once do not take the same one."""
        for death in range(self._deaths):
            try:
                (self._folder / str(death)).touch(exist_ok=False)
            except FileExistsError:
                continue
            os.kill(os.getpid(), signal.SIGKILL)


class Ending(Greedy):
    """Ends its process at the first victim, or raises an exception that ends a process."""

    def __init__(self, how: str) -> None:
        self.parameters = {"how": how}

    def choose(self, view: GcView) -> int | None:
        if self.parameters["how"] == "raises":
            raise SystemExit(4)
        os._exit(3)


class Raising(Greedy):
    """Raises if the drive has no rating."""

    def begin(self, setting: Setting) -> None:
        if setting.endurance is None:
            raise KeyError("no rating")


class Unpicklable(Greedy):
    """Contains an object that cannot be sent to another process."""

    def __init__(self) -> None:
        self.lock = threading.Lock()

"""Progress of a run: passed to functions, drawn in notebooks, and left to the native bar on terminals."""

from __future__ import annotations

import html
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeAlias

#: Function that native code calls: preconditioning, phase, drive writes, share done.
Attend: TypeAlias = "Callable[[bool, int, float, float | None], object]"


class Progress(NamedTuple):
    """Progress of a run.

    Attributes:
        preconditioning: Whether the drive is still being filled; nothing is counted yet.
        phase: Index of the scenario's phase, from 0.
        drive_writes: Drive writes since preconditioning.
        done: Share of the phase that is done, 0 to 1; for a drive that runs until it dies, the share of its rated erases that is
        used. ``None`` if the phase has no known length.
    """

    preconditioning: bool
    phase: int
    drive_writes: float
    done: float | None


class SweepProgress(NamedTuple):
    """Progress of a sweep.

    Attributes:
        finished: Number of runs that are done, were there already, or failed.
        runs: Number of all runs.
        done: Share of all work that is done, 0 to 1, as far as it is known.
    """

    finished: int
    runs: int
    done: float


@contextmanager
def telling_of_sweep(
    progress: bool | Callable[[SweepProgress], object] | None,
) -> Iterator[tuple[bool, Callable[[int, int, float], object] | None]]:
    """Does the same as ``telling``, for a sweep.

    Args:
        progress: As for ``wane.sweep``.
    """
    with _telling(progress, "sweep", SweepProgress, _NotebookBar.tell_of_sweep) as told:
        yield told


@contextmanager
def telling(progress: bool | Callable[[Progress], object] | None, label: str) -> Iterator[tuple[bool, Attend | None]]:
    """For the time of a call, gives whether the native bar is shown, and the function that native code calls.

    Args:
        progress: As for ``wane.run``.
        label: Name of the work, for a notebook's bar.
    """
    with _telling(progress, label, Progress, _NotebookBar.tell) as told:
        yield told


@contextmanager
def _telling(
    progress: bool | Callable[[Any], object] | None,
    label: str,
    step: Callable[..., Any],
    show: Callable[..., None],
) -> Iterator[tuple[bool, Callable[..., object] | None]]:
    """Does the work of ``telling``. ``step`` turns native code's arguments into a function's argument, ``show`` draws them on a notebook's bar."""
    if callable(progress):
        tell = progress
        yield False, lambda *done: tell(step(*done))
        return
    shell = _notebook() if progress is not False else None
    if shell is None:
        yield progress is True or (progress is None and _is_terminal()), None
        return
    bar = _NotebookBar(label, shell)
    try:
        yield False, lambda *done: show(bar, *done)
    finally:
        bar.close()


class _NotebookBar:
    """A bar below the cell that runs. It appears when a run takes longer than a moment, and goes when the run ends."""

    #: Seconds between two changes, as often as a front end draws without effort.
    EVERY = 0.1

    def __init__(self, label: str, display: Any) -> None:
        self._label = html.escape(label)
        self._display = display
        self._handle: Any = None
        self._told = time.monotonic()

    def tell(self, preconditioning: bool, phase: int, drive_writes: float, done: float | None) -> None:
        """Shows a step."""
        words = "preconditioning" if preconditioning else f"{drive_writes:.1f} drive writes"
        if phase > 0:
            words = f"phase {phase}, {words}"
        self._tell(words, done)

    def tell_of_sweep(self, finished: int, runs: int, done: float) -> None:
        """Shows a step of a sweep."""
        self._tell(f"{finished} of {runs} runs", done)

    def _tell(self, words: str, done: float | None) -> None:
        """Shows what is done, in words and as a share, if the last change is long enough ago."""
        now = time.monotonic()
        if now - self._told < self.EVERY:
            return
        self._told = now
        share = "" if done is None else f' value="{min(done, 1):.3f}"'
        self._show(f'{self._label} <progress max="1"{share} style="width:24em"></progress> {words}')

    def close(self) -> None:
        """Takes the bar away."""
        if self._handle is not None:
            self._show("")

    def _show(self, text: str) -> None:
        shown = self._display.HTML(text)
        if self._handle is None:
            self._handle = self._display.display(shown, display_id=True)
        else:
            self._handle.update(shown)


def _notebook() -> Any:
    """``IPython.display`` in a notebook's kernel; ``None`` elsewhere."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is None or not hasattr(shell, "kernel"):
        return None
    from importlib import import_module  # noqa: PLC0415 - only in a notebook

    return import_module("IPython.display")


def _is_terminal() -> bool:
    try:
        return sys.stderr is not None and sys.stderr.isatty()
    except ValueError:
        # It is closed.
        return False

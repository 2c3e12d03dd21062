"""During a run: other threads, Ctrl-C, progress."""

import os
import pty
import select
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from conftest import ENDLESS

import wane

LONG = {"drive": {"preset": "tiny", "endurance": "none"}, "until": {"drive-writes": 2000}}


def test_other_threads_go_on_while_a_run_does() -> None:
    turns, done = 0, threading.Event()

    def count() -> None:
        nonlocal turns
        while not done.is_set():
            turns += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    began = time.monotonic()
    thread.start()
    wane.run(LONG)
    took = time.monotonic() - began
    done.set()
    thread.join()
    # If the run held the lock, the thread would have had one or two turns.
    assert turns > 50 * took, (turns, took)


def test_ctrl_c_ends_a_run_and_keeps_what_there_is(tmp_path: Path) -> None:
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        wane.run(ENDLESS, out=tmp_path / "out")
    assert time.monotonic() - began < 20
    timer.join()
    (left,) = wane.read(tmp_path / "out")
    assert left.summary["end"]["reason"] == "interrupted"
    assert left.summary["end"]["at_drive_writes"] > 0
    # The next run is not affected.
    assert wane.run(LONG, set={"until.drive-writes": 1}).summary["end"]["reason"] == "drive-writes"


def test_ctrl_c_is_heard_while_a_run_waits_for_its_trace(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    # Held open, so that the trace does not end.
    held = os.open(tmp_path / "pipe", os.O_RDWR)
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    scenario = {"drive": {"preset": "tiny"}, "workload": {"trace": tmp_path / "pipe"}, "until": {"drive-writes": 1}}
    with pytest.raises(KeyboardInterrupt):
        wane.run(scenario)
    timer.join()
    os.close(held)


def test_progress_is_told_and_rises() -> None:
    told: list[wane.Progress] = []
    wane.run(LONG, progress=told.append)
    assert len(told) > 1
    measured = [step for step in told if not step.preconditioning]
    writes = [step.drive_writes for step in measured]
    assert writes == sorted(writes)
    assert all(step.phase == 0 and step.done is not None and 0 <= step.done <= 1 for step in measured)


def test_what_progress_raises_ends_the_run_and_comes_back(tmp_path: Path) -> None:
    error = LookupError("enough")

    def tell(progress: wane.Progress) -> None:
        if progress.drive_writes > 1:
            raise error

    with pytest.raises(LookupError) as raised:
        wane.run(ENDLESS, out=tmp_path / "out", progress=tell)
    assert raised.value is error
    (left,) = wane.read(tmp_path / "out")
    assert left.summary["end"]["reason"] == "interrupted"


BEGUN = b"begun\n"
RUNS = """
import sys, wane
from conftest import ENDLESS
sys.stdout.write("begun\\n")
sys.stdout.flush()
try:
    wane.run(ENDLESS%s)
except KeyboardInterrupt:
    pass
"""

SWEEPS = RUNS.replace("wane.run(ENDLESS%s)", 'wane.sweep({"seed": [1, 2]}, ENDLESS%s)')


def told_by(code: str, stderr: int, read: int, wanted: bytes) -> bytes:
    """The output of an endless run on `read`, until it has the wanted text, or until a second after it began."""
    command = [sys.executable, "-c", code]
    # A terminal without a name is taken for one that shows no bars.
    terminal = os.environ | {"TERM": "xterm"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=stderr, cwd=Path(__file__).parent, env=terminal
    ) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == BEGUN
            told = b""
            while wanted not in told and select.select([read], [], [], 1)[0]:
                told += os.read(read, 65536)
            process.send_signal(signal.SIGINT)
            assert process.wait(20) == 0
            assert process.stdout.read() == b""
        finally:
            process.kill()
    return told


@pytest.mark.parametrize(("argument", "shows"), [("", True), (", progress=False", False)])
def test_a_terminal_has_a_bar(argument: str, shows: bool) -> None:
    leader, follower = pty.openpty()
    told = told_by(RUNS % argument, follower, leader, b"drive writes")
    os.close(follower)
    os.close(leader)
    assert (b"drive writes" in told) == shows, told


@pytest.mark.parametrize("argument", ["", ', scheduler="processes"'])
def test_a_sweep_has_a_bar_on_a_terminal(argument: str) -> None:
    leader, follower = pty.openpty()
    told = told_by(SWEEPS % argument, follower, leader, b"sweep")
    os.close(follower)
    os.close(leader)
    assert b"sweep" in told, told


@pytest.mark.parametrize("code", [RUNS, SWEEPS])
def test_a_pipe_has_no_progress(code: str) -> None:
    read, write = os.pipe()
    told = told_by(code % "", write, read, b"drive writes")
    os.close(write)
    os.close(read)
    assert told == b""

"""While a run goes on: other threads, Ctrl-C, progress."""

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
    # With the interpreter held the thread would have had one or two turns.
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
    # The next run is none the worse.
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


CODE = "import wane; wane.run({'drive': {'preset': 'tiny', 'endurance': 'none'}, 'until': {'drive-writes': 2000}}%s)"


@pytest.mark.parametrize(("argument", "shows"), [("", True), (", progress=False", False)])
def test_a_terminal_has_a_bar(argument: str, shows: bool) -> None:
    leader, follower = pty.openpty()
    with subprocess.Popen([sys.executable, "-c", CODE % argument], stderr=follower) as process:
        os.close(follower)
        told = b""
        while process.poll() is None or select.select([leader], [], [], 0)[0]:
            if select.select([leader], [], [], 0.1)[0]:
                try:
                    told += os.read(leader, 65536)
                except OSError:
                    # Linux says so when the last writer has gone.
                    break
    os.close(leader)
    assert process.returncode == 0
    assert (b"drive writes" in told) == shows, told


def test_a_pipe_has_no_progress() -> None:
    told = subprocess.run([sys.executable, "-c", CODE % ""], capture_output=True, check=True)
    assert (told.stdout, told.stderr) == (b"", b"")

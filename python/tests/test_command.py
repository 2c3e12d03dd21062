"""The command that the package installs behaves as the binary does."""

import contextlib
import importlib.metadata
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Command, binary, script, summary_of, without_run

import wane

ENDLESS = '[drive]\npreset = "tiny"\nendurance = "none"\n[until]\ndrive-writes = 1e9\n'
SHORT = '[drive]\npreset = "tiny"\n[until]\ndrive-writes = 2\n'


@pytest.mark.parametrize(
    "arguments",
    [
        ["--version"],
        ["--help"],
        ["run", "--help"],
        [],
        ["presets"],
        ["presets", "tinny"],
        ["run", "none.toml"],
        ["run", "s.toml", "--set", "ftl.gc.d=0"],
        ["--no-such"],
        ["manual", "--schema"],
        ["completions", "bash"],
        ["trace", "info", "none.gz"],
    ],
    ids=" ".join,
)
def test_output_and_exit_code_are_the_binarys(arguments: list[str], tmp_path: Path, wane_command: Command) -> None:
    (tmp_path / "s.toml").write_text(SHORT)
    told = wane_command(*arguments)
    want = subprocess.run([binary(), *arguments], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (told.returncode, told.stdout, told.stderr) == (want.returncode, want.stdout, want.stderr)


def test_a_run_of_the_command_is_the_binarys(tmp_path: Path, wane_command: Command) -> None:
    (tmp_path / "s.toml").write_text(SHORT)
    arguments = ["run", "s.toml", "--json"]
    want = subprocess.run([binary(), *arguments], cwd=tmp_path, capture_output=True, text=True, check=True)
    told = wane_command(*arguments)
    assert without_run(summary_of(told.stdout)) == without_run(summary_of(want.stdout))
    assert told.stderr == ""


def test_the_module_is_the_command_too() -> None:
    told = subprocess.run([sys.executable, "-m", "wane", "--version"], capture_output=True, text=True, check=True)
    assert told.stdout == f"wane {wane.__version__}\n"
    assert importlib.metadata.version("wane") == wane.__version__
    used = subprocess.run([sys.executable, "-m", "wane", "runn"], capture_output=True, text=True, check=False)
    assert used.returncode == 2
    assert "Usage: wane <COMMAND>" in used.stderr


def test_the_command_starts_without_numpy() -> None:
    code = "import sys, wane.__main__; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_reader_that_has_gone_is_no_failure() -> None:
    for arguments in (["manual"], ["policies", "--pages"], ["presets"], ["completions", "bash"]):
        reader, writer = os.pipe()
        os.close(reader)
        told = subprocess.run([script(), *arguments], stdout=writer, stderr=subprocess.PIPE, check=False)
        os.close(writer)
        assert (told.returncode, told.stderr) == (0, b""), arguments


@contextlib.contextmanager
def _started(command: list[str | Path], **options: Any) -> Iterator[subprocess.Popen[bytes]]:
    """A process that ends with the test, even if the test fails."""
    with subprocess.Popen(command, **options) as process:
        try:
            yield process
        finally:
            process.kill()


def _catches_interrupts(process: subprocess.Popen[bytes]) -> bool:
    lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    caught = next(line for line in lines if line.startswith("SigCgt:"))
    return bool(int(caught.split()[1], 16) & 1 << (signal.SIGINT - 1))


def _wait(is_so: Callable[[], bool]) -> None:
    until = time.monotonic() + 30
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.01)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="this system has no /proc to see handlers in")
def test_ctrl_c_leaves_marked_results_and_130(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(ENDLESS)
    command: list[str | Path] = [script(), "run", "s.toml", "--quiet", "--json", "--out", "out"]
    with _started(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        # The interpreter catches it first, the command once its folder is there.
        _wait((tmp_path / "out").exists)
        _wait(lambda: _catches_interrupts(process))
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        told, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (130, b"")
    assert summary_of(told.decode())["end"]["reason"] == "interrupted"
    (left,) = wane.read(tmp_path / "out")
    assert left.summary["end"]["reason"] == "interrupted"


@pytest.mark.parametrize("which", ["script", "binary"])
def test_what_has_nothing_to_keep_ends_at_once(which: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "s.toml")
    command = script() if which == "script" else binary()
    arguments: list[str | Path] = [command, "run", "s.toml"]
    with _started(arguments, cwd=tmp_path, stderr=subprocess.PIPE) as process:
        # Open once the command waits for its scenario.
        writer = os.open(tmp_path / "s.toml", os.O_WRONLY)
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    os.close(writer)
    assert (process.returncode, errors) == (-signal.SIGINT, b"")


def _on_a_terminal(command: list[str | Path], folder: Path) -> tuple[int, bytes]:
    """Runs a command whose standard error is a terminal; returns its exit code, and what it wrote there."""
    leader, follower = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color"}
    environment.pop("NO_COLOR", None)
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=follower, env=environment) as process:
        os.close(follower)
        told = b""
        while True:
            if select.select([leader], [], [], 0.05)[0]:
                try:
                    told += os.read(leader, 65536)
                except OSError:
                    # Linux says so when the last writer has gone.
                    break
            elif process.poll() is not None:
                break
    os.close(leader)
    return process.returncode, told


@pytest.mark.parametrize("arguments", [["run", "s.toml", "--set", "ftl.gc.d=0"], ["run", "bad.toml"], ["runn"]])
def test_a_terminal_shows_what_the_binary_shows(arguments: list[str], tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(SHORT)
    (tmp_path / "bad.toml").write_text('[drive]\npreset = "tinny"\n')
    told = _on_a_terminal([script(), *arguments], tmp_path)
    assert told == _on_a_terminal([binary(), *arguments], tmp_path)
    assert told[0] == 2
    assert arguments == ["run", "s.toml", "--set", "ftl.gc.d=0"] or b"\x1b[" in told[1]


def test_a_terminal_has_the_commands_bar(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(ENDLESS.replace("1e9", "2000"))
    code, told = _on_a_terminal([script(), "run", "s.toml"], tmp_path)
    assert code == 0
    assert b"drive writes" in told

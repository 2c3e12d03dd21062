"""Common parts of the tests: scenarios, the command, and the count of skipped tests."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]

#: The scenarios on which Python and the command are compared: name and text.
SCENARIOS = {
    "untimed": """
name = "untimed"
[drive]
preset = "tiny"
[ftl]
gc = { policy = "d-choices", d = 4 }
wear-leveling = { policy = "pwl", threshold = "50 %" }
[workload]
pattern = "hot-cold"
r = 0.9
h = 0.1
[until]
end-of-life = true
""",
    "timed": """
name = "timed"
[drive]
preset = "mlc-8g"
blocks-per-plane = 16
chip = "tlc-72l-2018"
endurance = "none"
[drive.ecc]
strength = 75
[drive.initial]
erase-count = 5000
[time]
scheduler = "event"
order = "priority"
read-priority = true
suspend = "both"
gc = "preemptible"
[workload]
pattern = "uniform"
read-share = "90 %"
arrival = { poisson = "0.2 ms" }
[until]
drive-writes = 0.05
""",
    "probed": """
name = "probed"
[drive]
preset = "mlc-8g"
blocks-per-plane = 16
chip = "tlc-72l-2018"
endurance = "none"
[drive.ecc]
strength = 75
[time]
scheduler = "timeline"
[workload]
pattern = "hot-cold"
[probe]
at-drive-writes = [0, 1, 3]
workload = { pattern = "hot-cold", read-share = "70 %", arrival = { poisson = "0.2 ms" } }
until = { requests = 2000 }
[until]
drive-writes = 4
""",
    "trace": f"""
name = "trace"
[drive]
preset = "tiny"
[workload]
trace = "{ROOT}/assets/traces/pgbench-ext4.iolog.zst"
loop = true
[until]
drive-writes = 5
""",
}

#: A run that ends only by an interruption.
ENDLESS: dict[str, Any] = {
    "drive": {"preset": "tiny", "endurance": "none"},
    "until": {"drive-writes": 1e9},
}

Command = Callable[..., subprocess.CompletedProcess[str]]


def script() -> Path:
    """The command that the package installed."""
    return Path(sys.executable).with_name("wane")


def binary() -> Path:
    """The command as cargo built it, or skips the test."""
    path = os.environ.get("WANE_BINARY")
    if path is None or not Path(path).exists():
        pytest.skip("WANE_BINARY names no binary of the command")
    return Path(path)


@pytest.fixture
def wane_command(tmp_path: Path) -> Command:
    """Runs the installed command in the test's folder."""

    def run(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
        options = {"cwd": tmp_path, "capture_output": True, "text": True, "timeout": 120, **options}
        return subprocess.run([script(), *arguments], check=False, **options)

    return run


def summary_of(text: str) -> dict[str, Any]:
    """What ``wane run --json`` printed."""
    summary: dict[str, Any] = json.loads(text)
    return summary


def without_run(summary: dict[str, Any]) -> dict[str, Any]:
    """A summary without what may differ between two runs of a scenario."""
    run = summary["run"]
    return {**summary, "run": {key: run[key] for key in ("seed", "version")}}


@pytest.hookimpl(trylast=True)
def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """A skipped test is a line of the file that ``make test`` counts."""
    path = os.environ.get("WANE_SKIPPED")
    if report.skipped and path is not None:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        with Path(path).open("a") as file:
            file.write(f"  {report.nodeid}: {reason.removeprefix('Skipped: ')}\n")


def has_program(name: str) -> bool:
    """Whether the system has a program."""
    return shutil.which(name) is not None

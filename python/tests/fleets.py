"""Small fleets for tests, and the places of real data."""

import csv
import io
import json
import os
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

HEADER = [
    "date",
    "serial_number",
    "model",
    "capacity_bytes",
    "failure",
    "smart_5_normalized",
    "smart_5_raw",
    "smart_9_raw",
    "pod_id",
]

HALF = "smart/backblaze_2013-04-10_2013-05-19_halfA.csv.gz"
TICKETS = "smart/alibaba_ssd_failure_tag_evenracks.csv.gz"
SMARTCTL = "smart/smartctl_json_A.tar.gz"


def real(name: str) -> Path:
    """A file of real data, or skips the test."""
    folder = os.environ.get("WANE_TEST_DATA")
    if folder is None or not (Path(folder) / name).exists():
        pytest.skip(f"WANE_TEST_DATA names no folder with {name}")
    return Path(folder) / name


def row(serial: str, day: str, **values: Any) -> dict[str, Any]:
    """A drive-day of a healthy drive."""
    told: dict[str, Any] = {
        "date": day,
        "serial_number": serial,
        "model": "DISK 1",
        "capacity_bytes": 4_000_787_030_016,
        "failure": 0,
        "smart_5_normalized": 100,
        "smart_5_raw": 0,
        "smart_9_raw": 1000 + 24 * int(day[-2:]),
        "pod_id": "p7",
    }
    return told | values


def write(path: Path, rows: Iterable[dict[str, Any]], header: list[str] | None = None) -> Path:
    """Writes a daily file."""
    with path.open("w", newline="") as file:
        lines = csv.writer(file)
        names = header or HEADER
        lines.writerow(names)
        lines.writerows([each[name] for name in names] for each in rows)
    return path


def day(path: Path, number: int, drives: int = 5, **values: Any) -> Path:
    """A day of April 2013, of some drives."""
    date = f"2013-04-{number:02}"
    return write(path / f"{date}.csv", [row(f"S{drive:03}", date, **values) for drive in range(drives)])


def zipped(name: str) -> bytes:
    """A zip with one member that has a word in it."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as packed:
        packed.writestr(name, "hello")
    return made.getvalue()


def smartctl(serial: str = "WD-1", model: str = "WDC TEST", seconds: int = 1_700_000_000, **values: Any) -> str:
    """The relevant part of what ``smartctl --json`` prints for a SATA drive."""
    told: dict[str, Any] = {
        "smartctl": {"version": [7, 3]},
        "device": {"protocol": "ATA"},
        "model_name": model,
        "serial_number": serial,
        "local_time": {"time_t": seconds},
        "smart_status": {"passed": True},
        "ata_smart_attributes": {
            "table": [
                {
                    "id": 194,
                    "name": "Temperature_Celsius",
                    "value": 76,
                    "worst": 53,
                    "thresh": 0,
                    "flags": {"prefailure": False},
                    "raw": {"value": 201_867_919_384, "string": "24 (Min/Max 18/47)"},
                }
            ]
        },
    }
    return json.dumps(told | values)

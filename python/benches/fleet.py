"""Measures how fast a fleet takes Backblaze's daily files: rows a second, most memory, bytes kept; one JSON object for each line.

    python python/benches/fleet.py [DAYS] [DRIVES] [zip]

Days are generated: as wide as Backblaze's files are now (197 columns, of which a drive tells some 25 attributes), serial numbers in
another order each day. ``zip`` packs them into one file, as a quarter is published. The last field is a hash of the fleet's rows.
"""

import json
import resource
import sys
import tempfile
import time
import zipfile
from datetime import date, timedelta
from pathlib import Path

import numpy as np

from wane import fleet

ATTRIBUTES = 96
TOLD = 25
SEED = 20130410


def write_day(path: Path, day: int, drives: int) -> None:
    """Writes one day of a fleet.

    Args:
        path: The file.
        day: Its number, from 0.
        drives: How many drives there are.
    """
    random = np.random.default_rng([SEED, day])
    pairs = [f"smart_{number}_normalized,smart_{number}_raw" for number in range(1, ATTRIBUTES + 1)]
    today = date(2013, 4, 10) + timedelta(days=day)
    told = [9, *range(20, 20 + TOLD - 1)]
    raw = random.integers(0, 1 << 32, (drives, ATTRIBUTES + 1))
    with path.open("w") as file:
        file.write(f"date,serial_number,model,capacity_bytes,failure,{','.join(pairs)}\n")
        for drive in random.permutation(drives).tolist():
            cells = [","] * (ATTRIBUTES + 1)
            for number in told:
                cells[number] = f"100,{raw[drive, number]}"
            cells[9] = f"90,{1000 + drive % 5000 + 24 * day}"
            head = f"{today},Z{drive:07d},MODEL {drive % 20},4000787030016,0"
            file.write(f"{head},{','.join(cells[1:])}\n")


def main() -> None:
    """Generates a fleet, ingests it, and prints the measurements."""
    days = int(sys.argv[1]) if len(sys.argv) > 1 else 4
    drives = int(sys.argv[2]) if len(sys.argv) > 2 else 50_000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = [folder / f"{day:03}.csv" for day in range(days)]
        for day, file in enumerate(files):
            write_day(file, day, drives)
        written = sum(file.stat().st_size for file in files)
        if sys.argv[3:] == ["zip"]:
            with zipfile.ZipFile(folder / "quarter.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as packed:
                for file in files:
                    packed.write(file, file.name)
                    file.unlink()
            files = [folder / "quarter.zip"]
        start, start_cpu = time.perf_counter(), time.process_time()
        fleet.ingest(folder / "fleet", files)
        seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - start_cpu
        told = fleet.open(folder / "fleet")
        kept = sum(file.stat().st_size for file in (folder / "fleet").rglob("*.parquet"))
        digest = told.query("SELECT CAST(bit_xor(hash(serial, date, smart_9_raw)) AS VARCHAR) AS h FROM days")
        line = {
            "bench": "fleet-ingest",
            "rows": days * drives,
            "columns": 2 * ATTRIBUTES + 5,
            "csv_bytes": written,
            "kept_bytes": kept,
            "seconds": round(seconds, 2),
            "cpu_seconds": round(cpu_seconds, 2),
            "rows_per_second": round(days * drives / seconds),
            "memory_max_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
            "hash": digest.column("h")[0].as_py(),
        }
        print(json.dumps(line))


if __name__ == "__main__":
    main()

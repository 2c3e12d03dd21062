"""Alibaba's failure tickets: a row for each failed SSD, with its place, as the view ``tickets``.

``serial`` is the disk's number, ``time`` that of the failure, in the operator's local time as published. Attributes keep their names
(``r_x`` raw, ``n_x`` normalized).

Source: Alibaba, "dcbrain", SSD open data; Xu et al., "General Feature Selection for Failure Prediction in Large-scale SSD Deployment", DSN 2021.
"""

from __future__ import annotations

from pathlib import Path

from wane._errors import FleetError
from wane.fleet._inputs import Input
from wane.fleet._plain import FIRST_DAY, days_allowed, excerpt, library, tomorrow

NEEDED = ("model", "failure_time", "failure", "disk_id", "node_id", "rack_id")
TEXTS = ("model", "app")
IDS = ("disk_id", "node_id", "rack_id", "machine_room_id")


def stage(given: Input, place: Path) -> None:
    """Writes a CSV of tickets as a Parquet file.

    Raises:
        FleetError: It is not in the form of Alibaba's files.
    """
    pyarrow, reader = library("pyarrow"), library("pyarrow.csv")
    compute = library("pyarrow.compute")
    line = given.head().removeprefix(b"\xef\xbb\xbf").split(b"\n", 1)[0].decode("utf-8", "replace").strip()
    header = line.split(",")
    for name in NEEDED:
        if name not in header:
            raise FleetError(
                f"{given.name}: has no column {name}; needed are {', '.join(NEEDED)}, found {excerpt(line)}"
            )
    types = dict.fromkeys(header, pyarrow.float64())
    types |= dict.fromkeys((name for name in TEXTS if name in header), pyarrow.string())
    types |= dict.fromkeys((name for name in IDS if name in header), pyarrow.int64())
    types |= {"failure_time": pyarrow.timestamp("s"), "failure": pyarrow.bool_()}
    options = reader.ConvertOptions(
        column_types=types, null_values=[""], strings_can_be_null=True, true_values=["1"], false_values=["0"]
    )
    try:
        with given.opened() as stream:
            table = reader.read_csv(stream, convert_options=options)
    except pyarrow.ArrowInvalid as error:
        raise FleetError(f"{given.name}: is no CSV of tickets: {error}") from None
    for name in NEEDED:
        if table.column(name).null_count:
            raise FleetError(f"{given.name}: {name} is empty in {table.column(name).null_count} rows; a ticket has one")
    if table.num_rows == 0:
        raise FleetError(f"{given.name}: has a header and no rows")
    ends = compute.min_max(table.column("failure_time").cast(pyarrow.date32())).as_py()
    wrong = next((day for day in ends.values() if not FIRST_DAY <= day <= tomorrow()), None)
    if wrong is not None:
        raise FleetError(f"{given.name}: failure_time is of {wrong}, {days_allowed()}")
    serial = compute.cast(table.column("disk_id"), pyarrow.string())
    kept = [name for name in header if name not in ("model", "failure_time", "failure", "disk_id")]
    columns = {
        "serial": serial,
        "model": table.column("model"),
        "time": table.column("failure_time").cast(pyarrow.timestamp("us")),
        "failure": table.column("failure"),
        "source": pyarrow.repeat(pyarrow.scalar("alibaba"), table.num_rows),
        **{name: table.column(name) for name in kept},
    }
    library("pyarrow.parquet").write_table(pyarrow.table(columns), place, compression="zstd")

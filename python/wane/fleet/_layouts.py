"""Daily tables of drives as operators publish them: which column names the drive, which says the day, and which hold attributes.

In Alibaba's files a drive's number is unique only within its model, so that both together are its serial number in the fleet.

Sources: Backblaze, "Drive Stats", https://www.backblaze.com/cloud-storage/resources/hard-drive-test-data; Alibaba, "dcbrain": SMART logs of SSDs
(Xu et al., DSN 2021) and of hard disks (PAKDD 2020), https://github.com/alibaba-edu/dcbrain.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

#: Most columns of a table. Backblaze's widest has some 200, Alibaba's 514.
COLUMNS_MAX = 4096


@dataclass(frozen=True)
class Layout:
    """A kind of daily table.

    Attributes:
        kind: Its name in the ledger.
        words: Its name in sentences.
        source: The value of the fleet's column ``source``.
        needed: Columns that must be there.
        serial: Columns whose values make the serial number, with the texts between them.
        model: Columns whose values make the model, with the texts between them.
        day: The column with the day.
        is_compact: Whether days may also be written as 20180101.
        failure: The column that says whether the drive failed; it may be absent if it is not needed.
        capacity: The column with the capacity in bytes, which may be absent.
        raw: Names of columns with raw values; the group is the attribute's number.
        normalized: Names of columns with normalized values.
        has_repeats: Whether a drive may have several rows a day, of which the last one counts.
    """

    kind: str
    words: str
    source: str
    needed: tuple[str, ...]
    serial: tuple[str, ...]
    model: tuple[str, ...]
    day: str
    is_compact: bool
    failure: str
    capacity: str
    raw: re.Pattern[str]
    normalized: re.Pattern[str]
    has_repeats: bool

    def attribute(self, name: str) -> str | None:
        """The fleet's name of a column with an attribute; ``None`` if it holds something else."""
        for pattern, end in ((self.raw, "raw"), (self.normalized, "normalized")):
            if (found := pattern.fullmatch(name)) is not None:
                return f"smart_{int(found[1])}_{end}"
        return None

    def names_drive(self, name: str) -> bool:
        """Whether a column is part of the drive's serial number or model."""
        return name in self.serial or name in self.model

    @property
    def kept(self) -> tuple[str, ...]:
        """Columns that are part of the serial number, and kept for themselves too because it has several parts."""
        return tuple(name for name in self.needed if len(self.serial) > 1 and name in self.serial and name != "model")


BACKBLAZE = Layout(
    kind="backblaze",
    words="Backblaze's daily files",
    source="backblaze",
    needed=("date", "serial_number", "model", "failure"),
    serial=("serial_number",),
    model=("model",),
    day="date",
    is_compact=False,
    failure="failure",
    capacity="capacity_bytes",
    raw=re.compile(r"smart_([0-9]{1,9})_raw"),
    normalized=re.compile(r"smart_([0-9]{1,9})_normalized"),
    has_repeats=False,
)

ALIBABA_SSD = Layout(
    kind="alibaba-ssd",
    words="Alibaba's SMART logs of SSDs",
    source="alibaba",
    needed=("disk_id", "ds", "model"),
    serial=("model", "-", "disk_id"),
    model=("model",),
    day="ds",
    is_compact=True,
    failure="failure",
    capacity="capacity_bytes",
    raw=re.compile(r"r_([0-9]{1,9})"),
    normalized=re.compile(r"n_([0-9]{1,9})"),
    has_repeats=True,
)

ALIBABA_DISK = Layout(
    kind="alibaba-disk",
    words="Alibaba's SMART logs of disks",
    source="alibaba",
    needed=("serial_number", "manufacturer", "model", "dt"),
    serial=("manufacturer", "", "model", "-", "serial_number"),
    model=("manufacturer", " ", "model"),
    day="dt",
    is_compact=True,
    failure="failure",
    capacity="capacity_bytes",
    raw=re.compile(r"smart_([0-9]{1,9})_?raw"),
    normalized=re.compile(r"smart_([0-9]{1,9})_normalized"),
    has_repeats=True,
)

#: The models of the tickets of FAST 2021 whose drives are in the SMART logs of SSDs, under the same numbers, and their names there.
#: Source: https://github.com/alibaba-edu/dcbrain, ssd_smart_logs/readme.md.
ALIBABA_MODELS = {"A3": "MA1", "A2": "MA2", "B3": "MB1", "B2": "MB2", "C1": "MC1", "C2": "MC2"}

#: The layouts of daily tables, by the ledger's name.
LAYOUTS = {layout.kind: layout for layout in (BACKBLAZE, ALIBABA_SSD, ALIBABA_DISK)}


def kind_of_names(names: Collection[str]) -> str | None:
    """The kind of a table by the names of its columns: one of ``LAYOUTS``, ``alibaba`` for tickets, or ``None``."""
    there = set(names)
    if {"failure_time", "disk_id"} <= there or {"fault_time", "serial_number"} <= there:
        return "alibaba"
    if {"disk_id", "ds"} <= there:
        return ALIBABA_SSD.kind
    if "dt" in there and len(there & {"serial_number", "manufacturer", "model"}) >= 2:
        return ALIBABA_DISK.kind
    # A header that lacks one of these is still taken for Backblaze's, and the error names the missing column.
    if len(there & {"date", "serial_number", "model", "failure", "capacity_bytes"}) >= 2:
        return BACKBLAZE.kind
    return None

"""Names of attributes: columns of a fleet's records, the study's abbreviations, units.

Columns are Backblaze's: ``smart_5_raw`` and ``smart_5_normalized``; ``smart_5`` is taken as raw. The names and abbreviations are those of 002,
chapters 3, 4 and 7. Other columns may be used in every analysis, under their own names.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from wane.fleet.analyses._errors import AnalysisError


class Attribute(NamedTuple):
    """A SMART attribute.

    Attributes:
        short: Its abbreviation in 002.
        name: Its name.
        unit: The unit of its raw value, empty for a count.
    """

    short: str
    name: str
    unit: str = ""


#: SMART attributes by id. Vendors differ: these are the meanings on the drives of 002 (tables 3.1 and 3.2; 183 and 187 as in chapter 7).
ATTRIBUTES: dict[int, Attribute] = {
    1: Attribute("RER", "read error rate"),
    3: Attribute("SUT", "spin-up time", "ms"),
    4: Attribute("RRER", "raw read error rate"),
    5: Attribute("RSC", "reallocated sectors"),
    7: Attribute("SER", "seek error rate"),
    9: Attribute("POH", "power-on hours", "h"),
    12: Attribute("PCC", "power cycles"),
    166: Attribute("MWEC", "least erases of a block"),
    167: Attribute("MBB", "least bad blocks of a die"),
    168: Attribute("MEC", "most erases of a block"),
    169: Attribute("TBB", "bad blocks"),
    171: Attribute("PFC", "program failures"),
    172: Attribute("EFC", "erase failures"),
    173: Attribute("AWEC", "mean erases of a block"),
    174: Attribute("UPLC", "unexpected power losses"),
    180: Attribute("URNB", "unused reserve blocks"),
    183: Attribute("SDEC", "SATA downshifts"),
    184: Attribute("ECC", "error corrections"),
    187: Attribute("RUE", "reported uncorrectable errors"),
    189: Attribute("HFW", "high-fly writes"),
    194: Attribute("TC", "temperature", "°C"),
    195: Attribute("HER", "hardware ECC recovered"),
    196: Attribute("REC", "reallocation events"),
    197: Attribute("CPSC", "pending sectors"),
    198: Attribute("USC", "uncorrectable sectors"),
    202: Attribute("PLR", "lifetime remaining", "%"),
    206: Attribute("WER", "write error rate"),
    212: Attribute("SPE", "SATA physical errors"),
    230: Attribute("PWEC", "write and erase count", "%"),
    232: Attribute("PARS", "available reserved space", "%"),
    233: Attribute("TNWG", "flash written", "GB"),
    241: Attribute("TWG", "host written", "GB"),
    242: Attribute("TRG", "host read", "GB"),
    246: Attribute("CHSW", "host sectors written", "sectors"),
    247: Attribute("NONPWYTH", "flash pages written for the host", "pages"),
    248: Attribute("NONPWNTF", "flash pages written by the FTL", "pages"),
}

_COLUMN = re.compile(r"smart_(\d+)(?:_(raw|normalized))?$")


def id_of(column: str) -> int | None:
    """The attribute's id; ``None`` for a column with another name."""
    found = _COLUMN.match(column)
    return int(found[1]) if found else None


#: Ends of columns' names, and the units that they stand for.
UNITS = {
    "percent": "%",
    "bytes": "bytes",
    "celsius": "°C",
    "hours": "h",
    "minutes": "min",
}


def words(column: str) -> str:
    """A column's name for people: its attribute, or its own words with the unit behind them."""
    attribute = ATTRIBUTES.get(id_of(column) or 0)
    if attribute is not None:
        return f"{attribute.name}, normalized" if column.endswith("_normalized") else attribute.name
    if (found := _COLUMN.match(column)) is not None:
        return f"attribute {found[1]}{', normalized' if found[2] == 'normalized' else ''}"
    head, _, end = column.rpartition("_")
    if head and end in UNITS and head != "power_on":
        return f"{head.replace('_', ' ')} ({UNITS[end]})"
    return column.replace("power_on", "power-on").replace("_", " ")


def short(column: str) -> str:
    """The study's abbreviation of a column's attribute, such as ``RSC``; the column's own name if there is none."""
    attribute = ATTRIBUTES.get(id_of(column) or 0)
    return attribute.short if attribute else column


def label(column: str) -> str:
    """The label of an axis for a column: its name and its unit."""
    found = _COLUMN.match(column)
    attribute = ATTRIBUTES.get(int(found[1])) if found else None
    if found is None or attribute is None:
        return words(column)
    if found[2] == "normalized":
        return f"{attribute.name} (normalized)"
    return f"{attribute.name} ({attribute.unit})" if attribute.unit else f"{attribute.name} (count)"


def falls_with_harm(column: str) -> bool:
    """Whether low values are bad: they are in normalized columns, while raw values count harm."""
    return column.endswith("_normalized")


def candidates(number: int) -> tuple[str, str, str]:
    """The columns that may hold an attribute, the raw value first."""
    return (f"smart_{number}_raw", f"smart_{number}", f"smart_{number}_normalized")


def column_of(columns: Sequence[str], number: int, user: str) -> str:
    """The column with the raw value of an attribute.

    Raises:
        AnalysisError: The records have no such column.
    """
    raw, plain, _ = candidates(number)
    for name in (raw, plain):
        if name in columns:
            return name
    attribute = ATTRIBUTES[number]
    raise AnalysisError(
        f"{user}: the records have no {attribute.name}, attribute {number} ({raw} or {plain}); they have: {listed(columns)}"
    )


def listed(names: Sequence[str], most: int = 12) -> str:
    """Lists names for a message, the first ``most`` of them."""
    if not names:
        return "none"
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(str(name) for name in names[:most]) + more

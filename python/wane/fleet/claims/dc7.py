"""DC7: the types of the study's failed disks (002, section 7.2): whether its figures agree with each other, and the figures of other fleets.

The arithmetic uses the printed figures, since the drives are the study's own. For comparison there are the same analyses of a simulated fleet, whose
truth is known, and of half of Backblaze's drives of April and May 2013.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from wane.fleet import _simulate
from wane.fleet._ingest import ingest
from wane.fleet.analyses import critical_attributes, failure_groups, published, starts
from wane.fleet.claims._record import Finding, Measured, markdown
from wane.fleet.store import Fleet

#: Drives with logical failures (002, section 7.2.2), the only count that is printed.
LOGICAL_DRIVES = 258

#: Two models of 200 drives over 180 days, one rated so low that some wear out, and enough failures.
FLEET: dict[str, Any] = {
    "seed": 1,
    "days": 180,
    "records": "daily",
    "model": [
        {"name": "SIM-A", "count": 200, "attributes": "A"},
        {"name": "SIM-B", "count": 200, "attributes": "B", "rated-erases": 700},
    ],
    "hazards": {"random": "10 %"},
}

#: Raw sectors and uncorrectable errors, which span decades.
RSC, RUE = "smart_5_raw", "smart_187_raw"

#: The same for half of Backblaze's drives of April and May 2013, 75 of which failed: ``groups=2`` by sectors alone, since these drives do not report
#: RUE. If the data are there, a test compares them.
HALF = {"logical": 53.3, "RSC": 46.7, "threshold RSC": 0.34, "coupled": 33}


def measure() -> Measured:
    """Measures the claim."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        _simulate.simulate(FLEET, place / "twin")
        ingest(place / "drives.fleet", [place / "twin"])
        with Fleet(place / "drives.fleet") as opened:
            records = opened.days([RSC, RUE])
            truth = opened.query("SELECT serial, cause FROM truth WHERE failed").to_pylist()
    return Measured([(1, finding(records, {row["serial"]: row["cause"] for row in truth}))])


def finding(records: Any, causes: dict[str, str]) -> Finding:
    """Compares the printed figures with each other, and runs the same analyses on simulated drives."""
    odd, total = odd_shares(), sum(published.FAILURE_TYPES.values())
    agrees = abs(total - 100) < 0.05 and not odd
    chosen: dict[str, Any] = {"attributes": [RSC, RUE], "groups": 3, "spread": "log"}
    groups = failure_groups(records, **chosen)
    shares = groups.groups.set_index("name")["percent"].to_dict()
    limits = starts(records, **chosen).rows.set_index("name")["threshold"].to_dict()
    types, limit = published.FAILURE_TYPES, published.THRESHOLDS
    coupled = coupling(records)
    none = "not told there"
    rows = [
        ("logical failures, %", f"{types['logical']}", _one(shares, "logical"), f"{HALF['logical']}"),
        ("by sectors (RSC), %", f"{types['RSC']}", _one(shares, "RSC"), f"{HALF['RSC']}"),
        ("by uncorrectable errors (RUE), %", f"{types['RUE']}", _one(shares, "RUE"), none),
        ("threshold of RSC", f"{limit['RSC']:g}", _one(limits, "RSC", 2), f"{HALF['threshold RSC']:g}"),
        ("threshold of RUE", f"{limit['RUE']:g}", _one(limits, "RUE", 2), none),
        ("thresholds of SUT and HFW", f"{limit['SUT']:g}, {limit['HFW']:g}", "disks alone have them", none),
        (
            "failed drives in which RSC goes with RUE, of those in which RUE moves, %",
            f"{published.COUPLING_RUE_RSC}",
            f"{coupled:.0f}",
            f"{HALF['coupled']} (with pending sectors)",
        ),
    ]
    worn = [serial for serial, cause in causes.items() if cause == "wear-out"]
    found = sum(groups.members.get(serial, "").startswith("RSC") for serial in worn)
    silent = [causes[serial] for serial, name in groups.members.items() if name == "logical" and serial in causes]
    first = ", ".join(f"{percent} % is no share of {drives} drives" for _, percent, drives in odd)
    return Finding(
        f"the shares sum to {total:.1f}; {len(odd)} of 6 are no shares of whole drives: {first}",
        "agrees" if agrees else "differs",
        _note(odd)
        + f" Of the simulated drives the truth is known: {found} of the {len(worn)} that wore out are in the group of sectors, and the "
        f"{len(silent)} of its logical group died of hazards all the same, without a sign in these attributes:",
        markdown(("figure", "002", "400 simulated drives", "half of Backblaze's"), rows),
    )


def _note(odd: list[tuple[str, float, int]]) -> str:
    near = "; ".join(f"{percent} % ({what}) is {_nearest(percent, drives)}" for what, percent, drives in odd)
    return (
        f"{LOGICAL_DRIVES} drives that are 59.6 % make 433, of which 33 and 142 are 7.6 and 32.8 %: these agree. "
        f"The others fit other counts than are printed: {near}. "
        "Section 7.2.1 has 28.8 and 41.7 % for one pair of attributes, besides. "
        "The drives are not public; types, thresholds and coupling are imported, and no other fleet has to have them. "
        "A threshold lies on a scale that its own fleet's worst and best record make. "
        "The paper says of logical failures that drives show no damage, and concludes that software did it."
    )


def _one(found: dict[str, float], name: str, digits: int = 1) -> str:
    return f"{found[name]:.{digits}f}" if name in found else "no such group"


def is_share(percent: float, drives: int) -> bool:
    """Whether a percentage with one decimal, rounded or truncated, is that of a whole number of drives."""
    exact = (100 * count / drives for count in range(drives + 1))
    return any(-0.05 - 1e-9 <= percent - each <= 0.05 + 1e-9 or 0 <= each - percent < 0.1 for each in exact)


def failed_drives() -> int:
    """The only number of failed drives for which the logical ones have their printed share."""
    total = [n for n in range(LOGICAL_DRIVES, 1000) if round(100 * LOGICAL_DRIVES / n, 1) == 59.6]
    (found,) = total
    return found


def odd_shares() -> list[tuple[str, float, int]]:
    """Printed shares that no whole number of drives has: their name, the percentage, and the number of all drives."""
    total = failed_drives()
    heads = round(published.FAILURE_TYPES["RUE"] / 100 * total)
    asked = [(name, percent, total) for name, percent in published.FAILURE_TYPES.items()]
    asked += [(name, percent, LOGICAL_DRIVES) for name, percent in published.LOGICAL_TYPES.items()]
    asked.append(("RSC with RUE", published.COUPLING_RUE_RSC, heads))
    return [each for each in asked if not is_share(each[1], each[2])]


def _nearest(percent: float, drives: int) -> str:
    """The number of drives, nearest to ``drives``, of which a percentage is a whole share, and that share."""
    near = min((n for n in range(1, 2 * drives) if is_share(percent, n)), key=lambda n: (abs(n - drives), n))
    return f"{round(percent / 100 * near)} of {near}"


def coupling(records: Any) -> float:
    """Percentage of the failed drives with moving uncorrectable errors in which sectors correlate with them."""
    found = critical_attributes(records, attributes=[RSC, RUE], fluctuation_max=1.0)
    return 100 * float(found.shares.loc[RUE, RSC]) / found.moving[RUE]

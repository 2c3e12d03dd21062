"""The study's results on its own fleets, which are not public (002, chapters 4 and 7). Imported, not reproduced."""

from __future__ import annotations

from types import MappingProxyType
from typing import NamedTuple


class PublishedSignature(NamedTuple):
    """A degradation signature: a polynomial of scaled health values (-1 to 1, low is worse) that is about 2 when healthy and 0 at failure.

    Attributes:
        attribute: The abbreviation of the attribute whose powers it contains.
        constant: Its constant.
        powers: The coefficients of the attribute's first, second and third power.
        others: Coefficients of other attributes, by abbreviation.
        r2: Its coefficient of determination.
        rmse: Its root mean square error, in units of degradation.
        gain_over_tree: Share by which its error is below the regression tree's.
    """

    attribute: str
    constant: float
    powers: tuple[float, float, float]
    others: MappingProxyType[str, float]
    r2: float
    rmse: float
    gain_over_tree: float

    def degradation(self, value: float, **others: float) -> float:
        """The degradation at a health value, with the other attributes' values by abbreviation."""
        powers = sum(each * value ** (number + 1) for number, each in enumerate(self.powers))
        return self.constant + powers + sum(each * others[name] for name, each in self.others.items())


#: Health states of model A and their transitions, in percent of the drives (002, table 4.1).
TRANSITIONS_A = MappingProxyType(
    {"0": 10.7, "1": 0.0, "2": 1.3, "3": 2.0, "4": 2.0, "1→4": 27.3, "3→1": 18.0, "3→1→4": 38.0, "3→1→4→0": 0.7}
)

#: Health states of model B and their transitions (002, table 4.2).
TRANSITIONS_B = MappingProxyType(
    {
        "0": 19.8,
        "1": 27.0,
        "2": 0.7,
        "3": 15.6,
        "4": 0.7,
        "3→0": 29.8,
        "0→3": 0.7,
        "3↔0": 4.3,
        "3→0→1": 0.7,
        "1→0→3": 0.7,
    }
)

#: The most transitions of one drive, by model (002, section 4.4).
TRANSITIONS_MAX = MappingProxyType({"A": 3, "B": 9})

#: Failures by type, in percent of the failed drives (002, section 7.2.2).
FAILURE_TYPES = MappingProxyType({"logical": 59.6, "RSC": 7.6, "RUE": 32.8})

#: Parts of the 258 logical failures, in percent (002, section 7.2.2).
LOGICAL_TYPES = MappingProxyType({"SUT": 8.6, "HFW": 4.3})

#: Scaled health values at or below which a drive degrades (002, sections 7.3.1 and 7.4.2).
THRESHOLDS = MappingProxyType({"RUE": 0.37, "RSC": 0.03, "SUT": 0.26, "HFW": 0.27})

#: Percentage of the drives that fail by RUE whose RSC changes with it (002, section 7.3.2).
COUPLING_RUE_RSC = 84.6

#: Percentage of disks with two attributes correlated above 0.75 (002, section 7.2.1); the two figures of RSC and RUE contradict each other.
CORRELATED = MappingProxyType({("RSC", "RUE"): 28.8, ("RSC", "POH"): 25.2, ("RUE", "RSC"): 41.7, ("POH", "RSC"): 41.2})

#: Equations 1 and 2 (002, section 7.3.2); their gain over the tree is from section 7.4.1.
SIGNATURES = MappingProxyType(
    {
        "RUE": PublishedSignature(
            "RUE", 1.26, (1.03, -0.15, -0.28), MappingProxyType({"RSC": 0.29}), 0.91, 0.098, 14.03
        ),
        "RSC": PublishedSignature("RSC", 0.87, (0.96, 0.18, 0.06), MappingProxyType({}), 0.98, 0.116, 10.07),
    }
)

#: Largest errors of forecast failure times, in hours (002, section 7.4.1).
FORECAST_ERRORS_H = MappingProxyType({"RUE": 20.0, "RSC": 8.0})

#: Errors of the regression models on Backblaze's drives (002, section 7.5).
BACKBLAZE_RMSE = MappingProxyType({"RUE": 0.1839, "HFW": 0.1624})

"""The analyses of 002 (chapters 4 and 7), as functions on the records of any fleet.

Each takes a ``pandas.DataFrame`` with a row for each drive and day (or hour), sorted by ``serial`` and then by ``date`` (or ``time``), with
``model``, ``failure`` (true on the last record of a drive that failed) and attributes as numeric columns; NaN is missing. Each returns a frozen
dataclass: ``table()`` is a ``pandas.DataFrame``, ``plot()`` draws with Matplotlib, ``to_dict()`` gives plain data for JSON. If a fleet has no
answer, that is an ``AnalysisError``.

    >>> from wane.fleet import analyses
    >>> found = analyses.transitions(records, attributes=["smart_173_raw", "smart_233_raw"])
    >>> found.observed.changing, found.constant_rate.changing, found.age_alone
"""

from collections.abc import Callable
from typing import Any

from wane.fleet.analyses import published
from wane.fleet.analyses._clusters import Elbow
from wane.fleet.analyses._errors import AnalysisError
from wane.fleet.analyses._health import Scale
from wane.fleet.analyses._result import Analysis
from wane.fleet.analyses.advice import Advice, advice
from wane.fleet.analyses.correlation import Correlation, correlation
from wane.fleet.analyses.critical import CriticalAttributes, critical_attributes
from wane.fleet.analyses.distribution import Distribution, distribution
from wane.fleet.analyses.failure_type import FailureTypes, failure_types
from wane.fleet.analyses.forecast import Forecasts, forecasts
from wane.fleet.analyses.groups import (
    Deciles,
    DiskOptions,
    FailureGroups,
    WorkingGroups,
    deciles,
    failure_groups,
    working_groups,
)
from wane.fleet.analyses.onset import Starts, starts
from wane.fleet.analyses.proportion import Proportion, sectors_per_page, write_amplification
from wane.fleet.analyses.signature import Signature, Signatures, formula, signatures
from wane.fleet.analyses.states import HealthStates, health_states
from wane.fleet.analyses.transitions import Patterns, Transitions, transitions
from wane.fleet.analyses.variant import Variant, backblaze_variant

__all__ = [
    "ANALYSES",
    "Advice",
    "Analysis",
    "AnalysisError",
    "Correlation",
    "CriticalAttributes",
    "Deciles",
    "DiskOptions",
    "Distribution",
    "Elbow",
    "FailureGroups",
    "FailureTypes",
    "Forecasts",
    "HealthStates",
    "Patterns",
    "Proportion",
    "Scale",
    "Signature",
    "Signatures",
    "Starts",
    "Transitions",
    "Variant",
    "WorkingGroups",
    "advice",
    "backblaze_variant",
    "correlation",
    "critical_attributes",
    "deciles",
    "distribution",
    "failure_groups",
    "failure_types",
    "forecasts",
    "formula",
    "health_states",
    "published",
    "sectors_per_page",
    "signatures",
    "starts",
    "transitions",
    "working_groups",
    "write_amplification",
]

#: The analyses by name: each takes records and its own options by keyword.
ANALYSES: dict[str, Callable[..., Any]] = {
    "correlation": correlation,
    "write-amplification": write_amplification,
    "sectors-per-page": sectors_per_page,
    "distribution": distribution,
    "health-states": health_states,
    "transitions": transitions,
    "critical-attributes": critical_attributes,
    "failure-groups": failure_groups,
    "working-groups": working_groups,
    "deciles": deciles,
    "starts": starts,
    "signatures": signatures,
    "forecasts": forecasts,
    "failure-types": failure_types,
    "advice": advice,
    "backblaze-variant": backblaze_variant,
}

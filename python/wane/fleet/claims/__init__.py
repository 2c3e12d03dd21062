"""Published claims that this package measures, for ``wane reproduce``.

The command has their texts and the page; it asks this package for the results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from wane._errors import FleetError
from wane.fleet._plain import excerpt
from wane.fleet.claims import dc7, dc8
from wane.fleet.claims._record import Finding, Measured, Reading

__all__ = ["CLAIMS", "Finding", "Measured", "Reading", "measure"]

#: Functions that measure claims, by the claims' names.
CLAIMS: dict[str, Callable[[], Measured]] = {"DC7": dc7.measure, "DC8": dc8.measure}


def measure(names: Sequence[str]) -> dict[str, Measured]:
    """Measures claims, by name; the results are the same each time.

    Args:
        names: Names in `CLAIMS`.

    Raises:
        FleetError: There is no claim of a name.
    """
    for name in names:
        if name not in CLAIMS:
            raise FleetError(f"claims: found {excerpt(name)}, allowed are {' and '.join(CLAIMS)}")
    return {name: CLAIMS[name]() for name in names}

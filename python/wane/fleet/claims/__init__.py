"""Published claims that this package measures, for ``wane reproduce``.

Their texts and the page are the command's, which asks here for what they come to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from wane._errors import FleetError
from wane.fleet._plain import excerpt
from wane.fleet.claims import dc7, dc8
from wane.fleet.claims._record import Finding, Measured, Reading

__all__ = ["CLAIMS", "Finding", "Measured", "Reading", "measure"]

#: What measures a claim, by its name.
CLAIMS: dict[str, Callable[[], Measured]] = {"DC7": dc7.measure, "DC8": dc8.measure}


def measure(names: Sequence[str]) -> dict[str, Measured]:
    """What claims come to, by name; the same each time.

    Args:
        names: Which of `CLAIMS`.

    Raises:
        FleetError: There is none of a name.
    """
    for name in names:
        if name not in CLAIMS:
            raise FleetError(f"claims: found {excerpt(name)}, allowed are {' and '.join(CLAIMS)}")
    return {name: CLAIMS[name]() for name in names}

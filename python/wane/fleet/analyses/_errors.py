"""The error of the analyses."""

from wane._errors import FleetError


class AnalysisError(FleetError):
    """A question that a fleet's records cannot answer: too few drives, a column that is missing or constant, records out of order."""

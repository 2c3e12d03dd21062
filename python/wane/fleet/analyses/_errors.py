"""What the analyses refuse."""

from wane._errors import WaneError


class AnalysisError(WaneError, ValueError):
    """A question that a fleet's records cannot answer: too few drives, a column that is missing or constant, records out of order."""

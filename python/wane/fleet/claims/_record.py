"""Results of a claim, in the form that `wane reproduce` reads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Finding:
    """Result of an experiment.

    Attributes:
        ours: Our number.
        verdict: ``agrees``, ``differs`` or ``not run``.
        note: Remark; the reason if the verdict is ``differs``.
        table: The figures behind it as a Markdown table, or nothing.
    """

    ours: str
    verdict: str
    note: str
    table: str = ""


@dataclass(frozen=True)
class Reading:
    """Result of another reading of a claim.

    Attributes:
        what: How the reading differs.
        changes: ``choice``, ``scale`` or ``seed``.
        ours: Our number under this reading.
        verdict: Whether that agrees.
    """

    what: str
    changes: str
    ours: str
    verdict: str


@dataclass(frozen=True)
class Measured:
    """Results of a claim.

    Attributes:
        seeds: Results by seed, that of the claim's own seed first.
        others: Results under other readings.
    """

    seeds: list[tuple[int, Finding]]
    others: list[Reading] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """The results as plain data for JSON."""
        return {
            "seeds": [{"seed": seed, **vars(finding)} for seed, finding in self.seeds],
            "others": [vars(other) for other in self.others],
        }


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)

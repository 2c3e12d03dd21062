"""What a claim comes to, as `wane reproduce` takes it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Finding:
    """What an experiment found.

    Attributes:
        ours: Our number.
        verdict: ``agrees``, ``differs`` or ``not run``.
        note: What one should know; the reason where it differs.
        table: The figures behind it as a Markdown table, or nothing.
    """

    ours: str
    verdict: str
    note: str
    table: str = ""


@dataclass(frozen=True)
class Reading:
    """What another reading of a claim comes to.

    Attributes:
        what: How it differs.
        changes: ``choice``, ``scale`` or ``seed``.
        ours: Our number under it.
        verdict: Whether that agrees.
    """

    what: str
    changes: str
    ours: str
    verdict: str


@dataclass(frozen=True)
class Measured:
    """What a claim comes to.

    Attributes:
        seeds: By seed, the claim's own first.
        others: Under other readings.
    """

    seeds: list[tuple[int, Finding]]
    others: list[Reading] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "seeds": [{"seed": seed, **vars(finding)} for seed, finding in self.seeds],
            "others": [vars(other) for other in self.others],
        }


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)

"""Causes of death of the drives that models alarmed, which only simulated fleets have.

A hazard without a sign cannot be foreseen: among those drives a model is as good as chance. So drives are distinguished by the cause of their death,
and by whether they showed signs of it on a day before. Wear-out has no sign but the wear itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wane._errors import FleetError
from wane.fleet._plain import library
from wane.fleet.prediction.scores import Flags, Numbers, Trial

#: Name of the row of drives that did not die in the records.
LIVED = "none: it lives"

#: Columns of the truth.
COLUMNS = ("serial", "failed", "cause", "time", "signs_since")

#: The truth has seconds since 1970; a record at midnight belongs to the day that ends.
DAY_SECONDS = 86_400

#: Confidence of an interval.
LEVEL = 0.95


def truth_of(fleet: Any) -> Any:
    """The truth about the drives of a fleet; ``None`` if it has none."""
    truth = fleet.query(f"SELECT {', '.join(COLUMNS)} FROM truth").to_pandas()
    return truth if len(truth) else None


def by_cause(trial: Trial, scores: dict[str, Numbers], budget: float, truth: Any) -> list[dict[str, Any]]:
    """Counts what became of drives, by cause and signs, and how many of them each model alarmed.

    Args:
        trial: The test.
        scores: Each model's scores of the test's rows.
        budget: The share of the drives that is alarmed on a day.
        truth: A row for each drive: ``serial``, ``failed``, ``cause``, and in seconds since 1970 ``time`` (of the failure) and ``signs_since``;
        missing if there is none.

    Returns:
        Rows: ``cause``, ``signs`` (whether there were any on a day before the failure), ``drives``, and by model ``alarmed`` (ever in the test),
        ``found`` (within the horizon before the failure) and ``found_share`` with the ends of its exact 95 % interval; the last two are ``None``
        for drives that live. Drives without truth are left out.

    Raises:
        FleetError: The truth lacks a column.
    """
    for name in COLUMNS:
        if name not in truth.columns:
            raise FleetError(f"truth: has no column {name}; needed are {', '.join(COLUMNS)}")
    known = truth.drop_duplicates("serial").set_index("serial").reindex(trial.serials)
    told = known["failed"].notna().to_numpy()
    failed = trial.failed & told
    since, ends = ((known[name].to_numpy(dtype=np.float64) - 1) // DAY_SECONDS for name in ("signs_since", "time"))
    signs = failed & (since < ends)
    outcomes = {name: trial.outcome(trial.by_budget(score, budget)) for name, score in scores.items()}
    causes = np.where(failed, known["cause"].fillna("").to_numpy(dtype=object), LIVED)
    rows = []
    for cause, before in sorted({(str(causes[at]), bool(signs[at])) for at in np.flatnonzero(told)}):
        of = told & (causes == cause) & (signs == before)
        models = {
            name: _counts(outcome.ever & of, None if cause == LIVED else outcome.found & of, int(of.sum()))
            for name, outcome in outcomes.items()
        }
        rows.append({"cause": cause, "signs": before, "drives": int(of.sum()), "models": models})
    return sorted(rows, key=lambda row: (row["cause"] == LIVED, not row["signs"], -row["drives"], row["cause"]))


def _counts(alarmed: Flags, found: Flags | None, drives: int) -> dict[str, Any]:
    if found is None:
        return {"alarmed": int(alarmed.sum()), "found": None, "found_share": None}
    count = int(found.sum())
    ends = library("scipy.stats").binomtest(count, drives).proportion_ci(LEVEL, method="exact")
    share = {"value": count / drives, "low": float(ends.low), "high": float(ends.high)}
    return {"alarmed": int(alarmed.sum()), "found": count, "found_share": share}


def in_words(rows: list[dict[str, Any]], budget: float) -> list[str]:
    """Formats the rows for people."""
    models = list(rows[0]["models"])
    lines = [
        f"causes of death, and how many drives were alarmed within the horizon before, at {100 * budget:g} % a day (exact intervals, %):",
        f"{'cause':16}{'signs':>7}{'drives':>8}" + "".join(f"{name:>26}" for name in models),
    ]
    for row in rows:
        cells = []
        for name in models:
            told = row["models"][name]
            share = told["found_share"]
            cells.append(
                f"{told['alarmed']:,} alarmed"
                if share is None
                else f"{told['found']} ({100 * share['low']:.0f} to {100 * share['high']:.0f})"
            )
        signs = "" if row["cause"] == LIVED else "yes" if row["signs"] else "no"
        lines.append(f"{row['cause']:16}{signs:>7}{row['drives']:>8,}" + "".join(f"{cell:>26}" for cell in cells))
    return lines

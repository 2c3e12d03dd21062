"""One page on a fleet, in the style of a run's report: overview, what to replace, failure rates of models, states, failures that come together.

The page does not contain the time at which it was made, so that the same fleet gives the same bytes.
"""

from __future__ import annotations

import html
import io
from pathlib import Path
from typing import Any

from wane import _wane
from wane._errors import FleetError, WaneError
from wane.fleet._analyze import analyze, names_of_analyses
from wane.fleet._plain import counted, library, quoted, shown
from wane.fleet._replace import Replacements, replacements
from wane.fleet.prediction import rule_by_drive
from wane.fleet.prediction.models import RULE
from wane.fleet.prediction.survival import RANK_DRIVE_DAYS_MIN, untold_models, yearly_rates
from wane.fleet.store import Fleet

#: Most rows of a table on the page; further rows are only counted.
ROWS_MAX = 40

#: Most notes at the head of the page.
NOTES_MAX = 20

#: Most drive-days of one drive model for clustering states; of more, every n-th drive is taken.
STATE_ROWS_MAX = 50_000

#: Most rows of the table of patterns: there are many, and the last ones are of single drives.
PATTERNS_MAX = 12


def escape(text: str) -> str:
    """A text of a file for the page, in which it neither makes elements nor changes the direction of writing."""
    return html.escape(shown(text))


def report(fleet: Fleet) -> str:
    """Makes a page on a fleet, as self-contained HTML.

    Raises:
        FleetError: The fleet is empty.
    """
    told = fleet.summary()
    if not told["drive_days"] and not told["tickets"]:
        raise FleetError(f"{fleet.path}: has nothing in it; `python -m wane.fleet ingest` adds files")
    parts = [_head(fleet, told)]
    if told["drive_days"]:
        frame = fleet.days([])
        untold = untold_models(frame)
        known, silent = frame[~frame["model"].isin(untold)], frame[frame["model"].isin(untold)]
        rates = yearly_rates(known) if len(known) else []
        parts += [
            _glance(told, rates),
            _warnings(fleet, told),
            _to_replace(replacements(fleet), bool(rates)),
            _models(rates, silent),
            _rule(fleet),
        ]
        parts += _states(fleet, str(frame["model"].value_counts().sort_index().idxmax()))
    if told["tickets"]:
        parts.append(_together(fleet))
    parts.append(_cannot_tell())
    parts.append(f"<footer>wane {escape(_wane.__version__)}; {counted(told['files'], 'file')} ingested</footer>\n")
    return _wane.document(f"Fleet {shown(fleet.path.name)}", "".join(parts))


#: Mark among the first bytes of every page.
MARK = b'<meta name="generator" content="wane">'


def write(fleet: Fleet, place: Path, force: bool = False) -> None:
    """Writes the page.

    Raises:
        FleetError: It cannot be written, or would overwrite, without ``force``, a file that wane did not write.
    """
    if place.is_file() and not force and MARK not in place.read_bytes()[:1024] and place.stat().st_size > 0:
        raise FleetError(f"{place}: exists, and wane did not write it: give another name, or --force to overwrite it")
    is_inside = place.parent.resolve() == fleet.path.resolve()
    if is_inside and place.is_symlink():
        raise FleetError(f"{place}: is a link, and the page would be written where it leads; give another name")
    text = report(fleet)
    try:
        if is_inside:
            # It may be another name of a file outside of the fleet.
            place.unlink(missing_ok=True)
        place.write_text(text)
    except OSError as error:
        raise FleetError(f"{place}: cannot be written: {error.strerror}") from None


def _head(fleet: Fleet, told: dict[str, Any]) -> str:
    what = (
        f"{counted(told['drives'], 'drive')} of {counted(told['models'], 'model')}, {told['first']} to {told['last']}"
    )
    if not told["drive_days"]:
        what = f"{counted(told['tickets'], 'failure ticket')}"
    return (
        f'<header>\n<p class="eyebrow">wane fleet report</p>\n<h1>{escape(fleet.path.name)}</h1>\n'
        f'<p class="lead">{escape(what)}.</p>\n</header>\n'
    )


def _glance(told: dict[str, Any], rates: list[dict[str, Any]]) -> str:
    days = sum(row["drive_days"] for row in rates)
    failures, rate = f"{told['failures']:,}", "none"
    if not rates:
        failures = rate = "not told"
    elif told["failures"]:
        rate = f"{100 * 365 * told['failures'] / days:.2f} %"
    tiles = [
        ("drives", f"{told['drives']:,}", ""),
        ("drive-days", f"{told['drive_days']:,}", ""),
        ("failures", failures, ""),
        ("fail in a year", rate, "failures in a hundred drive-years"),
    ]
    cells = "".join(
        f"<div><dt>{name}</dt><dd>{value}<small>{small}</small></dd></div>\n" for name, value, small in tiles
    )
    return f'<dl class="tiles">\n{cells}</dl>\n'


def _warnings(fleet: Fleet, told: dict[str, Any]) -> str:
    notes = []
    simulated = told["drive_days_by_source"].get("simulated", 0)
    if simulated:
        notes.append(f"{simulated:,} of {told['drive_days']:,} drive-days are simulated")
    if told["skipped_files"]:
        notes.append(f"{counted(told['skipped_files'], 'bad file')} left out when they were ingested")
    notes += [note for entry in fleet.ledger.files for note in entry.notes]
    if not notes:
        return ""
    first = notes if len(notes) <= NOTES_MAX else [*notes[:NOTES_MAX], f"and {len(notes) - NOTES_MAX:,} more"]
    items = "".join(f"<li>{escape(note)}</li>\n" for note in first)
    return f'<aside class="warnings" aria-label="Warnings"><p>To keep in mind</p><ul>\n{items}</ul></aside>\n'


def _to_replace(found: Replacements, failures_told: bool) -> str:
    rows = [
        [
            row["serial"],
            row["model"],
            row["urgency"],
            "" if row["by"] is None else str(row["by"]),
            "; ".join(row["reasons"]),
        ]
        for row in found.drives
    ]
    caption = (
        f"{counted(len(found.drives) - found.gone_listed, 'drive')} of {found.seen:,} that told something in the week to {found.last_day}, "
        f"and {found.gone_listed:,} of {found.gone:,} that fell silent before, as what they told last was urgent. "
        f"{counted(found.still, 'drive')} with errors or lost sectors that did not grow in a month, which is no reason; "
        f"{counted(found.once, 'drive')} with one record of them in the month: whether they grow is not known; "
        f"{counted(found.near, 'drive')} near the rated wear, which did not grow or stands in one record. "
        + (f"{found.failed:,} failed." if failures_told else "Whether a drive failed is not told.")
    )
    return _section("What to replace", caption, _table(["drive", "model", "when", "wear used by", "why"], rows))


def _models(rates: list[dict[str, Any]], silent: Any) -> str:
    """A row for each model; ``silent`` are the drive-days of models for which no file says whether drives failed."""
    rows = [
        [
            row["model"],
            f"{row['drives']:,}",
            f"{row['drive_days']:,}",
            f"{row['failures']:,}",
            f"{row['afr_percent']:.2f}",
            f"{row['low']:.2f} to {row['high']:.2f}",
            "too few" if row["drive_days"] < RANK_DRIVE_DAYS_MIN else f"{row['pooled_percent']:.2f}",
        ]
        for row in rates
    ]
    counts = (
        silent.groupby("model")["serial"].agg(["nunique", "size"]).sort_values("size", ascending=False, kind="stable")
    )
    rows += [
        [str(model), f"{drives:,}", f"{days:,}", *["not told"] * 4]
        for model, drives, days in counts.itertuples(name=None)
    ]
    caption = (
        "Failures in a hundred drive-years, with the Poisson interval of 95 %. Models differ only where their intervals do not overlap; pooled is "
        f"the rate where all models are taken as draws of one distribution, told from {RANK_DRIVE_DAYS_MIN:,} drive-days on. smartctl "
        "does not know whether a drive failed: where no file tells it, there is no rate."
    )
    heads = ["model", "drives", "drive-days", "failures", "a year, %", "interval", "pooled"]
    return _section("How the models fare", caption, _table(heads, rows))


def _rule(fleet: Fleet) -> str:
    there = fleet.columns()
    attributes = [name for name in RULE if name in there]
    if not attributes or not fleet.query("SELECT bool_or(failure) AS f FROM days").column("f")[0].as_py():
        return ""
    told = rule_by_drive(fleet.days(attributes))
    rows = [
        [words, f"{at['failed_flagged']:,} of {at['failed']:,}", f"{at['healthy_flagged']:,} of {at['healthy']:,}"]
        for words, at in (
            ("on the last day without the flag", told["last_day"]),
            ("by any earlier day", told["any_day"]),
        )
    ]
    caption = "What the rule &quot;any reallocated or pending sector&quot; finds. `python -m wane.fleet predict` says what a model finds beside it."
    return _section(
        "What the simplest rule finds", caption, _table(["", "failed drives found", "healthy drives flagged"], rows)
    )


def _states(fleet: Fleet, model: str) -> list[str]:
    """States and transitions of the drive model with the most drive-days, if the analyses are installed and have an answer."""
    known = names_of_analyses()
    days, drives = _of_model(fleet, model)
    parts = []
    states = None
    for name in (each for each in ("health-states", "transitions") if each in known):
        heading = name.replace("-", " ").capitalize()
        # With the same number of states, the clusters and the numbering of states are the same.
        options: dict[str, Any] = {} if states is None else {"states": states}
        try:
            answer = analyze(fleet, name, model=model, rows_max=STATE_ROWS_MAX, **options)
        except WaneError as error:
            parts.append(_section(heading, escape(f"{model}: {error}"), ""))
            continue
        found = answer if name == "health-states" else answer.states
        caption = f"Drives of the model {escape(model)}, which has the most drive-days{_sampled(days, drives, found.drives)}. "
        if name == "health-states":
            states = answer.states
            caption += "State 0 has the lowest values, the last the highest; centroids go from 0 to 1."
        else:
            caption += "States are numbered as above" if states is not None else "State 0 has the lowest values"
            caption += (
                "; those of percent_constant_rate are of a clustering of its own, in which each drive goes from its first to its last "
                "values at a constant rate: a number there is not the state of that number here."
            )
        table = answer.table()
        rows = [[_cell(value) for value in row] for row in table.itertuples(index=False, name=None)]
        most = ROWS_MAX if name == "health-states" else PATTERNS_MAX
        heads = [str(column) for column in table.columns]
        parts.append(_section(heading, caption, _picture(answer) + _table(heads, rows, most)))
    return parts


def _of_model(fleet: Fleet, model: str) -> tuple[int, int]:
    """Numbers of drive-days and of drives of a model."""
    query = f"SELECT count(*) AS days, count(DISTINCT serial) AS drives FROM days WHERE model = {quoted(model)}"
    row = fleet.query(query).to_pylist()[0]
    return row["days"], row["drives"]


def _sampled(days: int, drives: int, taken: int) -> str:
    """Says which drives were taken, if not all were."""
    if days <= STATE_ROWS_MAX:
        return ""
    step = -(-days // STATE_ROWS_MAX)
    return f"; of its {drives:,} drives one in {step}, {taken:,}, by serial number, as it has more than {STATE_ROWS_MAX:,} drive-days"


def _together(fleet: Fleet) -> str:
    try:
        told = analyze(fleet, "correlated")
    except WaneError as error:
        return _section("Failures that come together", escape(str(error)), "")
    rows = [
        [
            row["place"].removesuffix("_id"),
            f"{row['minutes'] / 60:g} h",
            f"{100 * row['share']:.1f} %",
            f"{100 * row['dealt_anew']:.1f} %",
        ]
        for row in told.near
    ]
    caption = (
        "Failures with another one at the same place within the window, before or after; beside it the same with times dealt out anew, as if "
        "failures at a place had nothing to do with each other's times. Arrays are rebuilt in these windows."
    )
    table = _table(["place", "window", "with another near", "times dealt anew"], rows)
    return _section("Failures that come together", caption, _picture(told) + table)


def _cannot_tell() -> str:
    caption = (
        "Drives that fail without a sign are in no list. A flag of failure is what the operator wrote down: a drive taken out for another reason "
        "may carry it, and one that was never looked at may not. Rates of few failures are wide; a month says nothing of the next summer."
    )
    return _section("What the numbers cannot tell", caption, "")


def _section(heading: str, caption: str, body: str) -> str:
    return f'<section>\n<h2>{escape(heading)}</h2>\n<p class="caption">{caption}</p>\n{body}</section>\n'


def _table(heads: list[str], rows: list[list[str]], most: int = ROWS_MAX) -> str:
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in heads)
    lines = "".join(
        f'<tr><th scope="row">{escape(row[0])}</th>'
        + "".join(f"<td>{escape(cell)}</td>" for cell in row[1:])
        + "</tr>\n"
        for row in rows[:most]
    )
    more = f'<p class="caption">and {len(rows) - most:,} more</p>\n' if len(rows) > most else ""
    return (
        f'<div class="scroll"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{lines}</tbody>\n</table></div>\n{more}'
    )


def _cell(value: Any) -> str:
    return f"{round(value, 9) + 0.0:.4g}" if isinstance(value, float) else str(value)


def _picture(answer: Any) -> str:
    """The answer's picture as SVG for the page; the same bytes each time."""
    if not hasattr(answer, "plot"):
        return ""
    matplotlib = library("matplotlib")
    file = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": "wane", "svg.fonttype": "none"}):
        answer.plot().figure.savefig(file, format="svg", metadata=dict.fromkeys(("Creator", "Date", "Format", "Type")))
    svg = file.getvalue()
    return f'<figure class="drawing">{svg[svg.index("<svg") :]}</figure>\n'

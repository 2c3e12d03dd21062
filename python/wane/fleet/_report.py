"""One page on a fleet, in the style of a run's report: what to replace first, then failure rates of models, states, failures that come together.

What no file tells, or what a few drive-days cannot say, is left out. Names of columns are put into words. The page does not contain the time at which
it was made, so that the same fleet gives the same bytes.
"""

from __future__ import annotations

import html
import io
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

from wane import _wane
from wane._errors import FleetError, WaneError
from wane.fleet._analyze import analyze, names_of_analyses
from wane.fleet._backtest import HORIZON_DAYS, backtest
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

#: Words for the columns of tables of states and transitions.
HEADS = {
    "percent": "drives (%)",
    "records": "drive-days",
    "category": "kind",
    "percent_constant_rate": "at a constant rate (%)",
}

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
    parts, unknown = [], ""
    if told["drive_days"]:
        frame, found = fleet.days([]), replacements(fleet)
        untold = untold_models(frame)
        known = frame[~frame["model"].isin(untold)]
        rates = yearly_rates(known) if len(known) else []
        unknown = _unknown(rates, len(untold))
        parts += [
            _head(fleet, told, found),
            _glance(told, rates, found),
            _warnings(fleet, told),
            _to_replace(fleet, found, bool(rates)),
            _models(rates),
            _rule(fleet),
        ]
        parts += _states(fleet, str(frame["model"].value_counts().sort_index().idxmax()))
    else:
        parts.append(_head(fleet, told, None))
    if told["tickets"]:
        parts.append(_together(fleet))
    parts.append(_cannot_tell(unknown))
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


def _head(fleet: Fleet, told: dict[str, Any], found: Replacements | None) -> str:
    """The answer first: how many drives to replace, or what there is if there are no drive-days."""
    name = escape(fleet.path.name)
    if found is None:
        head, lead = name, f"{counted(told['tickets'], 'failure ticket')}."
    else:
        head, lead = (
            _answer(found),
            f"{_plan(found)}{counted(told['drives'], 'drive')} of {counted(told['models'], 'model')}",
        )
        lead += f", {told['first']} to {told['last']}."
    return (
        f'<header>\n<p class="eyebrow">wane fleet report: {name}</p>\n<h1>{head}</h1>\n'
        f'<p class="lead">{escape(lead)}</p>\n</header>\n'
    )


def _answer(found: Replacements) -> str:
    if not found.seen:
        return f"Replace none: no drive reported in the week to {found.last_day}"
    return f"Replace {f'{found.urgent:,}' if found.urgent else 'none'} of {counted(found.seen, 'drive')}"


def _plan(found: Replacements) -> str:
    """What else is listed, in a sentence."""
    silent = [row for row in found.drives if row["silent_since"] is not None]
    later = len(found.drives) - found.urgent - len(silent)
    parts = [f"{counted(later, 'drive')} near or past the rated wear"] if later else []
    parts += [f"{counted(len(silent), 'drive')} that fell silent in a bad state"] if silent else []
    return f"Also listed: {' and '.join(parts)}. " if parts else ""


def _glance(told: dict[str, Any], rates: list[dict[str, Any]], found: Replacements) -> str:
    days = sum(row["drive_days"] for row in rates)
    tiles = [("drives", f"{told['drives']:,}", ""), ("drive-days", f"{told['drive_days']:,}", "")]
    if rates:
        tiles.append(("failures", f"{told['failures']:,}", ""))
    if told["failures"] and days >= RANK_DRIVE_DAYS_MIN:
        small = f"failures in a hundred drive-years, from {days:,} drive-days"
        tiles.append(("fail in a year", f"{100 * 365 * told['failures'] / days:.2f} %", small))
    more = [("models", f"{told['models']:,}", ""), ("silent for a week", f"{found.gone:,}", "")]
    tiles += more[: 4 - len(tiles)]
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
    columns = fleet.columns()
    notes += [_in_words(note, columns, '"') for entry in fleet.ledger.files for note in entry.notes]
    if not notes:
        return ""
    first = notes if len(notes) <= NOTES_MAX else [*notes[:NOTES_MAX], f"and {len(notes) - NOTES_MAX:,} more"]
    items = "".join(f"<li>{escape(note)}</li>\n" for note in first)
    return f'<aside class="warnings" aria-label="Warnings"><p>To keep in mind</p><ul>\n{items}</ul></aside>\n'


def _to_replace(fleet: Fleet, found: Replacements, failures_told: bool) -> str:
    has_dates = any(row["by"] is not None for row in found.drives)
    sources: dict[str, int] = {}
    rows = [
        [
            row["serial"],
            row["model"],
            row["urgency"].replace("-", " "),
            *(["" if row["by"] is None else str(row["by"])] if has_dates else []),
            "; ".join(_without_source(reason, sources) for reason in row["reasons"]),
        ]
        for row in found.drives
    ]
    heads = ["drive", "model", "when", *(["wear used by"] if has_dates else []), "why"]
    caption = " ".join([*_counts(found), *_tested(fleet, found)] if failures_told else _counts(found))
    told = "; ".join(f"[{number}] {source}" for source, number in sources.items())
    below = f'<p class="caption">Sources: {escape(told)}</p>\n' if told else ""
    return _section("What to replace", caption, _table(heads, rows) + below if rows else "")


def _without_source(reason: str, sources: dict[str, int]) -> str:
    """A reason with the number of its source, as many drives have the same."""
    found = re.fullmatch(r"(.*) \(([^()]*)\)", reason)
    return reason if found is None else f"{found[1]} [{sources.setdefault(found[2], len(sources) + 1)}]"


def _counts(found: Replacements) -> list[str]:
    """Sentences on the list and on what is not in it; of nothing there is none."""
    listed = f"{counted(found.listed - found.gone_listed, 'drive')} of {found.seen:,} that told something in the week to {found.last_day}"
    if found.gone:
        listed += (
            f", and {found.gone_listed:,} of {found.gone:,} that fell silent before, as what they told last was urgent"
        )
    more = [
        (found.few, "lost fewer than ten sectors in a month, which is no reason by itself"),
        (found.still, "with errors or lost sectors that did not grow in a month, which is no reason"),
        (found.once, "with one record of them in the month: whether they grow is not known"),
        (found.near, "near the rated wear, which did not grow or stands in one record"),
    ]
    failed = [f"{counted(found.failed, 'drive')} failed."] if found.failed else []
    order = "The most urgent first, of these the one with the highest risk."
    return [
        f"{listed}.",
        *([order] if found.listed > 1 else []),
        *(f"{counted(n, 'drive')} {what}." for n, what in more if n),
        *failed,
    ]


def _tested(fleet: Fleet, found: Replacements) -> list[str]:
    """A sentence on the list that the same rule would have made earlier, if failures after it are known."""
    day = found.last_day - timedelta(days=HORIZON_DAYS)
    try:
        told = backtest(fleet, horizon_days=HORIZON_DAYS, as_of=[day]).rows[0]
    except FleetError:
        return []
    if not told["failed"]:
        return []
    return [
        f"As of {day} the same rule would have named {counted(told['named'], 'drive')}, of which {told['found']:,} failed within "
        f"{HORIZON_DAYS} days; of all {told['drives']:,} drives {told['failed']:,} did."
    ]


def _models(rates: list[dict[str, Any]]) -> str:
    """A row for each model whose drive-days are enough for a rate."""
    rows = [
        [
            row["model"],
            f"{row['drives']:,}",
            f"{row['drive_days']:,}",
            f"{row['failures']:,}",
            f"{row['afr_percent']:.2f}",
            f"{row['low']:.2f} to {row['high']:.2f}",
            f"{row['pooled_percent']:.2f}",
        ]
        for row in rates
        if row["drive_days"] >= RANK_DRIVE_DAYS_MIN
    ]
    if not rows:
        return ""
    caption = (
        "Failures in a hundred drive-years, with the Poisson interval of 95 %. Models differ only where their intervals do not overlap; pooled is "
        f"the rate where all models are taken as draws of one distribution. Rates are told from {RANK_DRIVE_DAYS_MIN:,} drive-days on."
    )
    heads = ["model", "drives", "drive-days", "failures", "a year, %", "interval", "pooled"]
    return _section("How the models fare", caption, _table(heads, rows))


def _unknown(rates: list[dict[str, Any]], untold: int) -> str:
    """Sentences on the models without a rate."""
    few = [row for row in rates if row["drive_days"] < RANK_DRIVE_DAYS_MIN]
    told = ""
    if few:
        drives, days, failures = (sum(row[name] for row in few) for name in ("drives", "drive_days", "failures"))
        told += (
            f"{counted(len(few), 'model')} with fewer than {RANK_DRIVE_DAYS_MIN:,} drive-days each (together {counted(drives, 'drive')}, "
            f"{counted(days, 'drive-day')}, {counted(failures, 'failure')}) {'has' if len(few) == 1 else 'have'} no rate here: it would say nothing. "
        )
    if untold:
        told += f"For {counted(untold, 'model')} no file tells whether a drive failed, as smartctl does not know it. "
    return told


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
        except WaneError:
            # Too few drive-days or attributes: there is nothing to show.
            continue
        found = answer if name == "health-states" else answer.states
        caption = f"Drives of the model {escape(model)}, which has the most drive-days{_sampled(days, drives, found.drives)}. "
        if name == "health-states":
            states = answer.states
            caption += "State 0 has the lowest values, the last the highest; centroids go from 0 to 1."
        else:
            caption += "States are numbered as above" if states is not None else "State 0 has the lowest values"
            caption += (
                "; those at a constant rate are of a clustering of its own, in which each drive goes from its first to its last "
                "values at a constant rate: a number there is not the state of that number here."
            )
        table = answer.table()
        rows = [[_cell(value) for value in row] for row in table.itertuples(index=False, name=None)]
        most = ROWS_MAX if name == "health-states" else PATTERNS_MAX
        heads = [HEADS.get(str(column)) or _in_words(str(column), fleet.columns()) for column in table.columns]
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
    except WaneError:
        # Tickets without places, or a single one.
        return ""
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


def _in_words(text: str, columns: list[str], sign: str = "") -> str:
    """A text with the fleet's columns put into words, with a sign before and after them."""
    # Imported on first use, because it imports libraries of statistics.
    from wane.fleet.analyses._names import words  # noqa: PLC0415

    names = sorted((name for name in columns if "_" in name), key=len, reverse=True)
    if not names:
        return text
    return re.sub(rf"\b({'|'.join(map(re.escape, names))})\b", lambda found: f"{sign}{words(found[1])}{sign}", text)


def _cannot_tell(unknown: str) -> str:
    caption = (
        f"{unknown}Drives that fail without a sign are in no list. A flag of failure is what the operator wrote down: a drive taken out for another "
        "reason may carry it, and one that was never looked at may not. Rates of few failures are wide; a month says nothing of the next summer."
    )
    return _section("What the numbers cannot tell", caption, "")


def _section(heading: str, caption: str, body: str) -> str:
    return f'<section>\n<h2>{escape(heading)}</h2>\n<p class="caption">{caption}</p>\n{body}</section>\n'


#: What stands at the left of its column, as people read words.
_LEFT = ' style="text-align:left"'


def _table(heads: list[str], rows: list[list[str]], most: int = ROWS_MAX) -> str:
    # Figures stand at the right, below each other; words do not.
    lefts = [
        "" if all(_is_figure(row[column]) for row in rows if column < len(row)) else _LEFT
        for column in range(len(heads))
    ]
    head = "".join(f'<th scope="col"{left}>{escape(name)}</th>' for name, left in zip(heads, lefts, strict=True))
    lines = "".join(
        f'<tr><th scope="row">{escape(row[0])}</th>'
        + "".join(f"<td{left}>{escape(cell)}</td>" for cell, left in zip(row[1:], lefts[1:], strict=False))
        + "</tr>\n"
        for row in rows[:most]
    )
    more = f'<p class="caption">and {len(rows) - most:,} more</p>\n' if len(rows) > most else ""
    return (
        f'<div class="scroll"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{lines}</tbody>\n</table></div>\n{more}'
    )


def _is_figure(cell: str) -> bool:
    """Whether a cell is a number with whatever unit, an interval or nothing: words, names and days are none."""
    return (
        not cell or cell[:1] in "-+\u2212\u2013~" or (cell[:1].isdigit() and len(cell.split()) <= 4 and "-" not in cell)
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

"""The verbs of a fleet: ``python -m wane.fleet``, and ``wane fleet`` if the package is installed."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from wane._errors import FleetError, InternalError, MissingExtraError, WaneError
from wane.fleet._meter import Meter
from wane.fleet._plain import plain, shown, shown_lines
from wane.fleet._tables import arrow_csv, frame_csv, frame_text

DONE, WRONG, INTERNAL, INTERRUPTED = 0, 2, 3, 130

#: Exit code that ``wane reproduce`` takes for a missing package.
ABSENT = 97


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the verb of the arguments.

    Returns:
        The exit code: 0 done, 2 the user's input is wrong, 3 internal, 130 interrupted.
    """
    words = sys.argv[1:] if arguments is None else list(arguments)
    if words[:1] == ["simulate"]:
        return simulate(words)
    asked = parser().parse_args(words)
    verb: Callable[[argparse.Namespace], None] = asked.verb
    try:
        verb(asked)
    except InternalError as error:
        print(f"wane: {shown(error)}", file=sys.stderr)
        return INTERNAL
    except WaneError as error:
        # DuckDB points to the place in a query, on lines of its own.
        print(f"wane: {shown_lines(error) if verb is query else shown(error)}", file=sys.stderr)
        return WRONG
    except KeyboardInterrupt:
        print("wane: interrupted; what was ingested stays", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of the output has closed it.
        sys.stderr.close()
    return DONE


def parser() -> argparse.ArgumentParser:
    """The command line."""
    whole = argparse.ArgumentParser(
        prog="wane fleet",
        description="Read, query and judge the records of a data center's drives: a fleet is a folder, made of their files.",
    )
    verbs = whole.add_subparsers(metavar="VERB", required=True)
    verb = verbs.add_parser("ingest", help="add files to a fleet", description=ingest.__doc__)
    verb.add_argument("fleet", metavar="FLEET", help="the fleet's folder; made if it is missing")
    verb.add_argument(
        "files",
        metavar="FILE",
        nargs="+",
        help="daily tables (CSV, gzip, zstd, zip, Parquet), tickets, records, folders of them or of a simulated fleet",
    )
    verb.add_argument("--skip-bad", action="store_true", help="leave bad files out and count them")
    verb.add_argument("--json", action="store_true", help="print what was done as JSON")
    verb.set_defaults(verb=ingest)
    verb = verbs.add_parser("query", help="ask a fleet in SQL", description=query.__doc__)
    verb.add_argument("fleet", metavar="FLEET")
    verb.add_argument("sql", metavar="SQL", help="over the views days, records, tickets, hours and truth")
    verb.add_argument("--json", action="store_true", help="print the rows as JSON, not as CSV")
    verb.set_defaults(verb=query)
    _add_analyze(verbs)
    _add_predict(verbs)
    _add_replace(verbs)
    verb = verbs.add_parser(
        "judge", help="compare the list with the truth of a simulated fleet", description=judge.__doc__
    )
    verb.add_argument("fleet", metavar="FLEET")
    verb.add_argument("--json", action="store_true", help="print as JSON")
    verb.set_defaults(verb=judge)
    verb = verbs.add_parser("claims", help="measure published claims, for wane reproduce", description=claims.__doc__)
    verb.add_argument("names", metavar="CLAIM", nargs="*", help="by default the names are listed")
    verb.set_defaults(verb=claims)
    # The native part has it; this entry is for the list of verbs.
    verbs.add_parser("simulate", help="make a fleet of simulated drives", add_help=False)
    verb = verbs.add_parser("report", help="draw a page on a fleet", description=report.__doc__)
    verb.add_argument("fleet", metavar="FLEET")
    verb.add_argument("--out", metavar="FILE", help="file to write (FLEET/report.html)")
    verb.add_argument("--force", action="store_true", help="overwrite a file that wane did not write")
    verb.set_defaults(verb=report)
    return whole


def _add_analyze(verbs: Any) -> None:
    verb = verbs.add_parser("analyze", help="answer a question on a fleet, by name", description=analyze.__doc__)
    verb.add_argument("fleet", metavar="FLEET")
    verb.add_argument("name", metavar="ANALYSIS", nargs="?", help="by default the names are listed")
    verb.add_argument("--attribute", action="append", metavar="NAME", help="use only this column; may be repeated")
    verb.add_argument("--model", metavar="NAME", help="use only drives of this model")
    verb.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an option of the analysis, such as groups=3",
    )
    verb.add_argument("--plot", metavar="FILE", help="draw the answer: .pdf, .svg or .png")
    verb.add_argument("--json", action="store_true", help="print as JSON")
    verb.set_defaults(verb=analyze)


def _add_predict(verbs: Any) -> None:
    verb = verbs.add_parser(
        "predict", help="test models of failures as they would be used", description=predict.__doc__
    )
    verb.add_argument("fleet", metavar="FLEET")
    verb.add_argument("--horizon", type=int, default=7, metavar="DAYS", help="how far ahead (7)")
    verb.add_argument("--test-from", type=_day, metavar="DAY", help="first day of the test; by default the middle")
    verb.add_argument("--model", action="append", metavar="NAME", help="use only drives of this model; may be repeated")
    verb.add_argument("--seed", type=int, default=1, metavar="N", help="seed of folds, ties and draws (1)")
    verb.add_argument("--draws", type=int, default=300, metavar="N", help="bootstrap draws of drives (300)")
    for name, help_ in (
        ("drive", "a drive"),
        ("rebuild", "copying its data"),
        ("lost-data", "a failure without alarm"),
    ):
        verb.add_argument(f"--cost-{name}", type=float, metavar="X", help=f"{help_}; all three choose a threshold")
    verb.add_argument("--json", action="store_true", help="print as JSON")
    verb.set_defaults(verb=predict)


def _add_replace(verbs: Any) -> None:
    verb = verbs.add_parser(
        "replace", help="list the drives to replace, those at most risk first", description=replace.__doc__
    )
    verb.add_argument("fleet", metavar="FLEET")
    verb.add_argument("--at-most", type=int, metavar="N", help="the budget: no more than N drives, those at most risk")
    verb.add_argument(
        "--as-of", type=_day, metavar="DAY", help="make the list of an earlier day; nothing later is used"
    )
    verb.add_argument(
        "--backtest", action="store_true", help="make the list of earlier days, and count what became of it"
    )
    verb.add_argument("--horizon", type=int, metavar="DAYS", help="of the backtest: failures within DAYS (14)")
    shape = verb.add_mutually_exclusive_group()
    shape.add_argument("--json", action="store_true", help="print as JSON")
    shape.add_argument("--csv", action="store_true", help="print as CSV")
    verb.set_defaults(verb=replace)


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"found {text!r}, allowed is a day such as 2013-05-01") from None


def say(line: object) -> None:
    """Prints a line; what it quotes of files cannot act on the terminal."""
    print(shown(line))


def say_result(result: Any, asked: argparse.Namespace) -> None:
    """Prints a result for people, or as JSON."""
    print(json.dumps(result.to_dict(), indent=1) if asked.json else shown_lines(result))


def ingest(asked: argparse.Namespace) -> None:
    """Adds files to a fleet, each whole or not at all; skips files that it knows."""
    from wane import fleet  # noqa: PLC0415

    taken = fleet.ingest(asked.fleet, asked.files, skip_bad=asked.skip_bad, tell=None if asked.json else say)
    say_result(taken, asked)


def query(asked: argparse.Namespace) -> None:
    """Prints the answer to a query in DuckDB's SQL."""
    from wane import fleet  # noqa: PLC0415

    with fleet.open(asked.fleet) as opened:
        table = opened.query(asked.sql)
    if asked.json:
        print(json.dumps(plain(table.to_pylist()), indent=1))
        return
    sys.stdout.write(arrow_csv(table))


def analyze(asked: argparse.Namespace) -> None:
    """Answers a question about a fleet: how failures come together, how long drives serve, what their attributes show."""
    from wane import fleet  # noqa: PLC0415
    from wane.fleet._analyze import analyze as answered  # noqa: PLC0415
    from wane.fleet._analyze import names_of_analyses, options_of  # noqa: PLC0415

    if asked.name is None:
        print("\n".join(names_of_analyses()))
        return
    with fleet.open(asked.fleet) as opened:
        options = options_of(asked.name, asked.option)
        answer = answered(opened, asked.name, attributes=asked.attribute, model=asked.model, **options)
    if asked.plot is not None:
        _draw(answer, asked.name, asked.plot)
    if asked.json:
        print(json.dumps(answer.to_dict(), indent=1))
        return
    print(frame_text(answer.table()))
    for note in getattr(answer, "notes", ()):
        say(f"note: {note}")


def _draw(answer: Any, name: str, file: str) -> None:
    if not hasattr(answer, "plot"):
        raise FleetError(f"{name}: has no picture")
    from wane import plot  # noqa: PLC0415

    try:
        plot.save(answer.plot(), file)
    except (OSError, ValueError) as error:
        # Matplotlib lists its formats over many lines.
        why = error.strerror if isinstance(error, OSError) else str(error).splitlines()[0]
        raise FleetError(f"--plot {file}: cannot be written: {why}") from None


def predict(asked: argparse.Namespace) -> None:
    """Trains models on days before a day, tests their alarms after it on other drives, and reports the failures found and the alarms needed."""
    from wane import fleet  # noqa: PLC0415
    from wane.fleet.prediction import Costs, Protocol  # noqa: PLC0415

    given = [asked.cost_drive, asked.cost_rebuild, asked.cost_lost_data]
    if None in given and given != [None] * 3:
        raise FleetError("costs: --cost-drive, --cost-rebuild and --cost-lost-data are given together, or none of them")
    costs = None if None in given else Costs(*given)
    protocol = Protocol(asked.horizon, asked.test_from, draws=asked.draws, seed=asked.seed)
    with fleet.open(asked.fleet) as opened, Meter() as meter:
        told = fleet.predict(opened, protocol, models=asked.model, costs=costs, tell=meter.tell)
    say_result(told, asked)


def replace(asked: argparse.Namespace) -> None:
    """Lists the drives to replace: now, soon, or by the day on which their rated wear is used up, each with its reasons and their sources.

    Of drives that are as urgent, the one with the highest risk comes first.
    """
    from wane import fleet  # noqa: PLC0415
    from wane.fleet._backtest import HORIZON_DAYS  # noqa: PLC0415

    if asked.horizon is not None and not asked.backtest:
        raise FleetError(f"--horizon: found {asked.horizon} without --backtest, whose horizon it is")
    with fleet.open(asked.fleet) as opened:
        if asked.backtest:
            days = None if asked.as_of is None else [asked.as_of]
            horizon = HORIZON_DAYS if asked.horizon is None else asked.horizon
            tested = fleet.backtest(opened, at_most=asked.at_most, horizon_days=horizon, as_of=days)
            if asked.csv:
                sys.stdout.write(frame_csv(tested.table()))
            else:
                say_result(tested, asked)
            return
        found = fleet.replacements(opened, at_most=asked.at_most, as_of=asked.as_of)
    if asked.json:
        print(json.dumps(found.to_dict(), indent=1))
    elif asked.csv:
        sys.stdout.write(frame_csv(found.table()))
    else:
        _say_replacements(found)


def _say_replacements(found: Any) -> None:
    for row in found.drives:
        when = row["urgency"] if row["by"] is None else f"{row['urgency']} {row['by']}"
        say(f"{when:20} {shown(row['serial']):24} {row['model']}")
        for reason in row["reasons"]:
            say(f"{'':20}   {reason}")
    if found.listed > len(found.drives):
        print(f"the first {len(found.drives):,} of {found.listed:,} drives with a reason, by urgency and risk")
    told = (
        f"{found.listed - found.gone_listed:,} of {found.seen:,} drives, and {found.gone_listed:,} of {found.gone:,} silent ones; "
        f"{found.still:,} with old losses that did not grow"
    )
    if found.few:
        told += f", {found.few:,} that lost fewer than ten sectors in the month"
    if found.once:
        told += f", {found.once:,} with losses in one record: whether they grow is not known"
    if found.near:
        told += f", {found.near:,} near their rated wear, which did not grow or stands in one record"
    print(told)


def judge(asked: argparse.Namespace) -> None:
    """Compares the list of drives to replace with the truth, which only simulated fleets have: which drives died, and why."""
    from wane import fleet  # noqa: PLC0415

    with fleet.open(asked.fleet) as opened:
        found = fleet.judge(opened)
    if asked.json:
        print(json.dumps(found.to_dict(), indent=1))
        return
    print(frame_text(found.table(), index=False))
    detected = "-" if found.detected is None else f"{100 * found.detected:.0f} %"
    right = "-" if found.right is None else f"{100 * found.right:.0f} %"
    print(
        f"{found.died:,} drives died, {detected} of them listed as now or soon; {found.listed:,} listed so, {right} of them died"
    )
    if found.untold:
        print(f"{found.untold:,} had no record before the day on which they died, so that no advice was possible")


def claims(asked: argparse.Namespace) -> None:
    """Measures published claims that need this package, and prints the results as JSON; ``wane reproduce`` calls it, and writes the page."""
    from wane.fleet import claims as published  # noqa: PLC0415

    if not asked.names:
        print("\n".join(published.CLAIMS))
        return
    try:
        found = published.measure(asked.names)
    except MissingExtraError as error:
        print(f"wane: {shown(error)}", file=sys.stderr)
        raise SystemExit(ABSENT) from None
    print(json.dumps({name: measured.to_dict() for name, measured in found.items()}, indent=1))


def simulate(words: Sequence[str]) -> int:
    """Runs the native command, which simulates."""
    import signal  # noqa: PLC0415

    from wane import _wane  # noqa: PLC0415

    # The interpreter's handler would wait for native code to end.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _wane.main(["wane", "fleet", *words])


def report(asked: argparse.Namespace) -> None:
    """Draws a page: an overview of the fleet, what to replace and why, failure rates of models, states, failures that come together."""
    from wane import fleet  # noqa: PLC0415
    from wane.fleet._report import write  # noqa: PLC0415

    place = Path(asked.out) if asked.out is not None else Path(asked.fleet) / "report.html"
    with fleet.open(asked.fleet) as opened:
        write(opened, place, force=asked.force)
    say(f"report: {place}")


if __name__ == "__main__":
    sys.exit(main())

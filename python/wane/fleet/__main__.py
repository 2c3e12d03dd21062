"""The verbs of a fleet: ``python -m wane.fleet``, and ``wane fleet`` where the package is installed."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence

from wane._errors import InternalError, WaneError

DONE, WRONG, INTERNAL, INTERRUPTED = 0, 2, 3, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Does what the arguments ask.

    Returns:
        The exit code: 0 done, 2 whatever the user gave is wrong, 3 internal, 130 interrupted.
    """
    asked = parser().parse_args(arguments)
    verb: Callable[[argparse.Namespace], None] = asked.verb
    try:
        verb(asked)
    except InternalError as error:
        print(f"wane: {error}", file=sys.stderr)
        return INTERNAL
    except WaneError as error:
        print(f"wane: {error}", file=sys.stderr)
        return WRONG
    except KeyboardInterrupt:
        print("wane: interrupted; what was ingested stays", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read had enough.
        sys.stderr.close()
    return DONE


def parser() -> argparse.ArgumentParser:
    """The command line."""
    whole = argparse.ArgumentParser(
        prog="wane fleet",
        description="What the drives of a data center tell: a fleet is a folder, made of their files.",
    )
    verbs = whole.add_subparsers(metavar="VERB", required=True)
    verb = verbs.add_parser("ingest", help="add files to a fleet", description=ingest.__doc__)
    verb.add_argument("fleet", metavar="FLEET", help="the fleet's folder; made where there is none")
    verb.add_argument(
        "files", metavar="FILE", nargs="+", help="daily CSV (plain, gzip, zip), tickets, records, or folders of them"
    )
    verb.add_argument("--skip-bad", action="store_true", help="leave bad files out, and count them")
    verb.add_argument("--json", action="store_true", help="print what was done as JSON")
    verb.set_defaults(verb=ingest)
    verb = verbs.add_parser("query", help="ask a fleet in SQL", description=query.__doc__)
    verb.add_argument("fleet", metavar="FLEET")
    verb.add_argument("sql", metavar="SQL", help="over the views days, records and tickets")
    verb.add_argument("--json", action="store_true", help="print the rows as JSON, not as CSV")
    verb.set_defaults(verb=query)
    return whole


def ingest(asked: argparse.Namespace) -> None:
    """Adds files to a fleet, each whole or not at all; a file that is known is passed over."""
    from wane import fleet  # noqa: PLC0415

    taken = fleet.ingest(asked.fleet, asked.files, skip_bad=asked.skip_bad, tell=None if asked.json else print)
    print(json.dumps(taken.to_dict(), indent=1) if asked.json else taken)


def query(asked: argparse.Namespace) -> None:
    """Prints the answer to a query of DuckDB's SQL."""
    from wane import fleet  # noqa: PLC0415
    from wane.fleet._plain import library, plain  # noqa: PLC0415

    with fleet.open(asked.fleet) as opened:
        table = opened.query(asked.sql)
    if asked.json:
        print(json.dumps(plain(table.to_pylist()), indent=1))
        return
    sink = library("pyarrow").BufferOutputStream()
    library("pyarrow.csv").write_csv(table, sink)
    sys.stdout.write(sink.getvalue().to_pybytes().decode())


if __name__ == "__main__":
    sys.exit(main())

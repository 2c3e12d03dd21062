"""Checks of a staged part, by itself and against the fleet: each drive and day occurs once, each serial number has one model.

Counters that go back are no error, because drives do reset them: they are reported, and kept unchanged. All checks are SQL queries over the
columns that they need.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from wane._errors import FleetError
from wane.fleet._ledger import Ledger, Part
from wane.fleet._plain import counted, excerpt, moment, named, quoted
from wane.fleet.store import connect, scan

#: Bytes for the checks, while a file is parsed at the same time.
MEMORY_BYTES = 256 << 20

#: Counters that never fall unless they are reset: ATA attributes that all vendors count the same way, and quantities by name. Sectors that are
#: pending (197) or could not be read offline (198) are not among them: their number falls when they are rewritten.
COUNTERS = (
    "smart_5_raw",
    "smart_187_raw",
    "smart_199_raw",
    "reallocated_sectors",
    "media_errors",
    "blocks_bad_grown",
    "link_errors",
    "smart_9_raw",
    "smart_12_raw",
    "smart_241_raw",
    "smart_242_raw",
    "power_on_hours",
    "power_cycles",
    "host_written_bytes",
    "host_read_bytes",
    "flash_written_bytes",
)

#: The key of a row, and the name of the key's second part.
KEYS = {"days": ("date", "day"), "records": ("time", "moment"), "tickets": ("time", "moment")}


class Checks:
    """Knowledge of the fleet's drives while files are added.

    ``known`` has a row for each drive: its model, its last day, its counters on that day, and the day on which it failed first.
    """

    def __init__(self, folder: Path, ledger: Ledger) -> None:
        self.folder = folder
        self.connection = connect(MEMORY_BYTES)
        counters = "".join(f", {name} DOUBLE" for name in COUNTERS)
        self.connection.execute(f"CREATE TABLE known (serial VARCHAR, model VARCHAR, last DATE, failed DATE{counters})")
        for part in [*ledger.of("days"), *ledger.of("records")]:
            self.learn(folder / part.place)

    def close(self) -> None:
        """Closes DuckDB."""
        self.connection.close()

    def models(self) -> dict[str, str]:
        """The model of each drive."""
        return dict(self._rows("SELECT serial, model FROM known"))

    def part(self, number: int, kind: str, place: Path) -> Part:
        """Describes a staged file by its rows."""
        day = "date" if kind != "tickets" else "time"
        query = f"SELECT count(*), count(DISTINCT serial), CAST(min({day}) AS DATE), CAST(max({day}) AS DATE) FROM {scan([place])}"
        rows, drives, first, last = self._rows(query)[0]
        return Part(number, kind, rows, drives, str(first), str(last))

    def itself(self, place: Path, name: str, kind: str) -> None:
        """Checks a part by itself.

        Raises:
            FleetError: A drive and day occur twice, or a drive has two models.
        """
        key, word = KEYS[kind]
        new = scan([place])
        twice = self._rows(
            f"SELECT serial, CAST({key} AS VARCHAR), count(*) FROM {new} GROUP BY serial, {key} HAVING count(*) > 1 ORDER BY ALL LIMIT 1"
        )
        if twice:
            serial, when, count = twice[0]
            raise FleetError(f"{name}: has drive {serial} {count} times on {when}; a drive has one row a {word}")
        if kind == "tickets":
            return
        changed = self._rows(
            f"SELECT serial, min(model), max(model) FROM {new} GROUP BY serial HAVING min(model) <> max(model) ORDER BY ALL LIMIT 1"
        ) or self._rows(
            f"SELECT serial, known.model, n.model FROM (SELECT DISTINCT serial, model FROM {new}) n JOIN known USING (serial) "
            "WHERE known.model <> n.model ORDER BY ALL LIMIT 1"
        )
        if changed:
            serial, one, other = changed[0]
            raise FleetError(
                f"{name}: drive {serial} is a {excerpt(one)} and a {excerpt(other)}; a serial number has one model: are columns shifted?"
            )

    def repeats(self, place: Path, name: str, part: Part, ledger: Ledger) -> int:
        """Number of rows that the fleet has already, with the same values.

        Raises:
            FleetError: It has such a row with other values, or from another kind of file.
        """
        over = [each for each in ledger.parts if each.first <= part.last and part.first <= each.last]
        for other in (each for each in over if {each.kind, part.kind} == {"days", "records"}):
            both = self._rows(
                f"SELECT serial, CAST(date AS VARCHAR) FROM {scan([place])} SEMI JOIN {scan([self.folder / other.place])} o "
                "USING (serial, date) ORDER BY ALL LIMIT 1"
            )
            if both:
                raise FleetError(f"{name}: drive {both[0][0]} on {both[0][1]} is there from another kind of file")
        same = [self.folder / each.place for each in over if each.kind == part.kind]
        if not same:
            return 0
        key, word = KEYS[part.kind]
        return self._compare(place, name, same, key, word)

    def _compare(self, place: Path, name: str, there: list[Path], key: str, word: str) -> int:
        new, old = scan([place]), scan(there)
        columns = {side: self._columns(table) for side, table in (("n", new), ("o", old))}
        differs = []
        for column in dict.fromkeys([*columns["n"], *columns["o"]]):
            if column in ("serial", key, "source"):
                continue
            # A column that one side lacks counts as missing there, which differs from a value.
            sides = [f"{side}.{named(column)}" if column in columns[side] else "NULL" for side in ("n", "o")]
            differs.append((column, f"{sides[0]} IS DISTINCT FROM {sides[1]}", sides))
        joined = f"FROM {new} n JOIN {old} o ON n.serial = o.serial AND n.{key} = o.{key}"
        any_ = " OR ".join(f"({test})" for _, test, _ in differs)
        total, other = self._rows(f"SELECT count(*), count(*) FILTER ({any_}) {joined}")[0]
        if other:
            cases = " ".join(
                f"WHEN {test} THEN {quoted(column)} || ' is ' || COALESCE(CAST({sides[0]} AS VARCHAR), 'missing') || ', was ' "
                f"|| COALESCE(CAST({sides[1]} AS VARCHAR), 'missing')"
                for column, test, sides in differs
            )
            serial, when, what = self._rows(
                f"SELECT n.serial, CAST(n.{key} AS VARCHAR), CASE {cases} END {joined} WHERE {any_} ORDER BY ALL LIMIT 1"
            )[0]
            when = moment(int(when)) if key == "time" else when
            raise FleetError(
                f"{name}: {counted(other, 'drive and ' + word, 'drives and ' + word + 's')} "
                f"{'is' if other == 1 else 'are'} there with other values, first {serial} on {when}: {what}; what is ingested is never changed"
            )
        return int(total)

    def without_repeats(self, place: Path, part: Part, ledger: Ledger, out: Path) -> None:
        """Writes the rows of a part that the fleet does not have."""
        key, _ = KEYS[part.kind]
        there = [
            self.folder / each.place
            for each in ledger.of(part.kind)
            if each.first <= part.last and part.first <= each.last
        ]
        self.connection.execute(
            f"COPY (SELECT * FROM {scan([place])} ANTI JOIN {scan(there)} o USING (serial, {key}) ORDER BY serial, {key}) "
            f"TO {quoted(str(out))} (FORMAT parquet, COMPRESSION zstd)"
        )

    def last_of_day(self, place: Path, out: Path) -> int:
        """Writes the last row of each drive's day, if some have several; returns how many rows these are more."""
        rows, days = self._rows(
            f"SELECT count(*), (SELECT count(*) FROM (SELECT DISTINCT serial, date FROM {scan([place])})) FROM {scan([place])}"
        )[0]
        if rows > days:
            numbered = f"read_parquet({quoted(str(place))}, file_row_number=true)"
            self.connection.execute(
                f"COPY (SELECT * EXCLUDE (file_row_number) FROM {numbered} "
                "QUALIFY row_number() OVER (PARTITION BY serial, date ORDER BY file_row_number DESC) = 1 ORDER BY serial, date) "
                f"TO {quoted(str(out))} (FORMAT parquet, COMPRESSION zstd)"
            )
        return int(rows - days)

    def went_on(self, place: Path) -> list[str]:
        """Drives with rows after the day on which they failed, which no earlier file showed, in a sentence."""
        new = scan([place])
        found = self._rows(
            "WITH first AS (SELECT serial, min(day) AS day FROM (SELECT serial, failed AS day FROM known WHERE failed IS NOT NULL "
            f"UNION ALL SELECT serial, date FROM {new} WHERE failure) GROUP BY serial), "
            f"seen AS (SELECT serial, last AS date FROM known UNION ALL SELECT serial, date FROM {new}), "
            "after AS (SELECT serial, first.day AS day, min(date) AS date FROM seen JOIN first USING (serial) WHERE date > first.day "
            "AND serial NOT IN (SELECT serial FROM known WHERE last > failed) GROUP BY serial, first.day) "
            "SELECT serial, CAST(day AS VARCHAR), CAST(date AS VARCHAR), count(*) OVER () FROM after ORDER BY day, serial LIMIT 1"
        )
        if not found:
            return []
        serial, failed, day, drives = found[0]
        return [
            f"{counted(drives, 'drive')} {'has' if drives == 1 else 'have'} rows after the day of the failure, first {serial}, "
            f"which failed on {failed} and is there on {day}; kept, and one failure a drive counts"
        ]

    def backward(self, place: Path, kind: str) -> list[str]:
        """Counters that go back within a part or since the fleet's last day before it, a sentence for each."""
        there = [name for name in COUNTERS if name in self._columns(scan([place]))]
        if not there:
            return []
        key = KEYS[kind][0]
        chosen = ", ".join(there)
        lags = ", ".join(f"lag({name} IGNORE NULLS) OVER w AS before_{name}" for name in there)
        before = f"SELECT serial, last AS date, {'-1' if kind == 'records' else 'last'} AS step, {chosen} FROM known"
        self.connection.execute(
            f"CREATE OR REPLACE TEMP TABLE steps AS SELECT serial, date, {chosen}, {lags} FROM ("
            f"SELECT serial, date, {key} AS step, {chosen} FROM {scan([place])} UNION ALL "
            f"({before} WHERE last < (SELECT min(date) FROM {scan([place])}))) WINDOW w AS (PARTITION BY serial ORDER BY step)"
        )
        notes = []
        for name in there:
            found = self._rows(
                f"SELECT serial, CAST(date AS VARCHAR), before_{name}, {name}, count(*) OVER (), (SELECT count(DISTINCT serial) "
                f"FROM steps WHERE {name} < before_{name}) FROM steps WHERE {name} < before_{name} ORDER BY date, serial LIMIT 1"
            )
            if found:
                serial, day, was, is_, _, drives = found[0]
                notes.append(
                    f"{name} goes back on {counted(drives, 'drive')}, first on {serial}: {was:,.0f} before, {is_:,.0f} on {day}; "
                    "kept, and no increase is taken across it"
                )
        self.connection.execute("DROP TABLE steps")
        return notes

    def learn(self, place: Path) -> None:
        """Updates ``known`` from a part."""
        columns = self._columns(scan([place]))
        key = "time" if "time" in columns else "date"
        chosen = ", ".join(
            f"arg_max({name}, {key}) AS {name}" if name in columns else f"NULL AS {name}" for name in COUNTERS
        )
        latest = ", ".join(f"arg_max({name}, last) AS {name}" for name in COUNTERS)
        self.connection.execute(
            "CREATE OR REPLACE TABLE known AS "
            f"SELECT serial, arg_max(model, last) AS model, max(last) AS last, min(failed) AS failed, {latest} FROM ("
            f"SELECT serial, model, last, failed, {', '.join(COUNTERS)} FROM known UNION ALL BY NAME "
            f"SELECT serial, any_value(model) AS model, max(date) AS last, min(date) FILTER (failure) AS failed, {chosen} "
            f"FROM {scan([place])} GROUP BY serial) GROUP BY serial"
        )

    def _columns(self, table: str) -> list[str]:
        return [row[0] for row in self._rows(f"DESCRIBE SELECT * FROM {table}")]

    def _rows(self, query: str) -> list[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = self.connection.execute(query).fetchall()
        return found

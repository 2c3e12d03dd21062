"""Daily tables of drives as operators publish them are taken, with all that is odd in them, and in little memory."""

import gzip
import re
import subprocess
import sys
import zipfile
from datetime import date, datetime
from pathlib import Path
from typing import Any

import fleets
import pyarrow
import pyarrow.parquet
import pytest

import wane
from wane import fleet
from wane.fleet import _csv, _parquet, _tickets
from wane.fleet.__main__ import main

HEADER = "date,serial_number,model,capacity_bytes,failure,smart_5_raw"


def rows(path: Path, sql: str) -> list[dict[str, Any]]:
    with fleet.open(path) as opened:
        found: list[dict[str, Any]] = opened.query(sql).to_pylist()
    return found


def taken(path: Path, text: str | bytes, name: str = "a.csv") -> Any:
    """Ingests a file with a text into the fleet ``f`` beside it."""
    (path / name).write_bytes(text.encode() if isinstance(text, str) else text)
    return fleet.ingest(path / "f", [path / name])


# --- the columns of Backblaze's later years


def test_columns_of_later_years_are_kept(tmp_path: Path) -> None:
    more = "datacenter,is_legacy_format,smart_9_raw,smart_211_normailized"
    found = taken(
        tmp_path,
        f"{HEADER},{more}\n2024-11-01,A,M,12000138625024,0,0,phx1,False,12.0,\n2024-11-01,B,M,,1,3,,true,12,\n2024-11-01,C,M,-1,0,,,,,\n",
    )
    assert found.notes == []
    told = rows(tmp_path / "f", "SELECT * FROM days ORDER BY serial")
    assert [each["capacity_bytes"] for each in told] == [12_000_138_625_024, None, None]
    assert [each["smart_9_raw"] for each in told] == [12, 12, None]
    assert [each["datacenter"] for each in told] == ["phx1", None, None]
    assert "smart_211_normailized" in told[0]


@pytest.mark.parametrize(
    ("cell", "value", "is_noted"),
    [
        ("4000787030016", 4_000_787_030_016, False),
        ("4000787030016.0", 4_000_787_030_016, False),
        ("8000000000000000", 8_000_000_000_000_000, False),
        ("0", None, False),
        ("-9116022715867848704", None, False),
        ("600332565813390450", None, True),
        ("9223372036854775807", None, True),
        ("18446744073709551615", None, True),
    ],
)
def test_a_capacity_that_no_drive_has_is_unknown_and_told(
    tmp_path: Path, cell: str, value: int | None, is_noted: bool
) -> None:
    found = taken(tmp_path, f"{HEADER}\n2024-11-01,A,M,4000787030016,0,0\n2024-11-02,A,M,{cell},0,0\n")
    told = rows(tmp_path / "f", "SELECT capacity_bytes AS c FROM days ORDER BY date")
    assert [each["c"] for each in told] == [4_000_787_030_016, value]
    assert [
        ("capacity_bytes is above 8 PB on 1 drive-day, first of A on 2024-11-02" in note) for note in found.notes
    ] == [True] * is_noted


def test_a_record_with_such_a_capacity_is_told_too(tmp_path: Path) -> None:
    text = fleets.smartctl(user_capacity={"bytes": 600_332_565_813_390_450, "blocks": 1})
    found = taken(tmp_path, text, "a.json")
    assert "capacity_bytes is above 8 PB in 1 record" in found.notes[0]
    assert rows(tmp_path / "f", "SELECT capacity_bytes AS c FROM days") == [{"c": None}]


@pytest.mark.parametrize("cell", ["4000.5", "nan", "inf", "0x10", "DISK", "1e400"])
def test_a_capacity_that_is_no_count_is_refused(tmp_path: Path, cell: str) -> None:
    with pytest.raises(wane.FleetError, match=rf'line 3: capacity_bytes is "{cell}", allowed is a count of bytes'):
        taken(tmp_path, f"{HEADER}\n2024-11-01,A,M,1,0,0\n2024-11-02,A,M,{cell},0,0\n")


def test_a_raw_value_may_have_eight_bytes_of_ones(tmp_path: Path) -> None:
    ones = (1 << 64) - 1
    taken(tmp_path, f"{HEADER}\n2024-11-01,A,M,1,0,{ones}\n")
    values = {"date": [date(2024, 11, 2)], "serial_number": ["A"], "model": ["M"], "failure": [0]}
    table = pyarrow.table(values | {"smart_5_raw": pyarrow.array([ones], pyarrow.uint64())})
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    fleet.ingest(tmp_path / "f", [tmp_path / "a.parquet"])
    assert rows(tmp_path / "f", "SELECT smart_5_raw AS v FROM days ORDER BY date") == [{"v": float(1 << 64)}] * 2
    with pytest.raises(wane.FleetError, match=r"line 2: smart_5_raw is \"2e19\", allowed are 0 to"):
        taken(tmp_path, f"{HEADER}\n2024-11-03,A,M,1,0,2e19\n", "b.csv")


# --- files that were put together


def lines(first: int, last: int, **options: str) -> str:
    end = options.get("end", "\n")
    return "".join(f"2016-01-{day:02},A,M,1,0,{options.get('value', 0)}{end}" for day in range(first, last + 1))


@pytest.mark.parametrize(
    ("text", "repeated", "line", "count"),
    [
        (f"{HEADER}\n{lines(1, 1)}{HEADER}\n{lines(2, 2)}", 1, 3, 2),
        (f"{HEADER}\n{lines(1, 3)}{HEADER}\n{lines(4, 4)}{HEADER}\n{lines(5, 6)}{HEADER}\n", 3, 5, 6),
        (f"{HEADER}\n{HEADER}\n{lines(1, 1)}{HEADER}", 2, 2, 1),
        (f"\ufeff{HEADER}\n{lines(1, 1)}\ufeff{HEADER}\n{lines(2, 2)}", 1, 3, 2),
        (f"{HEADER}\r\n{lines(1, 1, end=chr(13) + chr(10))}{HEADER}\r\n{lines(2, 2)}", 1, 3, 2),
        (f"{HEADER}\n{lines(1, 1, value='0.5')}{HEADER}\n{lines(2, 2)}", 1, 3, 2),
        (f"{HEADER}\n{lines(1, 1)}{HEADER}\n{lines(2, 2, value='0.5')}", 1, 3, 2),
    ],
)
@pytest.mark.parametrize("block", [1 << 20, 160])
def test_a_header_between_rows_is_passed_over_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int, text: str, repeated: int, line: int, count: int
) -> None:
    monkeypatch.setattr(_csv, "BLOCK_BYTES", block)
    found = taken(tmp_path, text)
    assert found.rows == count
    word = "header" if repeated == 1 else "headers"
    assert [note.partition(": ")[2] for note in found.notes if "passed over" in note] == [
        f"{repeated} {word} passed over between rows, first in line {line}: files were put together"
    ]


def test_packed_files_that_were_put_together_are_one_file(tmp_path: Path) -> None:
    both = gzip.compress(f"{HEADER}\n{lines(1, 2)}".encode()) + gzip.compress(f"{HEADER}\n{lines(3, 4)}".encode())
    assert taken(tmp_path, both, "all.csv.gz").rows == 4


def test_another_header_between_rows_is_refused_by_its_line(tmp_path: Path) -> None:
    text = f"{HEADER}\n{lines(1, 1)}{HEADER},smart_9_raw\n2016-01-02,A,M,1,0,0,5\n"
    with pytest.raises(wane.FleetError, match=r"line 3: is another header, of 7 columns; files with other columns"):
        taken(tmp_path, text)


# --- a drive that goes on after its failure

DAYS = [("2018-07-01", 0), ("2018-07-02", 1), ("2018-07-03", 0), ("2018-07-04", 1)]


def risen(failures: list[tuple[str, int]]) -> str:
    return "date,serial_number,model,failure,smart_9_raw\n" + "".join(
        f"{day},T,M,{failed},{24 * number}\n" for number, (day, failed) in enumerate(failures)
    )


@pytest.mark.parametrize("is_split", [False, True])
def test_a_drive_that_is_flagged_twice_failed_once(
    tmp_path: Path, is_split: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    parts = [[each] for each in DAYS] if is_split else [DAYS]
    notes: list[str] = []
    for number, part in enumerate(parts):
        notes += taken(tmp_path, risen(part), f"{number}.csv").notes
    told = [note for note in notes if "after the day of the failure" in note]
    assert len(told) == 1
    assert "first T, which failed on 2018-07-02 and is there on 2018-07-03" in told[0]
    with fleet.open(tmp_path / "f") as opened:
        assert opened.summary()["failures"] == 1
        lives = fleet.survival(opened.days(["smart_9_raw"]))
    assert [(rate["failures"], rate["drive_days"]) for rate in lives.rates] == [(1, 2)]
    assert [note for note in lives.notes if "went on" in note] == [
        "1 drive went on after the day of the failure: one failure a drive counts, and 2 drive-days after it left out"
    ]
    assert main(["analyze", str(tmp_path / "f"), "survival"]) == 0
    assert "note: 1 drive went on after the day of the failure" in capsys.readouterr().out


def test_days_that_come_in_any_order_are_told(tmp_path: Path) -> None:
    assert taken(tmp_path, risen(DAYS[2:3]), "later.csv").notes == []
    found = taken(tmp_path, risen(DAYS[:2]), "earlier.csv")
    assert [note for note in found.notes if "failed on 2018-07-02 and is there on 2018-07-03" in note]


def test_a_drive_that_failed_on_its_last_day_is_not_told(tmp_path: Path) -> None:
    assert taken(tmp_path, risen(DAYS[:2])).notes == []
    with fleet.open(tmp_path / "f") as opened:
        assert not [note for note in fleet.survival(opened.days(["smart_9_raw"])).notes if "went on" in note]


# --- Alibaba's logs

SSD = "disk_id,ds,model,n_5,r_5,n_9,r_9\n"


def test_smart_logs_of_ssds_are_days_whose_drives_are_those_of_the_labels(tmp_path: Path) -> None:
    taken(tmp_path, SSD + "1,20180101,MA1,100,0,95,21000\n1,20180101,MB1,100,12,,\n", "20180101.csv")
    taken(tmp_path, "model,disk_id,failure_time\nMA1,1,2018-03-02 11:20:00\n", "ssd_failure_label.csv")
    told = rows(tmp_path / "f", "SELECT * FROM days ORDER BY serial")
    assert [(each["serial"], each["model"], each["disk_id"]) for each in told] == [
        ("MA1-1", "MA1", "1"),
        ("MB1-1", "MB1", "1"),
    ]
    assert told[0] == told[0] | {
        "date": date(2018, 1, 1),
        "smart_5_normalized": 100,
        "smart_5_raw": 0,
        "smart_9_raw": 21000,
        # It failed two months after its last log, and nobody tells of the other model.
        "failure": False,
        "capacity_bytes": None,
        "source": "alibaba",
    }
    assert (told[1]["smart_9_raw"], told[1]["failure"]) == (None, None)
    joined = rows(tmp_path / "f", "SELECT days.serial, time FROM days JOIN tickets USING (serial)")
    assert joined == [{"serial": "MA1-1", "time": datetime(2018, 3, 2, 11, 20)}]


def logs(last: int, *, drive: int = 1, model: str = "MA1") -> str:
    return "".join(f"{drive},201803{day:02},{model},100,0,95,{24 * day}\n" for day in range(1, last + 1))


LABELED = [
    ("the last log within a week before", 2, "MA1,1,2018-03-02 11:20:00\n", 2),
    ("the last log on the day", 2, "MA1,1,2018-03-09 00:00:00\n", 2),
    ("long after the last log", 2, "MA1,1,2018-03-10 00:00:00\n", None),
    ("a drive that goes on", 9, "MA1,1,2018-03-02 11:20:00\n", 2),
    ("a second ticket", 9, "MA1,1,2018-03-02 11:20:00\nMA1,1,2018-03-05 11:20:00\n", 2),
    ("the same number in another model", 2, "MA1,2,2018-03-02\nMB1,1,2018-03-02\n", None),
]


@pytest.mark.parametrize(("last", "labels", "day"), [each[1:] for each in LABELED], ids=[each[0] for each in LABELED])
@pytest.mark.parametrize("is_first", [False, True])
def test_labels_say_on_which_day_of_the_logs_a_drive_failed(
    tmp_path: Path, is_first: bool, last: int, labels: str, day: int | None
) -> None:
    told = {
        "20180301.csv": SSD + logs(last) + logs(9, drive=2) + logs(9, drive=3, model="MC1"),
        "ssd_failure_label.csv": "model,disk_id,failure_time\n" + labels,
    }
    for name, text in sorted(told.items(), reverse=is_first):
        taken(tmp_path, text, name)
    found = rows(tmp_path / "f", "SELECT serial, date, failure FROM days ORDER BY ALL")
    assert [each["date"] for each in found if each["failure"] and each["serial"] == "MA1-1"] == (
        [] if day is None else [date(2018, 3, day)]
    )
    assert len(found) == last + 18
    # Nobody tells whether drives of this model failed.
    assert {each["failure"] for each in found if each["serial"] == "MC1-3"} == {None}
    with fleet.open(tmp_path / "f") as opened:
        lives = fleet.survival(opened.days(["smart_9_raw"]))
    assert [rate["model"] for rate in lives.rates] == ["MA1"]


def test_tickets_of_a_failure_name_the_drive_as_its_logs_do(tmp_path: Path) -> None:
    header = "model,failure_time,failure,app,disk_id,node_id,rack_id,machine_room_id\n"
    told = "A3,2018-03-02 11:20:00,1,WS,1,7,8,9\nB1,2018-03-02 11:20:00,1,WS,1,7,8,9\n"
    taken(tmp_path, SSD + logs(2), "20180301.csv")
    taken(tmp_path, header + told, "ssd_failure_tag.csv")
    assert rows(tmp_path / "f", "SELECT serial, model, disk_id, node_id FROM tickets ORDER BY serial") == [
        {"serial": "B1-1", "model": "B1", "disk_id": "1", "node_id": 7},
        {"serial": "MA1-1", "model": "A3", "disk_id": "1", "node_id": 7},
    ]
    assert rows(tmp_path / "f", "SELECT date FROM days WHERE failure") == [{"date": date(2018, 3, 2)}]


def test_smart_logs_of_disks_and_their_fault_tags(tmp_path: Path) -> None:
    header = "serial_number,manufacturer,model,smart_5_normalized,smart_5raw,smart_9raw,dt\n"
    text = header + "disk_1,A,1,100,0,7.5,20170731\ndisk_1,A,2,100,8,9,2017-07-31\n"
    taken(tmp_path, text, "disk_sample_smart_log_201707.csv")
    told = rows(tmp_path / "f", "SELECT serial, model, smart_5_raw, smart_9_raw, source FROM days ORDER BY serial")
    assert told == [
        {"serial": "A1-disk_1", "model": "A 1", "smart_5_raw": 0, "smart_9_raw": 7.5, "source": "alibaba"},
        {"serial": "A2-disk_1", "model": "A 2", "smart_5_raw": 8, "smart_9_raw": 9, "source": "alibaba"},
    ]
    tags = "manufacturer,model,serial_number,fault_time,tag\nA,1,disk_1,2017-08-01,3\nA,1,disk_1,2017-08-01,0\n"
    found = taken(tmp_path, tags, "fault_tag.csv")
    assert "1 row joined with another one of the same drive and time" in found.notes[0]
    assert rows(tmp_path / "f", "SELECT serial, model, tag, failure FROM tickets") == [
        {"serial": "A1-disk_1", "model": "A 1", "tag": "0+3", "failure": True}
    ]


def test_further_columns_of_tickets_are_texts_and_times_may_have_fractions(tmp_path: Path) -> None:
    tags = "manufacturer,model,serial_number,fault_time,tag,key\nA,1,disk_1,2017-08-01 10:00:00.500,3,x7\nA,1,disk_2,2017-08-02,3,\n"
    taken(tmp_path, tags, "fault_tag.csv")
    assert rows(tmp_path / "f", "SELECT serial, time, key FROM tickets ORDER BY serial") == [
        {"serial": "A1-disk_1", "time": datetime(2017, 8, 1, 10, 0, 0, 500_000), "key": "x7"},
        {"serial": "A1-disk_2", "time": datetime(2017, 8, 2), "key": None},
    ]


def test_of_several_rows_of_a_drives_day_the_last_one_counts(tmp_path: Path) -> None:
    text = SSD + "1,20180101,MA1,100,0,95,1\n2,20180101,MA1,100,0,95,1\n1,20180101,MA1,100,4,95,2\n"
    found = taken(tmp_path, text)
    assert "1 row left out, as a later one of the drive's day in the file stands" in found.notes[0]
    assert rows(tmp_path / "f", "SELECT serial, smart_5_raw AS v FROM days ORDER BY serial") == [
        {"serial": "MA1-1", "v": 4},
        {"serial": "MA1-2", "v": 0},
    ]


LOGS: list[tuple[str, str]] = [
    ("disk_id,ds,n_5\n1,20180101,100\n", "has no column model; needed are disk_id, ds, model"),
    (SSD + "1,20180132,MA1,100,0,,\n", 'line 2: ds is "20180132", allowed is a day such as 20130410 or 2013-04-10'),
    (SSD + "1,2018011,MA1,100,0,,\n", 'line 2: ds is "2018011"'),
    (SSD + "1,20180101,,100,0,,\n", "line 2: model is empty"),
    (SSD + "1,20180101,MA1,100,x,,\n", 'line 2: r_5 is "x", allowed is a number'),
    (SSD + "1,20180101,MA1,300,0,,\n", 'line 2: n_5 is "300", allowed are 0 to 255'),
    (SSD + "1,20180101,MA1,100,0x10,,\n", 'line 2: r_5 is "0x10"'),
    (SSD + "1,20180101,MA1,100\n", "line 2: has 4 columns, the header has 7"),
    (SSD, "has a header and no rows"),
    ("disk_id,ds,model,r_5,r_05\n1,20180101,MA1,0,0\n", 'has the column "r_05", which is the same as r_5'),
    (
        "disk_id,ds,model,serial\n1,20180101,MA1,0\n",
        'has the column "serial", which is the same as the fleet\'s serial',
    ),
    ("model,disk_id,failure_time\nMA1,1,yesterday\n", 'line 2: failure_time is "yesterday", allowed is a time'),
    ("model,disk_id,failure_time\nMA1,x,2018-03-02\n", 'line 2: disk_id is "x", allowed is a whole number'),
    ("model,disk_id,failure_time\nMA1,,2018-03-02\n", "line 2: disk_id is empty; a ticket has one"),
    ("model,disk_id,failure_time\nMA1,1,2218-03-02\n", "line 2: failure_time is of 2218-03-02, allowed are"),
    ("model,disk_id,failure_time,failure\nMA1,1,2018-03-02,1\n", "has no column node_id"),
]


@pytest.mark.parametrize(("text", "sentence"), LOGS, ids=[each[1][:40] for each in LOGS])
def test_logs_that_are_wrong_are_one_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(wane.FleetError) as told:
        taken(tmp_path, text)
    assert sentence in str(told.value)
    assert "\n" not in str(told.value)


# --- packed files


def packed(text: str, name: str) -> bytes:
    """A text as it is packed under a name."""
    if name.endswith("zst"):
        sink = pyarrow.BufferOutputStream()
        with pyarrow.CompressedOutputStream(sink, "zstd") as stream:
            stream.write(text.encode())
        whole: bytes = sink.getvalue().to_pybytes()
        return whole
    return gzip.compress(text.encode())


@pytest.mark.parametrize("name", ["a.csv.gz", "a.csv.zst"])
def test_packed_tables_are_the_same_as_plain_ones(tmp_path: Path, name: str) -> None:
    text = f"{HEADER}\n{lines(1, 9)}"
    assert taken(tmp_path, packed(text, name) + packed(lines(10, 20), name), name).rows == 20
    assert taken(tmp_path, text).repeated == 9
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / name).write_bytes(packed(f"{HEADER}\n{lines(21, 22)}", name))
    assert fleet.ingest(tmp_path / "f", [tmp_path / "in"]).rows == 2


@pytest.mark.parametrize("name", ["a.csv.gz", "a.csv.zst", "a.parquet.zst"])
def test_packed_tables_that_are_cut_off_are_one_sentence(tmp_path: Path, name: str) -> None:
    whole = packed(f"{HEADER}\n{lines(1, 9)}", name)
    for broken in (whole[:-9], whole[:12] + bytes(20) + whole[32:], whole[:4]):
        with pytest.raises(wane.FleetError, match=re.escape(f"{name}: ")) as told:
            taken(tmp_path, broken, name)
        assert "\n" not in str(told.value)
        assert fleet.open(tmp_path / "f").summary()["drive_days"] == 0


# --- Parquet

VALUES: dict[str, Any] = {
    "date": [date(2024, 11, 1), date(2024, 11, 2)],
    "serial_number": ["A", "A"],
    "model": ["M", "M"],
    "capacity_bytes": [600_332_565_813_390_450, 12_000_138_625_024],
    "failure": [0, 1],
    "smart_5_raw": [0, None],
    "smart_9_raw": [1.0, float("nan")],
    "datacenter": ["phx1", None],
    "vault_id": [7, 8],
}


def parquet(path: Path, **values: Any) -> Path:
    """A table as Parquet; values replace columns, and those that are None leave them out."""
    columns = {name: column for name, column in {**VALUES, **values}.items() if column is not None}
    pyarrow.parquet.write_table(pyarrow.table(columns), path)
    return path


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"date": ["2024-11-01", "2024-11-02"], "failure": [False, True]},
        {"failure": [0.0, 1.0]},
        {"date": [datetime(2024, 11, 1), datetime(2024, 11, 2)], "failure": ["0", "1"]},
        {"smart_5_raw": pyarrow.array([0, None], pyarrow.uint64()), "smart_9_raw": ["1", ""]},
        {"capacity_bytes": pyarrow.array([(1 << 63) + 5, 12_000_138_625_024], pyarrow.uint64())},
        {"model": pyarrow.array(["M", "M"]).dictionary_encode()},
    ],
)
@pytest.mark.parametrize("name", ["drivestats.parquet", "date=2020-01-01/[a]*.parquet"])
def test_drive_stats_as_parquet_are_the_same_as_csv(tmp_path: Path, values: dict[str, Any], name: str) -> None:
    (tmp_path / "in" / name).parent.mkdir(parents=True)
    parquet(tmp_path / "in" / name, **values)
    found = fleet.ingest(tmp_path / "f", [tmp_path / "in"])
    assert (found.files, found.rows) == (1, 2)
    assert "capacity_bytes is above 8 PB on 1 drive-day, first of A on 2024-11-01 with " in found.notes[0]
    told = rows(tmp_path / "f", "SELECT * FROM days ORDER BY date")
    common = {"serial": "A", "model": "M", "source": "backblaze"}
    assert told == [
        common
        | {"date": date(2024, 11, 1), "capacity_bytes": None, "failure": False, "smart_5_raw": 0}
        | {"smart_9_raw": 1, "datacenter": "phx1", "vault_id": "7"},
        common
        | {"date": date(2024, 11, 2), "capacity_bytes": 12_000_138_625_024, "failure": True, "smart_5_raw": None}
        | {"smart_9_raw": None, "datacenter": None, "vault_id": "8"},
    ]
    text = "date,serial_number,model,capacity_bytes,failure,smart_5_raw,smart_9_raw,datacenter,vault_id\n"
    text += "2024-11-01,A,M,-1,0,0,1,phx1,7\n2024-11-02,A,M,12000138625024,1,,,,8\n"
    assert taken(tmp_path, text).repeated == 2


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"failure": [0, 2]}, "failure is 2, allowed are 0 and 1"),
    ({"failure": [0, None]}, "failure is nothing, allowed are 0 and 1"),
    ({"failure": None}, "has no column failure; needed are date, serial_number, model, failure"),
    ({"date": ["2024-11-01", "2024-11-31"]}, "date is 2024-11-31, allowed is a day"),
    ({"date": [datetime(2024, 11, 1), datetime(2024, 11, 2, 23)]}, "date is 2024-11-02 23:00:00, allowed is a day"),
    ({"date": [date(2024, 11, 1), date(2999, 1, 1)]}, "date is 2999-01-01, allowed are 1970-01-01"),
    ({"serial_number": ["A", None]}, "serial_number is empty"),
    ({"model": ["M", " "]}, "model is empty"),
    ({"smart_9_raw": ["1", "p7"]}, "smart_9_raw is p7, allowed is a number"),
    ({"smart_9_raw": ["1", "0x10"]}, "smart_9_raw is 0x10, allowed is a number"),
    ({"smart_9_raw": [[1], [2]]}, "smart_9_raw has the type BIGINT[], allowed are numbers"),
    ({"smart_9_raw": [True, False]}, "smart_9_raw has the type BOOLEAN, allowed are numbers"),
    ({"capacity_bytes": ["1", "DISK"]}, "capacity_bytes is DISK, allowed is a count of bytes"),
    ({"capacity_bytes": [1.5, 2.0]}, "capacity_bytes is 1.5, allowed is a count of bytes"),
    ({"capacity_bytes": [1.0, float("inf")]}, "capacity_bytes is inf, allowed is a count of bytes"),
    ({"smart_9_raw": [1.0, -5.0]}, "smart_9_raw is -5.0, allowed are 0"),
    ({"smart_9_raw": [1.0, float("inf")]}, "smart_9_raw is inf, allowed are 0"),
    ({"Model": ["M", "M"]}, "twice"),
    ({"datacenter": ["x", "a" * (3 << 20)]}, "datacenter is a cell of 3 MiB, allowed is at most 1 MiB"),
    ({"a'b": ["x", "a" * (3 << 20)]}, "a'b is a cell of 3 MiB"),
    ({"serial_number": ["A" * (3 << 20), "A"]}, "serial_number is a cell of 3 MiB"),
]


@pytest.mark.parametrize(("values", "sentence"), WRONG, ids=[each[1][:40] for each in WRONG])
def test_parquet_that_is_wrong_is_one_sentence(tmp_path: Path, values: dict[str, Any], sentence: str) -> None:
    with pytest.raises(wane.FleetError) as told:
        fleet.ingest(tmp_path / "f", [parquet(tmp_path / "a.parquet", **values)])
    assert sentence in str(told.value)
    assert "a.parquet" in str(told.value)
    assert "\n" not in str(told.value)


def test_a_group_of_rows_that_fills_the_memory_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_parquet, "MEMORY_BYTES", 64 << 20)
    pyarrow.parquet.write_table(
        pyarrow.table(VALUES | {"datacenter": ["a" * (256 << 20), "x"]}), tmp_path / "a.parquet", compression="zstd"
    )
    with pytest.raises(
        wane.FleetError, match=r"a\.parquet: has a cell or a group of rows that unpacks to more than 64 MiB"
    ):
        fleet.ingest(tmp_path / "f", [tmp_path / "a.parquet"])


def test_other_parquet_says_what_it_is(tmp_path: Path) -> None:
    whole = parquet(tmp_path / "whole.parquet").read_bytes()
    pyarrow.parquet.write_table(pyarrow.table({"a": [1]}), tmp_path / "other.parquet")
    simulated = pyarrow.table({"a": [1]}).replace_schema_metadata({"wane.simulated": "1"})
    pyarrow.parquet.write_table(simulated, tmp_path / "simulated.parquet")
    (tmp_path / "cut.parquet").write_bytes(whole[:-9])
    middle = bytearray(whole)
    middle[4:80] = b"\xff" * 76
    (tmp_path / "changed.parquet").write_bytes(bytes(middle))
    (tmp_path / "packed.parquet.gz").write_bytes(gzip.compress(whole))
    with pyarrow.CompressedOutputStream(str(tmp_path / "packed.parquet.zst"), "zstd") as stream:
        stream.write(whole)
    for name, sentence in (
        ("other.parquet", "is Parquet, but neither of a simulated fleet nor with the columns of a table"),
        ("simulated.parquet", r"is of a simulated fleet; give the folder that holds its simulated\.json"),
        ("cut.parquet", r"cut\.parquet: is damaged"),
        ("changed.parquet", r"changed\.parquet: "),
        ("packed.parquet.gz", "is packed Parquet; unpack it"),
        ("packed.parquet.zst", "is packed Parquet; unpack it"),
    ):
        for place in (tmp_path / name, tmp_path / f"only-{name}"):
            if place.name != name:
                place.mkdir()
                (tmp_path / name).rename(place / name)
            with pytest.raises(wane.FleetError, match=sentence) as told:
                fleet.ingest(tmp_path / "f", [place])
            assert "\n" not in str(told.value)


def test_a_fleet_may_lie_in_the_folder_that_it_is_made_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    fleets.day(tmp_path, 10)
    for known in (0, 1):
        assert fleet.ingest("f", ["."]).known == known
    assert len(rows(tmp_path / "f", "SELECT * FROM days")) == 5


# --- memory

#: Bytes that a packed file unpacks to.
LARGE = 192 << 20


def bomb(kind: str) -> tuple[bytes, bytes]:
    """The beginning of a file, and what is repeated after it."""
    header = b"date,serial_number,model,capacity_bytes,failure\n2013-04-10,"
    return {
        "an open quotation mark": (header + b'"', b"A" * 1000),
        "a cell": (header, b"A" * 1000),
        "many cells": (header, b"," * 1000),
        "many quoted lines": (header, b'"a\n",' * 200),
        "a header": (b"date,serial_number,model,failure,", b"a" * 1000),
        "a wide table": (b"date,serial_number,model,failure" + b",a" * 2000, b"a" * 1000),
        "logs": (b"disk_id,ds,model,r_5\n1,20180101,", b"A" * 1000),
        "tickets": (b"model,disk_id,failure_time\nMA1,1,", b"A" * 1000),
        "many tags": (b"manufacturer,model,serial_number,fault_time,tag\n", b"A,1,disk_1,2017-08-01,3\n" * 40),
        "many tickets": (b"model,disk_id,failure_time\n", b"MA1,1,2018-03-02\n" * 50),
        "a record": (b'{"serial_number": "', b"A" * 1000),
    }[kind]


KINDS = (
    "an open quotation mark",
    "a cell",
    "many cells",
    "many quoted lines",
    "a header",
    "a wide table",
    "logs",
    "tickets",
    "many tickets",
    "many tags",
    "a record",
)


@pytest.mark.parametrize(
    ("kind", "packing"),
    [*((kind, "gzip") for kind in KINDS), ("a cell", "zip"), ("a cell", "zstd"), ("tickets", "zstd")],
)
def test_a_small_packed_file_takes_little_memory(tmp_path: Path, kind: str, packing: str) -> None:
    begin, repeated = bomb(kind)
    block = repeated * ((1 << 20) // len(repeated))
    file = tmp_path / ("a.json.gz" if kind == "a record" else "a.csv.gz")
    if packing == "gzip":
        with gzip.open(file, "wb", 1) as stream:
            stream.write(begin)
            for _ in range(LARGE >> 20):
                stream.write(block)
    elif packing == "zstd":
        file = tmp_path / "a.csv.zst"
        with pyarrow.CompressedOutputStream(str(file), "zstd") as stream:
            stream.write(begin)
            for _ in range(LARGE >> 20):
                stream.write(block)
    else:
        file = tmp_path / "a.zip"
        with (
            zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as packed,
            packed.open("a.csv", "w") as to,
        ):
            to.write(begin)
            for _ in range(LARGE >> 20):
                to.write(block)
    code = (
        "import resource, sys; from wane.fleet.__main__ import main; import pandas, pyarrow.csv, pyarrow.parquet, duckdb\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "code = main(['ingest', *sys.argv[1:]])\n"
        "print(code, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) << 10)"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "f"), str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    returned, grown = done.stdout.split()[-2:]
    assert returned == "2"
    assert done.stderr.count("\n") == 1
    assert int(grown) < 160 << 20


def test_a_group_of_rows_ends_by_its_bytes_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_csv, "GROUP_BYTES", 1000)
    batches = [pyarrow.record_batch({"a": [0.0] * 50}) for _ in range(10)]
    assert [group.num_rows for group in _csv.grouped(batches, pyarrow)] == [150, 150, 150, 50]


def test_more_tickets_than_memory_is_for_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_tickets, "TICKETS_BYTES_MAX", 1000)
    text = "model,disk_id,failure_time\n" + "".join(f"MA1,{number},2018-03-02\n" for number in range(100))
    with pytest.raises(wane.FleetError, match=r"has tickets of 0 MiB in its first 100 rows, allowed are at most 0 MiB"):
        taken(tmp_path, text)


@pytest.mark.parametrize("header", ['date,"serial_number\n",model,failure', 'date,serial_number,model,failure,"a""b'])
def test_a_header_with_a_line_break_in_it_is_one_sentence(tmp_path: Path, header: str) -> None:
    with pytest.raises(wane.FleetError, match=r"a\.csv"):
        taken(tmp_path, header + "\n2013-04-10,A,M,0\n")

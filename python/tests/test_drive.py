"""A drive step by step: the numbers of a run, independent copies, a drive that stays whole after any error."""

import copy
import os
import pickle
import signal
import threading
import time
from typing import Any

import numpy as np
import pytest

import wane

HOT_COLD = {
    "drive": {"preset": "tiny", "endurance": 200},
    "ftl": {"gc": {"policy": "d-choices", "d": 4}, "wear-leveling": {"policy": "pwl", "threshold": "50 %"}},
    "workload": {"pattern": "hot-cold", "r": 0.9, "h": 0.1},
}
SHRINKING = {
    "drive": {"preset": "tiny", "endurance": 60},
    "ftl": {"capacity": {"policy": "variant"}},
    "workload": {"pattern": "uniform", "footprint": 0.6},
}


def aged(scenario: dict[str, Any] = HOT_COLD, drive_writes: float = 3) -> wane.Drive:
    drive = wane.Drive(scenario)
    drive.precondition()
    assert drive.run(drive_writes=drive_writes) == "target"
    return drive


def same(one: wane.Drive, other: wane.Drive) -> bool:
    names = ("erase_count", "valid_pages", "state")
    alike = all(np.array_equal(one.blocks[name], other.blocks[name]) for name in names)
    return alike and one.counters == other.counters and one.smart() == other.smart()


@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize("scenario", [HOT_COLD, SHRINKING], ids=["hot-cold", "shrinking"])
def test_a_drive_ages_as_a_run_of_its_scenario(scenario: dict[str, Any], parts: int) -> None:
    result = wane.run({**scenario, "until": {"drive-writes": 6}})
    drive = wane.Drive(scenario)
    drive.precondition()
    for _ in range(parts):
        assert drive.run(drive_writes=6 / parts) == "target"
    assert drive.drive_writes == result.summary["end"]["at_drive_writes"] == 6
    for name, column in result.blocks.items():
        assert np.array_equal(drive.blocks[name], column), name
    summary, counters = result.summary, drive.counters
    assert counters["host_pages_written"] == summary["host"]["pages_written"]
    assert counters["pages_programmed_gc"] == summary["flash"]["pages_programmed"]["gc"]
    assert counters["blocks_erased_wear_leveling"] == summary["flash"]["blocks_erased"]["wear_leveling"]
    assert drive.write_amplification == summary["write_amplification"]["total"]
    drive.check()


def test_a_drive_dies_as_a_run_of_its_scenario() -> None:
    result = wane.run({**HOT_COLD, "until": {"end-of-life": True}})
    drive = wane.Drive(HOT_COLD)
    drive.precondition()
    assert drive.run(end_of_life=True) == "end-of-life"
    assert drive.drive_writes == result.summary["end"]["at_drive_writes"]
    assert drive.end_of_life == result.summary["end"]["cause"] == "spare-exhausted"
    assert drive.write(range(10)) == 0
    assert drive.run(drive_writes=1) == "end-of-life"
    assert drive.smart()["is_read_only"]
    assert "dead (spare-exhausted)" in repr(drive)
    with pytest.raises(wane.WaneError, match=r"^the drive is dead \(spare-exhausted\) and takes no writes any more"):
        drive.probe(requests=10)
    reads = drive.probe({"pattern": "uniform", "read-share": 1}, requests=100)
    assert reads.windows["latency_read_p50_ns"][0] > 0


def test_pages_are_written_read_and_trimmed() -> None:
    drive = wane.Drive(preset="tiny")
    assert (drive.write(7), drive.write([1, 2, 3, 3]), drive.write(range(100))) == (1, 4, 100)
    assert drive.write(np.arange(200, dtype=np.int16)) == 200
    assert drive.counters["host_pages_written"] == 305
    assert drive.valid_pages.sum() == 200
    drive.trim(range(50))
    assert drive.valid_pages.sum() == 150
    assert drive.smart()["mapped_bytes"] == 150 * drive.page_bytes
    assert drive.counters["host_pages_trimmed"] == 50
    assert drive.read(range(drive.pages)).shape == (0,)
    assert drive.counters["host_pages_read_unmapped"] == drive.pages - 150
    for seed in range(4):
        assert drive.write(np.random.default_rng(seed).permutation(drive.pages)) == drive.pages
    assert drive.write_amplification is not None
    assert drive.write_amplification > 1
    drive.check()


def test_pages_that_are_none_are_refused_whole() -> None:
    drive = wane.Drive(preset="tiny")
    last = drive.pages - 1
    wrong: list[tuple[Any, str]] = [
        ([0, drive.pages], rf"^page {drive.pages}: the drive has {drive.pages} pages, 0 to {last}$"),
        (-1, rf"^page -1: the drive has {drive.pages} pages, 0 to {last}$"),
        (2**40, rf"^page 1099511627776: the drive has {drive.pages} pages, 0 to {last}$"),
        ([2**64], rf"^page 18446744073709551616: the drive has {drive.pages} pages, 0 to {last}$"),
        ([2**63, -1], rf"^page -1: the drive has {drive.pages} pages, 0 to {last}$"),
    ]
    for pages, sentence in wrong:
        for ask in (drive.write, drive.read, drive.trim):
            with pytest.raises(IndexError, match=sentence):
                ask(pages)
    with pytest.raises(TypeError, match=r"^pages: found values of type float64, allowed are whole numbers$"):
        drive.write([0.5])
    with pytest.raises(TypeError, match=r"^pages: found values of type object, allowed are whole numbers$"):
        drive.write([None])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^pages: found an array of shape \(2, 2\)"):
        drive.write([[1, 2], [3, 4]])
    assert drive.write([]) == 0
    assert drive.counters["host_pages_written"] == 0


def test_copies_go_their_own_way() -> None:
    drive = aged()
    copy, twin = drive.fork(), drive.fork()
    before = drive.erase_counts
    copy.run(drive_writes=2)
    assert np.array_equal(drive.erase_counts, before)
    assert same(drive, twin)
    assert not same(drive, copy)
    drive.run(drive_writes=2)
    assert same(drive, copy)
    twin.run({"pattern": "uniform"}, drive_writes=2)
    assert not same(drive, twin)


def test_a_snapshot_is_come_back_to() -> None:
    drive = aged()
    snapshot, before = drive.snapshot(), drive.fork()
    assert repr(snapshot) == "<wane.Snapshot of 'tiny' at 3.00 drive writes>"
    drive.run(drive_writes=1)
    drive.write(range(100))
    assert not same(drive, before)
    for _ in range(2):
        drive.restore(snapshot)
        assert same(drive, before)
        drive.run(drive_writes=1)
    before.run(drive_writes=1)
    assert same(drive, before)
    assert same(snapshot.fork(), aged())


def test_a_copy_of_a_drive_is_a_fork() -> None:
    drive = wane.Drive(preset="tiny")
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(
            TypeError, match=r"^a drive is not copied by copy or pickle: fork\(\) makes an independent copy"
        ):
            copied(drive)
    for given, kind in [(wane.Drive(preset="tiny"), "Drive"), (None, "NoneType")]:
        with pytest.raises(
            TypeError, match=rf"^restore: found a value of type {kind}, allowed is what snapshot\(\) of a drive gave$"
        ):
            drive.restore(given)  # type: ignore[arg-type]


def test_arrays_are_copies_of_the_state_that_cannot_be_written() -> None:
    drive = aged()
    arrays = {name: getattr(drive, name) for name in ("erase_counts", "valid_pages", "states", "ages")}
    blocks = drive.blocks.rows
    for name, array in arrays.items():
        assert array.shape == (blocks,), name
        with pytest.raises(ValueError, match="read-only"):
            array[0] = array[0]
    assert [arrays[name].dtype.kind for name in arrays] == ["u", "u", "U", "f"]
    assert np.array_equal(np.isnan(arrays["ages"]), arrays["states"] != "closed")
    assert 0 <= np.nanmin(arrays["ages"]) < np.nanmax(arrays["ages"]) <= 3.001 + 1
    before = arrays["erase_counts"].copy()
    drive.run(drive_writes=1)
    assert np.array_equal(arrays["erase_counts"], before)
    assert drive.erase_counts.sum() > before.sum()


def test_a_look_leaves_the_drive_as_it_was() -> None:
    drive = aged()
    before = drive.fork()
    found = drive.probe(requests=2000, set={"workload.arrival": {"queue-depth": 4}})
    assert found.windows["latency_read_p99_ns"][0] > found.windows["latency_read_p50_ns"][0] > 0
    times, shares = found.latency_distribution(0, "write")
    assert shares[-1] == 1.0
    assert times.size > 0
    assert same(drive, before)
    again = drive.probe(requests=2000, set={"workload.arrival": {"queue-depth": 4}})
    assert again.summary["latency"] == found.summary["latency"]
    with pytest.raises(wane.ScenarioError, match="a drive that exists is not changed by keys"):
        drive.probe(set={"drive.endurance": 3})
    with pytest.raises(ValueError, match=r"^requests: found 0, allowed is 1 to 1000000000$"):
        drive.probe(requests=0)


def test_a_workload_goes_on_where_it_stood(tmp_path: Any) -> None:
    drive, other = aged(drive_writes=1), aged(drive_writes=1)
    drive.run("zipf", drive_writes=1)
    drive.run("zipf", drive_writes=1)
    other.run("zipf", drive_writes=2)
    assert same(drive, other)
    with pytest.raises(wane.ScenarioError, match=r'^no workload "zpif"; there are uniform, .*did you mean "zipf"'):
        drive.run("zpif", drive_writes=1)
    with pytest.raises(wane.ScenarioError, match=r"^a drive ages by writes, and its workload writes nothing$"):
        drive.run({"pattern": "uniform", "read-share": 1}, drive_writes=1)
    trace = tmp_path / "t.csv"
    trace.write_text("nothing\n")
    with pytest.raises(wane.TraceError):
        other.run(trace, drive_writes=1)


def test_data_age_while_a_drive_lies() -> None:
    drive = wane.Drive(
        {
            "drive": {
                "preset": "mlc-8g",
                "blocks-per-plane": 16,
                "chip": "tlc-72l-2018",
                "ecc": {"strength": 40, "rereads-max": 0},
                "initial": {"erase-count": 1000},
            }
        }
    )
    drive.write(range(2000))
    assert drive.read(range(2000)).size == 0
    drive.wait(365)
    assert drive.day == 365
    failed = drive.read(range(2000))
    assert failed.size > 0
    assert set(failed.tolist()) <= set(range(2000))
    assert drive.smart()["media_errors"] == failed.size
    with pytest.raises(ValueError, match=r"^days: found -1, allowed is 0 and more$"):
        drive.wait(-1)


def test_days_beyond_the_calendar_change_nothing() -> None:
    drive = wane.Drive(preset="tiny")
    for days, sentence in [
        (1e308, r"^days: found 1e308 on day 0, and a drive's days are counted up to 1000000000$"),
        (10**400, r"^days: found a number beyond those of floating point$"),
        (float("inf"), r"^days: found inf, allowed is 0 and more$"),
        (float("nan"), r"^days: found NaN, allowed is 0 and more$"),
    ]:
        for _ in range(2):
            with pytest.raises(ValueError, match=sentence):
                drive.wait(days)
    wrong: list[Any] = ["3", None, [3], 1j]
    for no_number in wrong:
        with pytest.raises(TypeError, match=r"^days: found a value of type \w+, allowed is a number$"):
            drive.wait(no_number)
    assert drive.day == 0
    numbers: list[Any] = [np.float32(1), np.int64(10**9 - 1)]
    for days in numbers:
        drive.wait(days)
    with pytest.raises(ValueError, match=r"^days: found 0\.5 on day 1000000000, "):
        drive.wait(0.5)
    assert drive.day == 10**9
    assert drive.write(range(10)) == 10
    drive.check()


def test_a_death_by_preconditioning_is_told() -> None:
    drive = wane.Drive({"drive": {"preset": "tiny", "endurance": 3}, "precondition": {"random-drive-writes": 50}})
    sentence = r"^the drive died while it was preconditioned \(no-free-block\), and takes no writes any more$"
    with pytest.warns(UserWarning, match=sentence) as told:
        drive.precondition()
    assert [warning.filename for warning in told] == [__file__]
    assert drive.end_of_life == "no-free-block"
    with pytest.raises(
        wane.WaneError,
        match=r"^the drive is dead \(no-free-block\) and takes no writes any more; precondition a new one",
    ):
        drive.precondition()


def test_one_end_is_given() -> None:
    drive = wane.Drive(preset="tiny")
    for arguments, sentence in [
        ({}, "^run needs one end: drive_writes, wear, or end_of_life=True$"),
        ({"drive_writes": 1, "wear": 0.5}, "^run needs one end"),
        ({"drive_writes": -1}, "^drive_writes: found -1, allowed is 0 and more$"),
        ({"wear": 1.5}, "^wear: found 1.5, allowed is a share"),
        ({"end_of_life": True}, "^no block of the drive ever retires"),
    ]:
        with pytest.raises(wane.ScenarioError, match=sentence):
            wane.Drive(preset="tiny", set={"drive.endurance": "none"}).run("uniform", **arguments)  # type: ignore[arg-type]
    assert drive.run("uniform", wear=0.01) == "target"
    assert drive.life_used is not None
    assert 0.01 <= drive.life_used < 0.02
    phase = {"workload": {"pattern": "uniform"}, "until": {"drive-writes": 1}}
    with pytest.raises(
        wane.ScenarioError, match=r"^a drive is aged by one workload at a time, and the scenario has 2 phases; give it"
    ):
        wane.Drive({"drive": {"preset": "tiny"}, "phase": [phase, phase]})
    with pytest.raises(wane.ScenarioError, match=r"^Drive needs a scenario"):
        wane.Drive()


ENDLESS_DRIVE: dict[str, Any] = {"drive": {"preset": "tiny", "endurance": "none"}}


def test_ctrl_c_leaves_a_whole_drive() -> None:
    drive = wane.Drive(ENDLESS_DRIVE)
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        drive.run(drive_writes=1e9)
    timer.join()
    drive.check()
    stopped = drive.drive_writes
    assert stopped > 0
    drive.run(drive_writes=1)
    assert drive.drive_writes == pytest.approx(stopped + 1)
    # In parts or at once is the same, wherever the parts end.
    other = wane.Drive(ENDLESS_DRIVE)
    other.run(drive_writes=drive.drive_writes)
    assert same(drive, other)
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        while True:
            drive.write(np.arange(drive.pages))
    timer.join()
    drive.check()


def test_a_second_thread_is_told_in_a_sentence_and_others_go_on() -> None:
    drive = wane.Drive(ENDLESS_DRIVE)

    def run() -> None:
        while True:
            try:
                drive.run(drive_writes=3000)
            except wane.WaneError as error:
                # A write below came first: then this call is the second.
                assert str(error).startswith("the drive is at work in another call")
            else:
                return

    thread = threading.Thread(target=run)
    thread.start()
    refused = 0
    while thread.is_alive():
        try:
            drive.write(0)
        except wane.WaneError as error:
            assert str(error).startswith("the drive is at work in another call")
            refused += 1
        time.sleep(0.001)
    thread.join()
    assert refused > 10


def test_progress_is_told_and_may_end_it() -> None:
    drive = wane.Drive(ENDLESS_DRIVE)
    told: list[float] = []

    def tell(progress: wane.Progress) -> None:
        told.append(progress.drive_writes)
        if len(told) == 3:
            raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        drive.run(drive_writes=1e9, progress=tell)
    assert told == sorted(told)
    assert drive.drive_writes >= told[-1]
    drive.check()


def test_an_array_is_a_drive_whose_drives_come_and_go() -> None:
    pair = wane.Drive({"drive": {"preset": "tiny"}, "array": {"layout": "mirror"}, "ftl": {"recovery": "checkpoint"}})
    assert (pair.pages, len(pair.members)) == (16384, 2)
    assert wane.Drive(preset="tiny").members == []
    pair.run("uniform", drive_writes=3)
    pair.take_out(1)
    pair.write(range(100))
    assert [(one["state"], one["stale_bytes"]) for one in pair.members] == [("online", 0), ("absent", 409600)]
    with pytest.raises(wane.WaneError, match="drive 0 has the only copy"):
        pair.take_out(0)
    with pytest.raises(wane.WaneError, match="drive 1 of the array is out"):
        pair.member(1)
    pair.put_back(1)
    assert [one["stale_bytes"] for one in pair.members] == [0, 0]
    assert pair.read([0, 99, 5000]).size == 0
    # A look is a copy, whose figures are those of the drive.
    one, other = pair.member(0), pair.member(1)
    assert one.erase_counts.shape == other.erase_counts.shape and one.erase_counts.max() > 3
    assert one.smart() != other.smart() or one.counters == other.counters
    pair.replace(0)
    assert [one["new"] for one in pair.members] == [1, 0]
    used, worn = pair.member(0).life_used, other.life_used
    assert used is not None and worn is not None and used < worn
    assert pair.life_used == worn
    pair.scrub()
    pair.check()
    seen = pair.probe_array(requests=2000, set={"workload.read-share": 0.5})
    reads = [one["latency"]["read"]["count"] for one in seen["drives"]]
    assert sum(reads) == seen["host"]["read"]["count"] and min(reads) > 400, seen
    # Each write goes to both, and is done with its last copy.
    assert [one["latency"]["write"]["count"] for one in seen["drives"]] == [seen["host"]["write"]["count"]] * 2
    assert seen["host"]["write"]["mean_ns"] > max(one["latency"]["write"]["mean_ns"] for one in seen["drives"])
    with pytest.raises(wane.WaneError, match="probe_array"):
        pair.probe()
    with pytest.raises(wane.WaneError, match="one drive and no array"):
        wane.Drive(preset="tiny").probe_array()
    with pytest.raises(wane.WaneError, match="is an array of drives; member"):
        _ = pair.erase_counts
    with pytest.raises(wane.WaneError, match="no drive 2; its drives are 0 to 1"):
        pair.member(2)
    with pytest.raises(wane.WaneError, match="one drive and no array"):
        wane.Drive(preset="tiny").take_out(0)
    with pytest.raises(ValueError, match="allowed is 0 and more"):
        pair.member(-1)
    assert pair.run("zipf", end_of_life=True) == "end-of-life"
    assert "array" in pair._repr_html_()
    assert pair.snapshot().fork().members == pair.members


def test_an_array_with_parities_tells_how_safe_its_data_are() -> None:
    drive = {"preset": "tiny", "logical-capacity": "16 MiB"}
    array = {"layout": "raid", "chunk": "16 KiB", "member": [{"count": 4}]}
    raid = wane.Drive({"drive": drive, "array": array, "ftl": {"recovery": "checkpoint"}})
    assert wane.Drive(preset="tiny").condition is None
    raid.run("uniform", drive_writes=1)
    assert raid.condition is not None and raid.condition[0] == "whole"
    raid.take_out(1)
    assert raid.condition is not None and raid.condition[0] == "degraded" and "drive 1 is out" in raid.condition[1]
    with pytest.raises(wane.WaneError, match=r"without drive 0, .* could not be read"):
        raid.take_out(0)
    raid.write(range(100))
    assert raid.members[1]["stale_bytes"] > 0
    raid.replace(1)
    assert raid.condition is not None and raid.condition[0] == "whole"
    raid.scrub()
    raid.check()


def test_two_arrays_of_one_seed_live_alike() -> None:
    scenario = {"drive": {"preset": "tiny", "endurance": 30}, "array": {"layout": "mirror", "replace-at": 0.5}}
    lives = [wane.Drive(scenario) for _ in range(2)]
    lives[0].run("uniform", drive_writes=6)
    for _ in range(3):
        lives[1].run("uniform", drive_writes=2)
    assert lives[0].counters == lives[1].counters and lives[0].members == lives[1].members
    assert lives[0].members[0]["new"] + lives[0].members[1]["new"] == 1

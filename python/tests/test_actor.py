"""Drives that encode, from Python."""

import doctest
import subprocess
import sys
import time
from pathlib import Path

import pytest

import wane
from wane import actor


@pytest.fixture
def cluster(tmp_path: Path) -> actor.Cluster:
    return actor.Cluster(tmp_path / "drives", drives=4, upkeep=1)


def test_objects_outlive_drives_that_are_killed(cluster: actor.Cluster, tmp_path: Path) -> None:
    content = bytes(range(256)) * 400
    with cluster:
        put = cluster.put("a", content, code="2+2", cell="4 KiB")
        assert (put["bytes"], put["missing"], len(set(put["drives"]))) == (len(content), [], 4)
        file = tmp_path / "b.bin"
        file.write_bytes(b"file")
        cluster.put("-b", file, code="2+2")
        assert cluster.list() == ["-b", "a"]
        cluster.drives[0].kill()
        cluster.drives[2].kill()
        assert not cluster.drives[0].is_running
        assert cluster.get("a") == content
        assert sum("error" in status for status in cluster.status()) == 2
        with pytest.raises(actor.ActorError, match="4 are needed"):
            cluster.put("c", content, code="2+2")
        cluster.start(cluster.drives[0])
        cluster.start(cluster.drives[2])
        assert cluster.get("-b") == b"file"
        cluster.delete("-b")
        assert cluster.list() == ["a"]
    assert not any(drive.is_running for drive in cluster.drives)


def test_rotten_shares_are_made_anew_and_work_is_counted(cluster: actor.Cluster) -> None:
    with cluster:
        cluster.put("a", b"x" * 100_000, code="2+2", cell="4 KiB")
        moved = [status["moved"] for status in cluster.status()]
        assert sorted(drive["cells_in"] > 0 for drive in moved) == [False, False, True, True]
        assert sum(drive["made_in"] for drive in moved) == sum(drive["made_out"] for drive in moved) > 0
        share = next((cluster.drives[1].folder / "shares").glob("*/*"))
        bad = bytearray(share.read_bytes())
        bad[5000] ^= 1
        share.write_bytes(bad)
        found = cluster.scrub()
        assert [sum(one["scrubbed"][what] for one in found) for what in ("rotten", "repaired")] == [1, 1]
        assert cluster.repair("a") == []


def test_a_drive_leaves_and_its_shares_go_on(tmp_path: Path) -> None:
    with actor.Cluster(tmp_path, drives=4, upkeep=1) as cluster:
        cluster.put("a", b"content", code="2+1")
        gone = cluster.drives[3]
        cluster.leave(gone.id)
        assert not list((gone.folder / "shares").glob("*/*"))
        gone.stop()
        for _ in range(100):
            if all(not status.get("is_moving") for status in cluster.status()):
                break
            time.sleep(0.1)
        assert cluster.get("a") == b"content"


def test_what_is_refused_is_an_error_of_the_package(tmp_path: Path) -> None:
    with pytest.raises(actor.ActorError, match="--secret-file"):
        actor.Drive(tmp_path / "d", listen="0.0.0.0:0").start()
    with pytest.raises(wane.WaneError, match="no drive answers"):
        actor.Client("127.0.0.1:1").get("a")
    drive = actor.Drive(tmp_path / "d")
    drive.start()
    try:
        assert drive.process_id is not None
        with pytest.raises(actor.ActorError, match="served already"):
            drive.start()
        with pytest.raises(actor.ActorError, match="in use by another process"):
            actor.Drive(tmp_path / "d").start()
        with pytest.raises(actor.ActorError, match="there is no object"):
            actor.Client(drive.address).get("a")
    finally:
        drive.stop()
    assert drive.process_id is None


def test_who_does_not_know_the_secret_is_refused(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("a secret of sixteen letters and more")
    secret.chmod(0o600)
    with actor.Cluster(tmp_path / "drives", drives=2, secret_file=secret) as cluster:
        cluster.put("a", b"content", code="1+1")
        assert actor.Client(cluster.drives[0].address, secret_file=secret).get("a") == b"content"
        with pytest.raises(actor.ActorError, match="not signed"):
            actor.Client(cluster.drives[0].address).get("a")


def test_what_is_no_content_and_no_count_is_told(tmp_path: Path) -> None:
    for none in (0, -1):
        with pytest.raises(ValueError, match=f"drives: found {none}, allowed is 1 or more"):
            actor.Cluster(tmp_path / "none", drives=none)
    for count in (True, 1.0, "3"):
        with pytest.raises(TypeError, match=r"drives: found a value of type .*, allowed is a number"):
            actor.Cluster(tmp_path / "none", drives=count)  # type: ignore[arg-type]
    with actor.Cluster(tmp_path / "drives", drives=1) as cluster:
        for wrong in (5, "b.py", None, [1]):
            with pytest.raises(
                TypeError, match=r'content of "y": found a value of type .*, allowed are bytes and the path'
            ):
                cluster.put("y", wrong, code="1+0")  # type: ignore[arg-type]
        assert cluster.list() == []
        cluster.put("y", memoryview(b"content"), code="1+0", cell=65536)
        assert cluster.get("y") == b"content"
        with pytest.raises(actor.ActorError) as refused:
            cluster.put("y", b"content", code="many")
        assert "write data+parity" in str(refused.value)
        assert "--help" not in str(refused.value)
    with pytest.raises(actor.ActorError, match="no drive of this cluster is served"):
        cluster.get("y")
    with pytest.raises(actor.ActorError, match="found no address"):
        actor.Client([]).list()


def test_drives_end_with_the_process_that_started_them(tmp_path: Path) -> None:
    script = (
        "import sys, time; from wane import actor\n"
        "drive = actor.Drive(sys.argv[1]); drive.start(); print(drive.address, flush=True); time.sleep(600)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script, str(tmp_path / "d")], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        address = process.stdout.readline().decode().strip()
        assert actor.Client(address).list() == []
        process.kill()
    for _ in range(100):
        try:
            actor.Client(address).list()
        except actor.ActorError:
            return
        time.sleep(0.1)
    pytest.fail("the drive is served still")


def test_the_example_of_the_module_holds() -> None:
    assert doctest.testmod(actor).failed == 0

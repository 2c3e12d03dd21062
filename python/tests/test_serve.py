"""Served drives, from Python."""

import doctest
import socket
import struct
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

import wane
from wane import _serve


@pytest.fixture
def drive() -> wane.Served:
    return wane.serve(preset="tiny", speed="max")


class Client:
    """A client of a few lines: an export's bytes, by the oldest handshake."""

    def __init__(self, path: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.connect(str(path))
        assert self._take(18)[:8] == b"NBDMAGIC"
        self._socket.sendall(struct.pack(">IQII", 3, 0x49484156454F5054, 1, 0))
        self.size, self.flags = struct.unpack(">QH", self._take(10))

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def _take(self, count: int) -> bytes:
        taken = b""
        while len(taken) < count:
            more = self._socket.recv(count - len(taken))
            assert more, "the server ended"
            taken += more
        return taken

    def ask(self, number: int, offset: int, length: int, data: bytes = b"") -> tuple[int, bytes]:
        self._socket.sendall(struct.pack(">IHHQQI", 0x25609513, 0, number, 7, offset, length) + data)
        magic, errno, cookie = struct.unpack(">IIQ", self._take(16))
        assert (magic, cookie) == (0x67446698, 7)
        return errno, self._take(length) if number == 0 and errno == 0 else b""


def test_bytes_and_faults(drive: wane.Served) -> None:
    with drive, Client(drive.socket) as client:
        assert client.size == drive.ctl.status()["capacity_bytes"]
        assert client.ask(1, 4096, 4096, b"x" * 4096) == (0, b"")
        assert client.ask(0, 4096, 4096) == (0, b"x" * 4096)
        drive.ctl.inject("error", kinds=["read"], count=1)
        assert client.ask(0, 4096, 4096) == (5, b"")
        assert client.ask(0, 4096, 4096) == (0, b"x" * 4096)
        drive.ctl.inject("lost", at="4 KiB", length="4 KiB")
        assert client.ask(0, 4096, 4096)[0] == 5
        drive.ctl.power_cut()
        assert client.ask(0, 0, 4096)[0] == 108
        assert drive.ctl.power_on() >= 0
        assert client.ask(0, 0, 4096)[0] == 0
        assert drive.ctl.latency(clear=True)["read"]["requests"] >= 2
        assert drive.ctl.latency() == {}


def test_a_kept_drive_is_saved_and_ages(tmp_path: Path) -> None:
    folder = tmp_path / "old.wane"
    command = [sys.executable, "-m", "wane", "drive", "create", str(folder), "--for=serve", "--preset=tiny"]
    subprocess.run(command, check=True, capture_output=True)
    with wane.serve(folder, speed="max") as drive, Client(drive.socket) as client:
        assert client.ask(1, 0, 512, b"y" * 512) == (0, b"")
        assert drive.ctl.age("drive-writes=3")["reached"] == "target"
        with pytest.raises(wane.ServeError, match="most"):
            drive.ctl.age("drive-writes=1000000", most="1 ms")
        with pytest.raises(wane.ServeError, match="served already"):
            wane.serve(folder)
    with wane.serve(folder, speed="max") as drive, Client(drive.socket) as client:
        assert client.ask(0, 0, 512) == (0, b"y" * 512)
        assert drive.ctl.status()["drive_writes"] >= 3


def test_drives_come_and_go(tmp_path: Path) -> None:
    path = tmp_path / "a.wane"
    command = [sys.executable, "-m", "wane", "drive", "create", str(path), "--for=serve", "--preset=tiny", "--empty"]
    subprocess.run(command, check=True, capture_output=True)
    with wane.serve(path, speed="max") as drive:
        fork = drive.ctl.fork("b c.wane", serve=True)
        assert [one["drive"] for one in drive.ctl.drives()] == ["a", "b c"]
        of_fork = wane.Control(drive.ctl.path, "b c")
        assert of_fork.status()["drive"] == "b c"
        of_fork.withdraw()
        with pytest.raises(wane.ServeError, match="found drive b c, and a is allowed"):
            of_fork.status()
        assert drive.ctl.serve(fork)["drive"] == "b c"


def test_refusals_are_sentences(tmp_path: Path) -> None:
    with pytest.raises(wane.ServeError, match="there is no such drive"):
        wane.serve(tmp_path / "none")
    with pytest.raises(wane.ServeError, match="a speed is"):
        wane.serve(preset="tiny", speed="fast")
    with pytest.raises(wane.ServeError, match="no server answers"):
        _serve.Control(tmp_path / "ctl.sock").status()


def test_a_killed_server_leaves_the_drive_as_it_was_saved(drive: wane.Served) -> None:
    drive.kill()
    with pytest.raises(wane.ServeError, match="no server answers"):
        drive.ctl.status()


def test_examples_in_docstrings() -> None:
    assert doctest.testmod(_serve, extraglobs={"serve": wane.serve}).failed == 0


def test_a_page_shows_the_drive_and_its_metrics() -> None:
    with wane.serve(preset="tiny", speed="max", page=0) as drive:
        assert drive.page is not None
        with urllib.request.urlopen(f"{drive.page}metrics") as answer:
            assert b'wane_capacity_bytes{drive="tiny"} 67108864' in answer.read()

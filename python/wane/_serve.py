"""A served drive: a block device of any age for the programs of a test, and its control.

The server is a process of its own (the command ``wane serve``), which ends with the ``with`` block, and with this process at the latest.
"""

import contextlib
import http.client
import json
import socket
import subprocess
import sys
import urllib.parse
from collections.abc import Iterator, Sequence
from os import PathLike, fspath
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from wane._errors import ServeError

#: The command, run by this Python with this package.
_COMMAND = (sys.executable, "-m", "wane", "serve")

#: End of the command's message on wrong options, which is of use only on the command line.
_HELP = "\n\nFor more information, try '--help'"

#: Seconds within which a server must end, and save its drive.
_SECONDS = 600.0


class _Connection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: str, timeout: float | None = None) -> None:
        super().__init__("wane", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class Control:
    """The control of a served drive, by its socket. Refusals are a ``ServeError`` with the server's sentence."""

    def __init__(self, path: str | PathLike[str], drive: str | None = None) -> None:
        """Sets the socket, ``ctl.sock`` in the server's directory, and the name of the drive that is meant; by default the server's first."""
        self.path = Path(path)
        self.drive = drive

    def _route(self, name: str) -> str:
        query = "" if self.drive is None else "?" + urllib.parse.urlencode({"drive": self.drive})
        return f"/v1/{name}{query}"

    def ask(self, name: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """Asks for something by its name, as of ``/v1/NAME``: with a body to change something, without one to learn something."""
        with contextlib.closing(_Connection(str(self.path))) as connection:
            try:
                text = (
                    None
                    if body is None
                    else json.dumps({key: value for key, value in body.items() if value is not None})
                )
                connection.request("GET" if body is None else "POST", self._route(name), text)
                response = connection.getresponse()
                told = json.loads(response.read())
            except (OSError, http.client.HTTPException, ValueError) as error:
                raise ServeError(f"{self.path}: no server answers there: {error}") from error
        if response.status != http.client.OK:
            raise ServeError(told["error"])
        return dict(told)

    def status(self) -> dict[str, Any]:
        """What the drive is, its age, and what is under way."""
        return self.ask("status")

    def smart(self) -> dict[str, Any]:
        """Its health, as smartctl's JSON."""
        return self.ask("smart")

    def latency(self, *, clear: bool = False) -> dict[str, Any]:
        """What requests took by the model, and by how much later they were answered (lag), in microseconds by kind.

        Args:
            clear: Whether figures start anew afterwards.
        """
        told = self.ask("latency")
        if clear:
            self.ask("clear-latency", {})
        return dict(told["kinds"])

    def age(
        self,
        until: str | None = None,
        *,
        days: float | None = None,
        fast_forward: float | None = None,
        most: str = "60 s",
    ) -> dict[str, Any]:
        """Ages the drive at full speed while its clients wait. Their data stay; what only aging wrote is trimmed.

        Args:
            until: The target, such as ``"wear=75 %"`` or ``"drive-writes=200"``.
            days: Days that pass instead, without writes.
            fast_forward: One drive write in so many is simulated, about, and the wear of the others is predicted.
            most: Refused if it would take longer, by an estimate.
        """
        return self.ask("age", {"until": until, "days": days, "fast-forward": fast_forward, "most": most})

    def cancel(self) -> dict[str, Any]:
        """Ends the aging that is under way, which another thread or process asked for; what it did stays.

        Raises:
            ServeError: The drive does nothing that takes long.
        """
        return self.ask("cancel", {})

    def rest(self, time: str) -> dict[str, Any]:
        """Lets time pass without requests, such as ``"10 s"``, for the drive's own work."""
        return self.ask("rest", {"for": time})

    def set(
        self,
        *,
        speed: str | None = None,
        retirement_threshold: float | None = None,
        degraded: bool | None = None,
        read_recovery: int | str | None = None,
        capacity: str | None = None,
        mapped_limit: str | None = None,
    ) -> dict[str, Any]:
        """Changes settings.

        Args:
            speed: How fast its time runs, such as ``"1x"`` or ``"max"``.
            retirement_threshold: Erases at which blocks leave service, or an RBER below 1.
            degraded: Whether worn blocks are spared.
            read_recovery: Most re-reads of a read, or ``"none"``.
            capacity: Capacity, which only falls.
            mapped_limit: Most bytes that may hold data at once, wherever they lie; it may rise again.
        """
        return self.ask(
            "set",
            {
                "speed": speed,
                "retirement-threshold": retirement_threshold,
                "degraded": degraded,
                "read-recovery": read_recovery,
                "capacity": capacity,
                "mapped-limit": mapped_limit,
            },
        )

    def inject(
        self,
        fault: str,
        *,
        at: str | None = None,
        length: str | None = None,
        die: int | None = None,
        kinds: str | Sequence[str] = (),
        count: int | None = None,
        rate: str | None = None,
        seed: int = 1,
        by: str | None = None,
    ) -> dict[str, Any]:
        """Lets something break.

        Args:
            fault: ``lost``, ``die``, ``region``, ``error``, ``slow`` or ``stuck``.
            at: First byte, such as ``"1 MiB"``; without it the whole drive.
            length: Bytes, such as ``"64 KiB"``.
            die: The die that is lost.
            kinds: Only these kinds of requests: ``read``, ``write``, ``write-zeroes``, ``trim``, ``flush``.
            count: Only so many requests, or units.
            rate: Only this share of requests, or of units, such as ``"1 %"``.
            seed: Root of the random stream that draws them.
            by: By how much requests are slower, such as ``"20 ms"``.
        """
        named = [kinds] if isinstance(kinds, str) else list(kinds)
        body = {"fault": fault, "at": at, "length": length, "die": die, "kinds": named}
        return self.ask("inject", body | {"count": count, "rate": rate, "seed": seed, "by": by})

    def faults(self) -> list[dict[str, Any]]:
        """What breaks, and how many requests met it."""
        return list(self.ask("faults")["faults"])

    def clear_faults(self, fault: int | None = None) -> None:
        """Ends a fault by its number, or all. Requests that are stuck end with an error."""
        self.ask("clear-faults", {"fault": fault})

    def power_cut(self, *, torn: bool = False, seed: int = 1, take_out: int | Sequence[int] = ()) -> None:
        """Cuts its power: requests under way fail, and so do all until ``power_on``.

        Args:
            torn: Whether every operation that the flash is at work on is torn; by default the seed decides.
            seed: Root of the random stream that decides.
            take_out: Drives of an array that are lost in the same instant, by their numbers: they stay out when the power is back.
        """
        out = [take_out] if isinstance(take_out, int) else list(take_out)
        self.ask("power-cut", {"torn": torn, "seed": seed, "take-out": out})

    def power_on(self) -> float:
        """Gives it power. Returns the seconds for which it recovers, during which requests wait."""
        return float(self.ask("power-on", {})["recovery_s"])

    def save(self) -> None:
        """Saves a kept drive now, as at a clean end."""
        self.ask("save", {})

    def fork(self, name: str, *, serve: bool = False) -> Path:
        """Makes a drive of what it is now, beside it, which goes its own way. Returns its folder.

        Args:
            name: The name of its folder, such as ``"then.wane"``.
            serve: Whether the same server serves it too, under that name without its ending.
        """
        return Path(self.ask("fork", {"name": name, "serve": serve})["fork"])

    def serve(self, path: str | PathLike[str]) -> dict[str, Any]:
        """Serves one more kept drive by the same server. Returns its name, ``drive``, and its ``uri``."""
        return Control(self.path).ask("drives", {"path": str(Path(path).absolute())})

    def drives(self) -> list[dict[str, Any]]:
        """The drives of the server: the ``drive``, which is its name, ``uri``, ``folder`` and number of ``clients`` of each."""
        return list(Control(self.path).ask("drives")["drives"])

    def withdraw(self) -> None:
        """Saves the drive, and serves it no longer. The other drives of its server go on; without any, the server ends."""
        self.ask("withdraw", {})

    def events(self) -> Iterator[dict[str, Any]]:
        """Events as they come, until the server ends: blocks that retire, capacity that it wants, its end, its heat."""
        with contextlib.closing(_Connection(str(self.path))) as connection:
            connection.request("GET", self._route("events"))
            for line in connection.getresponse():
                yield json.loads(line)


class Served:
    """A drive that is served.

    Attributes:
        uri: What a client of the block device is given, such as nbdinfo, fio or qemu.
        socket: The path of its socket.
        ctl: Its control.
        page: The address of its live page; ``None`` without one.
        process_id: The server's process.
    """

    def __init__(self, process: subprocess.Popen[bytes], facts: dict[str, Any]) -> None:
        self._process = process
        self.uri: str = facts["uri"]
        self.socket = Path(facts["socket"])
        self.ctl = Control(facts["control"])
        self.page: str | None = facts["page"]
        self.process_id: int = facts["pid"]

    def stop(self) -> None:
        """Ends the server; a kept drive is saved.

        Raises:
            ServeError: The drive could not be saved.
        """
        if self._process.poll() is None:
            with contextlib.suppress(ServeError):
                self.ctl.ask("stop", {})
        # The end of its stdin ends it too.
        _, told = self._process.communicate(timeout=_SECONDS)
        if self._process.returncode != 0:
            raise ServeError(_sentence(told))

    def kill(self) -> None:
        """Ends the server at once (SIGKILL). A kept drive has all that was answered, unless ``durability`` is ``"none"``."""
        self._process.kill()
        self._process.communicate()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.returncode is None:
            self.stop()


def _sentence(stderr: bytes) -> str:
    told = stderr.decode(errors="replace").partition(_HELP)[0].strip()
    return told.removeprefix("wane: ").removeprefix("error: ") or "the server ended without a word"


def serve(
    drive: str | PathLike[str] | None = None,
    *,
    preset: str | None = None,
    values: dict[str, object] | None = None,
    capacity: str | None = None,
    age: str | None = None,
    speed: str = "1x",
    durability: str = "process",
    spin: str | None = None,
    memory: str | None = None,
    port: int | str | None = None,
    page: int | str | None = None,
    directory: str | PathLike[str] | None = None,
    log: str | PathLike[str] | None = None,
) -> Served:
    """Serves a drive as a live block device, for programs that speak the network block device protocol.

    A kept drive is saved when the ``with`` block ends. With ``preset`` the drive is made for the session, fit to be served, and is gone afterwards.

    Args:
        drive: The folder of a kept drive, as ``wane drive create --for serve`` makes it.
        preset: The preset of a drive for the session, instead.
        values: Keys of that drive, such as ``{"drive.endurance": 1000}``.
        capacity: Its capacity, such as ``"1 GiB"``.
        age: The target to which it is aged first, such as ``"wear=75 %"``.
        speed: How fast its time runs: ``"1x"``, ``"10x"``, ``"0.1x"``, or ``"max"``: answered as soon as the state is known.
        durability: What an answer survives, of a drive that is kept: ``"process"``, that the server is killed; ``"host"``, that the machine
            dies, once it is flushed; ``"none"``.
        spin: Time before each answer in which the server does not sleep, such as ``"50 us"``; it takes a core.
        memory: Most memory for the bytes that are written, such as ``"2 GiB"``; a write beyond it finds no space.
        port: Also listen on this port of 127.0.0.1; 0 lets the system choose.
        page: Show a live page at this port of 127.0.0.1; 0 lets the system choose.
        directory: The directory of its sockets; by default a new one for temporary files.
        log: A file in which each request gets a line.

    Returns:
        The served drive, to be used in a ``with`` block: its ``uri``, ``socket`` and ``ctl``, the control (``Control``).

    Raises:
        ServeError: The drive cannot be served.

    >>> with serve(preset="tiny", speed="max") as drive:
    ...     drive.ctl.status()["capacity_bytes"]
    67108864
    """
    command = [*_COMMAND, "--json", "--quiet", "--until-stdin-ends", f"--speed={speed}", f"--durability={durability}"]
    options = {"preset": preset, "capacity": capacity, "age": age, "spin": spin, "memory": memory, "port": port}
    options |= {
        "page": page,
        "dir": None if directory is None else fspath(directory),
        "log": None if log is None else fspath(log),
    }
    command += [f"--{name}={value}" for name, value in options.items() if value is not None]
    command += [f"--set={key}={json.dumps(value)}" for key, value in (values or {}).items()]
    command += [] if drive is None else ["--", fspath(drive)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        _, told = process.communicate()
        raise ServeError(_sentence(told))
    return Served(process, json.loads(line))

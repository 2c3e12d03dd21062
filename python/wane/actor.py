"""Drives that encode, from Python: starts, kills and uses them (the command ``wane actor``; 002, chapter 8).

Each drive is a separate process. A ``Cluster`` starts several drives in folders below one folder, and ends them with its ``with`` block; a ``Drive``
is one of them. Refusals are an ``ActorError`` with the command's message.

    >>> import tempfile
    >>> from wane import actor
    >>> with tempfile.TemporaryDirectory() as folder, actor.Cluster(folder, drives=3) as cluster:
    ...     put = cluster.put("greeting", b"hello", code="2+1")
    ...     cluster.drives[0].kill()
    ...     cluster.get("greeting")
    b'hello'
"""

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterable, Sequence
from os import PathLike, fspath
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from wane._errors import ActorError

__all__ = ["ActorError", "Client", "Cluster", "Drive"]

#: The command, run by this Python with this package.
_COMMAND = (sys.executable, "-m", "wane", "actor")

#: End of the command's message on wrong options, which is of use only on the command line.
_HELP = "\n\nFor more information, try '--help'"

#: Seconds within which a drive must end in order.
_SECONDS = 30.0


def _options(**options: object) -> list[str]:
    """Options of the command; those that are ``None`` are left out."""
    given = ((name, value) for name, value in options.items() if value is not None)
    return [f"--{name.replace('_', '-')}={value}" for name, value in given]


def _sentence(stderr: bytes) -> str:
    told = stderr.decode(errors="replace").partition(_HELP)[0].strip()
    return told.removeprefix("wane: ").removeprefix("error: ") or "the command ended without a word"


class Drive:
    """A drive that is served by its own process.

    Attributes:
        folder: Its folder.
        address: Its address, such as ``"127.0.0.1:4801"``; empty until it is started.
        id: Its id, 40 hexadecimal digits; empty until it is started.
    """

    def __init__(
        self,
        folder: str | PathLike[str],
        *,
        listen: str = "127.0.0.1:0",
        announce: str | None = None,
        drive_id: str | None = None,
        points: int | None = None,
        secret_file: str | PathLike[str] | None = None,
        processors: float | None = None,
        memory: str | None = None,
        upkeep: int | None = None,
    ) -> None:
        """Sets how the drive is served; ``start`` serves it.

        Args:
            folder: Its folder; made if it is missing.
            listen: Address to listen on; with port 0 the system chooses one.
            announce: Address at which others reach it; needed if it listens on all addresses.
            drive_id: The id of a new drive, instead of a random one.
            points: Points of each drive on the ring of a new cluster, by default 64.
            secret_file: The file of the cluster's secret, readable by its owner alone; needed to listen elsewhere than on the loopback interface.
            processors: Processors that it may use, such as 0.5; needs control groups (cgroup v2 or v1).
            memory: Memory that it may use, such as ``"256 MiB"``; needs control groups (cgroup v2 or v1).
            upkeep: Seconds between two searches for shares to move or repair, by default 5.
        """
        self.folder = Path(folder)
        self.address = ""
        self.id = ""
        self._process: subprocess.Popen[bytes] | None = None
        secret = None if secret_file is None else fspath(secret_file)
        self._options = _options(
            listen=listen,
            announce=announce,
            id=drive_id,
            points=points,
            secret_file=secret,
            processors=processors,
            memory=memory,
            upkeep=upkeep,
        )

    def start(self, join: str | None = None) -> None:
        """Serves the drive, and returns once it answers. It ends with this process at the latest, in whatever way this process ends.

        Args:
            join: The address of a drive of the cluster to join. Without it, a new drive makes its own cluster.

        Raises:
            ActorError: It is served already, or the command fails.
        """
        if self.is_running:
            raise ActorError(f"{self.folder} is served already")
        command = [*_COMMAND, "serve", fspath(self.folder), "--json", *self._options, *_options(join=join)]
        # When this process ends, the system closes the pipe to the drive's stdin, and the drive ends.
        command.append("--until-stdin-ends")
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert process.stdout is not None
        assert process.stderr is not None
        line = process.stdout.readline()
        if not line:
            with process:
                raise ActorError(_sentence(process.stderr.read()))
        status = json.loads(line)
        self.address, self.id = status["address"], status["id"]
        self._process = process

    @property
    def is_running(self) -> bool:
        """Whether its process is running."""
        return self._process is not None and self._process.poll() is None

    @property
    def process_id(self) -> int | None:
        """The id of its process; ``None`` if it is not served."""
        return self._process.pid if self._process is not None and self.is_running else None

    def stop(self) -> None:
        """Ends the drive in order: running requests are answered. Does nothing if it is not served."""
        if self._process is not None:
            self._process.terminate()
            self._end()

    def kill(self) -> None:
        """Ends the drive at once, like a power cut (SIGKILL). Does nothing if it is not served."""
        if self._process is not None:
            self._process.kill()
            self._end()

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        with process:
            try:
                process.wait(_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()


class Client:
    """A client of a cluster, whose drives may be served by any process."""

    #: Message if there is no drive to ask.
    _nobody = "at: found no address, allowed are addresses of drives, such as 127.0.0.1:4801"

    def __init__(self, at: str | Iterable[str], *, secret_file: str | PathLike[str] | None = None) -> None:
        """Sets the addresses of the cluster.

        Args:
            at: Addresses of drives; one that answers is enough.
            secret_file: The file of the cluster's secret.
        """
        self._at = [at] if isinstance(at, str) else list(at)
        self._secret = None if secret_file is None else fspath(secret_file)

    def _addresses(self) -> Sequence[str]:
        return self._at

    def _run(self, verb: str, *words: str, given: bytes = b"", codes: tuple[int, ...] = (0,)) -> bytes:
        addresses = self._addresses()
        if not addresses:
            raise ActorError(self._nobody)
        options = _options(at=",".join(addresses), secret_file=self._secret)
        ended = subprocess.run([*_COMMAND, verb, *options, *words], input=given, capture_output=True, check=False)
        if ended.returncode not in codes:
            raise ActorError(_sentence(ended.stderr))
        return ended.stdout

    def _json(self, verb: str, *words: str, given: bytes = b"", codes: tuple[int, ...] = (0,)) -> Any:
        return json.loads(self._run(verb, "--json", *words, given=given, codes=codes))

    def put(
        self,
        name: str,
        content: bytes | bytearray | memoryview | PathLike[str],
        *,
        code: str = "4+2",
        cell: str | int | None = None,
        quorum: int | None = None,
    ) -> dict[str, Any]:
        """Puts an object, and returns when its shares are on the disks.

        Args:
            name: Its name.
            content: Its bytes, or the path of a file that has them (``pathlib.Path``).
            code: Numbers of shares of data and of parity.
            cell: Bytes of a cell, such as ``"1 MiB"`` or 65536.
            quorum: Number of shares after which the put returns, for a code N+K at least N and more than K; the others are made later.

        Returns:
            Its ``name``, ``version``, ``bytes``, ``sha256``, ``code``, the ``drives`` of its shares, and the shares still ``missing``.

        Raises:
            TypeError: The content is neither bytes nor a path.
        """
        if not isinstance(content, bytes | bytearray | memoryview | PathLike):
            kind = type(content).__name__
            allowed = "allowed are bytes and the path of a file (pathlib.Path)"
            raise TypeError(f'content of "{name}": found a value of type {kind}, {allowed}')
        # After the two hyphens comes a name, whatever it begins with.
        options = _options(name=name, code=code, cell=cell, quorum=quorum)
        if isinstance(content, PathLike):
            return dict(self._json("put", *options, "--", fspath(content)))
        return dict(self._json("put", *options, "--", "-", given=bytes(content)))

    def get(self, name: str) -> bytes:
        """Reads an object, even if some drives are lost."""
        return self._run("get", "--out=-", "--", name)

    def delete(self, name: str) -> None:
        """Deletes an object."""
        self._run("delete", "--", name)

    def list(self) -> list[str]:
        """The names of all objects."""
        return [str(name) for name in self._json("list")]

    def repair(self, name: str) -> Sequence[int]:
        """Makes the missing shares of an object anew; returns their numbers."""
        return [int(share) for share in self._json("repair", "--", name)["shares"]]

    def scrub(self) -> Sequence[dict[str, Any]]:
        """Has every drive read its shares, and make rotten or missing ones anew; returns what each drive found."""
        return [dict(found) for found in self._json("scrub", codes=(0, 1))]

    def status(self) -> Sequence[dict[str, Any]]:
        """State of each drive, what it keeps, and what it moved; for a drive that does not answer, its ``id`` and the ``error``."""
        return [dict(status) for status in self._json("status")]

    def leave(self, drive: str, *, lost: bool = False, force: bool = False) -> None:
        """Has a drive hand on its shares and leave.

        Args:
            drive: Its id, or its address.
            lost: The drive is lost: remove it at once; ``scrub`` makes its shares anew. Refused for a drive that answers.
            force: Treat the drive as lost even if it answers.
        """
        self._run("leave", *(["--lost"] if lost else []), *(["--force"] if force else []), "--", drive)


class Cluster(Client):
    """A cluster of drives in folders below one folder, started and ended here.

    Attributes:
        drives: The drives, in the order of their first start.
    """

    _nobody = "no drive of this cluster is served: it was closed, or all were ended"

    def __init__(
        self,
        folder: str | PathLike[str],
        drives: int = 6,
        *,
        secret_file: str | PathLike[str] | None = None,
        **settings: Any,
    ) -> None:
        """Starts the drives, each in ``folder/drive-N``; existing drives come back with their shares.

        Args:
            folder: The folder of the drives' folders.
            drives: Number of drives, 1 or more.
            secret_file: The file of their secret.
            settings: Settings of each ``Drive``.

        Raises:
            ActorError: The command fails.
            TypeError: ``drives`` is no number, or there is no such setting.
            ValueError: There would be no drive.
        """
        super().__init__((), secret_file=secret_file)
        if isinstance(drives, bool) or not isinstance(drives, int):
            raise TypeError(f"drives: found a value of type {type(drives).__name__}, allowed is a number")
        if drives < 1:
            raise ValueError(f"drives: found {drives}, allowed is 1 or more")
        folders = [Path(folder) / f"drive-{number}" for number in range(drives)]
        self.drives = [Drive(one, secret_file=secret_file, **settings) for one in folders]
        try:
            for drive in self.drives:
                self.start(drive)
        except BaseException:
            self.close()
            raise

    def _addresses(self) -> Sequence[str]:
        return [drive.address for drive in self.drives if drive.is_running]

    def start(self, drive: Drive) -> None:
        """Serves a drive, which joins the other served drives."""
        drive.start(next(iter(self._addresses()), None))
        if drive not in self.drives:
            self.drives.append(drive)

    def close(self) -> None:
        """Ends all drives in order."""
        for drive in self.drives:
            with contextlib.suppress(OSError):
                drive.stop()

    def __enter__(self) -> Self:
        """Returns the cluster."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Ends all drives."""
        self.close()

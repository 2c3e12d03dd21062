"""Drives that encode, from Python: started, killed and asked (the command ``wane actor``; 002, chapter 8).

Each drive is a process of its own. A ``Cluster`` starts several in folders below one and ends them with its ``with`` block; a ``Drive`` is one of
them. What wane refuses is an ``ActorError`` with the command's sentence.

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

#: The command, by this Python and this package.
_COMMAND = (sys.executable, "-m", "wane", "actor")

#: What the command says behind a refusal of its options, to whoever types them.
_HELP = "\n\nFor more information, try '--help'"

#: How long a drive may take to end in order, in seconds.
_SECONDS = 30.0


def _options(**options: object) -> list[str]:
    """Options of the command; those that are ``None`` are left out."""
    given = ((name, value) for name, value in options.items() if value is not None)
    return [f"--{name.replace('_', '-')}={value}" for name, value in given]


def _sentence(stderr: bytes) -> str:
    told = stderr.decode(errors="replace").partition(_HELP)[0].strip()
    return told.removeprefix("wane: ").removeprefix("error: ") or "the command ended without a word"


class Drive:
    """A drive that is served by a process of its own.

    Attributes:
        folder: Its folder.
        address: Where it answers, such as ``"127.0.0.1:4801"``; empty until it was started.
        id: Its id, 40 hexadecimal digits; empty until it was started.
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
        """Says how it is served; ``start`` serves it.

        Args:
            folder: Its folder, made where nothing is.
            listen: Where to listen; of port 0 the system chooses one.
            announce: Where others reach it; needed where it listens on all addresses.
            drive_id: The id of a new drive, instead of one by chance.
            points: Points of each drive on the ring of a new cluster, 64 unless given.
            secret_file: The file of the cluster's secret; needed to listen elsewhere than on the loopback interface.
            processors: Processors that it may use, such as 0.5; needs control groups (cgroup v2 or v1).
            memory: Memory that it may use, such as ``"256 MiB"``; needs control groups (cgroup v2 or v1).
            upkeep: Seconds between two looks at what is to be moved or repaired, 5 unless given.
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
        """Serves the drive, and returns once it answers. It ends with this process at the latest, however that ends.

        Args:
            join: The address of a drive of the cluster that it is to join; a new drive without makes a cluster of its own.

        Raises:
            ActorError: It is served already, or what the command says.
        """
        if self.is_running:
            raise ActorError(f"{self.folder} is served already")
        command = [*_COMMAND, "serve", fspath(self.folder), "--json", *self._options, *_options(join=join)]
        # The system closes the pipe to its stdin where this process ends, and the drive ends by that.
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
        """Whether its process is there."""
        return self._process is not None and self._process.poll() is None

    @property
    def process_id(self) -> int | None:
        """The id of its process; ``None`` of a drive that is not served."""
        return self._process.pid if self._process is not None and self.is_running else None

    def stop(self) -> None:
        """Ends it in order: requests under way are answered. Nothing happens where it is not served."""
        if self._process is not None:
            self._process.terminate()
            self._end()

    def kill(self) -> None:
        """Ends it at once, as a power cut would (SIGKILL). Nothing happens where it is not served."""
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
    """Asks a cluster, whoever serves its drives."""

    #: What is said where nobody can be asked.
    _nobody = "at: found no address, allowed are addresses of drives, such as 127.0.0.1:4801"

    def __init__(self, at: str | Iterable[str], *, secret_file: str | PathLike[str] | None = None) -> None:
        """Says where the cluster is.

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
            code: Shares of data and of parity.
            cell: Bytes of a cell, such as ``"1 MiB"`` or 65536.
            quorum: Be content with so many shares, of a code N+K at least N and more than K, and have the others made later.

        Returns:
            Its ``name``, ``version``, ``bytes``, ``sha256``, ``code``, the ``drives`` of its shares, and shares that are ``missing`` yet.

        Raises:
            TypeError: The content is neither bytes nor a path.
        """
        if not isinstance(content, bytes | bytearray | memoryview | PathLike):
            kind = type(content).__name__
            allowed = "allowed are bytes and the path of a file (pathlib.Path)"
            raise TypeError(f'content of "{name}": found a value of type {kind}, {allowed}')
        # What follows the two hyphens is a name, whatever it begins with.
        options = _options(name=name, code=code, cell=cell, quorum=quorum)
        if isinstance(content, PathLike):
            return dict(self._json("put", *options, "--", fspath(content)))
        return dict(self._json("put", *options, "--", "-", given=bytes(content)))

    def get(self, name: str) -> bytes:
        """Reads an object, whatever drives are lost."""
        return self._run("get", "--out=-", "--", name)

    def delete(self, name: str) -> None:
        """Deletes an object."""
        self._run("delete", "--", name)

    def list(self) -> list[str]:
        """The names of all objects."""
        return [str(name) for name in self._json("list")]

    def repair(self, name: str) -> Sequence[int]:
        """Makes anew what is missing of an object; gives the numbers of the shares."""
        return [int(share) for share in self._json("repair", "--", name)["shares"]]

    def scrub(self) -> Sequence[dict[str, Any]]:
        """Has every drive read what it keeps, and make anew what is rotten or missing; what each found."""
        return [dict(found) for found in self._json("scrub", codes=(0, 1))]

    def status(self) -> Sequence[dict[str, Any]]:
        """How each drive stands, what it keeps, and what it moved; of one that does not answer, its ``id`` and the ``error``."""
        return [dict(status) for status in self._json("status")]

    def leave(self, drive: str, *, lost: bool = False, force: bool = False) -> None:
        """Has a drive hand on its shares and leave.

        Args:
            drive: Its id, or its address.
            lost: It is gone for good: it leaves at once, and ``scrub`` makes its shares anew. Refused of one that answers.
            force: Give up a drive that answers as if it were lost.
        """
        self._run("leave", *(["--lost"] if lost else []), *(["--force"] if force else []), "--", drive)


class Cluster(Client):
    """Drives in folders below one, started here and ended here.

    Attributes:
        drives: The drives, in the order in which they were started first.
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
        """Starts the drives, each in ``folder/drive-N``; those that are there already come back with what they keep.

        Args:
            folder: Where their folders lie.
            drives: How many, 1 or more.
            secret_file: The file of their secret.
            settings: Settings of each ``Drive``.

        Raises:
            ActorError: What the command says.
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
        """Serves a drive, which joins the others that are served."""
        drive.start(next(iter(self._addresses()), None))
        if drive not in self.drives:
            self.drives.append(drive)

    def close(self) -> None:
        """Ends all drives in order."""
        for drive in self.drives:
            with contextlib.suppress(OSError):
                drive.stop()

    def __enter__(self) -> Self:
        """Gives the cluster."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Ends all drives."""
        self.close()

"""Inputs to ingest: files, folders and members of zips, as streams with a name, and the kind of each, by content."""

from __future__ import annotations

import gzip
import hashlib
import io
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from wane._errors import FleetError
from wane.fleet._layouts import kind_of_names
from wane.fleet._plain import first_line, library

#: Bytes from which an input's kind is found; Backblaze's widest header has some 5,000.
HEAD_BYTES = 64 << 10

#: Exceptions of a damaged archive.
DAMAGE = (EOFError, zlib.error, zipfile.BadZipFile, gzip.BadGzipFile)

GZIP_MAGIC = b"\x1f\x8b"
ZIP_MAGIC = b"PK\x03\x04"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
PARQUET_MAGIC = b"PAR1"


@dataclass(frozen=True)
class Input:
    """One stream of bytes.

    Attributes:
        name: Its path as given, followed by the member.
        file: The file that contains it.
        member: The member of a zip.
        size: Size of the file, in bytes.
        sha256: Hash of the file.
        opener: Function that opens it again, decompressed.
    """

    name: str
    file: Path
    member: str | None
    size: int
    sha256: str
    opener: Callable[[], IO[bytes]]

    @contextmanager
    def opened(self) -> Iterator[IO[bytes]]:
        """Opens the decompressed bytes; damage in them becomes one sentence."""
        try:
            with self.opener() as stream:
                yield stream
        except DAMAGE as error:
            raise FleetError(f"{self.name}: is cut off or damaged: {first_line(error)}") from None
        except NotImplementedError:
            raise FleetError(
                f"{self.name}: is packed in a way that is not known; in a zip, allowed are deflate, bzip2 and LZMA"
            ) from None
        except OSError as error:
            raise FleetError(f"{self.name}: cannot be read: {error.strerror or first_line(error)}") from None

    def head(self) -> bytes:
        """Its first bytes."""
        with self.opened() as stream:
            return stream.read(HEAD_BYTES)


def sha256_of(file: Path) -> str:
    """The hash of a file's bytes as they are on disk.

    Raises:
        FleetError: It cannot be read.
    """
    try:
        with file.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise FleetError(f"{file}: cannot be read: {error.strerror}") from None


def inputs_of(file: Path) -> list[Input]:
    """The streams in a file: the unpacked file (gzip, Zstandard), or the CSV members of a zip, in the order of their names.

    Raises:
        FleetError: It cannot be read, or is a zip that is damaged or has no CSV.
    """
    if not file.is_file():
        raise FleetError(f"{file}: is no file, and a pipe or device cannot be read twice")
    digest, size = sha256_of(file), file.stat().st_size
    with file.open("rb") as stream:
        magic = stream.read(4)
    if magic.startswith(GZIP_MAGIC):
        return [Input(str(file), file, None, size, digest, lambda: gzip.open(file, "rb"))]  # type: ignore[arg-type, return-value]
    if magic.startswith(ZSTD_MAGIC):
        return [Input(str(file), file, None, size, digest, lambda: _zstd(file))]
    if not magic.startswith(ZIP_MAGIC):
        return [Input(str(file), file, None, size, digest, lambda: file.open("rb"))]
    try:
        with zipfile.ZipFile(file) as packed:
            members = sorted(each.filename for each in packed.infolist() if _counts(each))
    except (OSError, *DAMAGE) as error:
        raise FleetError(f"{file}: is cut off or damaged: {error}") from None
    if not members:
        raise FleetError(f"{file}: is a zip without a CSV in it")
    return [
        Input(f"{file}:{member}", file, member, size, digest, lambda member=member: _Member(file, member))  # type: ignore[misc]
        for member in members
    ]


def _counts(member: zipfile.ZipInfo) -> bool:
    """Whether a member is data: a CSV that is neither hidden nor one of the extra files of macOS."""
    path = Path(member.filename)
    return path.suffix.lower() == ".csv" and "__MACOSX" not in path.parts and not path.name.startswith(".")


def _Member(file: Path, member: str) -> IO[bytes]:  # noqa: N802
    packed = zipfile.ZipFile(file)
    stream = packed.open(member)
    # The zip's own handle stays open until the member is closed: ZipFile counts its users.
    packed.close()
    return stream


def _zstd(file: Path) -> IO[bytes]:
    return io.BufferedReader(_Zstd(file))


class _Zstd(io.RawIOBase):
    """The unpacked bytes of a file of Zstandard, whose window may have 128 MiB at most."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        pyarrow = library("pyarrow")
        self._packed = pyarrow.OSFile(str(file), "rb")
        self._stream = pyarrow.CompressedInputStream(self._packed, "zstd")

    def readable(self) -> bool:
        """Whether it can be read: always."""
        return True

    def readinto(self, target: Any) -> int:
        """Fills the target as far as bytes are there."""
        block = self._stream.read(len(target))
        target[: len(block)] = block
        return len(block)

    def close(self) -> None:
        """Closes the file."""
        if not self.closed:
            self._stream.close()
            self._packed.close()
        super().close()


def kind_of(head: bytes) -> str:
    """The kind of an input by its first bytes: ``parquet`` by its mark, that of a table by the names in its first line, or ``smart``."""
    if head.startswith(PARQUET_MAGIC):
        return "parquet"
    line = head.lstrip(b"\xef\xbb\xbf").split(b"\n", 1)[0].decode("utf-8", "replace").strip()
    return kind_of_names({name.strip().strip('"') for name in line.split(",")}) or "smart"

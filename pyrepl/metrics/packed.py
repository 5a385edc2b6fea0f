"""Logs as they are on disk, packed ones too, by gzip, bzip2 or zstd: known by how they begin, whatever their names are.

Several packed streams one behind the other, as rotation and parallel packers leave them, read as one.
"""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import re
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Protocol, Self

_SNIFFED: Final = 10
"""So many bytes tell how a file is packed."""
_PIECE: Final = 4096
"""Of a damaged zstd stream at most so many bytes before the damage are lost."""
_SKIPPED: Final = 1 << 20


class Damaged(OSError):
    """What is packed cannot be unpacked any further."""


class Content(Protocol):
    """The bytes of a log, from some place on."""

    def read(self, size: int, /) -> bytes:
        """At most `size` bytes; none at the end. Raises OSError."""
        ...

    def __enter__(self) -> Self: ...
    def __exit__(self, *_: Any) -> None: ...


class _Some(Protocol):
    """What has `read1`: as many bytes as one step gives."""

    def read1(self, size: int, /) -> bytes: ...
    def close(self) -> None: ...


class _Zstd(io.RawIOBase):
    """A zstd file as Arrow unpacks it, which knows no half read: small pieces lose little to a damage."""

    def __init__(self, path: Path) -> None:
        # Here, as whoever plans what is to be read does without Arrow.
        import pyarrow as pa

        self._stream = pa.CompressedInputStream(pa.PythonFile(path.open("rb"), "r"), "zstd")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        found: bytes = self._stream.read(min(len(buffer), _PIECE))
        buffer[: len(found)] = found
        return len(found)

    def close(self) -> None:
        self._stream.close()
        super().close()


_UNPACKERS: Final[tuple[tuple[re.Pattern[bytes], Callable[[Path], _Some]], ...]] = (
    (re.compile(rb"\x1f\x8b"), gzip.GzipFile),
    # Behind the head comes a block, or the end of a stream without one.
    (re.compile(rb"BZh[1-9](1AY&SY|\x17rE8P\x90)"), bz2.BZ2File),
    # Some packers begin with a frame that is to be skipped.
    (re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18"), lambda path: io.BufferedReader(_Zstd(path))),
)
"""How a packed file begins (RFC 1952, bzip2's own, RFC 8878), and who unpacks it."""


def is_packed(path: Path) -> bool:
    """By its first bytes. Raises OSError."""
    with path.open("rb") as file:
        return _unpacker(file.read(_SNIFFED)) is not None


def opened(path: Path, start: int = 0) -> Content:
    """What is in the file from byte `start` on, unpacked if it is packed. Raises OSError."""
    file = path.open("rb")
    unpacker = _unpacker(file.read(_SNIFFED))
    if unpacker is None:
        file.seek(start)
        return file
    file.close()
    content = _Unpacked(unpacker(path))
    content.skip(start)
    return content


def digest(head: bytes) -> str:
    """By what a log is known, whatever its name is now: the digest of how it begins."""
    return hashlib.sha256(head).hexdigest()[:16]


def begins_as(path: Path, size: int, head: str) -> bool:
    """Does `path` lead to the log whose first `size` bytes, unpacked, have this digest? Raises OSError."""
    with opened(path) as file:
        return digest(file.read(size)) == head


def _unpacker(head: bytes) -> Callable[[Path], _Some] | None:
    return next((unpacker for begin, unpacker in _UNPACKERS if begin.match(head)), None)


class _Unpacked:
    """What a packed file holds; of a damaged one all that comes before the damage, which is told only then."""

    def __init__(self, file: _Some) -> None:
        self._file = file
        self._damage: Damaged | None = None

    def read(self, size: int, /) -> bytes:
        parts: list[bytes] = []
        left = size
        try:
            while self._damage is None and left > 0 and (part := self._file.read1(left)):
                parts.append(part)
                left -= len(part)
        except (OSError, EOFError, zlib.error) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise
            self._damage = Damaged(str(error))
        if self._damage is not None and not parts:
            raise self._damage
        return b"".join(parts)

    def skip(self, size: int) -> None:
        """Pass over so many bytes, or over all there are before a damage."""
        with suppress(Damaged):
            while size > 0 and (part := self.read(min(size, _SKIPPED))):
                size -= len(part)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

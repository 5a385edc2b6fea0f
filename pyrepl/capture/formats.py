"""The two formats of captured files: JSON lines, and Parquet (with pyarrow, the extra `parquet`).

What a record holds is records.py's. Both take records as they come and hold little of them in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, BinaryIO, Final, Protocol, final

from pyrepl.capture.records import Column, Record
from pyrepl.changes.rows import encode_row
from pyrepl.changes.tokens import MAX_ID

JSON_LINES: Final = "jsonl"
PARQUET: Final = "parquet"

_ROWS_A_GROUP: Final = 50_000
_BYTES_A_GROUP: Final = 8 * 1024 * 1024
"""What Parquet gathers in memory before it is written, whichever comes first. Bytes as they came from the node."""


class Format(Protocol):
    """Writes records to an open file, which stays open."""

    def write(self, records: Sequence[Record], size_bytes: int) -> None:
        """Take records; `size_bytes` is how long their rows were on the wire. Raises OSError, ValueError."""
        ...

    def size_bytes(self) -> int:
        """How long the file is, with what is held for it: roughly what it is going to be."""
        ...

    def finish(self) -> None:
        """Write what is held, and the file's end. Raises OSError."""
        ...


class FormatMissing(Exception):
    """What a format needs is not installed; the text says what to install."""


def open_format(suffix: str, columns: Sequence[Column], file: BinaryIO) -> Format:
    """The format of files with this suffix. Raises FormatMissing."""
    return _Parquet(columns, file) if suffix == PARQUET else _JsonLines(file)


def why_not_here(suffix: str) -> str | None:
    """Why files with this suffix cannot be written, or None."""
    if suffix == PARQUET:
        try:
            import pyarrow.parquet  # noqa: F401
        except ImportError:
            return "Parquet needs pyarrow: pip install 'pyrepl-server[parquet]', or take --format json"
    return None


@final
class _JsonLines:
    """A record a line."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._size_bytes = 0

    def write(self, records: Sequence[Record], size_bytes: int) -> None:
        for record in records:
            # A lone surrogate is legal in JSON and not in UTF-8.
            self._size_bytes += self._file.write(encode_row(record).encode("utf-8", "backslashreplace") + b"\n")

    def size_bytes(self) -> int:
        return self._size_bytes

    def finish(self) -> None:
        self._file.flush()


@final
class _Parquet:
    """Row groups of a limited size, compressed with Snappy, as Spark writes them."""

    def __init__(self, columns: Sequence[Column], file: BinaryIO) -> None:
        import pyarrow
        import pyarrow.parquet

        kinds = {
            "int32": pyarrow.int32(),
            "int64": pyarrow.int64(),
            "string": pyarrow.string(),
            "strings": pyarrow.list_(pyarrow.string()),
            "json": pyarrow.string(),
        }
        self._pyarrow: Any = pyarrow
        self._schema: Any = pyarrow.schema([(column.name, kinds[column.kind]) for column in columns])
        self._as_text = [column.name for column in columns if column.kind == "json"]
        self._file = file
        self._writer: Any = pyarrow.parquet.ParquetWriter(file, self._schema, compression="snappy")
        self._held: list[Record] = []
        self._held_bytes = 0

    def write(self, records: Sequence[Record], size_bytes: int) -> None:
        for record in records:
            if isinstance(record["token"], int) and record["token"] > MAX_ID:
                raise ValueError(
                    f"token {record['token']} does not fit into 64 bits, as Parquet's column has them: go on with"
                    " --format json, in another folder"
                )
            for name in self._as_text:
                record[name] = None if record[name] is None else encode_row(record[name])
        self._held += records
        self._held_bytes += size_bytes
        if len(self._held) >= _ROWS_A_GROUP or self._held_bytes >= _BYTES_A_GROUP:
            self._write_group()

    def size_bytes(self) -> int:
        return self._file.tell() + self._held_bytes

    def finish(self) -> None:
        self._write_group()
        self._writer.close()
        self._file.flush()

    def _write_group(self) -> None:
        if self._held:
            self._writer.write_table(self._pyarrow.Table.from_pylist(self._held, schema=self._schema))
        self._held = []
        self._held_bytes = 0

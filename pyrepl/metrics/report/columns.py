"""Rows that are kept as columns, so that ten thousand of them take the memory of their values alone.

    rows = Columns(found)    # a table of Arrow's
    rows[0]["node"]

A row is a view. Its value becomes one of Python's when somebody asks for it, together with those of the same column in
the rows around it: who goes over all rows and looks at two columns has the values of these two made, some at a time,
and none of them is kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, final, overload

from pyrepl.metrics.report.model import Row, Value

PIECE: Final = 1024
"""So many rows have their values made at once."""


@final
class Columns(Sequence[Row]):
    """The rows of `table`, which is one of Arrow's, in its order."""

    def __init__(self, table: Any) -> None:
        self.table: Final = table

    def __len__(self) -> int:
        return len(self.table)

    def __iter__(self) -> Iterator[Row]:
        for batch in self.table.to_batches(PIECE):
            piece = _Piece(batch)
            for place in range(len(batch)):
                yield _View(piece, place)

    @overload
    def __getitem__(self, place: int) -> Row: ...
    @overload
    def __getitem__(self, place: slice) -> Columns: ...
    def __getitem__(self, place: int | slice) -> Row | Columns:
        within = range(len(self))[place]
        if isinstance(within, int):
            (row,) = Columns(self.table.slice(within, 1))
            return row
        if within.step != 1:
            raise ValueError(f"rows are taken one behind the other, and not by {within.step}")
        return Columns(self.table.slice(within.start, len(within)))


@final
class _Piece:
    """Some rows, and the columns of them that were asked for."""

    __slots__ = ("_batch", "_made")

    def __init__(self, batch: Any) -> None:
        self._batch = batch
        self._made: dict[str, list[Value]] = {}

    @property
    def names(self) -> list[str]:
        names: list[str] = self._batch.schema.names
        return names

    def column(self, name: str) -> list[Value]:
        """Raises KeyError."""
        made = self._made.get(name)
        if made is None:
            made = self._made[name] = self._batch.column(name).to_pylist()
        return made


@final
class _View(Mapping[str, Value]):
    """A row of a piece."""

    __slots__ = ("_piece", "_place")

    def __init__(self, piece: _Piece, place: int) -> None:
        self._piece = piece
        self._place = place

    def __getitem__(self, name: str) -> Value:
        return self._piece.column(name)[self._place]

    def __iter__(self) -> Iterator[str]:
        return iter(self._piece.names)

    def __len__(self) -> int:
        return len(self._piece.names)

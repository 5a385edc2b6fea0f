"""The event log's lines become events and samples by the compiled scan, a block at a time.

The scan (scan.py) leaves cells in memory that is used again for each block, here they become Arrow arrays in the shape
of the canonical tables. A line that it does not take is the JSON reader's (jsonlines.py), which gives the same for
every line.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple, final

import numpy as np
import pyarrow as pa

from pyrepl.metrics import kinds
from pyrepl.metrics.arrow import days, shaped
from pyrepl.metrics.column import Table
from pyrepl.metrics.jsonlines import ALWAYS, LATEST_US, OF_EVENTS, OF_SAMPLES, Parsed
from pyrepl.metrics.scan import COUNT, FLAG, NUMBER, TEXT, Rows, Scanner, gather
from pyrepl.metrics.tables import EVENTS, SAMPLES
from pyrepl.observability.eventlog.schema import BY_EVENT

ROOM: Final = 1 << 16
"""Rows of either table that are held at once."""
_KINDS: Final = {pa.string(): TEXT, pa.int64(): COUNT, pa.float64(): NUMBER, pa.bool_(): FLAG}
_TYPES: Final = {field.name: field.type for field in (*OF_EVENTS, *OF_SAMPLES)}
_FIELDS: Final = (*ALWAYS, *(name for name in _TYPES if name not in ALWAYS))
_RECORDS: Final = (*sorted(kinds.SAMPLES), *sorted(BY_EVENT.keys() - kinds.SAMPLES))
_POSITION: Final = 32
_SIZE: Final = (1 << _POSITION) - 1


class Scanned(NamedTuple):
    """What whole lines gave, and how many they were: for each of the ends that were asked for up to that behind which
    the next line begins, at `end`. It is an unusual one, unless the scan `is_full`, or all has been read."""

    parts: list[tuple[Parsed, int]]
    end: int
    is_full: bool


@final
class QuickLines:
    """Reads blocks one after the other. `room` is of rows, as ROOM."""

    def __init__(self, room: int = ROOM) -> None:
        names = [name.encode() for name in _FIELDS]
        types = [_KINDS[_TYPES[name]] for name in _FIELDS]
        self._scanner = Scanner(names, types, len(ALWAYS), [name.encode() for name in _RECORDS], len(kinds.SAMPLES))
        self._events, self._samples = _Cells(EVENTS, OF_EVENTS, room), _Cells(SAMPLES, OF_SAMPLES, room)

    def parse(self, block: bytes, pos: int, ends: Sequence[int]) -> Scanned:
        """Read lines of `block`, which ends in a line end, from `pos` on. What they gave is told apart at `ends`, which
        are behind line ends and rise; the last one is the block's."""
        events, samples = self._events.rows, self._samples.rows
        end = self._scanner.scan(block, pos, LATEST_US, events, samples)
        is_full = events.count == events.room or samples.count == samples.room
        cuts = [*ends[: bisect_left(ends, end)], end]
        places = zip(self._events.places(cuts), self._samples.places(cuts), pairwise((pos, *cuts)), strict=True)
        of_events, of_samples = self._events.take(block), self._samples.take(block)
        parts = []
        for in_events, in_samples, (begin, behind) in places:
            lines = block.count(b"\n", begin, behind)
            made = of_events.slice(*in_events), of_samples.slice(*in_samples)
            parts.append((Parsed(*made, lines - sum(map(len, made)), []), lines))
        return Scanned(parts, end, is_full)


@final
class _Cells:
    """Rows of one table, and what they become."""

    def __init__(self, table: Table, schema: Any, room: int) -> None:
        self._table = table
        self._schema = schema
        names = schema.names
        self._numbers = np.empty((len(names), room), np.int64)
        self._fractions = self._numbers.view(np.float64)
        self._valid = np.zeros((len(names), room), np.uint8)
        columns = np.array([names.index(name) if name in names else -1 for name in _FIELDS], np.int32)
        self._runs = self._numbers[names.index("run")]
        self.rows = Rows(columns, self._numbers, self._fractions, self._valid)

    def places(self, cuts: Sequence[int]) -> list[tuple[int, int]]:
        """Where in the table the rows begin of the lines before each cut of the block, and behind the cut before, and
        how many they are."""
        # Each line says which run it is of, and the cell where it says so.
        ends = np.searchsorted(self._runs[: self.rows.count] >> _POSITION, cuts).tolist()
        return [(begin, end - begin) for begin, end in pairwise((0, *ends))]

    def take(self, block: bytes) -> Any:
        """The rows in the shape of the table; there are none afterwards."""
        count = self.rows.count
        columns = {}
        known = self._valid[:, :count].sum(axis=1).tolist()
        for place, (field, valid) in enumerate(zip(self._schema, known, strict=True)):
            if valid:
                columns[field.name] = self._array(field.type, place, valid, block)
        if count:
            columns["day"] = days(columns["at_us"])
            if "form" in self._table.names:
                columns["form"] = pa.repeat("json", count)
        self._valid[:, :count] = 0
        self.rows.count = 0
        return pa.Table.from_batches([shaped(self._table, columns, count)])

    def _array(self, kind: Any, place: int, known: int, block: bytes) -> Any:
        """A copy, as the cells are used again."""
        count = self.rows.count
        valid = self._valid[place, :count]
        bits = None if known == count else pa.py_buffer(np.packbits(valid, bitorder="little"))
        cells = (self._fractions if kind == pa.float64() else self._numbers)[place, :count]
        if kind == pa.string():
            return pa.Array.from_buffers(kind, count, [bits, *_texts(cells, valid, block)], count - known)
        values = np.packbits(cells.astype(np.bool_), bitorder="little") if kind == pa.bool_() else cells.copy()
        return pa.Array.from_buffers(kind, count, [bits, pa.py_buffer(values)], count - known)


def _texts(places: Any, valid: Any, block: bytes) -> tuple[Any, Any]:
    """Arrow's offsets and bytes of texts."""
    offsets = np.zeros(len(places) + 1, np.int32)
    np.cumsum((places & _SIZE) * valid, out=offsets[1:])
    found = pa.allocate_buffer(int(offsets[-1]))
    gather(block, places, offsets[1:], len(places), np.frombuffer(found, np.uint8))
    return pa.py_buffer(offsets), found

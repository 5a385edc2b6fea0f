"""Writing an application's facts to a stream: reserve an id, complete it with rows, or abort.

Not here: how ids advance (ids.py), where facts are kept (table.py). A Writer blocks on its table; asyncio programs call
it on a thread.

    table = SqliteTable("facts.db")
    orders = Writer(table, "orders", "shop-1")
    orders.append('{"order": 7}')
    with orders.fact() as fact:        # an exception within aborts it: readers go on, it has no rows
        fact.add('{"order": 8}')
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import final

from pyrepl.changes.ids import WriterIds
from pyrepl.changes.rows import decode_row
from pyrepl.changes.table import Table, TableError
from pyrepl.changes.tokens import shown, why_not_stream, why_not_writer


@final
class OpenFact:
    """A fact that is being written."""

    def __init__(self, stream_id: int) -> None:
        self.id = stream_id
        self.rows: list[str] = []

    def add(self, row: str) -> None:
        """A row, as JSON text. Raises ValueError if it is none."""
        check_row(row)
        self.rows.append(row)


@final
class Writer:
    """The one writer of this name in this stream. Two processes must not write under one name.

    Invariant: the table's position of this writer is at most `current`, and every fact up to it is stored.
    """

    def __init__(self, table: Table, stream: str, name: str) -> None:
        """Finds its position from the table, and makes itself known there. What an earlier run of this writer had
        reserved and not completed is passed: nothing is pending at the start. Raises TableError, ValueError."""
        for refusal in (why_not_stream(stream), why_not_writer(name)):
            if refusal is not None:
                raise ValueError(refusal)
        self.stream = stream
        self.name = name
        self._table = table
        # The position is stored before an id is drawn, so that every reader knows this writer by then; it may be the
        # last id drawn by anybody, as the ids drawn by this writer are all settled.
        self._ids = WriterIds(max(table.last_id(stream), table.last_of(stream, name)))
        table.set_position(stream, name, self._ids.current)
        if table.is_sole:
            for other in table.positions().get(stream, {}):
                table.set_position(stream, other, self._ids.current)

    @property
    def current(self) -> int:
        """The largest id such that everything this writer reserved up to it is complete."""
        return self._ids.current

    @property
    def pending(self) -> list[int]:
        """Ids reserved and neither completed nor aborted, ascending."""
        return self._ids.pending

    def reserve(self, count: int = 1) -> list[int]:
        """Draw ids for facts. Each is to be completed or aborted: until then readers get nothing behind it."""
        ids = self._table.next_ids(self.stream, count)
        try:
            for stream_id in ids:
                self._ids.reserve(stream_id)
        except ValueError as error:
            raise TableError(f"{self.stream}: {error}") from None
        return ids

    def complete(self, stream_id: int, rows: Sequence[str]) -> list[int]:
        """Store the fact; the ids of all facts that readers may have now, often none.

        Raises KeyError if the id is not pending, ValueError if a row is no JSON, TableError; the fact stays pending.
        """
        if not self._ids.is_pending(stream_id):
            raise KeyError(stream_id)
        for row in rows:
            check_row(row)
        self._table.add(self.stream, self.name, stream_id, rows)
        advanced = self._ids.complete(stream_id)
        if advanced:
            self._table.set_position(self.stream, self.name, self._ids.current)
        return advanced

    def abort(self, stream_id: int) -> list[int]:
        """The fact failed: it is complete without rows. As complete()."""
        return self.complete(stream_id, ())

    def append(self, *rows: str) -> int:
        """Reserve and complete in one; the id."""
        for row in rows:
            check_row(row)
        [stream_id] = self.reserve()
        self.complete(stream_id, rows)
        return stream_id

    @contextmanager
    def fact(self) -> Iterator[OpenFact]:
        """A fact that is completed at the end of the block, and aborted if the block raises."""
        fact = OpenFact(self.reserve()[0])
        try:
            yield fact
        except BaseException:
            self.abort(fact.id)
            raise
        self.complete(fact.id, fact.rows)

    def rest(self) -> bool:
        """Say that nothing is pending, if so: a writer that rests must not hold back who reads all writers in one
        order. True if its position moved. Call it now and then."""
        if self._ids.pending or not self._ids.pass_idle(self._table.last_id(self.stream)):
            return False
        self._table.set_position(self.stream, self.name, self._ids.current)
        return True


def check_row(row: str) -> None:
    """Raises ValueError if `row` is no JSON text."""
    try:
        decode_row(row)
    except ValueError as error:
        raise ValueError(f"expected JSON in a row, got {shown(row)}: {error}") from None

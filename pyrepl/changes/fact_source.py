"""The streams that applications write, as a source: facts from a table.

Not here: the table (table.py). What is known of heads is fetched now and then by whoever may block (`fetch`), and taken
over without blocking (`apply`); reading blocks too.

A stream can be followed in one order, up to its linear id, or writer by writer, each up to its own position: who wants
low latency takes the second, who wants one order the first.
"""

from __future__ import annotations

from typing import Final, TypeAlias, final

from pyrepl.changes.block import Block, Fact
from pyrepl.changes.ids import LinearId
from pyrepl.changes.table import Table, TableError
from pyrepl.changes.unavailable import Unavailable

_FACTS_AT_ONCE: Final = 500
_IDS_AT_ONCE: Final = 10_000
ALL_WRITERS: Final = "-"
"""Stands for the writer in a Block of facts of all writers."""

Fetched: TypeAlias = dict[str, tuple[dict[str, int], list[int]]]
"""Stream -> (positions of its writers, ids of complete facts behind its linear id as it was known)."""


@final
class FactSource:
    """Invariant: no head moves back."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._streams: dict[str, LinearId] = {}

    # ------------------------------------------------------------------ blocking

    def fetch(self) -> Fetched:
        """Look into the table. Blocks; raises TableError."""
        found: Fetched = {}
        for stream, positions in self._table.positions().items():
            known = self._streams.get(stream)
            linear = known.current if known is not None else 0
            least = max(linear, min(positions.values(), default=0))
            ids = self._table.complete_ids(stream, least, _IDS_AT_ONCE) if least < max(positions.values()) else []
            found[stream] = (positions, ids)
        return found

    def read(self, stream: str, writer: str | None, after: int, want_bytes: int) -> Block:
        """Blocks, unlike the other sources'."""
        head = self.head(stream, writer)
        if head is None:
            raise Unavailable(f"NOSTREAM there is no stream {stream} any more")
        by = ALL_WRITERS if writer is None else writer
        if after >= head:
            return Block(stream, by, after, after, ())
        try:
            stored = self._table.facts(stream, writer, after, head, _FACTS_AT_ONCE)
        except TableError as error:
            raise Unavailable(f"LOADING the table of streams cannot be read: {error}") from None
        facts: list[Fact] = [(stream_id, rows) for stream_id, _, rows in stored]
        upto = facts[-1][0] if len(stored) == _FACTS_AT_ONCE else head
        return Block(stream, by, after, upto, facts)

    # ------------------------------------------------------------------ not blocking

    def apply(self, fetched: Fetched) -> list[tuple[str, str]]:
        """Take over what was fetched; (stream, writer) of those that are new."""
        new: list[tuple[str, str]] = []
        for stream, (positions, ids) in fetched.items():
            linear = self._streams.get(stream)
            if linear is None:
                # The order of what is known already is the table's, so it may be read from its beginning.
                linear = self._streams[stream] = LinearId({})
            new += [(stream, writer) for writer in positions if writer not in linear.positions]
            linear.note_positions(positions)
            linear.note_complete(ids)
        return new

    def streams(self) -> list[str]:
        return list(self._streams)

    def writers(self, stream: str) -> list[str]:
        linear = self._streams.get(stream)
        return [] if linear is None else list(linear.positions)

    def head(self, stream: str, writer: str | None) -> int | None:
        linear = self._streams.get(stream)
        if linear is None:
            return None
        return linear.current if writer is None else linear.positions.get(writer)

    def token_at(self, at: int) -> int:
        return at

    def at(self, token: int) -> int:
        return token

    def why_not(self, stream: str, writer: str | None, token: int | None, replid: str) -> str | None:
        head = self.head(stream, writer)
        if token is not None and head is not None and token > head:
            return f"AHEAD token {token} is ahead of what this node knows of {stream}, {head}: try again later"
        return None

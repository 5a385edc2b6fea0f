"""A table of facts in the node's own keyspace: it is replicated and saved with the data, and a promoted replica goes on
with it.

`StreamFacts` uses it; changes/table.py says what a table keeps. The table is written by ordinary commands, so that a
replica may be a real Redis:

    zset  pyrepl:stream:<name>             member `<id> <writer> <rows>` under its id as score
    hash  pyrepl:stream:<name>:positions   writer -> position
    hash  pyrepl:streams                   name -> the last id drawn

in database 0. Only a master writes, so there is never more than one writer at a time: a new master settles the ids that
its predecessor had reserved and not completed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, final

from pyrepl.acl.identity import OURS
from pyrepl.changes.table import StoredFact, TableError, pack_rows, unpack_rows
from pyrepl.commands.engine.dispatch import Dispatcher
from pyrepl.daemon.clock import Clock
from pyrepl.errors import CommandError
from pyrepl.node.client import Client
from pyrepl.node.node import Node
from pyrepl.resp.encoder import encode_command

_IDS: Final = b"pyrepl:streams"


@final
class KeyspaceTable:
    """The table of this node. No method waits for anything. Methods raise TableError when a command is refused."""

    def __init__(self, node: Node, dispatcher: Dispatcher, clock: Clock) -> None:
        self.is_sole = True
        self._keyspace = node.keyspace
        self._dispatcher = dispatcher
        client = Client(0, "streams:0", "streams:0", clock.now(), OURS)
        self._call = dispatcher.call_for(client)

    def next_ids(self, stream: str, count: int) -> list[int]:
        last = int(self._do(b"HINCRBY", _IDS, stream.encode(), b"%d" % count))
        return list(range(last - count + 1, last + 1))

    def last_id(self, stream: str) -> int:
        return int(self._do(b"HGET", _IDS, stream.encode()) or 0)

    def last_of(self, stream: str, writer: str) -> int:
        found = self.complete_ids(stream, 0, 0)
        return found[-1] if found else 0

    def add(self, stream: str, writer: str, stream_id: int, rows: Sequence[str]) -> None:
        member = f"{stream_id} {writer} {pack_rows(rows)}".encode()
        self._do(b"ZADD", _facts_key(stream), b"%d" % stream_id, member)

    def set_position(self, stream: str, writer: str, position: int) -> None:
        held = self._do(b"HGET", _positions_key(stream), writer.encode())
        if held is None or int(held) < position:
            self._do(b"HSET", _positions_key(stream), writer.encode(), b"%d" % position)
            if self._do(b"HGET", _IDS, stream.encode()) is None:
                self._do(b"HSET", _IDS, stream.encode(), b"%d" % position)

    def positions(self) -> dict[str, dict[str, int]]:
        found: dict[str, dict[str, int]] = {}
        for name in self._do(b"HKEYS", _IDS):
            stream = name.decode()
            flat = self._do(b"HGETALL", _positions_key(stream))
            if flat:
                found[stream] = {writer.decode(): int(position) for writer, position in zip(flat[::2], flat[1::2])}
        return found

    def complete_ids(self, stream: str, after: int, at_most: int) -> list[int]:
        limit = (b"LIMIT", b"0", b"%d" % at_most) if at_most else ()
        members = self._do(b"ZRANGEBYSCORE", _facts_key(stream), b"(%d" % after, b"+inf", *limit)
        return [int(member.partition(b" ")[0]) for member in members]

    def facts(self, stream: str, writer: str | None, after: int, upto: int, at_most: int) -> list[StoredFact]:
        # Facts of other writers are passed over, so one read may bring too few although more follow: read on then.
        found: list[StoredFact] = []
        while True:
            low, high = b"(%d" % after, b"%d" % upto
            members = self._do(b"ZRANGEBYSCORE", _facts_key(stream), low, high, b"LIMIT", b"0", b"%d" % at_most)
            for member in members:
                number, by, rows = member.decode().split(" ", 2)
                after = int(number)
                if writer in (None, by) and len(found) < at_most:
                    found.append((after, by, unpack_rows(rows)))
            if len(members) < at_most or len(found) == at_most:
                return found

    def close(self) -> None:
        """Nothing to do: the table is in the keyspace."""

    def _do(self, *argv: bytes) -> Any:
        """Execute a command as one of a client: it goes into the stream, and is refused for the same reasons. Returns
        the reply; raises TableError for an error."""
        call = self._call
        call.now_ms = self._keyspace.now_ms
        reply = self._dispatcher.execute(call, list(argv), encode_command(list(argv)))
        if isinstance(reply, CommandError):
            raise TableError(str(reply))
        return reply


def _facts_key(stream: str) -> bytes:
    return f"pyrepl:stream:{stream}".encode()


def _positions_key(stream: str) -> bytes:
    return f"pyrepl:stream:{stream}:positions".encode()

"""A full sync on two connections: the directives for each kind of node, and the proof that two were used.

Two dialects: that of Redis 8 (`repl-rdb-channel`) and that of Valkey 8 (`dual-channel-replication-enabled`). pyrepl
speaks both, so a test that means one of them turns the other off.
"""

from __future__ import annotations

import re
import threading
from types import TracebackType
from typing import Final, Self

from tests.peers import kinds
from tests.peers.kinds import OURS, TABLE, maker
from tests.peers.lab import Node
from tests.peers.wire import ErrorReply

ONE: Final = ""
"""No dialect: snapshot and stream on one connection."""
REDIS: Final = kinds.REDIS
VALKEY: Final = kinds.VALKEY
DIALECTS: Final = (REDIS, VALKEY)
BOTH: Final = "redis and valkey"

_DIRECTIVES: Final = {REDIS: "repl-rdb-channel", VALKEY: "dual-channel-replication-enabled"}

POLL_S: Final = 0.005

MASTER_SAYS: Final = {
    OURS: "Starting BGSAVE for SYNC with target: replicas sockets (rdb-channel)",
    REDIS: "Starting BGSAVE for SYNC with target: replicas sockets (rdb-channel)",
    VALKEY: "Starting BGSAVE for SYNC with target: replicas sockets using: dual-channel",
}
"""What a master of that make logs when it begins a snapshot for a second connection, and only then."""

MASTER_STREAMS: Final = {
    OURS: "Starting to deliver RDB and replication stream to replica",
    REDIS: "Starting to deliver RDB and replication stream to replica",
    VALKEY: "Partial resynchronization request from",
}
"""What it logs when the stream has joined on the first connection."""

REPLICA_SAYS: Final = {
    OURS: "PSYNC is not possible, initialize RDB channel. (dialect: {dialect})",
    REDIS: "PSYNC is not possible, initialize RDB channel.",
    VALKEY: "PSYNC is not possible, initialize RDB channel.",
}
"""What a replica of that make logs when it was sent to a second connection."""

REPLICA_CAUGHT_UP: Final = {
    OURS: "Successfully streamed replication buffer into the db",
    REDIS: "Successfully streamed replication buffer into the db",
    VALKEY: "Successfully streamed replication data into memory",
}
"""What it logs when it has applied what came beside the snapshot."""


def directives(kind: str, dialect: str) -> dict[str, str]:
    """So that a node of this kind uses two connections in that dialect (or BOTH) and no other, or ONE.

    A kind that does not know a dialect refuses its directive, so it gets none.
    """
    return {_DIRECTIVES[known]: "yes" if known in dialect else "no" for known in TABLE[kind].dialects}


class Watch:
    """What a master shows while a replica syncs, as often as it changes: a thread that asks for INFO and CLIENT LIST.

    `states` are those of the connection that carries the stream, without repetition, oldest first; `flags` every value
    of CLIENT LIST's flags that a replica's connection had.
    """

    def __init__(self, master: Node) -> None:
        self.states: list[str] = []
        self.flags: set[str] = set()
        self.waited_for_psync = False
        self._master = master
        self._stopped = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="watch", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stopped.set()
        self._thread.join(30)
        if error is None and self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        try:
            with self._master.connect() as wire:
                while not self._stopped.wait(POLL_S):
                    info, clients = wire.pipeline([("INFO", "replication"), ("CLIENT", "LIST")])
                    for reply in (info, clients):
                        if isinstance(reply, ErrorReply):
                            raise reply
                    self._note(info.decode(), clients.decode())
        except BaseException as failure:
            self._failure = failure

    def _note(self, info: str, clients: str) -> None:
        for line in re.findall(r"^slave\d+:(.*?)\r?$", info, re.MULTILINE):
            fields = dict(part.split("=", 1) for part in line.split(","))
            if fields.get("type") != "rdb-channel" and self.states[-1:] != [fields["state"]]:
                self.states.append(fields["state"])
        self.flags.update(flags for flags in re.findall(r" flags=(\S+)", clients) if "S" in flags)
        self.waited_for_psync |= bool(re.search(r"^replicas_waiting_psync:[1-9]", info, re.MULTILINE))


def prove(master: Node, replica: Node, dialect: str) -> None:
    """Raises AssertionError unless the log of each says that two connections were used, in that dialect."""
    for node, texts in ((master, (MASTER_SAYS, MASTER_STREAMS)), (replica, (REPLICA_SAYS, REPLICA_CAUGHT_UP))):
        for text in texts:
            said = text[maker(node.kind)].format(dialect=dialect)
            assert said in node.log(), f"{node.name} never logged {said!r}:\n{node.tail()}"


def used_one(master: Node, replica: Node) -> bool:
    """Does neither log speak of a second connection?"""
    words = ("rdb-channel", "RDB channel", "dual-channel", "dual channel")
    return not any(word in node.log() for node in (master, replica) for word in words)


def expected_states(master: str, dialect: str) -> list[str]:
    """What INFO of a master of this kind shows of the connection that carries the stream, in order."""
    if dialect == REDIS:
        return ["wait_bgsave", "send_bulk_and_stream", "online"]
    # In Valkey's dialect that connection is no replica's before the snapshot has begun.
    return ["bg_transfer" if maker(master) == VALKEY else "send_bulk_and_stream", "online"]


def expected_flags(master: str) -> set[str]:
    """What CLIENT LIST of a master of this kind shows of both connections."""
    return {"S"} if maker(master) == VALKEY else {"S", "SC"}

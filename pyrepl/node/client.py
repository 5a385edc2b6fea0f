"""One client as commands see it: name, database, protocol, transaction, subscriptions. Its socket is the daemon's."""

from __future__ import annotations

from typing import Final, final

NORMAL: Final = "normal"
MASTER: Final = "master"
REPLICA: Final = "replica"
PUBSUB: Final = "pubsub"
UNLIMITED: Final = 1 << 62
"""As a number of bytes: any number."""


@final
class Client:
    """The state of one connection.

    Invariants: `queue` is None outside MULTI; `dirty_cas` and `dirty_exec` are only looked at by EXEC.
    `guarded` is True while anything but plain execution may be due (not authenticated, in MULTI, subscribed under
    RESP2, closing, the link to the master); the dispatcher's fast path tests it alone.
    """

    __slots__ = (
        "addr",
        "argv_bytes",
        "authenticated",
        "channels",
        "closing",
        "created_at",
        "db_index",
        "dirty_cas",
        "dirty_exec",
        "fd",
        "guarded",
        "id",
        "in_slices",
        "is_blocked",
        "is_master_link",
        "is_monitor",
        "is_rdb_channel",
        "is_replica",
        "laddr",
        "last_command",
        "last_seen_at",
        "lib_name",
        "lib_ver",
        "name",
        "no_evict",
        "no_touch",
        "output_bytes",
        "patterns",
        "proto",
        "query_buffer_bytes",
        "queue",
        "queue_grows",
        "queue_writes",
        "reply_mode",
        "reply_room",
        "skip_next_reply",
        "total_commands",
        "total_in_bytes",
        "total_out_bytes",
        "user",
        "watching",
        "write_cut",
    )

    def __init__(self, client_id: int, addr: str, laddr: str, now: float, *, authenticated: bool) -> None:
        self.id = client_id
        self.addr = addr
        """`ip:port` of the other end, or `path:0` on a unix socket."""
        self.laddr = laddr
        self.fd: int = -1
        """The file descriptor, for CLIENT LIST; -1 where there is none."""
        self.created_at = now
        self.last_seen_at = now
        self.authenticated = authenticated
        self.user: bytes = b"default"
        self.name: bytes = b""
        self.lib_name: bytes = b""
        self.lib_ver: bytes = b""
        self.proto: int = 2
        self.db_index: int = 0
        self.queue: list[tuple[list[bytes], bytes]] | None = None
        """Commands since MULTI, each with the exact bytes it came in."""
        self.queue_writes: bool = False
        """One of the queued commands may write."""
        self.queue_grows: bool = False
        """One of the queued commands may need memory."""
        self.dirty_cas: bool = False
        self.dirty_exec: bool = False
        self.watching: set[tuple[int, bytes]] = set()
        """(database, key) under WATCH."""
        self.channels: set[bytes] = set()
        self.patterns: set[bytes] = set()
        self.is_monitor: bool = False
        self.is_replica: bool = False
        self.is_rdb_channel: bool = False
        """It takes the snapshot for another connection of the same replica."""
        self.is_master_link: bool = False
        self.is_blocked: bool = False
        """A reply is owed later (WAIT); `waiting` keeps it up to date."""
        self.in_slices: bool = False
        """Its command is executed between the turns of the loop: how long it took is known at its end."""
        self.no_evict: bool = False
        self.no_touch: bool = False
        self.reply_mode: str = "on"
        """CLIENT REPLY: on, off."""
        self.reply_room: int = UNLIMITED
        """Bytes of replies that EXEC may collect: for more its connection is cut (client-output-buffer-limit)."""
        self.skip_next_reply: bool = False
        self.closing: bool = False
        """Close once the replies so far are out."""
        self.last_command: str = "NULL"
        self.argv_bytes: int = 0
        self.query_buffer_bytes: int = 0
        self.output_bytes: int = 0
        self.total_commands: int = 0
        self.total_in_bytes: int = 0
        self.total_out_bytes: int = 0
        self.write_cut: int = 0
        """The cut of the replication stream after this client's last write: what WAIT waits for."""
        self.guarded: bool = not authenticated

    @property
    def kind(self) -> str:
        """normal, master, replica or pubsub: the classes of CLIENT KILL TYPE and client-output-buffer-limit."""
        if self.is_master_link:
            return MASTER
        if self.is_replica and not self.is_monitor:
            return REPLICA
        if self.channels or self.patterns:
            return PUBSUB
        return NORMAL

    def review_guard(self) -> None:
        """Bring `guarded` up to date after a change to what it sums up."""
        subscribed = self.proto == 2 and bool(self.channels or self.patterns)
        self.guarded = (
            not self.authenticated
            or self.queue is not None
            or subscribed
            or self.closing
            or self.is_master_link
            or self.is_replica
            or self.reply_mode != "on"
            or self.skip_next_reply
        )

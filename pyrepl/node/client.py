"""One client as commands see it: name, database, protocol, transaction, subscriptions. The daemon has its socket.

Every module may read the fields. The fields that `guarded` sums up are changed only by the methods of `Client`, which
keep `guarded` true (a house test makes sure of that). They are plain fields, not properties, because every command
reads some of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, final

from pyrepl.acl.identity import OURS, Identity
from pyrepl.acl.selector import Selector
from pyrepl.node.tracking_mode import TrackingMode

NORMAL: Final = "normal"
MASTER: Final = "master"
REPLICA: Final = "replica"
PUBSUB: Final = "pubsub"
UNLIMITED: Final = 1 << 62
"""A number of bytes that stands for no limit."""


@final
class Client:
    """The state of one connection.

    Invariants: `queue` is None outside MULTI; `dirty_cas` and `dirty_exec` are only looked at by EXEC.
    `guarded` is True exactly while one of these holds: not authenticated, in MULTI, subscribed under RESP2, closing,
    the link to our master, a replica, tracking with OPTIN or OPTOUT, following redirects, replies switched off or the
    next one skipped, a connection beyond maxclients.
    While `guarded` is False, the dispatcher looks at none of these fields. While `limited` is True, it asks for each
    command whether the user may run it. `subscribed` is True exactly while one of
    `channels`, `patterns` and `shard_channels` is not empty.
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
        "follows_redirects",
        "guarded",
        "id",
        "identity",
        "imports",
        "in_reserve",
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
        "limited",
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
        "reads_replica",
        "reply_mode",
        "reply_room",
        "shard_channels",
        "skip_next_reply",
        "subscribed",
        "total_commands",
        "total_in_bytes",
        "total_out_bytes",
        "tracking",
        "watching",
        "write_cut",
    )

    def __init__(self, client_id: int, addr: str, laddr: str, now: float, identity: Identity) -> None:
        self.id = client_id
        self.addr = addr
        """`ip:port` of the other end, or `path:0` on a unix socket."""
        self.laddr = laddr
        self.fd: int = -1
        """The file descriptor, for CLIENT LIST; -1 where there is none."""
        self.created_at = now
        self.last_seen_at = now
        self.identity = identity
        """Who the client is; changed by `identify`."""
        self.authenticated: bool = identity.is_authenticated
        """A copy of `identity.is_authenticated`, which is asked with each command."""
        self.limited: bool = identity.is_limited
        """Are there commands, keys or channels that the client's user may not use?"""
        self.name: bytes = b""
        self.lib_name: bytes = b""
        self.lib_ver: bytes = b""
        self.proto: int = 2
        self.db_index: int = 0
        self.queue: list[tuple[list[bytes], bytes]] | None = None
        """The commands since MULTI, each with the exact bytes that it came in; None outside MULTI."""
        self.queue_writes: bool = False
        """May one of the queued commands write?"""
        self.queue_grows: bool = False
        """May one of the queued commands need more memory?"""
        self.dirty_cas: bool = False
        self.dirty_exec: bool = False
        self.watching: set[tuple[int, bytes]] = set()
        """(database, key) under WATCH."""
        self.channels: set[bytes] = set()
        self.patterns: set[bytes] = set()
        self.shard_channels: set[bytes] = set()
        self.subscribed: bool = False
        """Has the client a subscription of any kind: to a channel, a pattern or a shard channel?"""
        self.tracking: TrackingMode | None = None
        """How the client is told of keys that change (CLIENT TRACKING); None while it is not."""
        self.follows_redirects: bool = False
        """Does the client go where -REDIRECT sends it (CLIENT CAPA REDIRECT)? Then a replica refuses it data."""
        self.reads_replica: bool = False
        """READONLY: a client that follows redirects wants to read from a replica all the same."""
        self.imports: bool = False
        """CLIENT IMPORT-SOURCE: in import-mode, what has expired is there for this client."""
        self.is_monitor: bool = False
        self.is_replica: bool = False
        self.is_rdb_channel: bool = False
        """Does only the snapshot go over this connection, for a replica that gets the stream on another one?"""
        self.is_master_link: bool = False
        self.is_blocked: bool = False
        """Does the client wait for a reply (WAIT, BLPOP)? Set only by `waiting`."""
        self.in_slices: bool = False
        """Is its command executed in slices between turns of the loop? Then its time is known only at the end."""
        self.no_evict: bool = False
        self.no_touch: bool = False
        self.reply_mode: str = "on"
        """CLIENT REPLY: `on` or `off`."""
        self.reply_room: int = UNLIMITED
        """How many bytes of replies EXEC may collect; with more the connection is cut (client-output-buffer-limit)."""
        self.skip_next_reply: bool = False
        self.closing: bool = False
        """Is the connection to be closed once the replies so far are out? No more commands are executed then."""
        self.last_command: str = "NULL"
        self.argv_bytes: int = 0
        self.query_buffer_bytes: int = 0
        self.output_bytes: int = 0
        self.total_commands: int = 0
        self.total_in_bytes: int = 0
        self.total_out_bytes: int = 0
        self.in_reserve: bool = False
        """Is it a connection beyond maxclients, which only operators and replicas have?"""
        self.write_cut: int = 0
        """The cut of the replication stream after this client's last write: what WAIT waits for."""
        self.guarded: bool = not self.authenticated

    @property
    def kind(self) -> str:
        """normal, master, replica or pubsub: the classes of CLIENT KILL TYPE and client-output-buffer-limit."""
        if self.is_master_link:
            return MASTER
        if self.is_replica and not self.is_monitor:
            return REPLICA
        if self.subscribed:
            return PUBSUB
        return NORMAL

    def identify(self, identity: Identity) -> None:
        """The client is who `identity` says from now on: it has logged in, or no password is needed any more. Also to
        be called when the rights of its user have changed."""
        self.identity = identity
        self.authenticated = identity.is_authenticated
        self.limited = identity.is_limited
        self._sum_up()

    def listens_beyond(self, selectors: Sequence[Selector]) -> bool:
        """Has the client a subscription that none of these selectors of its user allows?"""
        if self.kind != PUBSUB:
            return False
        listened = [(pattern, True) for pattern in self.patterns]
        listened += [(channel, False) for channel in (*self.channels, *self.shard_channels)]
        return not all(
            any(selector.allows_channel(name, is_pattern=is_pattern) for selector in selectors)
            for name, is_pattern in listened
        )

    def begin_anew(self, identity: Identity) -> None:
        """RESET: set all that the client has chosen back to its value on a new connection. Transaction, subscriptions
        and database stay as they are: the command ends them before."""
        self.proto = 2
        self.name = b""
        self.reply_mode = "on"
        self.skip_next_reply = False
        self.no_evict = self.no_touch = self.reads_replica = False
        self.identify(identity)

    def speak(self, proto: int) -> None:
        """HELLO: replies have the form of RESP version `proto`, 2 or 3, from now on."""
        self.proto = proto
        self._sum_up()

    def begin_multi(self) -> None:
        """MULTI: the commands that follow are queued."""
        self.queue = []
        self.queue_writes = self.queue_grows = self.dirty_exec = False
        self.guarded = True

    def end_multi(self) -> None:
        """The transaction is over, executed or not. Harmless if there was none."""
        self.queue = None
        self.queue_writes = self.queue_grows = self.dirty_exec = False
        self._sum_up()

    def subscribe(self, channel: bytes) -> None:
        """Note a subscription. Only `PubSub` calls this method and the next five: it knows the listeners of each
        channel."""
        self.channels.add(channel)
        self._sum_up()

    def unsubscribe(self, channel: bytes) -> None:
        """Forget a subscription. Raises KeyError if the client is not subscribed to `channel`."""
        self.channels.remove(channel)
        self._sum_up()

    def psubscribe(self, pattern: bytes) -> None:
        self.patterns.add(pattern)
        self._sum_up()

    def punsubscribe(self, pattern: bytes) -> None:
        """As `unsubscribe`, for a pattern."""
        self.patterns.remove(pattern)
        self._sum_up()

    def ssubscribe(self, channel: bytes) -> None:
        self.shard_channels.add(channel)
        self._sum_up()

    def sunsubscribe(self, channel: bytes) -> None:
        """As `unsubscribe`, for a shard channel."""
        self.shard_channels.remove(channel)
        self._sum_up()

    def track(self, mode: TrackingMode | None) -> None:
        """The client's tracking is on in this mode, or off. Only `Tracking` calls this: it counts those who track."""
        self.tracking = mode
        self._sum_up()

    def switch_replies(self, mode: str) -> None:
        """CLIENT REPLY ON or OFF: `mode` is `on` or `off`."""
        self.reply_mode = mode
        self.skip_next_reply = False
        self._sum_up()

    def skip_reply(self) -> None:
        """CLIENT REPLY SKIP: the next command gets no reply. No effect while replies are off."""
        self.skip_next_reply = self.reply_mode == "on"
        self._sum_up()

    def take_skip(self) -> bool:
        """Must the reply to the command that begins now be skipped? Asking clears the mark: it is for one command."""
        if not self.skip_next_reply:
            return False
        self.skip_next_reply = False
        self._sum_up()
        return True

    def become_replica(self, *, is_rdb_channel: bool = False) -> None:
        """From now on our stream goes to this connection, or a snapshot alone. It never becomes an ordinary client
        again."""
        self.is_replica = True
        self.is_rdb_channel = is_rdb_channel
        self.guarded = True

    def become_master_link(self) -> None:
        """The client executes our master's stream, or a file of commands: no command is refused to it."""
        self.is_master_link = True
        self.identify(OURS)

    def follow_redirects(self) -> None:
        """CLIENT CAPA REDIRECT; not taken back by anything."""
        self.follows_redirects = True
        self.guarded = True

    def enter_reserve(self) -> None:
        """The connection is one beyond maxclients."""
        self.in_reserve = True
        self.guarded = True

    def leave_reserve(self) -> None:
        """There is room for it among the others now."""
        self.in_reserve = False
        self._sum_up()

    def close_after_reply(self) -> None:
        """Execute no more commands of this client; its connection is closed once the replies so far are out."""
        self.closing = True
        self.guarded = True

    def _sum_up(self) -> None:
        self.subscribed = bool(self.channels or self.patterns or self.shard_channels)
        self.guarded = (
            not self.authenticated
            or self.queue is not None
            or (self.subscribed and self.proto == 2)
            or (self.tracking is not None and self.tracking.is_asked)
            or self.closing
            or self.is_master_link
            or self.is_replica
            or self.reply_mode != "on"
            or self.skip_next_reply
            or self.follows_redirects
            or self.in_reserve
        )

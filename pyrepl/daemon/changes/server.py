"""The stream port: admits subscribers, acts on their commands, and tells them of changes in the node's history.

`hub` has the streams, `conn` is one connection. App makes the server only if `stream-port` is set; without it this
module is not imported.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Collection
from typing import Final, final

from pyrepl.acl.denial import Refused
from pyrepl.acl.identity import turns_away
from pyrepl.acl.log import Context
from pyrepl.changes.changed_keys import ChangedKeys
from pyrepl.changes.checkpoints import SPACING_BYTES
from pyrepl.changes.recent_source import RecentSource
from pyrepl.changes.replicated import CACHES_CHANNEL, CacheRows, CommandRows, KeyRows, RowMaker, parse_invalidation
from pyrepl.changes.replicated_source import Pin, ReplicatedSource
from pyrepl.changes.rights import Rights, channel_said_by
from pyrepl.changes.rows import encode_row
from pyrepl.changes.subscription import Denied, Ended, HeardCommand, Subscribed, Subscription, SubscriptionOptions
from pyrepl.changes.tokens import why_not_writer
from pyrepl.changes.verbs import InvalidateCache, RemoteServerUp
from pyrepl.commands.engine.dispatch import Dispatcher
from pyrepl.daemon.changes.conn import StreamConn
from pyrepl.daemon.changes.facts import StreamFacts
from pyrepl.daemon.changes.hub import StreamHub
from pyrepl.daemon.changes.own_stream import OwnStream
from pyrepl.daemon.clients.client_conn import names_of
from pyrepl.daemon.clients.clients import Clients
from pyrepl.daemon.clients.listener import Listener, hand_on_plain
from pyrepl.daemon.clients.turns import Turns
from pyrepl.daemon.clock import Clock
from pyrepl.daemon.eventlog.event_log import EventLog
from pyrepl.daemon.faults import Faults
from pyrepl.daemon.log_sink import Log
from pyrepl.daemon.options_by_name import SUBSCRIPTION, set_by_name
from pyrepl.daemon.service import Service
from pyrepl.daemon.wires.handshakes import Handshakes
from pyrepl.daemon.wires.wire import Wire
from pyrepl.errors import CommandError, ConfigError
from pyrepl.node.node import Node
from pyrepl.node.streams import Subscriber
from pyrepl.observability import events
from pyrepl.observability.subscriber_line import subscriber_fields
from pyrepl.replication.backlog import Cursor
from pyrepl.resp.encoder import encode_command
from pyrepl.units import Offset

_LOOK_EVERY_S: Final = 0.1


@final
class StreamServer(Service):
    """The stream port of a node."""

    def __init__(
        self,
        node: Node,
        dispatcher: Dispatcher,
        clients: Clients,
        turns: Turns,
        event_log: EventLog,
        faults: Faults,
        handshakes: Handshakes,
        clock: Clock,
        tell: Log,
    ) -> None:
        """`tell` is the text log. Raises ConfigError for a stream-name that cannot be used in lines to subscribers."""
        self.clock = clock
        self._node = node
        self._dispatcher = dispatcher
        self._turns = turns
        self._tell = tell
        self._state = node.streams
        self._replication = node.replication
        self._backlog = node.replication.backlog
        self._history = node.replication.history
        hand_on = handshakes.begin_one if node.settings.tls_stream else hand_on_plain
        self._listener = Listener(node.settings.socket_mark_id, hand_on)
        self._poller = clients.poller
        self._options = SubscriptionOptions()
        self._next_id = 1
        self._note_at = 0
        self._changed = ChangedKeys(self._positions)
        self.replicated = ReplicatedSource(
            self._backlog, lambda: self._history, self._makers(), self._attach, self._detach
        )
        self._log = self.replicated.log
        self._state.name = self._name()
        self.hub = StreamHub(self._state.name, self.replicated, self.clock)
        self.hub.built_in = frozenset(self.hub.streams())
        self._sync = self.own_stream("sync")
        self.facts = StreamFacts(node, dispatcher, clients, self.hub, faults, clock, tell)
        self.hub.facts = self.facts
        event_log.listeners.append(self._on_event)
        node.users.watch(self._on_users)
        self.settings_changed(())

    def own_stream(self, name: str) -> OwnStream:
        """Offer one more stream of this node alone."""
        rows = self._node.settings.stream_sync_rows
        return OwnStream(self.hub, RecentSource(name, self._state.name, self.clock.unix_ms(), rows))

    # ------------------------------------------------------------------ life

    def bind(self) -> None:
        """Open the port. Raises ConfigError."""
        settings = self._node.settings
        addresses = settings.stream_bind or settings.bind
        self._listener.bind_tcp(list(addresses), settings.stream_port, settings.tcp_backlog)
        self._state.port = self._listener.port

    def accept(self) -> None:
        """Accept subscribers from now on."""
        self._listener.accept_with(self._admit)
        self._tell(events.StreamPortOpened(self._state.port))

    def begin(self) -> None:
        """The data is loaded: rows are made from the stream from its present end on, and facts may be written."""
        self.stream_begins()
        self.facts.begin()

    def stop(self) -> None:
        """The node ends: every subscriber is told."""
        self._listener.close()
        for conn in list(self.hub.conns.values()):
            conn.close("server stopping")
        self.hub.close()
        self.facts.close()

    def settings_changed(self, names: Collection[str]) -> None:
        set_by_name(self._options, self._node.settings, SUBSCRIPTION)
        self.replicated.makers.update(self._makers())

    # ------------------------------------------------------------------ connections

    def _admit(self, wire: Wire) -> None:
        """Serve a connection that came in: it gets its first lines. If it is turned away, it gets a line that says why,
        and is closed."""
        conn = StreamConn(self)
        conn.id, self._next_id = self._next_id, self._next_id + 1
        conn.addr = names_of(wire, "")[0]
        now = self.clock.now()
        field = self._node.settings.tls_auth_clients_user
        names = wire.certified(field) if field != "off" else []
        known = self._node.users.certified(names)
        rights = Rights(self._node.users, known or self._node.users.newcomer())
        subscription = Subscription(self.hub, self._options, rights, now, self.clock.unix_ms())
        conn.enter(self._poller.add(wire, conn), subscription)
        self._state.total_connections += 1
        refusal = self._why_not_admitted(conn.addr)
        self.hub.conns[conn.id] = conn
        self._state.subscribers[conn.id] = Subscriber(conn.id, conn.addr, now, conn.subscription)
        if names and known is None:
            self.denied(conn, Denied(Refused.TLS_CERT, b"", names[0]))
        if self._node.settings.tcp_keepalive:
            wire.keep_alive(self._node.settings.tcp_keepalive)
        if refusal:
            self._state.rejected_connections += 1
            conn.close(refusal)
        else:
            conn.work()

    def forget(self, conn: StreamConn) -> None:
        """A connection has ended, by whichever side."""
        self.hub.conns.pop(conn.id, None)
        if self._state.subscribers.pop(conn.id, None) is not None:
            self._state.rows_of_ended += conn.subscription.rows_sent
        if not conn.subscription.ended:
            self._tell(events.StreamClientLeft(conn.addr, conn.subscription.name))
            # Reads that are planned for this connection are dropped when their turn comes.
            conn.subscription.close("connection closed")

    def ended(self, conn: StreamConn, event: Ended) -> None:
        """The subscription of a connection has ended it, maybe for a fault of the subscriber: count and log it."""
        if event.is_fault:
            self._state.errors_sent += 1
            if event.reason.startswith("SLOW"):
                self._state.cut_for_output += 1
            self._tell(events.StreamClientRefused(conn.addr, conn.subscription.name, event.reason))

    def denied(self, conn: StreamConn, event: Denied) -> None:
        """Something was refused to a subscriber: note it in ACL LOG, and count a wrong password."""
        now = self.clock.now()
        if event.reason is Refused.AUTH:
            self._node.guesses.failed(conn.addr, now)
        line = " ".join(subscriber_fields(self._state.subscribers[conn.id], now)).encode()
        self._node.acl_log.add(event.reason, Context.TOPLEVEL, event.object, event.user, line, self.clock.unix_ms())

    def subscribed(self, conn: StreamConn, event: Subscribed) -> None:
        self._tell(events.StreamFollowed(conn.addr, conn.subscription.name, event.stream, event.token))

    def heard(
        self,
        conn: StreamConn,
        command: HeardCommand,
    ) -> None:
        """A subscriber sent a command that concerns others: other subscribers, or listeners of a channel."""
        if isinstance(command, RemoteServerUp):
            for other in list(self.hub.conns.values()):
                if other is not conn:
                    other.say(command)
        elif isinstance(command, InvalidateCache):
            self._invalidate(conn, command)
        else:
            self._publish(channel_said_by(command.VERB), command.words().encode())

    def _invalidate(self, conn: StreamConn, command: InvalidateCache) -> None:
        """INVALIDATE_CACHE: publish it as a message in our stream, so that it also reaches the subscribers of our
        replicas."""
        message = f"[{encode_row(command.cache)},{command.keys},{self.clock.unix_ms()}]".encode()
        if parse_invalidation(message) is None:
            self._refuse(conn, "expected INVALIDATE_CACHE <cache> <keys as a JSON list, or null>")
        elif not self._replication.role.makes_stream:
            master = f"{self._replication.master_host}:{self._replication.master_port}"
            self._refuse(
                conn,
                f"this node is a replica of {master} and adds nothing to the stream: send INVALIDATE_CACHE to the"
                f" master, or there PUBLISH {CACHES_CHANNEL.decode()} <row>",
            )
        elif self._node.pause.until_ms():
            self._refuse(conn, "writes are paused (CLIENT PAUSE or FAILOVER): send it again later")
        else:
            self._publish(CACHES_CHANNEL, message)

    def _publish(self, channel: bytes, message: bytes) -> None:
        """Publish a message as PUBLISH does: to our own listeners, and on a master to those of the replicas."""
        node = self._node
        node.deliveries.extend(node.pubsub.publish(channel, message))
        if node.conditions.propagates and not node.pause.until_ms():
            self._replication.feed_one(self._replication.next_db, encode_command([b"PUBLISH", channel, message]))
        self._turns.end_batch()

    def _refuse(self, conn: StreamConn, text: str) -> None:
        conn.subscription.refuse(text)
        conn.work()

    def _why_not_admitted(self, addr: str) -> str:
        settings = self._node.settings
        if len(self.hub.conns) >= settings.stream_maxclients:
            return "BUSY max number of clients reached (stream-maxclients): try again later, or another node"
        if self._node.guesses.are_too_many(addr, self.clock.now()):
            return "BUSY too many wrong passwords from your address: mend them, and try again in some seconds"
        if turns_away(addr, protected_mode=settings.protected_mode, is_open=self._node.users.is_open):
            return (
                "DENIED protected mode: without a password subscribers must be on this machine; set requirepass, or"
                " protected-mode no if nobody from outside can reach this port"
            )
        return ""

    # ------------------------------------------------------------------ the stream goes on

    def plan(self) -> None:
        """The stream may have grown. Called after each batch of commands, so it must be cheap."""
        end = self._backlog.end
        if end >= self._note_at or self._history.replid != self.replicated.replid:
            self._review(end)
        self.hub.plan_pump()

    def _review(self, end: int) -> None:
        """Follow a new name of the history, and note the stream's end as a place where reading can begin."""
        if self._history.replid != self.replicated.replid:
            self._rename()
        if self._backlog.active:
            self._log.note(end, self._replication.stream_db)
        self._note_at = end + SPACING_BYTES

    def _rename(self) -> None:
        old, new = self.replicated.replid, self._history.replid
        fork = self._history.fork
        if old and fork is not None:
            # Rows before the fork must go out under the old name.
            while self.hub.pump(int(fork)):
                pass
            self.replicated.named(new)
            self.hub.renamed(old, int(fork))
            return
        self.replicated.named(new)
        if old:
            self.hub.history_lost(f"FORKED the history {old} has ended here; this node's is {new} now")
            self._log.restart(self._backlog.end, self._replication.stream_db)

    def next_deadline(self, now: float) -> float:
        return now + _LOOK_EVERY_S

    def tick(self, now: float) -> None:
        """Begin the stream on a master that keeps none yet, hand out new rows, and look at each subscriber's
        deadlines."""
        if self._replication.role.makes_stream and not self._backlog.active and not self._node.is_loading:
            self.stream_begins()
        self.plan()
        self.facts.tick(now)
        for conn in list(self.hub.conns.values()):
            conn.tick(now)

    def stream_ends(self) -> None:
        """Our data and stream are about to be replaced by a full resync."""
        self.hub.history_lost("LOADING this node's data and history are replaced by a full sync")
        self.replicated.named("")

    def stream_begins(self) -> None:
        """Our data and stream are new, or known at last: make rows from the stream's present end on."""
        # Subscribers follow the stream, so a master must keep one even if it never had a replica.
        self._replication.role.keep_stream()
        if not self._backlog.active:
            return
        self.replicated.named(self._history.replid)
        self._log.restart(self._backlog.end, self._replication.stream_db)
        self._note_at = self._backlog.end + SPACING_BYTES

    def _on_users(self) -> None:
        """Look at the subscribers again when the command that has changed the users is over."""
        asyncio.get_running_loop().call_soon(self._review_users)

    def _review_users(self) -> None:
        for conn in list(self.hub.conns.values()):
            conn.users_changed()

    def _on_event(self, line: bytes) -> None:
        """Each line of the event log is a row of the stream `sync`."""
        self._sync.append_text(line.decode().rstrip())

    def _makers(self) -> dict[str, RowMaker]:
        rules = [
            (rule.pattern, rule.cache.decode("utf-8", "replace")) for rule in self._node.settings.stream_cache_rule
        ]
        return {
            "keys": KeyRows(self._changed),
            "commands": CommandRows(),
            "caches": CacheRows(self._changed, rules, self.clock.unix_ms),
        }

    def _positions(self, argv: list[bytes]) -> tuple[str, list[int]] | None:
        try:
            row = self._dispatcher.table.resolve_in_stream(argv)
        except CommandError:
            return None
        return row.name, row.keys.positions(argv)

    def _attach(self, cut: int) -> Cursor:
        return self._backlog.attach(Offset(cut))

    def _detach(self, pin: Pin) -> None:
        assert isinstance(pin, Cursor)
        self._backlog.detach(pin)

    def _name(self) -> str:
        settings = self._node.settings
        if settings.stream_name:
            refusal = why_not_writer(settings.stream_name)
            if refusal is not None:
                raise ConfigError(f"stream-name cannot be {settings.stream_name!r}: {refusal}")
            return settings.stream_name
        host = settings.replica_announce_ip or socket.gethostname()
        return f"{host}:{settings.replica_announce_port or settings.port or settings.stream_port}"

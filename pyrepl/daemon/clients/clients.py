"""All client connections of a node: admits them, sends messages from one to another, keeps their limits, ends them.

`ports` hands new wires to `accept`. Not here: the bytes of one connection (`client_conn`), what happens before and
after each batch of commands (`turns`), clients that wait for a reply (`waits`).
"""

from __future__ import annotations

import asyncio
from typing import Final, final

from pyrepl.acl.identity import Identity, turns_away
from pyrepl.commands.engine.dispatch import Dispatcher
from pyrepl.commands.engine.rights import note_unknown_certificate
from pyrepl.commands.session.transactions import unwatch
from pyrepl.daemon.clients.client_conn import ClientConn, names_of
from pyrepl.daemon.clients.polled_socket import PolledSocket
from pyrepl.daemon.clients.poller import Poller
from pyrepl.daemon.clients.strangers import Strangers
from pyrepl.daemon.clients.turns import Turns
from pyrepl.daemon.clients.waits import Waits
from pyrepl.daemon.clock import Clock
from pyrepl.daemon.log_sink import Log
from pyrepl.daemon.signals import SignalOf
from pyrepl.daemon.wires.wire import Wire
from pyrepl.node.client import NORMAL, Client
from pyrepl.node.client_limit import limit_bytes, to_be_cut
from pyrepl.node.node import Node
from pyrepl.node.output_limit import counted_bytes, limit_of, room_for
from pyrepl.node.waits import LateWait
from pyrepl.observability import events
from pyrepl.observability.client_line import client_line, memory_bytes
from pyrepl.observability.event import Event
from pyrepl.resp.encoder import encode_reply
from pyrepl.resp.parser import NO_TLS_HERE, Parser
from pyrepl.resp.reply import NO_REPLY, Reply

MAX_CLIENTS_TEXT: Final = b"-ERR max number of clients reached\r\n"
STRANGER_PAUSE_S: Final = 0.1
"""For so long a client is held that has sent PATIENCE commands and has not logged in."""
DENIED_TEXT: Final = (
    b"-DENIED pyrepl is running in protected mode because protected mode is enabled and no password is set for the "
    b"default user. In this mode connections are only accepted from the loopback interface. To accept connections "
    b"from elsewhere, do one of: 1) set a password with 'requirepass' and, on replicas, 'masterauth'; 2) disable "
    b"protected mode with CONFIG SET protected-mode no from the loopback interface, if nobody from outside can reach "
    b"this node; 3) start the node with '--protected-mode no'.\r\n"
)


@final
class Clients:
    """The connections of a node.

    Invariant: `conns` and `node.clients` have the same ids, except for the client of the link to our master, which has
    no connection here.
    """

    def __init__(self, node: Node, dispatcher: Dispatcher, turns: Turns, clock: Clock, log: Log) -> None:
        self.node = node
        self.dispatcher = dispatcher
        self.conns: dict[int, ClientConn] = {}
        self.lost = SignalOf[ClientConn]()
        """Told when a connection has ended."""
        self._turns = turns
        self._review_limits()
        self._clock = clock
        self._log = log
        self._next_id = 1
        self._reserved: dict[int, ClientConn] = {}
        """Connections that came when maxclients was reached, the oldest first; some may be among the others by now."""
        self._strangers = Strangers[ClientConn](_is_stranger)
        self._tell_again_at: dict[type[Event], float] = {}
        """By the kind of event, see `_tell_seldom`."""
        self.poller = Poller(turns)
        self.waits = Waits(node, self.conns, turns, clock)

    def accept(self, wire: Wire) -> None:
        """Serve a connection that came in; `wire` is ours from now on."""
        conn = ClientConn(self, self.node, self.dispatcher, self._turns)
        self._admit(conn, self.poller.add(wire, conn))

    def new_client(self, addr: str, laddr: str, identity: Identity) -> Client:
        """A Client with the next id, registered with the node."""
        client = Client(self._next_id, addr, laddr, self._clock.now(), identity)
        self._next_id += 1
        self.node.clients[client.id] = client
        return client

    def _admit(self, conn: ClientConn, transport: PolledSocket) -> None:
        """Give a connection a client. One that we turn away gets a line that says why, and is closed."""
        node = self.node
        settings = node.settings
        node.stats.total_connections_received += 1
        addr, laddr = names_of(transport.wire, settings.unixsocket)
        is_full = len(self.conns) >= settings.maxclients and not self._make_room()
        refusal = self._why_not_admitted(addr, is_full=is_full)
        client = self.new_client(addr, laddr, node.users.newcomer())
        self._recognize(client, transport.wire)
        conn.enter(transport, client, self._new_parser(client))
        self.conns[client.id] = conn
        if refusal is not None:
            node.stats.rejected_connections += 1
            transport.write(refusal)
            conn.close()
            return
        if is_full:
            client.enter_reserve()
            self._reserved[client.id] = conn
        elif not client.authenticated:
            self._strangers.add(client.id, addr, conn)
        client.fd = transport.fd
        if settings.tcp_keepalive:
            transport.wire.keep_alive(settings.tcp_keepalive)

    def _make_room(self) -> bool:
        """maxclients is reached: cut a connection that has not logged in. Returns whether there was one."""
        conn = self._strangers.take_one()
        if conn is None:
            return False
        self.node.stats.rejected_connections += 1
        self._tell_seldom(events.MadeRoom(conn.client.addr))
        self._cut(conn)
        return True

    def _has_reserve(self) -> bool:
        """Is one of the connections beyond maxclients free, or can it be made free: by cutting one that has not said
        anything?"""
        if len(self._reserved) < self.node.settings.maxclients_reserve:
            return True
        for conn in list(self._reserved.values()):
            client = conn.client
            if not client.in_reserve or conn.transport.is_closing():
                del self._reserved[client.id]
            elif not client.total_commands:
                del self._reserved[client.id]
                self._cut(conn)
        return len(self._reserved) < self.node.settings.maxclients_reserve

    def _recognize(self, client: Client, wire: Wire) -> None:
        """tls-auth-clients-user: a client is the user that its certificate names, without a password (Valkey 9)."""
        field = self.node.settings.tls_auth_clients_user
        names = wire.certified(field) if field != "off" else []
        if not names:
            return
        identity = self.node.users.certified(names)
        if identity is None:
            note_unknown_certificate(self.node, client, names[0])
        else:
            client.identify(identity)

    def close(self) -> None:
        """Cut all connections that are left: for the end of the node."""
        self.poller.close()

    def forget(self, conn: ClientConn) -> None:
        """A connection has ended, by whichever side."""
        client = conn.client
        self.conns.pop(client.id, None)
        self._strangers.drop(client.id)
        self._reserved.pop(client.id, None)
        self.node.clients.pop(client.id, None)
        self.waits.forget(client.id)
        self.lost.tell(conn)
        if client.watching:
            unwatch(client, self.node.keyspace)
        if client.subscribed:
            self.node.pubsub.drop(client)
        self.node.tracking.end(client)
        self.node.end_monitor(client)

    def take_back(self, cut: int, text: str) -> None:
        """The append-only file could not keep the stream behind `cut`. Each client whose reply to a write behind that
        cut is not out yet gets the error `text` instead."""
        for conn in list(self.conns.values()):
            if conn.client.write_cut > cut:
                conn.take_back(text)

    def pause(self, client: Client, *, may_write: bool) -> None:
        """Let a client wait until no pause forbids its next command any more."""
        self.waits.pause(client, may_write=may_write)

    def serve_keys(self) -> None:
        """A command is over that has made keys ready: serve the clients that wait for them."""
        self.waits.serve_keys()

    def end_soon(self, conn: ClientConn) -> None:
        """Close a connection in the next turn of the loop, when the replies of this turn are written."""
        asyncio.get_running_loop().call_soon(conn.close)

    def deliver(self) -> None:
        """Send the messages that commands have left for other clients (published messages, MONITOR lines)."""
        self.node.tracking.tell_prefixes()
        deliveries = self.node.deliveries
        while deliveries:
            pending = deliveries[:]
            deliveries.clear()
            told: list[ClientConn] = []
            message: Reply = NO_REPLY
            proto, encoded = 0, b""
            for client_id, reply in pending:
                conn = self.conns.get(client_id)
                if conn is None:
                    continue
                if reply is not message or conn.client.proto != proto:
                    message, proto = reply, conn.client.proto
                    encoded = encode_reply(message, proto)
                if conn.take_message(message, encoded):
                    told.append(conn)
            for conn in told:
                conn.send_messages()

    def kill(self, client_ids: tuple[int, ...]) -> None:
        """CLIENT KILL: cut these clients; ids without a connection are passed over."""
        for client_id in client_ids:
            conn = self.conns.get(client_id)
            if conn is not None:
                self._cut(conn)

    def _cut(self, conn: ClientConn) -> None:
        """End a connection at once. A replica's side does it for a replica: a child may hold a copy of its socket."""
        if conn.replica is not None:
            conn.replica.close(flush=False)
        else:
            conn.close(at_once=True)

    def overflown(self, conn: ClientConn) -> None:
        """Cut a client that sent an unfinished request beyond client-query-buffer-limit. As in Redis, it gets no
        error."""
        self.node.stats.client_query_buffer_limit_disconnections += 1
        self._log(events.QueryBufferExceeded(self.line_of(conn)))
        self._cut(conn)

    def slow_down(self, conn: ClientConn) -> None:
        """Hold a client that sends many commands and has not logged in, so that others do not wait for it."""
        self.waits.hold(LateWait(conn.client, self._clock.now() + STRANGER_PAUSE_S, NO_REPLY))

    def broken_request(self, conn: ClientConn, error: bytes) -> None:
        """Count and log a broken request; the connection answers it and ends by itself."""
        self.node.stats.count_error("ERR")
        text = error.decode("utf-8", "replace").removeprefix("ERR ").removeprefix("Protocol error: ")
        if text == NO_TLS_HERE.decode():
            self._tell_seldom(events.TlsOnPlainPort(conn.client.addr))
        else:
            self._log(events.ClientProtocolError(self.line_of(conn), text))

    def _tell_seldom(self, event: Event) -> None:
        """Log an event that whoever connects can cause: one of its kind a second at most, as they would fill the log
        otherwise."""
        now = self._clock.now()
        if now >= self._tell_again_at.get(type(event), 0.0):
            self._tell_again_at[type(event)] = now + 1.0
            self._log(event)

    def close_idle(self) -> None:
        """Cut the clients that have been silent for longer than `timeout` (0: never). Replicas, subscribers, monitors
        and clients that wait for a reply stay, as in Redis."""
        limit_s = self.node.settings.timeout
        if not limit_s:
            return
        now = self._clock.now()
        for conn in list(self.conns.values()):
            client = conn.client
            if (
                client.kind == NORMAL
                and not client.is_monitor
                and not conn.held
                and now - client.last_seen_at > limit_s
            ):
                self._log(events.ClientIdle(self.line_of(conn)))
                conn.close(at_once=True)

    def measure(self) -> None:
        """Bring the sizes that CLIENT LIST shows up to date, and check the limits of clients that do not read their
        output."""
        for conn in list(self.conns.values()):
            conn.client.query_buffer_bytes = conn.parser.pending_bytes
            conn.client.output_bytes = conn.transport.get_write_buffer_size()
            if conn.replica is not None:
                # The stream that waits for a replica counts as its output, though one copy serves all replicas.
                conn.client.output_bytes = conn.replica.session.pending_bytes(self.node.stream_end)
            elif conn.client.output_bytes or conn.output.is_watched:
                self.cut_for_output(conn)
        limit = limit_bytes(self.node.settings)
        if limit:
            self._cut_for_memory(limit)

    def _cut_for_memory(self, limit: int) -> None:
        """maxmemory-clients: cut those that take most."""
        conns = [conn for conn in self.conns.values() if conn.replica is None and not conn.transport.is_closing()]
        for client in to_be_cut(((conn.client, memory_bytes(conn.client)) for conn in conns), limit):
            conn = self.conns[client.id]
            self.node.stats.evicted_clients += 1
            self._log(events.ClientEvicted(self.line_of(conn)))
            client.close_after_reply()
            conn.close(at_once=True)

    def line_of(self, conn: ClientConn) -> str:
        """The client as CLIENT LIST shows it, for the log."""
        return client_line(conn.client, self._clock.now()).decode("utf-8", "backslashreplace")

    def settings_changed(self) -> None:
        """Give the present limits to the parsers of all connections, and to `turns`."""
        for conn in self.conns.values():
            self._limit(conn.parser)
        self._review_limits()

    def _review_limits(self) -> None:
        limit = self.node.settings.client_output_buffer_limit.normal
        self._turns.limits_output = bool(limit.hard_bytes or limit.soft_bytes)

    def _new_parser(self, client: Client) -> Parser:
        parser = Parser(authenticated=client.authenticated)
        self._limit(parser)
        return parser

    def _limit(self, parser: Parser) -> None:
        parser.max_bulk_bytes = self.node.settings.proto_max_bulk_len
        parser.query_buffer_bytes = self.node.settings.client_query_buffer_limit

    def _why_not_admitted(self, addr: str, *, is_full: bool) -> bytes | None:
        settings = self.node.settings
        if is_full and not self._has_reserve():
            return MAX_CLIENTS_TEXT
        if turns_away(addr, protected_mode=settings.protected_mode, is_open=self.node.users.is_open):
            return DENIED_TEXT
        return None

    def room_for(self, conn: ClientConn) -> int:
        """How many more bytes of output may wait for the client to read them (client-output-buffer-limit)."""
        return room_for(limit_of(conn.client, self.node.settings.client_output_buffer_limit), conn.waiting_bytes)

    def cut_for_output(self, conn: ClientConn, more_bytes: int = 0) -> bool:
        """client-output-buffer-limit: cut the client if too much output would wait for it, `more_bytes` included.

        Returns whether it was cut. Not for replicas: the roster checks their limits.
        """
        client = conn.client
        if conn.replica is not None and client.is_replica:
            return False
        waiting_bytes = conn.waiting_bytes + more_bytes
        limit = limit_of(client, self.node.settings.client_output_buffer_limit)
        if not conn.output.is_over(limit, counted_bytes(waiting_bytes), self._clock.now()):
            return False
        client.output_bytes = waiting_bytes
        client.close_after_reply()
        self.node.stats.client_output_buffer_limit_disconnections += 1
        self._log(events.OutputBufferExceeded(self.line_of(conn)))
        conn.close(at_once=True)
        return True


def _is_stranger(conn: ClientConn) -> bool:
    return not conn.client.authenticated and not conn.transport.is_closing()

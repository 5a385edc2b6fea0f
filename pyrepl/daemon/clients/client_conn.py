"""One client's connection: bytes in, commands executed batch by batch, replies out in one write. Hot.

`polled_socket` hands the bytes in; the parser makes commands of them, and the dispatcher executes these. Replies are
collected, and `outbox` has them written. `clients` keeps all connections: it admits them and sends messages of one
client to another.

A connection can be held (`hold`), mostly by `waits`, when a reply comes later (WAIT) or commands are paused (CLIENT
PAUSE). What a held client sends is kept until `release`; after about 1 MB reading stops. After PSYNC the connection is
a replica's: its REPLCONFs still come in here, and `replica_conn` writes the stream to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol, final

from pyrepl.commands.engine.dispatch import Dispatcher
from pyrepl.commands.engine.table import MAY_REPLICATE, WRITE
from pyrepl.daemon.clients.polled_socket import PolledSocket, Receiver
from pyrepl.daemon.clients.turns import Turns
from pyrepl.daemon.wires.wire import Wire
from pyrepl.errors import CommandError
from pyrepl.node.client import Client
from pyrepl.node.node import Node
from pyrepl.node.output_limit import OutputWatch
from pyrepl.replication.session import Session
from pyrepl.resp.encoder import append_reply, encode_reply
from pyrepl.resp.parser import Batch, Parser
from pyrepl.resp.reply import NO_REPLY, Raw, Reply

if TYPE_CHECKING:
    from pyrepl.commands.engine.call import Call

HELD_BYTES: Final = 1 << 20
"""How many bytes a held client may send ahead before we stop reading from its socket."""
STRANGER_HELD_BYTES: Final = 32 * 1024
"""The same for one that has not logged in."""
PATIENCE: Final = 10
"""Commands that a client may send at once before it has logged in; then it waits for a moment."""
_LIMITED_STEP: Final = 16
"""Where a limit on output applies, the size of the replies is checked after so many commands."""

_CHANGES: Final = WRITE | MAY_REPLICATE


class ReplicaSide(Protocol):
    """The part of a replica's connection that other clients do not have: `ReplicaConn`."""

    session: Session

    def close(self, *, flush: bool) -> None:
        """End the connection: with `flush` after all that was written is out, otherwise at once."""

    def drained(self) -> None:
        """The transport takes more bytes."""

    def refuse_to_answer(self, argv: list[bytes]) -> None:
        """The replica sent `argv`, a command that has a reply, which has no place in the stream."""


class ConnOwner(Protocol):
    """What a connection tells and asks `Clients`, which keeps all of them. For each batch a connection needs `Turns`
    only."""

    def forget(self, conn: ClientConn) -> None:
        """The connection has ended, by whichever side."""

    def end_soon(self, conn: ClientConn) -> None:
        """Close the connection in a later turn, after the replies that are about to be written."""

    def overflown(self, conn: ClientConn) -> None:
        """The client sent an unfinished request beyond client-query-buffer-limit."""

    def slow_down(self, conn: ClientConn) -> None:
        """The client has sent PATIENCE commands and has not logged in: hold it for a moment."""

    def broken_request(self, conn: ClientConn, error: bytes) -> None:
        """The client sent bytes that are no request; `error` is what the parser says of them."""

    def pause(self, client: Client, *, may_write: bool) -> None:
        """A pause forbids the client's next command, which may write or not."""

    def serve_keys(self) -> None:
        """A command is over, and keys are ready that clients wait for (`Conditions.keys_ready`)."""

    def room_for(self, conn: ClientConn) -> int:
        """How many more bytes of output may wait for this client."""

    def cut_for_output(self, conn: ClientConn, more_bytes: int = 0) -> bool:
        """Cut the connection if too much output would wait for it, `more_bytes` included. Returns whether it was."""


@final
class ClientConn(Receiver):
    """The shell of one connection.

    Invariants: while `held` is True, `_rest` is (a batch, the index of its first command that was not executed), and
    `_unparsed` are the bytes that came since, about HELD_BYTES at most. `_out` has replies, of `_out_bytes` in all,
    exactly while the outbox knows this connection. `client`, `transport` and `parser` are set from `enter` on.
    """

    client: Client
    transport: PolledSocket
    parser: Parser
    _call: Call

    def __init__(self, owner: ConnOwner, node: Node, dispatcher: Dispatcher, turns: Turns) -> None:
        self._owner = owner
        self._node = node
        self._dispatcher = dispatcher
        self._turns = turns
        self._outbox = turns.outbox
        self._out: list[bytes] = []
        self._out_bytes = 0
        self._messages: list[bytes] = []
        self.held = False
        self._rest: tuple[Batch, int] | None = None
        self._unparsed: list[bytes] = []
        self._unparsed_bytes = 0
        self._skips_answer = False
        """Is the reply that the client is held for not wanted (CLIENT REPLY SKIP)?"""
        self._patience = PATIENCE
        """How many commands more are executed at once, while the client has not logged in."""
        self.output = OutputWatch()
        self.replica: ReplicaSide | None = None
        """Set at the first REPLCONF, PSYNC or SYNC."""

    def enter(self, transport: PolledSocket, client: Client, parser: Parser) -> None:
        """The connection was admitted as `client`."""
        self.transport = transport
        self.client = client
        self.parser = parser
        self._call = self._dispatcher.call_for(client)

    def data_received(self, data: bytes) -> None:
        client = self.client
        client.total_in_bytes += len(data)
        self._node.stats.total_net_input_bytes += len(data)
        if self.replica is not None:
            # A loading replica sends bare line ends, which are no commands.
            self.replica.session.note_sign(self._turns.now())
        if self.held:
            self._keep(data)
            return
        self._serve(self.parser.feed(data), 0)

    def eof_received(self) -> None:
        """The peer sends no more. It may still read the replies that it asked for, then the transport closes. A replica
        is closed at once, or INFO would list it for as long as it does not read its stream."""
        if self.replica is not None and self.client.is_replica:
            self.replica.close(flush=False)
        else:
            self.flush()

    def connection_lost(self, exc: Exception | None) -> None:
        self._owner.forget(self)

    def resume_writing(self) -> None:
        """The transport takes more bytes. Only replicas need to know this, as the stream goes out in pieces."""
        if self.replica is not None:
            self.replica.drained()

    def hold(self) -> None:
        """Execute no more commands of this client until `release`. Reading goes on for a while, so that we notice when
        the client goes away."""
        self.held = True

    def release(self) -> None:
        """Execute the commands that `hold` left waiting, and read again. No effect on a client that is not held."""
        if not self.held:
            return
        self.held = False
        self._patience = PATIENCE
        rest, self._rest = self._rest, None
        if rest is not None:
            self._serve(*rest)
        if self.held or self.transport.is_closing():
            return
        unparsed, self._unparsed = b"".join(self._unparsed), []
        self.transport.resume_reading()
        self._unparsed_bytes = 0
        if unparsed:
            self._serve(self.parser.feed(unparsed), 0)

    def take_message(self, message: Reply, encoded: bytes) -> bool:
        """Keep a message that answers no command of this client (a published message, a line of MONITOR) for
        `send_messages`; `encoded` is it for the client's protocol. CLIENT REPLY OFF does not silence such messages.
        Returns whether it is the first that is kept."""
        if self.client.is_replica:
            self._refuse_to_answer(message, [])
            return False
        self._messages.append(encoded)
        return len(self._messages) == 1

    def send_messages(self) -> None:
        """Write the messages that were kept."""
        messages, self._messages = self._messages, []
        self._write(messages, limited=self._is_limited())

    def answer(self, reply: Reply) -> None:
        """Write the reply that a held client waits for, and let the client go on."""
        skipped, self._skips_answer = self._skips_answer, False
        if self.client.is_replica:
            self._refuse_to_answer(reply, [])
        elif self.client.reply_mode != "off" and not skipped:
            self._write([encode_reply(reply, self.client.proto)], limited=self._is_limited())
        if not self.client.closing:
            self.release()

    def flush(self) -> None:
        """Tell `before_replies`, and hand the replies collected so far to the transport."""
        if self._out:
            self._turns.before_replies.tell()
            self.write_out()

    def write_out(self) -> None:
        """As `flush`, for the outbox, which has told `before_replies` for all connections."""
        out = self._out
        self._out = []
        self._out_bytes = 0
        if out and not self.transport.is_closing():
            self._node.stats.total_writes_processed += 1
            self.transport.write(out[0] if len(out) == 1 else b"".join(out))

    @property
    def waiting_bytes(self) -> int:
        """Bytes of output that the kernel has not taken yet."""
        return self.transport.get_write_buffer_size() + self._out_bytes

    def take_back(self, text: str) -> None:
        """Replace the replies that are not out yet by the error `text`, and end the connection: we cannot tell which of
        these replies are still true. For subscribers of `before_replies`: the append-only file has failed."""
        if self._out:
            self._out = [encode_reply(CommandError(text), self.client.proto)]
            self._out_bytes = len(self._out[0])
            self.hold()
            self._owner.end_soon(self)

    def close(self, *, at_once: bool = False) -> None:
        """End the connection after all replies are out, or at once."""
        if at_once:
            self.transport.abort()
        else:
            self.flush()
            self.transport.close()

    def _serve(self, batch: Batch, start: int) -> None:
        """Execute a batch from command `start` on, and then what the parser still holds.

        The parser stops behind a command that may raise the limits for the bytes that follow, as AUTH (`batch.more`).
        """
        turns = self._turns
        client = self.client
        self._call.now_ms = turns.begin_batch(client, len(batch.commands) - start)
        while True:
            following = self._execute_batch(batch, start)
            if not self.parser.authenticated:
                self.parser.authenticated = client.authenticated
                self._patience -= len(batch.commands)
                if self._patience <= 0 and not (self.held or client.closing or client.authenticated):
                    self._owner.slow_down(self)
            if not batch.more or self.held or client.closing:
                break
            batch = self.parser.feed(b"")
            start = 0
        turns.end_batch()
        if client.closing:
            self.close()
        elif self.held:
            self._rest = (batch, following)
        elif batch.error is not None:
            self._refuse(batch.error)
        elif batch.overflow:
            self._owner.overflown(self)

    def _execute_batch(self, batch: Batch, start: int) -> int:
        """Execute commands from `start` on. Returns the index of the first one that was not executed: the length of the
        batch, or less when the client was held or is to be closed."""
        client = self.client
        node = self._node
        conditions = node.conditions
        dispatcher = self._dispatcher
        commands = batch.commands
        out: list[bytes] = []
        index = start
        size = len(commands)
        while index < size:
            limited = self._is_limited()
            if client.guarded or conditions.guarded:
                if node.pause.until_ms() and self._is_paused(commands[index]):
                    break
                self._serve_guarded(batch, index, out)
                index += 1
            else:
                end = min(size, index + _LIMITED_STEP) if limited else size
                served = dispatcher.execute_plain(self._call, batch, index, end, out)
                if served == index:
                    self._encode(dispatcher.execute(self._call, commands[index], batch.wire(index)), out)
                    served += 1
                index = served
            if conditions.keys_ready:
                self._owner.serve_keys()
            if limited and out:
                self._write(out, limited=True)
                out = []
            if self.held or client.closing:
                break
        if out:
            self._write(out, limited=False)
        return index

    def _is_limited(self) -> bool:
        """Must the size of this client's output be checked as it grows?

        It must where a limit is set for normal clients, before the client has authenticated, and for subscribers.
        """
        client = self.client
        if self._turns.limits_output or not client.authenticated:
            return True
        return client.subscribed

    def _serve_guarded(self, batch: Batch, index: int, out: list[bytes]) -> None:
        """Execute one command of a client in a special state: CLIENT REPLY, a transaction, a replica's connection."""
        client = self.client
        skipped = client.take_skip()
        if client.queue is not None and self._dispatcher.runs_queue(batch.commands[index][0]):
            client.reply_room = self._owner.room_for(self)
        has_stream = client.is_replica
        reply = self._dispatcher.execute(self._call, batch.commands[index], batch.wire(index))
        if skipped and not _is_heard(reply):
            self._skips_answer = self.held
            return
        if has_stream:
            self._refuse_to_answer(reply, batch.commands[index])
        else:
            before = len(out)
            self._encode(reply, out)
            if self._node.conditions.measured and client.queue is None:
                self._measure(batch, index, reply, sum(map(len, out[before:])))

    def _measure(self, batch: Batch, index: int, reply: Reply, sent: int) -> None:
        """Note the sizes of a command that was executed and of its reply, `sent` bytes."""
        node, argv, now_ms = self._node, batch.commands[index], self._call.now_ms
        request = len(batch.wire(index))
        if not isinstance(reply, CommandError):
            node.note_sizes(self.client, argv, now_ms, request, sent)
        if node.hotkeys is not None:
            node.note_bytes(self._dispatcher.keys_of(argv), now_ms, request + sent)

    def _refuse_to_answer(self, reply: Reply, argv: list[bytes]) -> None:
        """Tell the replica's side that this command has a reply: the stream flows on this connection or is about to, so
        the replica would take the reply for a part of the stream."""
        is_heard = reply is not NO_REPLY and (self.client.reply_mode != "off" or _is_heard(reply))
        if is_heard and self.replica is not None:
            self.replica.refuse_to_answer(argv)

    def _encode(self, reply: Reply, out: list[bytes]) -> None:
        """Append the bytes of a reply to `out`, unless CLIENT REPLY OFF silences it."""
        if self.client.reply_mode != "off" or _is_heard(reply):
            append_reply(reply, self.client.proto, out)

    def _keep(self, data: bytes) -> None:
        """Keep bytes that came while the client is held; beyond HELD_BYTES, or less before the login, stop reading."""
        self._unparsed.append(data)
        self._unparsed_bytes += len(data)
        if self._unparsed_bytes > (HELD_BYTES if self.client.authenticated else STRANGER_HELD_BYTES):
            self.transport.pause_reading()

    def _is_paused(self, argv: list[bytes]) -> bool:
        """Hold the client before this command if a pause forbids it, and return whether it does. Replicas are never
        paused. A pause in WRITE mode forbids only commands that may change something."""
        client = self.client
        if client.is_replica:
            return False
        row = self._dispatcher.table.find(argv[0])
        may_write = row is not None and (
            bool(row.flags & _CHANGES and client.queue is None) or (row.name == "EXEC" and client.queue_writes)
        )
        if not self._node.pause.holds(self._node.keyspace.now_ms, may_write=may_write):
            return False
        self._owner.pause(client, may_write=may_write)
        return True

    def _write(self, pieces: list[bytes], *, limited: bool) -> None:
        """Add replies to those that go out with the next flush. `limited`: first check the limit on output, which may
        cut the connection instead."""
        if self.transport.is_closing():
            return
        if limited and self._owner.cut_for_output(self, sum(map(len, pieces))):
            return
        data = b"".join(pieces) if len(pieces) > 1 else pieces[0]
        if not data:
            return
        size = len(data)
        self.client.total_out_bytes += size
        self._node.stats.total_net_output_bytes += size
        self._out_bytes += size
        self._out.append(data)
        if len(self._out) == 1:
            self._outbox.add(self)

    def _refuse(self, error: bytes) -> None:
        """Answer a broken request with the parser's error, and end this connection."""
        self._owner.broken_request(self, error)
        self._write([b"-ERR " + error.removeprefix(b"ERR ") + b"\r\n"], limited=self._is_limited())
        self.close()


def _is_heard(reply: Reply) -> bool:
    """Is this reply written even with CLIENT REPLY OFF or SKIP?"""
    return type(reply) is Raw and reply.is_heard


def names_of(wire: Wire, unix_path: str) -> tuple[str, str]:
    """(addr, laddr) as CLIENT LIST prints them: `ip:port`, `[ip6]:port`, or `path:0` on a unix socket."""
    peer, own = wire.peer_name(), wire.own_name()
    return (peer, own) if peer and own else (f"{unix_path}:0", f"{unix_path}:0")

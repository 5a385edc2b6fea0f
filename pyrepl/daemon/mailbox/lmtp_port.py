"""`mailbox-lmtp-port`: mail servers that deliver, each with a connection of its own to the Dovecot behind.

Not here: what passes between the two (pyrepl.mailbox.lmtp), and when other nodes have it (deliveries.py).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Final, final

from pyrepl.config.settings import Settings
from pyrepl.daemon.clients.client_conn import names_of
from pyrepl.daemon.clients.listener import Listener
from pyrepl.daemon.mailbox.conns import Conns
from pyrepl.daemon.mailbox.sockets import Sockets, TalkSocket
from pyrepl.daemon.wires.connecting import connect, connect_unix
from pyrepl.daemon.wires.wire import Wire
from pyrepl.mailbox.lmtp import LmtpProxy
from pyrepl.mailbox.sending import Notice
from pyrepl.observability.telling.mailboxes import MailboxTeller

PATIENCE_S: Final = 5.0
"""How long Dovecot may take to accept a connection."""
GRACE_S: Final = 1.0
"""So much longer than mailbox-ack-timeout a mail server waits when the node does not answer, as a round of it waits for
a disk."""
MOST_UNSENT: Final = 1024 * 1024
"""Bytes that may wait for one end; beyond, the other is not read."""
LINGER_S: Final = 2.0
"""How many seconds a mail server has to read the last reply before its connection is cut."""
_NO_BACKEND: Final = b"421 4.3.0 The mail server behind this one cannot be reached\r\n"
_TOO_MANY: Final = b"421 4.3.2 Too many connections (mailbox-maxclients): come again\r\n"


@final
class LmtpPort:
    """The port, and all connections of it."""

    def __init__(
        self, settings: Settings, backend: str | tuple[str, int], sockets: Sockets, conns: Conns, teller: MailboxTeller
    ) -> None:
        """`backend`: as Configured has it."""
        self._settings: Final = settings
        self._backend: Final = backend
        self._teller: Final = teller
        self._sockets: Final = sockets
        self._conns: Final = conns
        self._listener: Final = Listener(settings.socket_mark_id)
        self._open: Final[set[LmtpConn]] = set()
        self._tasks: Final[set[asyncio.Task[None]]] = set()
        self._told = ""
        """Why Dovecot could not be reached when it was tried last."""

    def bind(self) -> None:
        """Raises ConfigError."""
        settings = self._settings
        self._listener.bind_tcp(list(settings.mailbox_lmtp_bind), settings.mailbox_lmtp_port, settings.tcp_backlog)

    def accept(self) -> None:
        """Take mail from now on."""
        self._teller.lmtp_opened(self._listener.port, self._settings.mailbox_lmtp_backend)
        self._listener.accept_with(self._admit)

    def tick(self, now: float) -> None:
        for conn in list(self._open):
            conn.tick(now)

    def stop(self) -> None:
        """Nobody comes any more, and who is here is cut: what was not answered is delivered again."""
        self._listener.close()
        for task in self._tasks:
            task.cancel()
        for conn in list(self._open):
            conn.cut()

    def _admit(self, wire: Wire) -> None:
        accepts_single = self._settings.mailbox_single_copy == "accept"
        patience_s = self._settings.mailbox_ack_timeout / 1000 + GRACE_S
        conn = LmtpConn(
            self._conns, names_of(wire, "")[0], self._open.discard, patience_s, accepts_single=accepts_single
        )
        is_full = len(self._open) >= self._settings.mailbox_maxclients
        self._open.add(conn)
        conn.enter(self._sockets, wire)
        if is_full:
            conn.refuse(_TOO_MANY)
            return
        task = asyncio.get_running_loop().create_task(self._connect(conn))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _connect(self, conn: LmtpConn) -> None:
        try:
            async with asyncio.timeout(PATIENCE_S):
                wire = await self._reach()
        except TimeoutError:
            why = f"no answer for {PATIENCE_S:.0f} s"
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or str(error)
        else:
            why = ""
            conn.reached(self._sockets, wire)
        if why:
            conn.refuse(_NO_BACKEND)
        if why and why != self._told:
            self._teller.lmtp_unreachable(self._settings.mailbox_lmtp_backend, why)
        self._told = why

    async def _reach(self) -> Wire:
        """Raises OSError, ValueError."""
        return await (connect(*self._backend) if isinstance(self._backend, tuple) else connect_unix(self._backend))


class _End:
    """One end of it, as its socket sees it."""

    def __init__(self, heard: Callable[[bytes], None], resumed: Callable[[], None], lost: Callable[[], None]) -> None:
        self._heard: Final = heard
        self._resumed: Final = resumed
        self._lost: Final = lost

    def data_received(self, data: bytes) -> None:
        self._heard(data)

    def resume_writing(self) -> None:
        self._resumed()

    def connection_lost(self, why: str) -> None:
        self._lost()


@final
class LmtpConn:
    """A delivering connection, and ours to Dovecot."""

    def __init__(
        self,
        conns: Conns,
        addr: str,
        over: Callable[[LmtpConn], None],
        patience_s: float,
        *,
        accepts_single: bool,
    ) -> None:
        """`over` is told when it has ended. `patience_s`: after so long a mail server is told that its mail is stored,
        whatever the node says. `accepts_single`: mailbox-single-copy."""
        self._conns: Final = conns
        self._addr: Final = addr
        self._over: Final = over
        self._patience_s: Final = patience_s
        self._accepts_single: Final = accepts_single
        self._stored = 0
        """How many mails Dovecot has taken."""
        self._told_by = float("inf")
        """When the mail server is told of the last one; infinity if it was."""
        self._proxy: Final = LmtpProxy(self._mark, self._must_refuse, conns.now())
        self._client: TalkSocket | None = None
        self._backend: TalkSocket | None = None
        self._is_cut = False
        self._cut_by = float("inf")

    def enter(self, sockets: Sockets, wire: Wire) -> None:
        """The client is there; it is not read before Dovecot is."""
        self._client = sockets.add(wire, _End(self._from_client, self._settle, self.cut))
        self._client.read_on(False)

    def reached(self, sockets: Sockets, wire: Wire) -> None:
        """Dovecot is there."""
        if self._is_cut:
            wire.close()
            return
        self._backend = sockets.add(wire, _End(self._from_backend, self._settle, self._backend_lost))
        self._settle()

    def refuse(self, reply: bytes) -> None:
        """In place of a greeting."""
        if self._client is not None:
            self._client.write([reply])
            self._end(self._client)

    def _end(self, client: TalkSocket) -> None:
        """What was written was the last."""
        self._cut_by = min(self._cut_by, self._conns.now() + LINGER_S)
        client.close()

    def cut(self) -> None:
        """The client has gone, or has to."""
        if self._is_cut:
            return
        self._is_cut = True
        for end in (self._client, self._backend):
            if end is not None:
                end.abort()
        self._over(self)

    def tick(self, now: float) -> None:
        if now >= self._cut_by:
            self.cut()
        elif now >= self._told_by:
            self._conns.note(Notice("single_copy", f"a delivery of {self._addr}"))
            self._told(self._stored)
        elif self._backend is not None:
            self._proxy.tick(now)
            self._settle()

    # What comes

    def _from_client(self, data: bytes) -> None:
        self._proxy.receive_from_client(data, self._conns.now())
        self._settle()

    def _from_backend(self, data: bytes) -> None:
        self._proxy.receive_from_backend(data, self._conns.now())
        self._settle()

    def _backend_lost(self) -> None:
        if not self._is_cut:
            self._proxy.backend_gone()
            self._settle()

    def _settle(self) -> None:
        """Let go what is to be said, and read whose turn it is."""
        client, backend = self._client, self._backend
        if self._is_cut or client is None or backend is None:
            return
        backend.write(self._proxy.data_to_backend())
        client.write(self._proxy.data_to_client())
        if self._proxy.is_over:
            backend.abort()
            self._end(client)
            return
        client.read_on(self._proxy.wants_client and max(backend.unsent, client.unsent) < MOST_UNSENT)
        backend.read_on(client.unsent < MOST_UNSENT)
        for stored in self._proxy.events():
            self._stored += 1
            self._told_by = self._conns.now() + self._patience_s
            self._conns.delivered(self._addr, stored, partial(self._told, self._stored))

    # What the node says

    def _mark(self) -> int:
        return self._conns.news

    def _must_refuse(self) -> bool:
        keeping = self._conns.keeping
        if keeping is None:
            return not self._accepts_single
        return keeping.driver.node.saving.acks.must_refuse

    def _told(self, mail: int) -> None:
        """Once of each mail, whoever is first."""
        is_first = mail == self._stored and self._told_by < float("inf")
        if is_first and not self._is_cut:
            self._told_by = float("inf")
            self._proxy.told(self._conns.now())
            self._settle()

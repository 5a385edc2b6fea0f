"""The mailbox service of a node: its port and socket, its links to the other members, and the life of what it keeps.

App makes it only if `mailbox-port` is set; without it nothing of this room is imported. When something fails so that
the machine may not be what is on disk, all connections end and everything is opened anew, as after a crash. So it does
when the disk of all Maildirs refuses, and waits until that takes something again: what nobody was told of is told again
by the other nodes, and its gates stay as they are meanwhile.

Not here: rounds of the machine (driver.py), connections (conns.py, talk_conn.py), files (keeping.py).
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Collection
from contextlib import suppress
from functools import partial
from typing import Final, final

from pyrepl.config.mailbox_kinds import MailboxMember
from pyrepl.daemon.clients.client_conn import names_of
from pyrepl.daemon.clients.listener import Listener, hand_on_plain
from pyrepl.daemon.clients.strangers import Strangers
from pyrepl.daemon.clock import Clock
from pyrepl.daemon.descriptors import MOST_MAILBOX_STRANGERS
from pyrepl.daemon.eventlog.event_log import EventLog
from pyrepl.daemon.log_sink import Log
from pyrepl.daemon.mailbox.configured import Configured, check_doveadm, configured
from pyrepl.daemon.mailbox.conns import CLOSED, TOO_MANY, Conns, MemberFault
from pyrepl.daemon.mailbox.database import DatabaseError
from pyrepl.daemon.mailbox.dialer import Dialer
from pyrepl.daemon.mailbox.disk_watch import DiskRefuses
from pyrepl.daemon.mailbox.figures import Figures
from pyrepl.daemon.mailbox.first_line import FirstLine
from pyrepl.daemon.mailbox.first_look import FirstLook
from pyrepl.daemon.mailbox.keeper_link import KeeperLink, NoKeeper, take_leave
from pyrepl.daemon.mailbox.keeping import Keeping
from pyrepl.daemon.mailbox.lmtp_port import LmtpPort
from pyrepl.daemon.mailbox.maildirs_place import NotThere
from pyrepl.daemon.mailbox.sockets import Sockets
from pyrepl.daemon.mailbox.talk_conn import TalkConn
from pyrepl.daemon.mailbox.uidlist_lock import LocksHere
from pyrepl.daemon.randomness import Randomness
from pyrepl.daemon.service import Service
from pyrepl.daemon.wires.connecting import connect
from pyrepl.daemon.wires.handshakes import Handshakes
from pyrepl.daemon.wires.tls import Tls
from pyrepl.daemon.wires.wire import Wire
from pyrepl.errors import ConfigError, CorruptData
from pyrepl.mailbox.mail_conn import MailConn
from pyrepl.mailbox.peer_link import Introduction, PeerLink
from pyrepl.mailbox.told import Row
from pyrepl.mailbox.verbs import Side
from pyrepl.node.node import Node
from pyrepl.observability import events
from pyrepl.observability.telling.mailboxes import MailboxTeller
from pyrepl.observability.telling.voice import Voice

AGAIN_S: Final = 1.0
"""After a failure, when everything is opened anew."""
STUCK_S: Final = 10.0
"""Threads that have not ended after so long are told of: a disk does not answer, or a doveadm."""
END_S: Final = 1.0
"""So long a doveadm has that is told to end, and a disk after it."""
_LOOK_EVERY_S: Final = 0.1
_TLS_TOLD_EVERY_S: Final = 60.0
"""A member that speaks TLS to this node, which does not, comes again each second."""
_CANNOT_OPEN: Final = (DatabaseError, NotThere, CorruptData, NoKeeper, OSError)


@final
class MailboxServer(Service):
    """The mailboxes of a node."""

    def __init__(
        self,
        node: Node,
        tls: Tls,
        handshakes: Handshakes,
        clock: Clock,
        randomness: Randomness,
        log: Log,
        event_log: EventLog,
        tell: Callable[[Row], None] | None,
    ) -> None:
        """`tell` takes rows of the stream `mailboxes`, if there is one. Raises ConfigError for directives that cannot
        be."""
        settings = node.settings
        self._settings: Final = settings
        self._sockets: Final = Sockets()
        self._clock: Final = clock
        self._randomness: Final = randomness
        self._log: Final = log
        self._teller: Final = MailboxTeller(Voice(log, event_log))
        self._loop: Final = asyncio.get_running_loop()
        self.conf: Final[Configured] = configured(settings, randomness.fraction())
        self.conns: Final = Conns(
            *(clock, log, self._teller, self._loop.call_soon_threadsafe, tell),
            is_encrypted=settings.tls_mailbox,
            most_clients=lambda: settings.mailbox_maxclients,
        )
        node.mailboxes = self.figures = Figures(self.conf, self.conns, clock)
        self._tls: Final = tls
        hand_on = handshakes.begin_one if settings.tls_mailbox else hand_on_plain
        self._tcp: Final = Listener(settings.socket_mark_id, hand_on)
        self._unix: Final = Listener()
        lmtp = self.conf.lmtp
        self._lmtp: Final = None if lmtp is None else LmtpPort(settings, lmtp, self._sockets, self.conns, self._teller)
        self._dialer: Final = Dialer(self._reach, self._serve_member, self._unreachable)
        self._strangers: Final = Strangers[FirstLine](FirstLine.is_stranger)
        self._waiting: Final[set[FirstLine]] = set()
        """Who has said no first line yet."""
        self._came = 0
        self._tls_told_at = -_TLS_TOLD_EVERY_S
        self._task: asyncio.Task[None] | None = None
        self._locks: Final = LocksHere()
        self._keeping: Keeping | None = None
        """What is open, whether it is served or not."""
        self._held: KeeperLink | None = None
        """To the keeper of the gates, while the disk refuses and nothing is open."""
        self._farewell: asyncio.Task[None] | None = None
        """It is over: done when nothing is open any more, and the gates are gone."""
        self._first_look: Final = FirstLook(self._teller.gates_open)

    # As a port and as a service

    def settings_changed(self, names: Collection[str]) -> None:
        if self.conf.is_kept_by_doveadm:
            check_doveadm(self._settings)

    def why_dovecot_waits(self, now: float) -> str:
        """What is still to be done before the Dovecot of this node may start, "" if nothing."""
        if self.conf.gates is None:
            return ""
        gates = None if self.conns.keeping is None else self.conns.keeping.driver.node.gates
        return self._first_look.why_not(None if gates is None else gates.count_all_unlooked(), now)

    def bind(self) -> None:
        """Open the port and the socket. Raises ConfigError."""
        settings = self._settings
        addresses = settings.mailbox_bind or settings.bind
        self._tcp.bind_tcp(list(addresses), settings.mailbox_port, settings.tcp_backlog)
        if settings.mailbox_socket:
            self._unix.bind_unix(settings.mailbox_socket, settings.mailbox_socket_perm, settings.tcp_backlog)
        if self._lmtp is not None:
            self._lmtp.bind()
        self.figures.port = self._tcp.port

    def accept(self) -> None:
        """Accept connections from now on; those that come before `begin` are told to come again."""
        self._tcp.accept_with(self._admit)
        self._unix.accept_with(self._admit_local)
        if self._lmtp is not None:
            self._lmtp.accept()

    def begin(self) -> None:
        """Open what is kept, and connect to the others. Raises ConfigError."""
        try:
            keeping = self._open()
        except _CANNOT_OPEN as error:
            raise ConfigError(f"Mailboxes cannot be kept: {error}") from None
        self._log(events.MailboxPortOpened(self._tcp.port, self.conf.name, len(self.conf.members.names)))
        self._keeping = keeping
        self._task = self._loop.create_task(self._run(keeping))
        self._task.add_done_callback(self._run_ended)

    def tick(self, now: float) -> None:
        for waiting in list(self._waiting):
            if waiting.conn is not None or waiting.is_over:
                self._waiting.discard(waiting)
            elif now >= waiting.until:
                waiting.cut()
        self.conns.tick(now)
        if self._lmtp is not None:
            self._lmtp.tick(now)

    def next_deadline(self, now: float) -> float:
        return now + _LOOK_EVERY_S

    def stop(self) -> None:
        self._end("the node ends")
        self._sockets.close()

    async def finish(self) -> None:
        if self._farewell is None or self._farewell.done():
            return
        # If the disk does not answer the process ends all the same: its keeper shuts the gates then.
        await asyncio.wait((self._farewell,), timeout=STUCK_S)
        for how in (signal.SIGTERM, signal.SIGKILL):
            if self.conf.doveadm and not self._farewell.done() and self._keeping is not None:
                self._keeping.end_programs(how)
                await asyncio.wait((self._farewell,), timeout=END_S)

    def leave(self, then: Callable[[], None]) -> None:
        """MAILBOX LEAVE: as at the node's end, while the node goes on; then `then`. In the next turn, as the machine is
        asking."""
        self.conns.has_left = True
        self._loop.call_soon(self._leave, then)

    def _leave(self, then: Callable[[], None]) -> None:
        def left(farewell: asyncio.Task[None]) -> None:
            self._teller.left(self.conf.name)
            then()

        self._end("this node has left").add_done_callback(left)

    def _end(self, reason: str) -> asyncio.Task[None]:
        """Once. Done when nothing is open any more."""
        if self._farewell is None:
            self._close(reason)
            self._farewell = self._loop.create_task(self._take_leave())
        return self._farewell

    def _close(self, reason: str) -> None:
        self._tcp.close()
        self._unix.close()
        self._dialer.stop()
        if self._task is not None:
            self._task.cancel()
        self._drop_all(reason)
        # Whose mail waited for other nodes, hears by now that Dovecot has it: else it would be delivered again.
        if self._lmtp is not None:
            self._lmtp.stop()
        if self._keeping is not None:
            self._keeping.halt()

    def _drop_all(self, reason: str) -> None:
        """All connections end, whatever else fails."""
        try:
            self.conns.drop_all(reason)
        except Exception as error:
            self._teller.begun_again(_words(error))
            for conn in self.conns.all:
                conn.transport.abort()

    async def _take_leave(self) -> None:
        """The gates go when no thread writes behind them any more. If nothing is open now, as it could not be opened
        again, the keeper has them still. It listens to the link that came last."""
        was_open = self._keeping is not None
        if self._keeping is not None:
            await self._ended(self._keeping, farewell=self._held is None)
            self._keeping = None
        if self._held is not None:
            self._held.bye()
            self._let_go()
        elif not was_open and self.conf.gates is not None and self._task is not None:
            await self._loop.run_in_executor(None, take_leave, self.conf.database.parent)

    # What is kept

    def _open(self) -> Keeping:
        return Keeping(self.conf, self._settings, self._clock, self.conns, self._locks)

    async def _run(self, keeping: Keeping) -> None:
        """Drive the machine, and keep links; when that fails, begin again from what is on disk, as soon as what was
        begun before has ended: no thread of one life works beside those of the next."""
        while True:
            try:
                await keeping.settle()
                self.conns.keeping = keeping
                self.conns.trouble.over()
                for name in self.conf.to_call:
                    self._dialer.call(self.conf.addresses[name])
                await keeping.driver.run()
            except DiskRefuses as error:
                self._disk_refuses(str(error))
            except MemberFault as error:
                self.conns.shunned.add(error.peer, self._clock.now())
                self._teller.begun_again(str(error))
            except Exception as error:
                self._teller.begun_again(_words(error))
            self._first_look.failed(self._clock.now())
            self._dialer.stop()
            self._drop_all(CLOSED if self.conns.trouble.why else "this node begins again: come again")
            await self._ended(keeping)
            self._keeping = None
            self._keeping = keeping = await self._opened_again(keeping)

    async def _ended(self, keeping: Keeping, *, farewell: bool = False) -> None:
        """It is closed, and its threads have ended; who waits long for that is told."""
        stuck = self._loop.call_later(STUCK_S, self._teller.store_stuck, STUCK_S)
        try:
            await keeping.ended(farewell=farewell)
        except Exception as error:
            self._teller.begun_again(_words(error))
        finally:
            stuck.cancel()

    async def _opened_again(self, before: Keeping) -> Keeping:
        """Whatever keeps it from being opened, may be gone the next time. `before` is closed, and knows which disk it
        was."""
        while True:
            await asyncio.sleep(AGAIN_S)
            why = "" if before.disk is None else await before.disk.why_not(writes=True)
            if why:
                self._disk_refuses(why)
                continue
            try:
                keeping = self._open()
            except _CANNOT_OPEN as error:
                self.conns.trouble.cannot_open(str(error))
            except Exception as error:
                self._teller.begun_again(_words(error))
            else:
                self._let_go()
                return keeping

    def _disk_refuses(self, why: str) -> None:
        """The keeper of the gates is told nothing of it: it does to them what a daemon would that is there, which is
        nothing. Without it, it would open them in a while, and could not say on this disk which UIDs may follow."""
        self.conns.trouble.disk_refuses(why)
        if self.conf.gates is not None and self._held is None:
            with suppress(NoKeeper, OSError):
                self._held = KeeperLink(self.conf.database.parent, self.conf.gates, self._let_go)

    def _let_go(self) -> None:
        """Another link to the keeper is there, or none is needed."""
        if self._held is not None:
            self._held.close()
            self._held = None

    def _run_ended(self, task: asyncio.Task[None]) -> None:
        """Only by being cancelled; anything else is a defect, which the node's log has to have."""
        if not task.cancelled() and task.exception() is not None:
            context = {"message": "the mailbox service", "exception": task.exception()}
            self._loop.call_exception_handler(context)

    # Connections

    def _introduction(self) -> Introduction:
        keeping = self.conns.keeping
        root = None if keeping is None else keeping.driver.node.mastering.root
        is_fresh, epoch = (False, 0) if root is None else (root.is_fresh, root.epoch)
        nonce = self._randomness.replid()
        return Introduction(self.conf.name, self.conf.members, self.conf.secret, nonce, is_fresh, epoch)

    def _admit(self, wire: Wire) -> None:
        """Somebody came by the port: a node, or a mail process, as its first line will say."""
        addr = names_of(wire, "")[0]
        first = FirstLine(partial(self._become, addr), partial(self._tls_came, addr), self._clock.now())
        first.enter(self._sockets.add(wire, first))
        self._waiting.add(first)
        self._came += 1
        self._strangers.add(self._came, addr, first)
        if self._strangers.count() > MOST_MAILBOX_STRANGERS:
            # They are to keep neither descriptors nor a member from this node.
            crowding = self._strangers.take_one()
            assert crowding is not None
            crowding.cut()

    def _tls_came(self, addr: str) -> None:
        """Somebody speaks TLS, and this node does not, or it would have had its handshake before."""
        now = self._clock.now()
        if now >= self._tls_told_at + _TLS_TOLD_EVERY_S:
            self._tls_told_at = now
            self._teller.tls_unwanted(addr)

    def _become(self, addr: str, side: Side) -> TalkConn:
        now = self._clock.now()
        if side is Side.NODE:
            conn = self._made(PeerLink(self._introduction(), "", self.conf.talk, now), addr)
            if self.conns.keeping is None:
                # What it would say of itself, as that it is not fresh, is not known yet; the other end would believe it
                # as long as the link lasts.
                conn.talk.refuse(self.conns.why_not_ready)
            return conn
        return self._made(MailConn(self._introduction(), self.conf.talk, now, is_local=False), addr)

    def _admit_local(self, wire: Wire) -> None:
        """A mail process came by the socket."""
        talk = MailConn(self._introduction(), self.conf.talk, self._clock.now(), is_local=True)
        conn = self._made(talk, self._settings.mailbox_socket)
        conn.enter(self._sockets.add(wire, conn))

    def _made(self, talk: MailConn | PeerLink, addr: str) -> TalkConn:
        conn = self.conns.add(TalkConn(self.conns, talk, addr))
        if isinstance(talk, MailConn) and self.conns.is_full:
            talk.refuse(TOO_MANY)
        return conn

    async def _reach(self, host: str, port: int) -> Wire:
        return await connect(host, port, tls=self._tls.for_members)

    def _serve_member(self, wire: Wire, member: MailboxMember) -> asyncio.Future[None]:
        """A connection that this node made."""
        talk = PeerLink(self._introduction(), member.name, self.conf.talk, self._clock.now())
        conn = self._made(talk, f"{member.host}:{member.port}")
        conn.over = self._loop.create_future()
        conn.enter(self._sockets.add(wire, conn))
        return conn.over

    def _unreachable(self, member: MailboxMember, why: str) -> None:
        self._log(events.MailboxMemberUnreachable(member.name, f"{member.host}:{member.port}", why))


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"

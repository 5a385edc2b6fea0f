"""All connections of the mailbox protocol of a node, and what passes between them and its machine.

Not here: how they come about (server.py for those that come in, dialer.py for those that go out), and the machine's
rounds (driver.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any, Final, final

from pyrepl.acl.addresses import is_public, place_of
from pyrepl.daemon.clock import Clock
from pyrepl.daemon.log_sink import Log
from pyrepl.daemon.mailbox.database import DatabaseError
from pyrepl.daemon.mailbox.files import DiskFiles
from pyrepl.daemon.mailbox.keeping import Keeping
from pyrepl.daemon.mailbox.node_store import NodeStore
from pyrepl.daemon.mailbox.talk_conn import Coming, TalkConn
from pyrepl.daemon.mailbox.tally import Tally
from pyrepl.daemon.mailbox.text_writer import Kept, RefusedText
from pyrepl.daemon.mailbox.trouble import Trouble
from pyrepl.errors import PyreplError
from pyrepl.mailbox.answers import Bad, No, Ok, Reason
from pyrepl.mailbox.codec import UNTAGGED
from pyrepl.mailbox.lmtp import Stored
from pyrepl.mailbox.node import Node
from pyrepl.mailbox.outgoing import TextOf, TextWanted, overtakes
from pyrepl.mailbox.peer_link import PeerLink
from pyrepl.mailbox.sending import Counted, Notice, Reply, Send
from pyrepl.mailbox.talk import Came, Lost, Opened
from pyrepl.mailbox.told import Row
from pyrepl.mailbox.verbs import Command, Lock, Op, Save
from pyrepl.mailbox.words import Dot
from pyrepl.observability import events
from pyrepl.observability.telling.mailboxes import MailboxTeller

TOO_MANY: Final = "too many mail processes (mailbox-maxclients): come again"
NO_MAIL: Final = "this node is a witness, which keeps no mail: save it at another one"
NOT_READY: Final = "this node is not ready: come again"
CLOSED: Final = "this node does nothing to its mailboxes at the moment, as its log says: come again"
FIRST_PAUSE_S: Final = 10.0
MOST_PAUSE_S: Final = 3600.0
_MOST_PLACES: Final = 100
"""Of which it is remembered what the log was told last."""
RESYNCED: Final = "resync_by_state_done"
"""What was told of whole mailboxes by a member is done; nobody knows by which ops that came about."""


class MemberFault(PyreplError):
    """The machine failed at what a member said: a defect of ours, which a member must not use to hold this node."""

    def __init__(self, peer: str, verb: str, error: Exception) -> None:
        super().__init__(f"{verb} of {peer}: {type(error).__name__}: {error}")
        self.peer: Final = peer


@final
class Shunned:
    """Members at whose commands the machine failed: each is not heard for a while, for longer each time."""

    def __init__(self) -> None:
        self._pauses: Final[dict[str, float]] = {}
        self._until: Final[dict[str, float]] = {}

    def add(self, peer: str, now: float) -> None:
        self._pauses[peer] = min(2 * self._pauses.get(peer, FIRST_PAUSE_S / 2), MOST_PAUSE_S)
        self._until[peer] = now + self._pauses[peer]

    def until(self, peer: str) -> float:
        """Until when it is not heard."""
        return self._until.get(peer, float("-inf"))


@final
class Conns:
    """The connections. `keeping` is what they serve now; None while there is nothing to serve."""

    def __init__(
        self,
        clock: Clock,
        log: Log,
        teller: MailboxTeller,
        call_in_loop: Callable[..., object],
        tell: Callable[[Row], None] | None,
        *,
        is_encrypted: bool = False,
        most_clients: Callable[[], float] = lambda: float("inf"),
    ) -> None:
        """`call_in_loop`: the loop's call_soon_threadsafe. `tell` takes rows of the stream `mailboxes`, if anybody
        does. `is_encrypted`: links between nodes are (`tls-mailbox`). `most_clients`: mailbox-maxclients as it is
        now."""
        self.keeping: Keeping | None = None
        self.links: Final[dict[str, TalkConn]] = {}
        """Member -> its link, as the machine has been told of it."""
        self.clients: Final[dict[str, TalkConn]] = {}
        """Mail processes that were greeted, by the names that they have here."""
        self.all: Final[set[TalkConn]] = set()
        """Whose socket is not closed: one that does not read its last bytes has to be cut."""
        self._names: Final[dict[TalkConn, str]] = {}
        self._asked: Final[dict[str, Callable[[Command], None]]] = {}
        """Who of this process asks as a mail process does -> what is done with the answer."""
        self._questions: Final[dict[int, Callable[[Any], None]]] = {}
        """What is to be asked in the next round, by number -> what is done with the answer."""
        self.has_left = False
        """An operator has ended all this (MAILBOX LEAVE)."""
        self._clock: Final = clock
        self._log: Final = log
        self._teller: Final = teller
        self._call_in_loop: Final = call_in_loop
        self._tell: Final = tell
        self._is_encrypted: Final = is_encrypted
        self._most_clients: Final = most_clients
        self._came = 0
        self._news_before = 0
        """Numbers of news that the machines before this one have counted."""
        self.shunned: Final = Shunned()
        self.tally: Final = Tally()
        self.trouble: Final = Trouble(teller, clock.now)
        """Why there is nothing to serve, if that lasts."""
        self._told_lost: Final[dict[str, str]] = {}
        """Member -> why the last link to it could not begin."""
        self._proved: Final[set[TalkConn]] = set()
        """Of members: each is who it says."""
        self._told_refused: Final[dict[bytes, str]] = {}
        """Place (place_of) -> why a connection from there was closed last that did not prove to be a member's."""
        self._files: Final = DiskFiles()

    def now(self) -> float:
        return self._clock.now()

    def add(self, conn: TalkConn) -> TalkConn:
        self.all.add(conn)
        return conn

    def drop_all(self, reason: str) -> None:
        """The machine is gone: so are all connections, as far as it knew them."""
        self._news_before = self.news
        self.keeping = None
        self.tally.apart(False, self.now())
        for each in (self.links, self.clients):
            each.clear()
        asked, questions = list(self._asked.values()), list(self._questions.values())
        self._asked.clear()
        self._questions.clear()
        for then in asked:
            then(Bad(why=reason))
        for ask in questions:
            ask(None)
        for conn in list(self.all):
            conn.refuse(reason)

    @property
    def why_not_ready(self) -> str:
        """While there is nothing to serve, for who comes."""
        return CLOSED if self.trouble.why else NOT_READY

    def tick(self, now: float) -> None:
        if self.keeping is not None and self.keeping.disk is not None:
            self.keeping.disk.tick(now)
        for conn in list(self.all):
            conn.tick(now)

    def ask(self, name: str, command: Command, then: Callable[[Command], None]) -> None:
        """Ask as a mail process does, without a connection; once at a time by each name."""
        self.ask_by(name, lambda node, now: node.hear_mail(name, "1", command, "", now), then)

    def ask_by(self, name: str, begin: Callable[[Node, float], None], then: Callable[[Command], None]) -> None:
        """As `ask`, with what `begin` asks of the machine: it answers the mail process `name` by the tag 1."""
        assert self.keeping is not None
        self._asked[name] = then
        self.keeping.driver.tell(begin)

    @property
    def news(self) -> int:
        """A number that whatever is seen in Maildirs from now on is above."""
        gates = None if self.keeping is None else self.keeping.driver.node.gates
        return self._news_before + (0 if gates is None else gates.news)

    def delivered(self, addr: str, stored: Stored, then: Callable[[], None]) -> None:
        """Somebody at `addr` has delivered a mail: `then` when other nodes have it, or when that cannot be waited
        for."""

        def answered(answer: Command) -> None:
            if not isinstance(answer, Ok):
                self.note(Notice("single_copy", f"a delivery of {addr}"))
            then()

        if self.keeping is None:
            answered(Bad())
            return
        self._came += 1
        name, driver = f"delivery {self._came}", self.keeping.driver
        since, recipients = max(0, stored.mark - self._news_before), stored.recipients
        self._asked[name] = answered

        def begun() -> bool:
            """Before what a crash left is dealt with nothing is seen, so the delivery waits for that too."""
            if driver.is_settled:
                driver.tell(lambda node, now: node.delivered(name, since, recipients, now))
            return driver.is_settled

        if not begun():
            driver.watch(begun)

    def in_round(
        self,
        question: Callable[[Node, float], Any],
        then: Callable[[Any], None],
        is_done: Callable[[Node, float], bool] = lambda node, now: True,
    ) -> None:
        """Ask the machine in its next round. The answer is told when that round is over, so that what was asked for is
        on disk, and not before `is_done`; it is None if there is no machine any more."""
        assert self.keeping is not None
        driver = self.keeping.driver
        self._came += 1
        number = self._came
        self._questions[number] = then

        def ask(node: Node, now: float) -> None:
            answer = question(node, now)
            driver.watch(partial(tell, node, answer))

        def tell(node: Node, answer: Any) -> bool:
            is_over = number not in self._questions
            if not is_over and is_done(node, self.now()):
                self._questions.pop(number)(answer)
                is_over = True
            return is_over

        driver.tell(ask)

    @property
    def is_full(self) -> bool:
        """Are there as many mail processes as may be? Who has not proved yet to be one is none."""
        return len(self.clients) >= self._most_clients()

    # What connections tell

    def opened(self, conn: TalkConn, opened: Opened) -> None:
        if self.keeping is None:
            conn.refuse(self.why_not_ready)
        elif isinstance(conn.talk, PeerLink) and self.shunned.until(opened.node) > self.now():
            conn.refuse("what this node said before made the other begin again: it is not heard for a while")
        elif isinstance(conn.talk, PeerLink) and self.keeping.driver.node.put_back.why:
            conn.refuse(self.keeping.driver.node.put_back.why)
        elif isinstance(conn.talk, PeerLink):
            self._proved.add(conn)
            self._told_refused.pop(place_of(conn.addr), None)
            self._told_lost.pop(opened.node, None)
            self._teller.link_up(opened.node, conn.addr)
            if not self._is_encrypted and is_public(conn.addr):
                self._teller.link_in_clear(opened.node, conn.addr)
            self.keeping.driver.tell(partial(self._link_up, conn, opened), first=True)
        elif self.is_full:
            conn.refuse(TOO_MANY)
        else:
            self._came += 1
            name = f"{self._came}:{opened.name}"
            self._names[conn] = name
            self.clients[name] = conn

    def coming(self, conn: TalkConn, came: Came) -> Coming:
        coming: Coming
        disk = None if self.keeping is None else self.keeping.disk

        def done(kept: Kept) -> None:
            if disk is not None and kept.why and not kept.is_wrong:
                disk.suspect()
            conn.text_done(coming, kept)

        if self.keeping is None or self.keeping.texts is None:
            coming = RefusedText(NOT_READY if self.keeping is None else NO_MAIL, done)
            return coming
        words = came.command.__dict__
        self._came += 1
        at = words.get("at") or Dot(self.keeping.driver.node.core.origin, self._came)
        size, received, guid = words.get("size") or 0, words.get("received") or 0, words.get("guid") or "text"
        coming = self.keeping.texts.begin(at, guid, received, size, words.get("sum") or (), done)
        return coming

    def heard(self, conn: TalkConn, tag: str, command: Command, text: str) -> None:
        if self.keeping is None:
            return
        if isinstance(conn.talk, PeerLink):
            hear = partial(self._hear, conn, conn.talk.peer, tag, command, text)
            self.keeping.driver.tell(hear, first=overtakes(command))
        elif conn in self._names:
            self.keeping.driver.tell(partial(self._hear_mail, conn, self._names[conn], tag, command, text))

    def wrong_text(self, conn: TalkConn, why: str) -> None:
        if self.keeping is not None and isinstance(conn.talk, PeerLink):
            peer = conn.talk.peer
            self.keeping.driver.tell(lambda node, now: node.core.wrong_text(peer, why))

    def wants_text(self, conn: TalkConn, wanted: TextWanted) -> None:
        fresh = self._fresh(wanted.text_of)
        if fresh is not None:
            conn.text_is(len(fresh))
            return
        self._ask(wanted.text_of, lambda store: self._size(store, wanted), conn.text_is, Reason.FAILED)

    def wants_piece(self, conn: TalkConn, wanted: TextWanted, start: int, size: int) -> None:
        fresh = self._fresh(wanted.text_of)
        if fresh is not None:
            conn.add_piece(fresh[start : start + size])
            return
        self._ask(wanted.text_of, lambda store: self._piece(store, wanted, start, size), conn.add_piece, b"")

    def ended(self, conn: TalkConn) -> None:
        self.all.discard(conn)

    def lost(self, conn: TalkConn, lost: Lost) -> None:
        name = self._names.pop(conn, "")
        if isinstance(conn.talk, PeerLink):
            self._tell_lost(conn, conn.talk.peer, lost)
            if self.keeping is not None:
                self.keeping.driver.tell(partial(self._link_down, conn, conn.talk.peer))
        elif lost.is_fault:
            self._log(events.MailboxClientRefused(conn.addr, lost.reason))
        if name and self.keeping is not None:
            self.clients.pop(name, None)
            self.keeping.driver.tell(lambda node, now: node.client_gone(name, now))

    def _tell_lost(self, conn: TalkConn, peer: str, lost: Lost) -> None:
        """For the log. A link that does not come about is tried each second: it is told once for each reason. Whoever
        called this node, and has not proved to be a member, is none."""
        is_members = conn in self._proved or conn.over is not None
        self._proved.discard(conn)
        if is_members and peer and self._told_lost.get(peer) != lost.reason:
            self._teller.link_lost(peer, conn.addr, lost.reason)
            self._told_lost[peer] = lost.reason
        elif not is_members and lost.is_fault and self.keeping is not None:
            place = place_of(conn.addr)
            if self._told_refused.get(place) != lost.reason:
                self._log(events.MailboxClientRefused(conn.addr, lost.reason))
            if len(self._told_refused) >= _MOST_PLACES:
                self._told_refused.clear()
            self._told_refused[place] = lost.reason

    # What the machine says

    def send(self, send: Send) -> None:
        conn = self.links.get(send.peer)
        if conn is not None:
            self.tally.ops_sent += isinstance(send.command, Op)
            conn.say(send.command, send.tag, send.text_of)

    def reply(self, reply: Reply) -> None:
        then = self._asked.pop(reply.client, None)
        conn = self.clients.get(reply.client)
        if then is not None:
            then(reply.answer)
        elif conn is not None:
            conn.say(reply.answer, reply.tag, reply.text_of)

    def unneeded(self, texts: Sequence[str]) -> None:
        if texts and self.keeping is not None and self.keeping.texts is not None:
            self.keeping.texts.remove(texts)

    @property
    def listens(self) -> bool:
        return self._tell is not None

    def told(self, row: Row) -> None:
        if self._tell is not None:
            self._tell(row)

    def count(self, counted: Counter[Counted]) -> None:
        self.tally.counted.update(counted)

    def note(self, notice: Notice) -> None:
        self.tally.notices[notice.name] += 1
        if notice.name in ("apart", "together"):
            self.tally.apart(notice.name == "apart", self.now())
        if notice.name == RESYNCED:
            self.told(["resync", notice.about])
        self._teller.noted(notice.name, notice.about)

    def stopped(self, user: str, reason: str) -> None:
        self._teller.stopped(user, reason)

    def resumed(self, user: str) -> None:
        self._teller.resumed(user)

    # In a round

    def _link_up(self, conn: TalkConn, opened: Opened, node: Node, now: float) -> None:
        peer = opened.node
        before = self.links.get(peer)
        if before is not None and before is not conn:
            node.link_down(peer, now)
            before.close(
                f"it was replaced by a newer one, from {conn.addr.rpartition(':')[0]}. If that comes again and again,"
                f" two machines have the name {peer}: stop one, or give it another mailbox-node"
            )
        if not conn.talk.is_over:
            self.links[peer] = conn
            node.link_up(peer, now, is_fresh=opened.is_fresh, epoch=opened.epoch)

    def _link_down(self, conn: TalkConn, peer: str, node: Node, now: float) -> None:
        if self.links.get(peer) is conn:
            del self.links[peer]
            node.link_down(peer, now)

    def _hear(self, conn: TalkConn, peer: str, tag: str, command: Command, text: str, node: Node, now: float) -> None:
        conn.taken()
        if self.links.get(peer) is not conn:
            node.core.let_go(text)
            return
        why = node.why_not(peer, command)
        if why is not None:
            node.core.let_go(text)
            self._link_down(conn, peer, node, now)
            conn.refuse(why)
            return
        try:
            node.hear(peer, tag, command, text, now)
        except DatabaseError:
            raise
        except Exception as error:
            raise MemberFault(peer, command.VERB, error) from error

    def _hear_mail(
        self, conn: TalkConn, name: str, tag: str, command: Command, text: str, node: Node, now: float
    ) -> None:
        conn.taken()
        why = self._why_not(command)
        if why and tag != UNTAGGED:
            node.core.let_go(text)
            node.core.reply(name, tag, No(reason=Reason.FAILED, why=why))
        else:
            node.hear_mail(name, tag, command, text, now)
            # Nothing else of its own keeps a mail process from being read on.
            if isinstance(command, Save) and command.uid and not conn.is_held and not node.may_read(name):
                conn.hold(True)
                self._until_read(conn, name, node)

    def _until_read(self, conn: TalkConn, name: str, node: Node) -> None:
        """More is read of a mail process as soon as the node may."""

        def is_read() -> bool:
            may_read = self.clients.get(name) is not conn or node.may_read(name)
            if may_read:
                conn.hold(False)
            return may_read

        assert self.keeping is not None
        self.keeping.driver.watch(is_read)

    def _why_not(self, command: Command) -> str:
        """Why a user's mailboxes are not changed now; "" if they are. What nobody waits for is taken all the same."""
        standing = self.keeping.driver.standing if self.keeping is not None else {}
        found = standing.get(command.__dict__.get("user", "")) if isinstance(command, Op | Lock) else None
        return "" if found is None else f"the mailboxes of {command.__dict__['user']} stand still: {found.reason}"

    # Texts that go out

    def _ask(
        self, text_of: TextOf, what: Callable[[NodeStore], Any], then: Callable[[Any], None], otherwise: Any
    ) -> None:
        """Ask the user's worker, and tell the answer in the loop."""
        if self.keeping is None or self.keeping.workers is None:
            then(otherwise)
            return

        def done(future: Future[Any]) -> None:
            is_there = not future.cancelled() and future.exception() is None
            self._call_in_loop(then, future.result() if is_there else otherwise)

        self.keeping.workers.run(text_of[0], what).add_done_callback(done)

    def _fresh(self, text_of: TextOf) -> bytes | None:
        """A text that was read a moment ago."""
        workers = None if self.keeping is None else self.keeping.workers
        return None if workers is None else workers.fresh(text_of)

    def _size(self, store: NodeStore, wanted: TextWanted) -> int | Reason:
        path = store.readable_text(*wanted.text_of, wanted.box)
        found = None if path is None else self._files.stat(path)
        return Reason.NOUID if found is None else found.size

    def _piece(self, store: NodeStore, wanted: TextWanted, start: int, size: int) -> bytes:
        path = store.readable_text(*wanted.text_of, wanted.box)
        if path is None:
            raise PyreplError(f"{wanted.text_of[1]} is gone")
        return self._files.read_part(path, start, size)

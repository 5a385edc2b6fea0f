"""The two sides of a conversation, each a machine behind a few lines that do what `!` lines say."""

from __future__ import annotations

from pyrepl.replication.backlog import Backlog
from pyrepl.replication.dialects import DIALECTS
from pyrepl.replication.events import (
    Apply,
    CloseRdbChannel,
    CloseSession,
    Connect,
    Disconnect,
    FullResyncBegins,
    LinkState,
    Lost,
    OpenRdbChannel,
    OtherChild,
    SendFile,
    SessionState,
    SnapshotTarget,
    StartSnapshot,
    StopSnapshot,
    SyncDecided,
    SyncRequested,
    TryAgain,
)
from pyrepl.replication.feed import Feed
from pyrepl.replication.handshake import Introduction
from pyrepl.replication.history import History
from pyrepl.replication.link import Link, LinkOptions
from pyrepl.replication.link_states import OldData
from pyrepl.replication.psync import ASK_FOR_ALL, Request
from pyrepl.replication.role import Role
from pyrepl.replication.roster import Roster, RosterOptions
from pyrepl.replication.session import Session, SessionOptions
from pyrepl.replication.transfer import encode_mark_header
from pyrepl.resp.encoder import encode_command
from pyrepl.resp.parser import Parser
from pyrepl.units import Offset, ReplId
from tests.replica_input import hear
from tests.scenario.conversation import MASTER, REPLICA, Said, command_text, number_to_id, raw_text, shorten, to_bytes

SNAPSHOT = b"SNAPSHOT"
MARK = b"0123456789" * 4


class Side:
    """What both sides have in common: the time, and lines to say."""

    name = ""

    def __init__(self) -> None:
        self.now = 0.0
        self.lines: list[Said] = []

    def say(self, connection: int, text: str, kind: str = ">") -> None:
        self.lines.append(Said(connection, self.name, kind, text))

    def said(self) -> list[Said]:
        """What the side has said since the last call."""
        lines, self.lines = self.lines, []
        return lines

    def hear(self, line: Said) -> None:
        raise NotImplementedError

    def happen(self, words: list[str]) -> None:
        raise NotImplementedError

    def pass_time(self, now: float) -> None:
        raise NotImplementedError

    def value(self, key: str) -> str:
        raise NotImplementedError


class ReplicaSide(Side):
    """A link. `! R start`, `position ID HELD`, `password P`, `timeout S`, `loads MODE`, `loaded`, `load_failed WORD`,
    `apply_fails WORD`, `holds_back` (applies nothing until `applies`), `breaks` (the connection), `stop`.

    On two connections: `offers redis valkey`, `buffer_limit BYTES`, `slice BYTES`, `rdb_breaks`."""

    name = REPLICA

    def __init__(self) -> None:
        super().__init__()
        self.options = LinkOptions(Introduction(listening_port=6380))
        self.position = ASK_FOR_ALL
        self.link: Link | None = None
        self.connections = 0
        self.connection = 0
        """The main one's number."""
        self.rdb_connection = 0
        self.old_data = OldData.GOES_AT_LAST_BYTE
        self.kept: list[Apply] | None = None
        self.snapshot_reason = ""
        self.lost_reason = ""
        self.wait_s = ""
        self.applied: list[str] = []

    @property
    def the_link(self) -> Link:
        assert self.link is not None, "the conversation begins with `! R start`"
        return self.link

    def hear(self, line: Said) -> None:
        link = self.the_link
        if line.connection == self.rdb_connection:
            self._hear_rdb(link, line)
        elif line.connection != self.connection:
            return
        elif line.kind == ">":
            link.receive(to_bytes(line), self.now)
        elif line.text == "accept":
            link.connected(self.now)
        else:
            link.lost(self.now, line.text)
        self._look()

    def _hear_rdb(self, link: Link, line: Said) -> None:
        if line.kind == ">":
            link.rdb_receive(to_bytes(line), self.now)
        elif line.text == "accept":
            link.rdb_connected(self.now)
        else:
            self.rdb_connection = 0
            link.rdb_lost(self.now, line.text)

    def happen(self, words: list[str]) -> None:
        match words:
            case ["offers", *dialects]:
                self.options.dialects = frozenset(one for one in DIALECTS if one.name in dialects)
            case ["buffer_limit", size]:
                self.options.sync_buffer_limit_bytes = int(size)
            case ["slice", size]:
                self.options.slice_bytes = int(size)
            case ["rdb_breaks"]:
                self.say(self.rdb_connection, "close reset", ":")
                self.the_link.rdb_lost(self.now, "reset")
            case ["start"]:
                self.link = Link("master", 6379, self.options, self.position, lambda: 0.5)
                self.link.start(self.now)
            case ["position", replid, held]:
                self.position = Request(ReplId(number_to_id(int(replid[3:-1]))), int(held))
            case ["password", password]:
                self.options.introduction.password = password
            case ["timeout", seconds]:
                self.options.timeout_s = float(seconds)
            case ["loads", mode]:
                self.old_data = OldData(mode)
            case ["loaded"]:
                self.the_link.loaded(self.now)
            case ["load_failed", word]:
                self.the_link.load_failed(word, self.now)
            case ["apply_fails", word]:
                self.the_link.apply_failed(word, self.now)
            case ["holds_back"]:
                self.kept = []
            case ["applies"]:
                kept, self.kept = self.kept or [], None
                for apply in kept:
                    self._apply(apply)
            case ["breaks"]:
                self.the_link.lost(self.now, "reset")
                self.say(self.connection, "close reset", ":")
            case ["stop"]:
                self.the_link.stop(self.now)
            case _:
                raise ValueError(f"unknown: ! R {words}")
        if self.link is not None:
            self._look()

    def pass_time(self, now: float) -> None:
        """Ticks at each deadline on the way, as a timer would."""
        link = self.the_link
        deadline = link.next_deadline()
        while deadline is not None and deadline <= now:
            self.now = max(self.now, deadline)
            link.tick(self.now)
            self._look()
            deadline = link.next_deadline()
        self.now = now

    def value(self, key: str) -> str:
        link = self.the_link
        values: dict[str, object] = {
            "state": link.state.value,
            "role": link.role_state,
            "id": shorten(link.replid or "none"),
            "held": link.held,
            "read": link.read_offset,
            "resync": self.snapshot_reason,
            "lost": self.lost_reason,
            "wait": self.wait_s,
            "attempts": link.progress.total_sync_attempts,
            "applied": ",".join(self.applied),
            "buffer": link.sync_buffer_bytes,
            "reads": link.wants_data,
        }
        return str(values[key]).replace(" ", "_")

    def _apply(self, event: Apply) -> None:
        if self.the_link.may_apply:
            self.applied.extend(command[0].decode() for command in event.commands)
            self.the_link.applied(event.end)

    def _look(self) -> None:
        self._look_once()
        deadline = self.the_link.next_deadline()
        while self.the_link.state is LinkState.CATCHING_UP and deadline is not None and deadline <= self.now:
            self.the_link.tick(self.now)
            self._look_once()
            deadline = self.the_link.next_deadline()

    def _look_once(self) -> None:
        link = self.the_link
        for event in link.events():
            if isinstance(event, Connect):
                self.connections += 1
                self.connection = self.connections
                self.say(self.connection, "connect", ":")
            elif isinstance(event, Disconnect):
                self.say(self.connection, "close", ":")
            elif isinstance(event, OpenRdbChannel):
                self.connections += 1
                self.rdb_connection = self.connections
                self.say(self.rdb_connection, "connect", ":")
            elif isinstance(event, CloseRdbChannel):
                self.say(self.rdb_connection, "close", ":")
                self.rdb_connection = 0
            elif isinstance(event, FullResyncBegins):
                self.snapshot_reason = str(event.reason)
                link.keep_old_data(self.old_data)
            elif isinstance(event, Apply):
                if self.kept is None:
                    self._apply(event)
                else:
                    self.kept.append(event)
            elif isinstance(event, Lost):
                self.lost_reason = str(event.reason)
            elif isinstance(event, TryAgain):
                self.wait_s = f"{event.in_s:g}"
        for number, pieces in ((self.connection, link.data_to_send()), (self.rdb_connection, link.rdb_data_to_send())):
            for piece in pieces:
                commands = Parser().feed(piece).commands if piece[:1] == b"*" else []
                self.say(number, command_text(commands[0]) if commands else raw_text(piece))


class MasterSide(Side):
    """A roster and its sessions. `! M holds ID OFFSET`, `diskless DELAY`, `timeout S`, `backlog BYTES`, `password P`,
    `fork`, `fork fails`, `snapshot ok|fails`, `sent` (after `sends slowly`), `write WORDS`, `other_child on|off`,
    `follows`, `link_up`, `promoted`, `getack`.

    On two connections: `offers redis valkey`, `grace S`, `child writes` (half of the snapshot), `snapshot ok NUMBER...`
    (these connections failed)."""

    name = MASTER

    def __init__(self) -> None:
        super().__init__()
        self.history, self.backlog, self.feed = History(ReplId(number_to_id(1))), Backlog(1_000_000), Feed()
        self.ids = 1
        self.options = RosterOptions(diskless=False, session=SessionOptions())
        self.roster = Roster(self.history, self.backlog, self.feed, self.options, self.new_replid, 0.0)
        self.role = Role(self.history, self.backlog, self.feed, self.roster)
        self.sessions: dict[int, Session] = {}
        self.half_sent: set[int] = set()
        self.target: SnapshotTarget | None = None
        self.sends_slowly = False
        self.password = ""
        self.unlocked: set[int] = set()
        self.decided: list[str] = []
        self.orders: list[str] = []

    def new_replid(self) -> ReplId:
        self.ids += 1
        return ReplId(number_to_id(self.ids))

    def hear(self, line: Said) -> None:
        number = line.connection
        if line.kind == ">":
            session = self.sessions[number]
            data = to_bytes(line)
            if session.is_replica:
                hear(session, data, self.now)
            else:
                self._answer(number, session, Parser().feed(data).commands[0])
        elif line.text == "connect":
            self.sessions[number] = self.roster.open_session(number, "192.0.2.1", self.now)
            self.say(number, "accept", ":")
        elif number in self.sessions:
            self.roster.remove(self.sessions.pop(number), self.now)
        self._look()

    def _answer(self, number: int, session: Session, argv: list[bytes]) -> None:
        """What a client connection answers by itself."""
        if argv[0] == b"AUTH":
            ok = argv[-1].decode() == self.password
            if ok:
                self.unlocked.add(number)
            self.say(number, "+OK" if ok else "-WRONGPASS invalid username-password pair or user is disabled.")
        elif self.password and number not in self.unlocked:
            self.say(number, "-NOAUTH Authentication required.")
        elif argv[0] == b"PING":
            self.say(number, "+PONG")
        else:
            session.receive_command(argv, self.now)

    def happen(self, words: list[str]) -> None:
        match words:
            case ["holds", replid, offset]:
                self.history.restart(ReplId(number_to_id(int(replid[3:-1]))))
                self.backlog.restart(Offset(int(offset)))
                self.backlog.create()
            case ["diskless", delay]:
                self.options.diskless, self.options.diskless_delay_s = True, float(delay)
            case ["timeout", seconds]:
                self.options.session.timeout_s = float(seconds)
            case ["backlog", size]:
                self.backlog.resize(int(size))
            case ["limit", size]:
                self.options.session.hard_limit_bytes = int(size)
            case ["password", password]:
                self.password = password
            case ["fork"]:
                self.roster.snapshot_started(self.now)
            case ["fork", "fails"]:
                self.roster.snapshot_ended(False, self.now, detail="fork")
            case ["snapshot", "ok", *failed]:
                self._end_snapshot([int(number) for number in failed])
            case ["child", "writes"]:
                self._write_half()
            case ["offers", *dialects]:
                self.options.dialects = frozenset(one for one in DIALECTS if one.name in dialects)
            case ["grace", seconds]:
                self.options.session.rdb_channel_grace_s = float(seconds)
            case ["snapshot", "fails"]:
                self.roster.snapshot_ended(False, self.now, detail="disk")
            case ["sends", "slowly"]:
                self.sends_slowly = True
            case ["sent"]:
                self.sends_slowly = False
                for number, session in self.sessions.items():
                    if session.state is SessionState.SEND_BULK:
                        self._send_file(number, session)
            case ["write", *argv]:
                self._append(self.feed.feed_one(0, encode_command([word.encode() for word in argv])))
            case ["other_child", state]:
                self.roster.set_other_child(OtherChild(state) if state != "off" else None, self.now)
            case ["follows"]:
                self.role.follow("above", 6379, self.now)
            case ["link_up"]:
                self.role.link_up()
            case ["promoted"]:
                self.role.promote(self.new_replid(), self.now)
            case ["getack"]:
                self.roster.ask_acks()
            case _:
                raise ValueError(f"unknown: ! M {words}")
        self._look()

    def pass_time(self, now: float) -> None:
        deadline = self.roster.next_deadline()
        while deadline is not None and deadline <= now:
            self.now = max(self.now, deadline)
            self.roster.tick(self.now)
            self._look()
            deadline = self.roster.next_deadline()
        self.now = now

    def value(self, key: str) -> str:
        counters = self.roster.counters
        values: dict[str, object] = {
            "id": shorten(self.history.replid),
            "id2": shorten(self.history.replid2),
            "end": self.backlog.end,
            "replicas": ",".join(s.state.wire_name for s in self.roster.sessions.values()),
            "acked": ",".join(str(s.ack_cut) for s in self.roster.sessions.values()),
            "lag": ",".join(f"{s.lag_s(self.now):g}" for s in self.roster.sessions.values()),
            "decided": ",".join(self.decided),
            "orders": ",".join(self.orders),
            "full": counters.full,
            "partial_ok": counters.partial_ok,
            "partial_err": counters.partial_err,
            "types": ",".join(s.channel.value for s in self.roster.sessions.values()),
            "rdb_channels": ",".join(s.state.wire_name for s in self.roster.rdb_channels.values()),
            "waiting_psync": self.roster.waiting_psync,
            "pin": self.backlog.lowest_pin,
        }
        return str(values[key]).replace(" ", "_")

    def _append(self, data: bytes) -> None:
        if self.backlog.active:
            self.backlog.append(data)
            self.roster.check_output_buffers(self.now)

    def _end_snapshot(self, failed: list[int]) -> None:
        if self.roster.running is SnapshotTarget.SOCKETS:
            for number in self._written_to():
                whole = (encode_mark_header(MARK), SNAPSHOT, MARK)
                for piece in (SNAPSHOT[4:], MARK) if number in self.half_sent else whole:
                    self.say(number, raw_text(piece))
        self.half_sent.clear()
        self.roster.snapshot_ended(True, self.now, size_bytes=len(SNAPSHOT), failed=failed)

    def _write_half(self) -> None:
        for number in self._written_to():
            self.half_sent.add(number)
            for piece in (encode_mark_header(MARK), SNAPSHOT[:4]):
                self.say(number, raw_text(piece))

    def _written_to(self) -> list[int]:
        """The connections that the child writes to."""
        return [n for n, session in self.sessions.items() if session.state is SessionState.WAIT_SNAPSHOT_END]

    def _send_file(self, number: int, session: Session) -> None:
        self.say(number, raw_text(SNAPSHOT))
        session.file_sent(self.now)

    def _look(self) -> None:
        for number, session in list(self.sessions.items()):
            self._look_at(number, session)
        for order in self.roster.events():
            if isinstance(order, SyncDecided):
                self.decided.append(str(order.reason or "continued"))
            elif isinstance(order, StartSnapshot | StopSnapshot):
                self.orders.append(type(order).__name__)
        for number, session in list(self.sessions.items()):
            self._look_at(number, session)

    def _look_at(self, number: int, session: Session) -> None:
        events = session.events()
        for event in events:
            if isinstance(event, SyncRequested):
                self.roster.request_sync(session, event.request, self.now)
        for piece in session.data_to_send():
            text = raw_text(piece) if piece == b"\n" else shorten(piece[:-2].decode())
            self.say(number, text)
        for event in events:
            if isinstance(event, SendFile) and not self.sends_slowly:
                self._send_file(number, session)
            elif isinstance(event, CloseSession):
                self.say(number, f"close {event.reason}", ":")
                self.roster.remove(self.sessions.pop(number), self.now)
        self._stream(number, session)

    def _stream(self, number: int, session: Session) -> None:
        if session.may_stream and session.cursor is not None:
            data = b"".join(bytes(piece) for piece in self.backlog.read(session.cursor.at, 1 << 30))
            session.cursor.advance(len(data))
            for argv in Parser().feed(data).commands:
                self.say(number, f"*{len(argv)} {command_text(argv)}")

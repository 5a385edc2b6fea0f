"""A whole node without a process: the machines of pyrepl.replication behind a shell of a few lines each."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, NamedTuple

from pyrepl.replication.backlog import Backlog
from pyrepl.replication.dialects import DIALECTS
from pyrepl.replication.events import (
    Apply,
    CloseRdbChannel,
    CloseSession,
    Connect,
    Continued,
    Disconnect,
    FullResyncBegins,
    LinkEvent,
    LinkState,
    LinkUp,
    Lost,
    OpenRdbChannel,
    RosterEvent,
    SendFile,
    SnapshotBytes,
    SnapshotEnds,
    StartSnapshot,
    StopSnapshot,
    SyncDecided,
    SyncRequested,
)
from pyrepl.replication.failover import Failover, FailoverState
from pyrepl.replication.feed import Feed
from pyrepl.replication.handshake import Introduction
from pyrepl.replication.history import History
from pyrepl.replication.link import Link, LinkOptions
from pyrepl.replication.link_states import OldData
from pyrepl.replication.psync import Cause
from pyrepl.replication.role import Role
from pyrepl.replication.roster import Roster, RosterOptions
from pyrepl.replication.session import Session, SessionOptions
from pyrepl.resp.encoder import encode_command
from pyrepl.resp.parser import Parser
from pyrepl.units import Offset, ReplId
from tests.replica_input import ReplicaInput
from tests.simulation.checkers.acks import AckWatch, check_honest
from tests.simulation.checkers.economy import check_economy
from tests.simulation.checkers.memory import check_buffer, check_memory
from tests.simulation.checkers.prefix import check_prefix
from tests.simulation.checkers.rest import RestWatch
from tests.simulation.checkers.room import check_room
from tests.simulation.checkers.switch import check_switch
from tests.simulation.checkers.units import check_units
from tests.simulation.child import Child
from tests.simulation.data import Data
from tests.simulation.handing import Handing
from tests.simulation.network import Wire

if TYPE_CHECKING:
    from tests.simulation.world import World

WINDOW_BYTES = 4096
"""What a simulated socket takes before the shell waits."""
LARGEST_BYTES = 6000
"""What is added to a stream between two looks at its replicas: a transaction, or what arrives at once."""
TIMEOUT_S = 12.0
LIES = (b"-1", b"0", b"1000000000000", b"9223372036854775807", b"99999999999999999999", b"x")


class Saved(NamedTuple):
    """What is on a node's disk: a snapshot, and where in which stream it stands, if anywhere."""

    snapshot: bytes
    replid: ReplId
    cut: int | None


class Attached:
    """A client connection that may become a replica's."""

    def __init__(self, session: Session, wire: Wire) -> None:
        self.session = session
        self.wire = wire
        self.parser = Parser()
        self.input = ReplicaInput(session)
        """Once it is a replica's."""


class Node:
    """One node. `name` doubles as host; everything random comes from the world's generator."""

    def __init__(self, world: World, name: str, options: RosterOptions, backlog_bytes: int) -> None:
        self.world = world
        self.name = name
        self.rng: random.Random = world.rng
        self.clock = world.clock
        self.is_gone = False
        self.frozen_until = 0.0
        self.saved: Saved | None = None
        self.born_at = self.clock.now
        self.data = Data()
        self.history = History(self.new_replid())
        self.backlog = Backlog(backlog_bytes)
        self.feed = Feed()
        self.hard_limit_bytes = self.rng.choice([4_000, 60_000])
        options.session = SessionOptions(
            TIMEOUT_S, self.hard_limit_bytes, self.hard_limit_bytes // 2, 3.0, rdb_channel_grace_s=6.0
        )
        self.roster = Roster(self.history, self.backlog, self.feed, options, self.new_replid, self.clock.now)
        self.role = Role(self.history, self.backlog, self.feed, self.roster)
        self.failover = Failover(self.roster, self.backlog)
        self.handing = Handing(self)
        self.link: Link | None = None
        self.link_wire: Wire | None = None
        self.rdb_wire: Wire | None = None
        self.rdb_attempt = 0
        self.dialects = frozenset(self.rng.choice([(), DIALECTS[:1], DIALECTS[1:], DIALECTS]))
        """Which ways a link of this node offers: Redis's, Valkey's."""
        self.old_data = OldData.GOES_AT_LAST_BYTE
        self.fails_loads = False
        self.received = b""
        self.load_serial = 0
        self.attached: dict[Wire, Attached] = {}
        self.full_syncs = 0
        self.held_peaks: dict[str, int] = {}
        """The most that was ever held of each stream, by name."""
        self._acks = AckWatch()
        self._next_id = 0
        self._child = Child(self)
        self._restless = RestWatch()
        self._tick_at = float("inf")

    def new_replid(self) -> ReplId:
        return ReplId(f"{self.rng.getrandbits(160):040x}")

    def log(self, text: str) -> None:
        self.world.log(f"{self.name}: {text}")

    @property
    def is_frozen(self) -> bool:
        """Its process is stopped (SIGSTOP): it reads nothing, writes nothing, hears no clock."""
        return self.clock.now < self.frozen_until

    # ------------------------------------------------------------------ the master's work

    def write(self, unit: list[tuple[int, list[bytes]]]) -> None:
        """Clients' commands, executed and fed as one unit."""
        for db, argv in unit:
            self.data.execute(db, argv[0].decode(), [word.decode() for word in argv[1:]])
        if self.backlog.active:
            self.append(self.feed.feed_unit([(db, encode_command(argv)) for db, argv in unit]))
            self.roster.check_output_buffers(self.clock.now)
            self.world.states.note(self.history, self.backlog.end, self.data)
        self.settle()

    def append(self, raw: bytes) -> None:
        at = self.backlog.end
        self.backlog.append(raw)
        self.record(at, raw)

    def record(self, at: int, raw: bytes = b"") -> None:
        """Tell the ledger what we have written at the cut `at`, under which name."""
        ledger, history = self.world.ledger, self.history
        if not self.role.is_replica and self.backlog.active:
            ledger.begin(history.replid, at, history.replid2 if history.fork is not None else None)
            ledger.write(history.replid, at, raw)

    @property
    def takes_writes(self) -> bool:
        return not self.role.is_replica and self.failover.state is FailoverState.NONE and not self.is_frozen

    def promote(self) -> None:
        self.stop_link()
        self.role.promote(self.new_replid(), self.clock.now)
        self.log(f"promoted at {self.backlog.end}")
        self.world.seen["promotion"] += 1
        if self.backlog.active:
            self.record(self.backlog.end)
        self.settle()

    def save(self) -> None:
        """SAVE: what a restart finds. Who holds no stream, or feeds nobody, has no place in one."""
        holds = (self.role.holds_stream or not self.role.is_replica) and self.backlog.active
        stream_db = self.data.stream_db if self.role.is_replica else max(0, self.feed.db)
        self.saved = Saved(self.data.dump(stream_db), self.history.replid, self.backlog.end if holds else None)

    def restore(self, saved: Saved, *, leads: bool) -> None:
        """Started again with a snapshot. A master's stream goes on from its place under a new name."""
        self.saved = saved
        self.data = Data.load(saved.snapshot)
        if saved.cut is None:
            return
        self.role.restore(saved.replid, Offset(saved.cut))
        self._note_held(saved.replid, saved.cut)
        if leads:
            self.history.shift(self.new_replid(), Offset(saved.cut))
            self.record(saved.cut)

    def follow(self, name: str, *, takes_over: bool = False, at_start: bool = False) -> None:
        self.stop_link()
        was_master = not self.role.is_replica
        position = self.role.follow(name, 6379, self.clock.now, at_start=at_start)
        position = position.with_failover(takes_over)
        if was_master and self.feed.db >= 0:
            self.data.stream_db = self.feed.db
        options = LinkOptions(
            Introduction(listening_port=self.world.port_of(self.name)),
            TIMEOUT_S,
            dialects=self.dialects,
            sync_buffer_limit_bytes=self.rng.choice([1_000, 5_000, 1_000_000_000]),
            slice_bytes=self.rng.choice([50, 5_000]),
        )
        self.link = Link(name, 6379, options, position, self.rng.random)
        self.log(f"follows {name} from {position.replid and position.replid[:8]}:{position.held}")
        self.link.start(self.clock.now)
        self.settle()

    def stop_link(self) -> None:
        if self.link is not None:
            self.link.stop(self.clock.now)
            self.settle()
            self.link = None

    # ------------------------------------------------------------------ connections

    def accept(self, wire: Wire) -> None:
        self._next_id += 1
        self.attached[wire] = Attached(self.roster.open_session(self._next_id, "sim", self.clock.now), wire)

    def wire_wants_data(self, wire: Wire) -> bool:
        if self.is_frozen:
            return False
        return wire is not self.link_wire or self.link is None or self.link.wants_data

    def wire_received(self, wire: Wire, data: bytes) -> None:
        if wire in self.attached:
            self._receive_from_replica(self.attached[wire], data)
        elif wire is self.link_wire and self.link is not None:
            self.link.receive(data, self.clock.now)
        elif wire is self.rdb_wire and self.link is not None:
            self.link.rdb_receive(data, self.clock.now)
        self.settle()

    def wire_lost(self, wire: Wire) -> None:
        if self.is_frozen:
            self.clock.at(self.frozen_until, lambda: self.wire_lost(wire))
            return
        attached = self.attached.pop(wire, None)
        if attached is not None:
            self.roster.remove(attached.session, self.clock.now)
        elif wire is self.link_wire and self.link is not None:
            self.link_wire = None
            self.link.lost(self.clock.now, "wire lost")
        elif wire is self.rdb_wire and self.link is not None:
            self.rdb_wire = None
            self.link.rdb_lost(self.clock.now, "wire lost")
        self.settle()

    def _receive_from_replica(self, attached: Attached, data: bytes) -> None:
        session = attached.session
        if session.is_replica:
            attached.input.receive(data, self.clock.now)
            self._acks.check(self.name, session, self.backlog.end)
            replica = attached.wire.ends[0]
            assert isinstance(replica, Node)
            check_honest(self.name, session, replica.name, replica.held_peaks.get(self.history.replid, 0))
            return
        for argv in attached.parser.feed(data).commands:
            if argv[0] == b"PING":
                attached.wire.send(1, b"+PONG\r\n")
            else:
                session.receive_command(argv, self.clock.now)

    # ------------------------------------------------------------------ carrying out what the machines want

    def settle(self) -> None:
        """Until nobody wants anything more; then plan the next tick."""
        if self.is_gone:
            return
        if self.is_frozen:
            self.clock.at(self.frozen_until, self.settle)
            return
        busy = True
        while busy:
            busy = False
            if self.link is not None:
                for event in self.link.events():
                    busy = True
                    self._on_link(event)
                if self.link is not None and self.link_wire is not None:
                    for piece in self.link.data_to_send():
                        self.link_wire.send(0, piece)
                if self.link is not None and self.rdb_wire is not None:
                    for piece in self.link.rdb_data_to_send():
                        self.rdb_wire.send(0, piece)
            for attached in list(self.attached.values()):
                busy = self._settle_session(attached) or busy
            for order in self.roster.events():
                busy = True
                self._on_roster(order)
        for attached in list(self.attached.values()):
            self._feed_replica(attached)
        check_memory(self.name, self.backlog, self.hard_limit_bytes, LARGEST_BYTES)
        if self.link is not None:
            check_buffer(self.name, self.link, WINDOW_BYTES)
        check_room(self.name, self.roster)
        self._plan_tick()

    def _plan_tick(self) -> None:
        deadlines = [self.roster.next_deadline(), self.link.next_deadline() if self.link is not None else None]
        deadline = min((at for at in deadlines if at is not None), default=None)
        self._restless.check(self.name, deadline, self.clock.now)
        if deadline is not None and deadline < self._tick_at:
            self._tick_at = max(deadline, self.clock.now + 0.001)
            self.clock.at(self._tick_at, self._tick)

    def _tick(self) -> None:
        if self.is_gone or self.clock.now < self._tick_at:
            return
        if self.is_frozen:
            self._tick_at = self.frozen_until
            self.clock.at(self._tick_at, self._tick)
            return
        self._tick_at = float("inf")
        if self.link is not None:
            self.link.tick(self.clock.now)
        at = self.backlog.end
        name = self.history.replid
        self.roster.tick(self.clock.now)
        if self.backlog.end > at and self.history.replid == name:
            self.record(at, b"".join(bytes(piece) for piece in self.backlog.read(at, 1 << 30)))
        self.settle()

    def _settle_session(self, attached: Attached) -> bool:
        session, wire = attached.session, attached.wire
        events = session.events()
        for event in events:
            if isinstance(event, SyncRequested):
                self._decide(session, event)
        for piece in session.data_to_send():
            wire.send(1, piece)
        for event in events:
            if isinstance(event, SendFile):
                wire.send(1, self.world.files[self.name])
                session.file_sent(self.clock.now)
            elif isinstance(event, CloseSession):
                self.log(f"closes {session.address}: {event.reason}")
                self.world.seen[f"closed: {event.reason.cause}"] += 1
                self.attached.pop(wire, None)
                wire.close(1)
                self.roster.remove(session, self.clock.now)
        return bool(events)

    def _decide(self, session: Session, event: SyncRequested) -> None:
        if event.request.failover:
            refusal = self.role.why_not_take_over(event.request)
            if refusal is not None:
                session.refuse(refusal)
                return
            self.log("takes over")
            self._check_switch(session, event.request.held)
            self.promote()
            event = SyncRequested(event.request.with_failover(False))
        if self.roster.refusal:
            self.roster.request_sync(session, event.request, self.clock.now)
            return
        history, backlog = History(self.history.replid), self.backlog
        history.replid2, history.fork = self.history.replid2, self.history.fork
        before = (backlog.active, backlog.start, backlog.end)
        self.roster.request_sync(session, event.request, self.clock.now)
        decided = self.roster.events()
        for each in decided:
            if isinstance(each, SyncDecided) and before[0]:
                check_economy(self.world.ledger, self.name, event.request, each.reason, history, backlog)
            if isinstance(each, SyncDecided):
                self.log(f"{session.address} asks {each.request.held}: {each.reason or 'continued'} {each.wait}")
                self.full_syncs += each.reason is not None
                self._count_decision(each)
            self._on_roster(each)
        if not before[0]:
            self.record(self.backlog.end)

    def _count_decision(self, decided: SyncDecided) -> None:
        seen, of_replica = self.world.seen, " of a sub-replica" if self.role.is_replica else ""
        if decided.reason is None:
            seen[f"partial{of_replica}"] += 1
        else:
            seen[f"full: {decided.reason.cause}"] += 1
            seen[f"full{of_replica}"] += 1
        seen["joined"] += decided.wait == "joined"

    def _check_switch(self, session: Session, held: int) -> None:
        old = self.world.nodes[self.world.name_at(session.told.listening_port)]
        if old.handing.since >= self.born_at and not old.handing.is_forced:
            check_switch(self.name, self.backlog.end, held)
            self.world.seen["switch"] += 1

    def _on_roster(self, event: RosterEvent) -> None:
        if isinstance(event, StartSnapshot):
            self._child.fork(event.target)
        elif isinstance(event, StopSnapshot):
            self._child.stop()

    def _feed_replica(self, attached: Attached) -> None:
        session, wire = attached.session, attached.wire
        in_flight = wire.in_flight_bytes(1)
        session.note_unsent(in_flight)
        if session.may_stream and session.cursor is not None and in_flight < WINDOW_BYTES and wire.is_open:
            for piece in self.backlog.read(session.cursor.at, WINDOW_BYTES):
                wire.send(1, bytes(piece))
                session.cursor.advance(len(piece))
            if session.cursor.at < self.backlog.end:
                self.clock.after(0.05, self.settle)
        elif session.may_stream and session.cursor is not None and session.cursor.at < self.backlog.end:
            self.clock.after(0.05, lambda: None if self.is_gone else self._feed_again(attached))

    def _feed_again(self, attached: Attached) -> None:
        if attached.session.may_stream:
            self._feed_replica(attached)

    # ------------------------------------------------------------------ the replica's work

    def _on_link(self, event: LinkEvent) -> None:
        link = self.link
        assert link is not None
        if isinstance(event, Connect):
            self.world.connect(self, event.host)
        elif isinstance(event, Disconnect):
            wire, self.link_wire = self.link_wire, None
            if wire is not None:
                wire.close(0)
        elif isinstance(event, OpenRdbChannel):
            self.world.seen[f"two channels of {event.dialect.name}"] += 1
            self.rdb_attempt += 1
            self.world.connect_rdb_channel(self, event.host, self.rdb_attempt)
        elif isinstance(event, CloseRdbChannel):
            wire, self.rdb_wire = self.rdb_wire, None
            self.rdb_attempt += 1
            if wire is not None:
                wire.close(0)
        elif isinstance(event, Continued):
            self.log(f"continued at {event.held}")
            self.role.continued(event, self.clock.now)
            self._note_held(event.replid, event.held)
        elif isinstance(event, FullResyncBegins):
            self._begin_load(link)
        elif isinstance(event, SnapshotBytes):
            self.received += event.data
        elif isinstance(event, SnapshotEnds):
            self._end_load(link)
        elif isinstance(event, LinkUp):
            self.handing.ended("")
            self.role.link_up()
        elif isinstance(event, Apply):
            self._apply(link, event)
        elif isinstance(event, Lost):
            self.log(f"lost: {event.reason} in {event.state}")
            self.load_serial += 1
            if event.reason.cause is Cause.REFUSED:
                self.handing.ended(event.text)
            self.role.link_lost()

    def _begin_load(self, link: Link) -> None:
        self.received = b""
        self.load_serial += 1
        link.keep_old_data(self.old_data)
        self.loading_kind = self.old_data
        if self.old_data is OldData.GOES_AT_FIRST_BYTE:
            self._drop_data()

    def _drop_data(self) -> None:
        self.role.stream_lost(self.new_replid(), self.clock.now)
        self.data.clear()

    def _end_load(self, link: Link) -> None:
        serial = self.load_serial
        if self.loading_kind is OldData.GOES_AT_LAST_BYTE:
            self._drop_data()

        def finish() -> None:
            if serial != self.load_serial or self.is_gone or self.link is not link:
                return
            if self.is_frozen:
                self.clock.at(self.frozen_until, finish)
                return
            if self.fails_loads:
                self.world.seen["load failed"] += 1
                link.load_failed("corrupt", self.clock.now)
            else:
                self.data = Data.load(self.received)
                announced = link.announced
                assert announced is not None
                self.role.snapshot_loaded(announced.replid, announced.cut, self.clock.now)
                self._note_held(announced.replid, announced.cut)
                link.loaded(self.clock.now)
                self.world.seen[f"loaded: {self.loading_kind.value}"] += 1
                self.log(f"loaded at {announced.cut}")
            self.settle()

        self.clock.after(self.rng.random() * 2, finish)

    def _apply(self, link: Link, event: Apply) -> None:
        if not link.may_apply or link.replid is None:
            return
        check_prefix(self.world.ledger, self.name, link.replid, event)
        check_units(self.name, event)
        for argv in event.commands:
            self.data.apply(argv)
        self.role.receive_stream(event.raw)
        self._note_held(link.replid, event.end)
        self.roster.check_output_buffers(self.clock.now)
        link.applied(event.end)

    def _note_held(self, replid: ReplId, cut: int) -> None:
        """Our data is the stream up to `cut`: so it is compared, and may be acknowledged."""
        self.held_peaks[replid] = max(cut, self.held_peaks.get(replid, 0))
        self.world.states.check(self.name, replid, cut, self.data)

    def lie(self) -> None:
        """Tell our master that we hold what we cannot hold."""
        wire, link = self.link_wire, self.link
        if wire is not None and link is not None and link.state is LinkState.CONNECTED:
            cut = self.rng.choice(LIES)
            wire.send(0, encode_command([b"REPLCONF", b"ACK", cut, b"FACK", cut]))
            self.world.seen["lie"] += 1

"""A master without a process whose replicas sync on two connections, as its shell would drive it."""

from __future__ import annotations

from pyrepl.replication.backlog import Backlog
from pyrepl.replication.dialects import DIALECTS
from pyrepl.replication.events import (
    CloseSession,
    RosterEvent,
    SessionEvent,
    SyncRequested,
    WentOnline,
)
from pyrepl.replication.feed import Feed
from pyrepl.replication.history import History
from pyrepl.replication.roster import Roster, RosterOptions
from pyrepl.replication.session import Session, SessionOptions
from pyrepl.units import ReplId
from tests.replica_input import hear

A, B = ReplId("a" * 40), ReplId("b" * 40)
BOTH = "capa eof capa psync2 capa rdb-channel-repl capa dual-channel"


class Bench:
    """A master without a process. `redis` and `valkey` name the ways it offers."""

    def __init__(self, *, redis: bool = True, valkey: bool = True, diskless: bool = True, **session: float) -> None:
        self.history, self.backlog, self.feed = History(A), Backlog(1000), Feed()
        names = {"redis": redis, "valkey": valkey}
        self.options = RosterOptions(
            diskless=diskless,
            diskless_delay_s=0.0,
            dialects=frozenset(dialect for dialect in DIALECTS if names[dialect.name]),
            session=SessionOptions(**session),  # type: ignore[arg-type]
        )
        self.roster = Roster(self.history, self.backlog, self.feed, self.options, lambda: B, 0.0)
        self.now = 0.0
        self.ids = 0
        self.closed: dict[Session, str] = {}
        self.online: list[Session] = []
        self.seen: list[RosterEvent] = []

    def connect(self, capa: str = BOTH, port: int = 7001) -> Session:
        self.ids += 1
        session = self.roster.open_session(self.ids, "192.0.2.1", self.now)
        self.say(session, f"REPLCONF listening-port {port} {capa}".strip())
        return session

    def say(self, session: Session, line: str) -> str:
        hear(session, line.encode() + b"\r\n", self.now)
        self.look(session)
        return self.sent(session)

    def sent(self, session: Session) -> str:
        return b"".join(session.data_to_send()).decode().replace("\r\n", "|")

    def look(self, *sessions: Session) -> None:
        """As the shell does: requests are decided, closed connections removed."""
        for session in sessions:
            events: list[SessionEvent] = session.events()
            for event in events:
                if isinstance(event, SyncRequested):
                    self.roster.request_sync(session, event.request, self.now)
                elif isinstance(event, CloseSession):
                    self.closed[session] = str(event.reason)
                    self.roster.remove(session, self.now)
                elif isinstance(event, WentOnline):
                    self.online.append(session)
        self.seen.extend(self.roster.events())

    def of(self, kind: type[RosterEvent]) -> list[RosterEvent]:
        self.seen.extend(self.roster.events())
        return [event for event in self.seen if isinstance(event, kind)]

    def main(self, port: int = 7001) -> Session:
        """A main connection in Redis's dialect that waits for the other one."""
        session = self.connect(port=port)
        assert self.say(session, "PSYNC ? -1") == f"+RDBCHANNELSYNC {session.id}|"
        return session

    def rdb(self, main: Session) -> Session:
        session = self.connect("")
        assert self.say(session, f"REPLCONF capa eof rdb-only 1 rdb-channel 1 main-ch-client-id {main.id}") == "+OK|"
        return session

    def pair(self) -> tuple[Session, Session]:
        """Both connections, the snapshot begun at the cut of the moment."""
        main = self.main()
        rdb = self.rdb(main)
        self.say(rdb, "PSYNC ? -1")
        self.roster.tick(self.now)
        assert self.roster.snapshot_started(self.now) == [rdb]
        return main, rdb

    def valkey_rdb(self) -> Session:
        """A snapshot begun in Valkey's dialect, whose main connection has not come yet."""
        session = self.connect("")
        self.say(session, "REPLCONF capa eof rdb-only 1 rdb-channel 1")
        self.say(session, "SYNC")
        self.roster.tick(self.now)
        assert self.roster.snapshot_started(self.now) == [session]
        return session

    def tick_to(self, now: float, *sessions: Session) -> None:
        self.now = now
        self.roster.tick(now)
        self.look(*sessions)

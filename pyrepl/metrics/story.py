"""Which text log lines belong to one sync: gives each event of one node the name of its sync.

pyrepl's event log names the sync on each line; text logs do not, and some of their lines do not even name the replica.
So one node's events are told here as what they are: rounds of links (kinds.CYCLE), one towards its master, one for each
replica. Pure Python, one node at a time; the ends of a sync are joined in stitch.py.

A story can be broken off and gone on with when more lines have come: advance() gives what is told for good, and where
it stands (Stand). Keeping that is telling.py's.

Events that bear the same time come in any order, so for each link they are put into the order of its round, going on
from where the link stands: a link that is online can end and begin anew in one millisecond, one that loads first goes
on. What concerns no one link (snapshots) comes where its own rank is, in the last lap of that time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any, Final, NamedTuple, final

from pyrepl.metrics.kinds import RANK

Row = dict[str, Any]

_SHUTDOWN: Final = "shutdown"
_VERDICTS: Final = {"full": 0, "two_channels": 1, "continue": 2, "refused": 3}
_NODE_RANK: Final = {
    "node_started": (-1, 0.0),
    "node_ready": (-1, 1.0),
    "snapshot_ended": (-1, 2.0),
    "backlog_created": (0, 2.5),
    "snapshot_started": (0, RANK["bgsave_for_sync"] + 0.5),
    "stopping": (9, 0.0),
    "node_stopped": (9, 1.0),
}
"""Events of the node itself: (lap, rank); lap 0 means the last lap of that time."""
_CUT_AGO_US: Final = 5_000_000
_SAME_MOMENT_US: Final = 50_000


@dataclass(slots=True)
class _Attempt:
    """One round of a link. `rank` is where it stands."""

    sync: str
    peer: str
    rank: int = -1
    decided: bool = False
    two_channels: bool = False
    served: bool = False
    online: bool = False
    ended: bool = False
    snapshot: int | None = None
    down: Row | None = None

    @property
    def waits(self) -> bool:
        """A full resync was granted, and no snapshot begun for it."""
        return self.decided and not (self.served or self.online or self.ended)

    def is_asked_again(self, at_us: int) -> bool:
        """Is it the second connection that asks? That can bear the time of the verdict that called for it, and comes
        first then."""
        if self.online or self.ended:
            return False
        at_once = at_us - int(self.sync.rpartition("@")[2]) <= _SAME_MOMENT_US
        return self.two_channels or (at_once and self.rank == RANK["psync_asked"])


def tell(rows: Iterable[Row]) -> list[Row]:
    """The events of one node's text logs with `sync`, `peer`, `cause` and `snapshot` filled in where they are known.

    In any order, doubles among them; rows that mean nothing (a load at the start) are left out. Rows given stay as they
    are.
    """
    return finish(None, rows)


class Stand(NamedTuple):
    """Where a story was broken off: plain values, as JSON has them.

    `at_us` is the newest moment there was (Unix us): lines of that time or later are yet to come. `last` are its rows,
    which are not told yet, as what else happened then decides on their order. `state` is _Story.state().
    """

    at_us: int
    last: list[Row]
    state: dict[str, Any]


def advance(before: Stand | None, rows: Iterable[Row]) -> tuple[list[Row], Stand]:
    """Go on with a story by one row at least, none of them older than `before`: what is told for good by now, and where
    it stands. What is told up to then and may change yet is in the stand."""
    story, moments = _taken_up(before, rows)
    for group in moments[:-1]:
        story.take_all(group)
    last = moments[-1]
    return story.told_for_good(), Stand(_when(last[0]), last, story.state())


def finish(before: Stand | None, rows: Iterable[Row]) -> list[Row]:
    """All that is not told for good, to the last row, as tell() has it."""
    story, moments = _taken_up(before, rows)
    for group in moments:
        story.take_all(group)
    return story.told


def _taken_up(before: Stand | None, rows: Iterable[Row]) -> tuple[_Story, list[list[Row]]]:
    """The story as it stood, and what comes now, by time."""
    every = [*(before.last if before else ()), *rows]
    unique = dict(zip(map(_key(every[0]), every), every)) if every else {}
    moments = [list(group) for _, group in groupby(sorted(unique.values(), key=_when), key=_when)]
    return _Story(before.state if before else None), moments


def _when(row: Row) -> int:
    return int(row["at_us"])


def _key(row: Row) -> Callable[[Row], Any]:
    """What takes from rows of the same columns as this one all that tells one line from another."""
    return itemgetter(*(name for name in row if name != "file"))


@final
class _Story:
    def __init__(self, state: dict[str, Any] | None = None) -> None:
        """From the begin, or from where state() was taken."""
        was = state or {}
        self._node: str = was.get("node", "")
        self._link = _attempt(was.get("link"))
        self._former = _attempt(was.get("former"))
        self._replicas = {one.peer: one for one in map(_attempt, was.get("replicas", ())) if one is not None}
        self._snapshots: int = was.get("snapshots", 0)
        self._running: int | None = was.get("running")
        self._for_sync: int = was.get("for_sync", 0)
        self._limit: Row | None = was.get("limit")
        self._has_backlog: bool | None = was.get("has_backlog")
        self._stopping: bool = was.get("stopping", False)
        self.told: list[Row] = self._open()

    def state(self) -> dict[str, Any]:
        """All that decides on what comes, as plain values."""
        return {
            "node": self._node,
            "link": self._link and asdict(self._link),
            "former": self._former and asdict(self._former),
            "replicas": [asdict(attempt) for attempt in self._replicas.values()],
            "snapshots": self._snapshots,
            "running": self._running,
            "for_sync": self._for_sync,
            "limit": self._limit,
            "has_backlog": self._has_backlog,
            "stopping": self._stopping,
        }

    def _open(self) -> list[Row]:
        """Rows that were told and may change yet: a later line may know better why a link ended."""
        attempts = (self._link, self._former, *self._replicas.values())
        return [attempt.down for attempt in attempts if attempt is not None and attempt.down is not None]

    def told_for_good(self) -> list[Row]:
        """Without those that are in state()."""
        still_open = set(map(id, self._open()))
        return [row for row in self.told if id(row) not in still_open]

    def take_all(self, group: list[Row]) -> None:
        """All that bears one time."""
        for row in self.ordered(group):
            self.take(dict(row))

    # --- order ---------------------------------------------------------------------------------------------------

    def ordered(self, group: list[Row]) -> list[Row]:
        """Events of one time, in the order of their links' rounds."""
        if len(group) == 1:
            return group
        is_late = self._turns_late(group)
        laps = {id(row): 1 if is_late and self._turns(row) else self._lap(row) for row in group if self._has_link(row)}
        last = max(laps.values(), default=0)
        return sorted(group, key=lambda row: self._place(row, laps.get(id(row)), last))

    def _has_link(self, row: Row) -> bool:
        return row["event"] in RANK and (row["end"] == "replica" or bool(row["peer"]) or row["event"] == "role_changed")

    def _attempt(self, row: Row) -> _Attempt | None:
        if row["end"] == "master":
            return self._replicas.get(row["peer"] or "")
        return self._link

    def _lap(self, row: Row) -> int:
        attempt = self._attempt(row)
        if attempt is None:
            return 0
        if attempt.two_channels and not (attempt.online or attempt.ended) and row["event"].startswith("psync_"):
            return 0
        if row["phase"] == "connecting" and attempt.decided:
            return 1
        if row["event"] in ("online", "psync_decided") and attempt.online:
            return 1
        return int(RANK[row["event"]] < attempt.rank)

    def _place(self, row: Row, lap: int | None, last: int) -> tuple[Any, ...]:
        verdict = _VERDICTS.get(row["verdict"] or "", -1)
        rest = (
            verdict,
            self._is_elsewhere(row),
            row["peer"] or "",
            row["ok"] is not False,
            row["cause"] or "~",
            str(sorted(map(str, row.items()))),
        )
        if lap is not None:
            # With no link yet, a new role is what begins one.
            first = row["event"] == "role_changed" and self._link is None
            return (lap, -1 if first else RANK[row["event"]], *rest)
        own_lap, rank = _NODE_RANK.get(row["event"], (0, float(RANK.get(row["event"], 50))))
        return (last if own_lap == 0 else own_lap, rank, *rest)

    def _is_elsewhere(self, row: Row) -> bool:
        """Does the node turn to another master? A link that was cut may have begun anew at the same moment, and comes
        first then."""
        return row["end"] == "replica" and self._names_another(row)

    def _names_another(self, row: Row) -> bool:
        return self._link is not None and row["peer"] not in (None, "", self._link.peer)

    def _turns(self, row: Row) -> bool:
        """Is it one of the two lines that tell of another master?"""
        return self._is_elsewhere(row) or (row["event"] == "role_changed" and self._names_another(row))

    def _turns_late(self, group: list[Row]) -> bool:
        """Did a link that was not there before come and go in this moment? Another master is turned to after that: one
        that is turned to before has no link that can be lost."""
        link = self._link
        events = {row["event"] for row in group if row["end"] == "replica" and row["phase"] is None}
        return link is not None and not (link.online or link.ended) and {"online", "link_down"} <= events

    # --- what happens --------------------------------------------------------------------------------------------

    def take(self, row: Row) -> None:
        self._node = row["node"]
        event = row["event"]
        if event == "node_started":
            self._start_anew(row)
        elif event in ("stopping", "node_stopped"):
            self._stop(row)
        elif event == "role_changed":
            self._change_role(row)
        elif row["end"] == "replica":
            self._take_link(row)
        elif row["end"] == "master" and event in RANK and event != "output_limit":
            self._take_replica(row)
        else:
            self._take_node(row)

    def _tell(self, row: Row, attempt: _Attempt | None = None) -> None:
        if attempt is not None:
            row["sync"], row["peer"] = attempt.sync, row["peer"] or attempt.peer or None
            attempt.rank = RANK.get(row["event"], attempt.rank)
        self.told.append(row)

    # the node

    def _start_anew(self, row: Row) -> None:
        """A new process: what the one before had open has ended."""
        cause = _SHUTDOWN if self._stopping else "unknown"
        self._end_all(row, cause)
        self._link, self._former, self._replicas, self._running = None, None, {}, None
        self._has_backlog = False
        self._stopping = False
        self._tell(row)

    def _stop(self, row: Row) -> None:
        self._stopping = True
        if row["event"] == "node_stopped":
            self._end_all(row, _SHUTDOWN)
        self._tell(row)

    def _end_all(self, row: Row, cause: str) -> None:
        if self._link is not None and not self._link.ended and self._link.decided:
            self._down({**_silent(row), "event": "link_down", "end": "replica", "cause": cause}, self._link)
        for attempt in self._replicas.values():
            if not attempt.ended and attempt.decided:
                self._down({**_silent(row), "event": "replica_down", "end": "master", "cause": cause}, attempt)

    def _change_role(self, row: Row) -> None:
        """REPLICAOF ends the link to the former master, and may be logged behind the begin of the next one."""
        link = self._link
        begun = link is not None and bool(row["peer"]) and link.peer == row["peer"] and not link.ended
        before = self._former if begun else link
        if before is not None and before.down is not None and row["at_us"] - before.down["at_us"] <= _SAME_MOMENT_US:
            before.down["cause"] = before.down["cause"] or "role_change"
        if begun:
            self._tell(row)
            return
        if link is not None and not link.ended:
            self._down({**_silent(row), "event": "link_down", "end": "replica", "cause": "role_change"}, link)
        self._link = None
        self._tell(row)

    def _take_node(self, row: Row) -> None:
        event = row["event"]
        if event == "backlog_created":
            self._has_backlog = True
        elif event == "backlog_freed":
            self._has_backlog = False
        elif event == "output_limit":
            self._limit = row
        elif event == "snapshot_started":
            self._snapshots += 1
            self._running = self._snapshots
            row["purpose"] = "replicas" if self._for_sync else "bgsave"
            row["replicas"] = self._for_sync
            row["snapshot"], self._for_sync = self._running, 0
        elif event in ("snapshot_ended", "child_memory"):
            row["snapshot"] = self._running
            self._running = None if event == "snapshot_ended" else self._running
        self._tell(row)

    # the link to the master

    def _take_link(self, row: Row) -> None:
        event, link = row["event"], self._link
        if event == "link_connecting":
            self._former = link
            link = self._link = _Attempt(f"{self._node}>{row['peer']}@{row['at_us']}", row["peer"])
        elif event == "load_ended" and (link is None or not link.decided or (link.ended and row["ok"])):
            return
        elif link is None or (link.ended and event not in ("link_down", "load_ended")):
            if event == "link_down" and link is None and row["phase"] == "connecting":
                return
            # Nobody said that it is another master's.
            peer = link.peer if link is not None else ""
            link = self._link = _Attempt(f"{self._node}>@{row['at_us']}", peer, decided=event not in ("psync_asked",))
        if event == "link_down" or (event == "load_ended" and row["ok"] is False):
            self._down(row, link)
            return
        link.decided |= event == "psync_decided" and row["verdict"] != "refused"
        link.online |= event == "online"
        self._tell(row, link)

    # the replicas

    def _take_replica(self, row: Row) -> None:
        event = row["event"]
        if event == "bgsave_for_sync":
            self._begin_snapshot(row)
            return
        attempt = self._replicas.get(row["peer"]) if row["peer"] else self._who_asked()
        if event == "bgsave_shared":
            self._share(row)
            return
        if event == "psync_asked":
            if attempt is not None and attempt.is_asked_again(row["at_us"]):
                return
            if attempt is not None and not attempt.ended and self._limit is not None:
                # Cut for its output buffer, and nobody logged that the connection ended.
                self._down({**self._limit, "event": "replica_down"}, attempt)
            attempt = self._begin(row)
        if attempt is None or (attempt.ended and event != "replica_down"):
            if not row["peer"] or event == "delivery_ended":
                return
            attempt = self._begin(row, decided=event != "psync_decided")
        if event == "psync_decided":
            self._decide(row, attempt)
        elif event == "replica_down":
            self._down(row, attempt)
        else:
            attempt.online |= event == "online"
            self._tell(row, attempt)

    def _begin(self, row: Row, *, decided: bool = False) -> _Attempt:
        attempt = _Attempt(f"{self._node}<{row['peer']}@{row['at_us']}", row["peer"], decided=decided, served=decided)
        self._replicas[row["peer"]] = attempt
        return attempt

    def _who_asked(self) -> _Attempt | None:
        """The one that asked last and has no verdict yet: whom a line without address is about."""
        open_ones = [one for one in self._replicas.values() if not (one.decided or one.ended)]
        return max(open_ones, key=lambda one: one.sync.rpartition("@")[2], default=None)

    def _decide(self, row: Row, attempt: _Attempt) -> None:
        if attempt.two_channels or (row["dialect"] == "rdb-channel"):
            return
        if row["cause"] == "out_of_backlog" and self._has_backlog is False:
            row["cause"] = "no_backlog"
        attempt.decided |= row["verdict"] != "refused"
        attempt.two_channels = row["verdict"] == "two_channels"
        attempt.online |= row["verdict"] == "continue"
        self._tell(row, attempt)

    def _begin_snapshot(self, row: Row) -> None:
        paired = row["dialect"] is not None
        waiting = [one for one in self._replicas.values() if one.waits and one.two_channels == paired]
        for attempt in waiting:
            attempt.served, attempt.snapshot = True, self._snapshots + 1
            self._tell({**row, "snapshot": attempt.snapshot}, attempt)
        self._for_sync = len(waiting)

    def _share(self, row: Row) -> None:
        waiting = [one for one in self._replicas.values() if one.waits]
        if waiting and self._running is not None:
            attempt = max(waiting, key=lambda one: one.sync.rpartition("@")[2])
            attempt.served, attempt.snapshot = True, self._running
            self._tell({**row, "snapshot": self._running}, attempt)

    # both

    def _down(self, row: Row, attempt: _Attempt) -> None:
        """A link ended; the first line that says so counts, and the one that knows best why."""
        if attempt.down is not None:
            if row["cause"] and attempt.down["cause"] in (None, "load_failed", "connection_lost"):
                attempt.down["cause"] = row["cause"]
                attempt.down["error"] = row["error"] or attempt.down["error"]
            return
        row["phase"] = row["phase"] or ("stream" if attempt.online else "sync" if attempt.decided else "handshake")
        limit = self._limit
        if row["event"] == "replica_down" and limit is not None and row["at_us"] - limit["at_us"] <= _CUT_AGO_US:
            row["cause"] = row["cause"] or limit["cause"]
            row["output_bytes"] = row["output_bytes"] or limit["output_bytes"]
            self._limit = None
        attempt.ended, attempt.down = True, row
        self._tell(row, attempt)


def _attempt(was: dict[str, Any] | None) -> _Attempt | None:
    if was is None:
        return None
    # The row of its end may change, and where a story stood does not.
    return _Attempt(**{**was, "down": was["down"] and dict(was["down"])})


def _silent(row: Row) -> Row:
    """A row at the same place that says nothing yet."""
    return {**row, **dict.fromkeys(("detail", "error", "peer", "version", "pid", "port", "replid", "step"))}


def by_node(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """The events of several nodes, told one node after the other."""
    for _, group in groupby(sorted(rows, key=lambda row: str(row["node"])), key=lambda row: str(row["node"])):
        yield tell(group)

"""A live fleet of all makes, with whatever happens to fleets; what its logs come to is what the servers counted.

Masters with their replicas: links are cut, replicas miss more than the backlog holds, replicas and masters are killed
and come back, one replica is too old for its master's snapshots, one has a wrong password, and one is promoted. Which
of it happens when follows from a seed. Five nodes in the ordinary run, fifteen in the full-size one.
"""

from __future__ import annotations

import json
import random
import shutil
import signal
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import pytest

from pyrepl.metrics.syncs import LOOP_LENGTH
from tests.fault.advised import EVENT_LOG
from tests.fault.advised import start as start_one
from tests.peers.lab import Lab, Node, wait_until
from tests.peers.ports import HOST
from tests.peers.recorder import COUNTERS, cut, fill, up
from tests.unit.metrics import inline

Row = dict[str, Any]

PASSWORD: Final = "correct"
BACKLOG: Final = {"repl-backlog-size": "16kb"}
MISSED: Final = 400
"""Keys of 100 bytes, three times the backlog."""
OLD: Final = ("redis8", "redis7")
"""A master, and a replica that cannot read its snapshots."""


class Part(NamedTuple):
    """A master and its replicas, by kind; `settings` are for all of them."""

    master: str
    replicas: tuple[str, ...]
    settings: Mapping[str, str] = MappingProxyType({})


FEW: Final = (Part("redis7", ("pyrepl", "valkey8")), Part("pyrepl", ("redis8",)))
ALL: Final = (
    Part("redis7", ("redis7", "valkey8")),
    Part("redis8", ("redis8", "pyrepl")),
    Part("valkey8", ("valkey8", "pyrepl"), {"requirepass": PASSWORD, "masterauth": PASSWORD}),
    Part("pyrepl", ("pyrepl", "redis8", "valkey8")),
)
"""Thirteen; with the one that is too old and the one that has a wrong password fifteen."""


@dataclass
class Member:
    """One server through all its lives. `counted` is what it counted in those that have ended."""

    node: Node
    settings: dict[str, str]
    logs: list[Path] = field(default_factory=list)
    counted: Counter[str] = field(default_factory=Counter)

    def count(self) -> Counter[str]:
        """What it has counted in all its lives."""
        return self.counted + Counter({name: self.node.stat(name) for name in COUNTERS})


class Fleet:
    """Starts the parts, lets things happen to them, and collects their logs."""

    def __init__(self, lab: Lab, parts: tuple[Part, ...], seed: int) -> None:
        self._lab = lab
        self._rng = random.Random(seed)
        self.groups: list[list[Member]] = []
        self._firsts = [part.master for part in parts]
        for part in parts:
            master = self.member(part.master, None, {**BACKLOG, **part.settings})
            fill(master.node, 200)
            replicas = [self.member(kind, master, {**BACKLOG, **part.settings}) for kind in part.replicas]
            self.groups.append([master, *replicas])
            self._settled(self.groups[-1])

    def member(self, kind: str, master: Member | None, settings: dict[str, str]) -> Member:
        node = start_one(self._lab, kind, master.node if master else None, settings)
        return Member(node, settings, [node.log_path])

    def happens(self, what: str) -> None:
        """Something happens to one of the parts, and it gets over it."""
        group = self._rng.choice(self.groups)
        getattr(self, f"_{what}")(group, self._rng.choice(group[1:]))
        self._settled(group)

    def _settled(self, group: list[Member]) -> None:
        up(group[0].node, *(one.node for one in group[1:]))
        # Logs have milliseconds: what follows at once would be told at the same time.
        time.sleep(0.3)

    def _cut(self, group: list[Member], replica: Member) -> None:
        cut(replica.node)
        time.sleep(0.2)
        fill(group[0].node, 5, prefix="cut")

    def _miss(self, group: list[Member], replica: Member) -> None:
        replica.node.process.send_signal(signal.SIGSTOP)
        # Of a master's replicas all are cut; the others continue.
        group[0].node.call("CLIENT", "KILL", "TYPE", "replica")
        fill(group[0].node, MISSED, prefix="missed")
        time.sleep(0.3)
        replica.node.process.send_signal(signal.SIGCONT)
        wait_until("it is back", replica.node.link_is_up)

    def _kill_replica(self, group: list[Member], replica: Member) -> None:
        self._again(replica, group[0])

    def _kill_master(self, group: list[Member], replica: Member) -> None:
        self._again(group[0], None)
        fill(group[0].node, 200)

    def _again(self, member: Member, master: Member | None) -> None:
        """Killed, and started at its place."""
        member.counted = member.count()
        old = member.node
        old.kill()
        settings = {"loglevel": "notice", **member.settings}
        if old.kind == "pyrepl":
            settings |= {"event-log": EVENT_LOG, "event-log-sample-period": "1"}
        member.node = self._lab.start(
            old.kind, master.node if master else None, settings, port=old.port, folder=old.folder
        )
        member.logs.append(member.node.log_path)

    def _promote(self, group: list[Member], replica: Member) -> None:
        """A replica becomes the master, and all others follow it: one whose snapshots all can read, if there is one."""
        first = self._firsts[self.groups.index(group)]
        replica = next((one for one in group[1:] if one.node.kind in (first, "pyrepl")), replica)
        replica.node.call("REPLICAOF", "NO", "ONE")
        for other in group:
            if other is not replica:
                other.node.call("REPLICAOF", HOST, replica.node.port)
        group.remove(replica)
        group.insert(0, replica)

    def collect(self, folder: Path) -> dict[str, Member]:
        """Copies of all logs; who is who in them."""
        folder.mkdir(parents=True)
        found: dict[str, Member] = {}
        for number, one in enumerate(one for group in self.groups for one in group):
            events = one.node.folder / EVENT_LOG
            if events.exists():
                shutil.copyfile(events, folder / f"{number}.jsonl")
                name = json.loads(events.read_text().splitlines()[0])["node"]
            else:
                name = f"n{number}"
                (folder / f"{name}.log").write_bytes(b"".join(log.read_bytes() for log in one.logs))
            found[name] = one
        return found


def told(found: dict[str, list[Row]], node: str) -> Counter[str]:
    """What the tables say that a master has counted."""
    own = [row for row in found["syncs"] if row["node"] == node]
    full = [row for row in own if row["mode"] != "continue"]
    refused = sum(bool(row["asked_with_id"]) for row in full)
    return +Counter(sync_full=len(full), sync_partial_ok=len(own) - len(full), sync_partial_err=refused)


def check(fleet: Fleet, folder: Path) -> dict[str, list[Row]]:
    """Each node's counters against the tables; the tables."""
    names = fleet.collect(folder / "logs")
    inline.read(folder / "logs", folder / "tables")
    found = inline.told(folder / "tables")
    counted = {name: +one.count() for name, one in names.items()}
    print(f"{len(names)} nodes, {len(names) * len(COUNTERS)} counters: {dict(sum(counted.values(), Counter()))}")
    assert {name: told(found, name) for name in names} == counted
    assert [row["line"] for row in found["unparsed"]] == []
    assert found["totals"][0]["unknown_lines"] == 0
    ups = {name for name, one in names.items() if one.node.info("replication").get("master_link_status") == "up"}
    pairs = {row["replica"]: row for row in found["availability"] if row["open_outage_s"] is None}
    assert ups <= pairs.keys(), "no outage goes on where the link is up"
    broken = {row["replica"] for row in found["availability"] if row["open_outage_s"] is not None}
    assert broken <= names.keys() - ups, "an outage that goes on is one of a known node, whose link is not up"
    return found


def test_a_few_nodes(lab: Lab, tmp_path: Path) -> None:
    fleet = Fleet(lab, FEW, seed=1)
    for what in ("cut", "miss", "kill_replica", "cut", "kill_master", "miss", "promote", "cut"):
        fleet.happens(what)
    found = check(fleet, tmp_path / "few")
    assert len(found["nodes"]) == 5


@pytest.mark.matrix
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("seed", range(3))
def test_fifteen_nodes(lab: Lab, tmp_path: Path, seed: int) -> None:
    fleet = Fleet(lab, ALL, seed)
    of_kind = {part.master: group for part, group in zip(ALL, fleet.groups, strict=True)}
    wrong = fleet.member("redis7", of_kind["valkey8"][0], {"masterauth": "wrong"})
    happenings = ["cut", "miss"] * 6 + ["kill_replica", "kill_master", "promote"] * 3
    random.Random(seed).shuffle(happenings)
    first = of_kind[OLD[0]][0].node
    before = first.stat("sync_full")
    old = fleet.member(OLD[1], of_kind[OLD[0]][0], {})
    # The last one asked for is cut by what follows; those before it have failed, and are a loop.
    wait_until("it has asked again and again", lambda: first.stat("sync_full") > before + LOOP_LENGTH)
    old.node.call("REPLICAOF", "NO", "ONE")
    time.sleep(0.5)
    for what in happenings:
        fleet.happens(what)
    fleet.groups += [[wrong], [old]]
    found = check(fleet, tmp_path / "all")
    assert len(found["nodes"]) == 15
    assert {"auth", "version_mismatch"} <= {row["kind"] for row in found["advice"]}

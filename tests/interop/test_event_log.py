"""The event log of real syncs: the same story at both ends under one name, and the one that the text log tells.

pyrepl at both ends in each mode; and at one end of real servers, whose own logs confirm what ours say.
"""

from __future__ import annotations

import itertools
import json
import re
import time
from pathlib import Path
from typing import Any, Final

import pytest

from tests.interop.channels import REDIS, VALKEY, directives
from tests.peers import dataset
from tests.peers.lab import Lab, Node, wait_until

Line = dict[str, Any]

SCALE: Final = 500
LOG: Final = "events.jsonl"
EVENT_LOG: Final = {"event-log": LOG, "event-log-sample-period": "1", "repl-diskless-sync-delay": "0"}

MODES: Final[dict[str, dict[str, str]]] = {
    "full_disk": directives("pyrepl", "") | {"repl-diskless-sync": "no"},
    "full_diskless": directives("pyrepl", ""),
    "rdb_channel": directives("pyrepl", REDIS),
    "dual_channel": directives("pyrepl", VALKEY),
}

ASKED: Final = ["psync_asked", "psync_decided"]
SECOND: Final = ["rdb_channel_opened"]
DELIVERED: Final = ["delivery_started", "delivery_ended"]
LOADED: Final = ["load_started", "load_ended"]
CAUGHT_UP: Final = ["catch_up_started", "catch_up_ended"]


def events(node: Node) -> list[Line]:
    lines = [json.loads(line) for line in (node.folder / LOG).read_text().splitlines()]
    assert [line["seq"] for line in lines] == list(range(1, len(lines) + 1)), "none is missing"
    assert len({line["run"] for line in lines}) == 1
    assert all(one["mono_us"] <= other["mono_us"] for one, other in itertools.pairwise(lines))
    return lines


def first(node: Node, event: str) -> Line:
    """The first line of an event, which the node may yet have to write."""
    wait_until(f"{event} is in the log", lambda: f'"event":"{event}"' in (node.folder / LOG).read_text())
    return next(line for line in events(node) if line["event"] == event)


def stories(node: Node) -> dict[str, list[Line]]:
    """The lines of each sync, under its name."""
    found: dict[str, list[Line]] = {}
    for line in events(node):
        if "sync" in line and line["event"] != "replica_sample":
            found.setdefault(line["sync"], []).append(line)
    return found


def names(lines: list[Line]) -> list[str]:
    return [line["event"] for line in lines]


def one(lines: list[Line], event: str) -> Line:
    (found,) = [line for line in lines if line["event"] == event]
    return found


def sync_cut_and_heal(lab: Lab, mode: str, master_kind: str = "pyrepl", replica_kind: str = "pyrepl") -> list[Node]:
    """A full sync, a link that is cut, a partial one; both nodes have ended then."""
    nodes = []
    for kind in (master_kind, replica_kind):
        own = EVENT_LOG | MODES[mode] if kind == "pyrepl" else {}
        nodes.append(lab.start(kind, directives=own))
    master, replica = nodes
    dataset.fill(master, dataset.commands(SCALE))
    replica.call("REPLICAOF", "127.0.0.1", master.port)
    replica.wait_link_up()
    master.wait_online()
    master.call("SET", "a", "1")
    wait_until("it has it", lambda: replica.offset() == master.offset())
    master.call("CLIENT", "KILL", "TYPE", "replica")
    master.call("SET", "b", "2")
    replica.wait_link_up()
    wait_until("it has that too", lambda: replica.offset() == master.offset())
    wait_until("and says so", lambda: f"offset={master.offset()}" in master.info("replication")["slave0"])
    for node in reversed(nodes):
        assert node.terminate() == 0
    return nodes


@pytest.mark.parametrize("mode", MODES)
def test_both_ends_and_both_logs_tell_one_story(lab: Lab, mode: str) -> None:
    master, replica = sync_cut_and_heal(lab, mode)
    assert_told_in_text(master)
    assert_told_in_text(replica)
    at_master, at_replica = stories(master), stories(replica)
    assert list(at_master) == list(at_replica), "the same two syncs"
    (full, partial), (full_there, partial_there) = at_master.values(), at_replica.values()

    second = SECOND if mode.endswith("channel") else []
    up = ["online", "link_up", "link_down"]
    caught_up = CAUGHT_UP if second else []
    peak = ["buffer_peak"] if "buffer_peak" in names(full_there) else []
    assert names(full_there) == [ASKED[0], *second, ASKED[1], *DELIVERED, *LOADED, *caught_up, *peak, *up]
    told = names(full)
    # With a second channel the replica may have loaded all before its master hears that the sending child has ended.
    assert told.index(DELIVERED[0]) < told.index(DELIVERED[1])
    assert second or told.index(DELIVERED[1]) < told.index("buffer_peak")
    told.remove(DELIVERED[1])
    assert told == [*ASKED, *second, DELIVERED[0], "buffer_peak", "online", "catch_up_ended", "replica_down"]
    assert names(partial_there) == [*ASKED, *up]
    assert names(partial) == [*ASKED, "online", "catch_up_ended", "replica_down"]

    for lines in (full, full_there):
        assert one(lines, "online")["mode"] == mode
        assert one(lines, "psync_decided")["cause"] == "id_mismatch"
        assert one(lines, "psync_decided")["verdict"] == ("two_channels" if second else "full")
    for event, field in (("delivery_started", "snapshot_offset"), ("delivery_ended", "delivered_bytes")):
        assert one(full, event)[field] == one(full_there, event)[field]
    for field in ("replica", "conn", "asked_replid", "asked_offset"):
        assert one(full, "psync_asked")[field] == one(full_there, "psync_asked")[field]
        assert one(partial, "psync_asked")[field] == one(partial_there, "psync_asked")[field]
    assert one(full, "psync_asked")["peer"] == f"127.0.0.1:{replica.port}"
    assert one(full_there, "psync_asked")["peer"] == f"127.0.0.1:{master.port}"
    decided = one(partial, "psync_decided")
    # The record stands at the stream's end of its own moment: a write may have come since the verdict.
    assert 0 <= decided["missing_bytes"] <= decided["offset"] - one(partial, "psync_asked")["asked_offset"]
    assert one(full_there, "load_ended")["keys"] > SCALE // 2

    ended = one(events(master), "snapshot_ended")
    assert ended["written_bytes"] == one(full, "delivery_ended")["delivered_bytes"]
    assert ended["keys"] == one(full_there, "load_ended")["keys"]
    assert ended["snapshot"] == one(full, "delivery_started")["snapshot"]
    assert ended["private_bytes"] > 0
    assert names(events(master))[-1] == names(events(replica))[-1] == "node_stopped"


SAID: Final[dict[str, tuple[str, str, str | None]]] = {
    r"Replica \S+ asks for synchronization": ("psync_asked", "master", None),
    r"Full resync requested by replica \S+ \(cause": ("psync_decided", "master", "full|two_channels"),
    r"Partial resynchronization request from \S+ accepted": ("psync_decided", "master", "continue"),
    r"Synchronization with replica \S+ succeeded": ("online", "master", "full_.*|.*_channel"),
    r"Connection with replica \S+ lost": ("replica_down", "", None),
    r"Trying a partial resynchronization": ("psync_asked", "replica", None),
    r"Full resync from master": ("psync_decided", "replica", "full|two_channels"),
    r"Successful partial resynchronization": ("psync_decided", "replica", "continue"),
    r"Loading DB in memory": ("load_started", "", None),
    r"sync: Finished with success": ("online", "replica", "full_.*|.*_channel"),
    r"Connection with master lost": ("link_down", "", None),
    r"Connecting to MASTER": ("link_connecting", "", None),
    r"Background (RDB transfer|saving) started by pid": ("snapshot_started", "", None),
    r"Background (RDB transfer|saving) terminated with success": ("snapshot_ended", "", None),
}
"""A sentence of the text log, and what the event log has for it: event, end, verdict or mode."""


def at_s(line: str) -> float:
    """When a text line was written, local time of the day in seconds."""
    match = re.search(r" (\d\d):(\d\d):(\d\d\.\d{3}) ", line)
    assert match is not None, line
    return int(match[1]) * 3600 + int(match[2]) * 60 + float(match[3])


def times_of(lines: list[Line], event: str, end: str, word: str | None) -> list[float]:
    shown = []
    for line in lines:
        code = str(line.get("verdict") or line.get("mode"))
        if line["event"] == event and line.get("end", "") == end and (word is None or re.fullmatch(word, code)):
            at = time.localtime(line["at_us"] // 1_000_000)
            shown.append(at.tm_hour * 3600 + at.tm_min * 60 + at.tm_sec + line["at_us"] % 1_000_000 / 1e6)
    return shown


def assert_told_in_text(node: Node) -> None:
    """Each sentence of the text log has its event, and each such event its sentence, at the same time."""
    told, text = events(node), node.log().splitlines()
    for sentence, (event, end, word) in SAID.items():
        said = [at_s(line) for line in text if re.search(sentence, line)]
        known = times_of(told, event, end, word)
        assert len(said) == len(known), f"{node.name}: {sentence}"
        assert all(abs(one - other) < 5.0 for one, other in zip(said, known)), f"{node.name}: {sentence}"


REPLICAS: Final = [("redis7", "full_disk"), ("redis8", "rdb_channel"), ("valkey8", "dual_channel")]


@pytest.mark.parametrize(("kind", "mode"), REPLICAS)
def test_real_replicas_of_ours(lab: Lab, kind: str, mode: str) -> None:
    own = {"dual-channel-replication-enabled": "yes"} if kind == "valkey8" else {}
    master = lab.start("pyrepl", directives=EVENT_LOG | MODES[mode])
    dataset.fill(master, dataset.commands(SCALE, field_ttl=False))
    replica = lab.start(kind, master, directives=own)
    replica.wait_link_up()
    wait_until("it is online", lambda: '"online"' in (master.folder / LOG).read_text())
    assert replica.terminate() == 0
    wait_until("it is gone", lambda: '"replica_down"' in (master.folder / LOG).read_text())
    (story,) = stories(master).values()
    assert one(story, "online")["mode"] == mode
    assert one(story, "delivery_ended")["ok"], "Redis hangs up before the child that wrote the snapshot has ended"
    assert one(story, "psync_asked")["replica"] == f"127.0.0.1:{replica.port}"
    asked = re.search(r"resynchronization \(request ([0-9a-f]{40}):(\d+)", replica.log())
    if asked is not None:
        assert one(story, "psync_asked")["asked_replid"] == asked[1]
        assert one(story, "psync_asked")["asked_offset"] == int(asked[2]) - 1
    if kind == "valkey8":
        assert one(story, "psync_asked")["peer_version"].startswith("8.")


@pytest.mark.parametrize(("kind", "mode"), [("redis7", "full_diskless"), ("redis8", "rdb_channel")])
def test_real_masters_of_ours(lab: Lab, kind: str, mode: str) -> None:
    master = lab.start(kind, directives={"repl-diskless-sync-delay": "0"})
    dataset.fill(master, dataset.commands(SCALE, field_ttl=False))
    if kind == "redis8":
        master.call("CONFIG", "SET", "repl-rdb-channel", "yes")
    if kind == "redis7":
        master.call("CONFIG", "SET", "repl-diskless-sync", "yes")
    replica = lab.start("pyrepl", master, directives=EVENT_LOG | MODES[mode])
    replica.wait_link_up()
    wait_until("it is told", lambda: '"link_up"' in (replica.folder / LOG).read_text())
    (story,) = stories(replica).values()
    assert one(story, "online")["mode"] == mode
    assert one(story, "delivery_started")["snapshot_offset"] == 0
    assert one(story, "psync_asked")["replica"] == f"127.0.0.1:{replica.port}"
    assert "asked_replid" not in one(story, "psync_asked")


def test_an_output_buffer_kill_and_the_size_of_it(lab: Lab) -> None:
    """What the advice on the limit is made of: by how much, in which phase, how far behind."""
    limit = {"client-output-buffer-limit": "replica 1mb 0 0", "repl-backlog-size": "16kb"}
    master = lab.start("pyrepl", directives=EVENT_LOG | MODES["full_diskless"] | limit)
    replica = lab.start("pyrepl", master, directives=EVENT_LOG)
    replica.wait_link_up()
    replica.process.send_signal(19)
    value = "x" * 100_000
    for number in range(400):
        master.call("SET", f"k{number % 3}", value)
    wait_until("it is cut", lambda: '"output_buffer"' in (master.folder / LOG).read_text())
    replica.process.send_signal(18)
    down = next(line for line in events(master) if line["event"] == "replica_down")
    assert (down["phase"], down["cause"], down["detail"], down["by_us"]) == ("online", "output_buffer", "hard", True)
    assert down["output_bytes"] - down["by_bytes"] == 1 << 20
    assert down["lag_bytes"] > 1 << 20
    (line,) = re.findall(r".*overcoming of output buffer limits", master.log())
    assert f" omem={down['output_bytes']} " in line
    replica.wait_link_up()
    wait_until("it is back", lambda: (master.folder / LOG).read_text().count('"event":"online"') == 2)
    again = [line for line in events(master) if line["event"] == "psync_decided"][-1]
    assert again["cause"] == "out_of_backlog" and again["by_bytes"] > 0


def test_a_master_that_is_not_ready_and_one_that_is_gone(lab: Lab, tmp_path: Path) -> None:
    middle = lab.start("pyrepl", directives=EVENT_LOG)
    middle.call("REPLICAOF", "127.0.0.1", 1)
    below = lab.start("pyrepl", middle, directives=EVENT_LOG)
    refused = first(below, "psync_decided")
    assert (refused["verdict"], refused["cause"]) == ("refused", "not_ready")
    there = first(middle, "psync_decided")
    assert (there["verdict"], there["cause"], there["sync"]) == ("refused", "not_ready", refused["sync"])
    gone = first(middle, "link_down")
    assert (gone["phase"], gone["cause"]) == ("connecting", "connect_failed") and "sync" not in gone
    assert first(middle, "retry_planned")["failures"] == 1

"""Records the small real logs in tests/data/logs: runs one topology after another and keeps what its nodes logged.

`python -m tests.peers.recorder FOLDER [NAME...]`. Each scenario becomes a folder under `text` with one log per node,
named as the node, and one under `events` with the event logs of pyrepl's nodes instead; what the nodes themselves
counted (INFO stats), just before their logs were copied, goes to `counted.json`. What happened in each is written by
hand beside them, in README.md and truth.json.
"""

from __future__ import annotations

import json
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from tests.peers.lab import Lab, Node, wait_until

EVENT_LOG: Final = "events.jsonl"
COUNTERS: Final = ("sync_full", "sync_partial_ok", "sync_partial_err")
Story = Callable[[Lab], dict[str, Node]]


def fill(node: Node, keys: int, size: int = 100, prefix: str = "k") -> None:
    """That many strings of that many bytes."""
    with node.connect() as wire:
        for start in range(0, keys, 500):
            batch = [("SET", f"{prefix}:{i}", "x" * size) for i in range(start, min(keys, start + 500))]
            wire.pipeline(batch)


def cut(replica: Node) -> None:
    """The replica drops the connection to its master, and asks again."""
    replica.call("CLIENT", "KILL", "TYPE", "master")


def up(master: Node, *replicas: Node) -> None:
    """Until all have the master's last byte."""
    for replica in replicas:
        replica.wait_link_up()
        what = f"{replica.name} is at the offset of {master.name}"
        wait_until(what, lambda one=replica: one.offset() == master.offset())  # type: ignore[misc]
    online = partial(_all_online, master)
    wait_until(f"{master.name} calls its replicas online", online)


def _all_online(master: Node) -> bool:
    info = master.info("replication")
    return all("state=online" in info[f"slave{i}"] for i in range(int(info["connected_slaves"])))


def partial_and_out(lab: Lab, kind: str, other: str, directives: dict[str, str]) -> dict[str, Node]:
    """First sync, a cut that the backlog covers, and one that it does not."""
    master = _start(lab, kind, directives={"repl-backlog-size": "16kb", **directives})
    fill(master, 3000)
    replica = _start(lab, other, master, directives)
    up(master, replica)
    time.sleep(1.2)
    fill(master, 20, prefix="a")
    up(master, replica)
    cut(replica)
    time.sleep(0.3)
    up(master, replica)
    time.sleep(1.2)
    _away(master, replica, lambda: fill(master, 400, prefix="b"))
    up(master, replica)
    time.sleep(1.2)
    return {"master": master, "replica": replica}


def _away(master: Node, replica: Node, meanwhile: Callable[[], object]) -> None:
    """The replica's process stands still, the master cuts it and goes on; then it comes back."""
    replica.process.send_signal(signal.SIGSTOP)
    master.call("CLIENT", "KILL", "TYPE", "replica")
    meanwhile()
    time.sleep(0.2)
    replica.process.send_signal(signal.SIGCONT)


def failover(lab: Lab, kind: str, directives: dict[str, str]) -> dict[str, Node]:
    """Two replicas; one is promoted, the other follows it, the old master too, which continues by its own stream."""
    old = _start(lab, kind, directives=directives)
    fill(old, 500)
    new, third = (lab.start(kind, old, directives) for _ in range(2))
    up(old, new, third)
    time.sleep(1.2)
    new.call("REPLICAOF", "NO", "ONE")
    third.call("REPLICAOF", "127.0.0.1", new.port)
    up(new, third)
    old.call("REPLICAOF", "127.0.0.1", new.port)
    up(new, third, old)
    fill(new, 20, prefix="c")
    up(new, third, old)
    time.sleep(1.2)
    return {"old": old, "new": new, "third": third}


def output_buffer(lab: Lab, kind: str, other: str, directives: dict[str, str]) -> dict[str, Node]:
    """A replica that stands still is cut for its output buffer, comes back, and the backlog does not reach so far."""
    limits = {"client-output-buffer-limit": "replica 3mb 0 0", "repl-backlog-size": "16kb"}
    master = _start(lab, kind, directives={**limits, **directives})
    fill(master, 1000)
    replica = _start(lab, other, master, directives)
    up(master, replica)
    time.sleep(1.2)
    replica.process.send_signal(signal.SIGSTOP)
    fill(master, 2500, size=10_000, prefix="big")
    wait_until("the replica is cut", lambda: master.info("replication")["connected_slaves"] == "0")
    replica.process.send_signal(signal.SIGCONT)
    up(master, replica)
    time.sleep(1.2)
    return {"master": master, "replica": replica}


def version_loop(lab: Lab, kind: str, other: str, directives: dict[str, str]) -> dict[str, Node]:
    """The replica cannot read the master's snapshots, and asks for the next one at once."""
    master = _start(lab, kind, directives={"repl-diskless-sync-delay": "1", **directives})
    fill(master, 100)
    replica = _start(lab, other, master)
    wait_until("five attempts", lambda: master.stat("sync_full") >= 5)
    replica.call("REPLICAOF", "NO", "ONE")
    time.sleep(0.5)
    return {"master": master, "replica": replica}


def foreign(lab: Lab, kind: str) -> dict[str, Node]:
    """A replica changes to a master of another history, then is told to forget all, then its master goes away."""
    one, other = (lab.start(kind) for _ in range(2))
    fill(one, 100)
    fill(other, 50)
    replica = lab.start(kind, one)
    up(one, replica)
    time.sleep(1.2)
    replica.call("REPLICAOF", "127.0.0.1", other.port)
    up(other, replica)
    time.sleep(1.2)
    other.terminate()
    time.sleep(2.5)
    return {"one": one, "other": other, "replica": replica}


def two_at_once(lab: Lab, kind: str, other: str, directives: dict[str, str]) -> dict[str, Node]:
    """Two replicas that share one snapshot, and a third that comes while it is written: it waits for the next."""
    master = _start(lab, kind, directives={"rdb-key-save-delay": "300", "repl-diskless-sync-delay": "1", **directives})
    fill(master, 5000)
    replicas = [_start(lab, other, master, directives) for _ in range(2)]
    wait_until("a snapshot runs", lambda: master.info("persistence")["rdb_bgsave_in_progress"] == "1")
    time.sleep(0.4)
    replicas.append(_start(lab, other, master, directives))
    up(master, *replicas)
    time.sleep(1.2)
    return {"master": master, **{f"replica{i}": node for i, node in enumerate(replicas, 1)}}


_DISK: Final = {"repl-diskless-sync": "no"}
_SOCKET: Final = {"repl-diskless-sync": "yes"}
_RDB: Final = {"repl-diskless-sync": "yes", "repl-rdb-channel": "yes", "repl-diskless-load": "swapdb"}
_ONE: Final = {"repl-diskless-sync": "yes", "repl-rdb-channel": "no"}
_DUAL: Final = {"repl-diskless-sync": "yes", "dual-channel-replication-enabled": "yes"}

STORIES: Final[dict[str, Story]] = {
    "redis7-disk": partial(partial_and_out, kind="redis7", other="redis7", directives=_DISK),
    "redis7-diskless": partial(partial_and_out, kind="redis7", other="redis7", directives=_SOCKET),
    "redis8-rdb-channel": partial(partial_and_out, kind="redis8", other="redis8", directives=_RDB),
    "redis8-one-channel": partial(partial_and_out, kind="redis8", other="redis8", directives=_ONE),
    "valkey8-dual-channel": partial(partial_and_out, kind="valkey8", other="valkey8", directives=_DUAL),
    "valkey8-disk": partial(partial_and_out, kind="valkey8", other="valkey8", directives=_DISK),
    "redis7-failover": partial(failover, kind="redis7", directives={}),
    "redis8-failover": partial(failover, kind="redis8", directives={}),
    "redis7-output-buffer": partial(output_buffer, kind="redis7", other="redis7", directives={}),
    "valkey8-output-buffer": partial(output_buffer, kind="valkey8", other="valkey8", directives={}),
    "redis8-to-redis7-loop": partial(version_loop, kind="redis8", other="redis7", directives={}),
    "valkey8-to-redis7-loop": partial(version_loop, kind="valkey8", other="redis7", directives={}),
    "redis7-foreign": partial(foreign, kind="redis7"),
    "redis7-two-at-once": partial(two_at_once, kind="redis7", other="redis7", directives=_SOCKET),
    "redis8-two-at-once": partial(two_at_once, kind="redis8", other="redis8", directives=_RDB),
    "pyrepl-to-redis8": partial(partial_and_out, kind="pyrepl", other="redis8", directives=_RDB),
    "pyrepl-to-redis7": partial(partial_and_out, kind="pyrepl", other="redis7", directives=_DISK),
    "pyrepl-to-valkey8": partial(partial_and_out, kind="pyrepl", other="valkey8", directives=_DUAL),
    "redis8-to-pyrepl": partial(partial_and_out, kind="redis8", other="pyrepl", directives=_RDB),
    "valkey8-to-pyrepl": partial(partial_and_out, kind="valkey8", other="pyrepl", directives=_DUAL),
    "pyrepl-pair": partial(partial_and_out, kind="pyrepl", other="pyrepl", directives=_RDB),
    "pyrepl-output-buffer": partial(output_buffer, kind="pyrepl", other="redis7", directives={}),
}


def record(name: str, folder: Path) -> dict[str, dict[str, int]]:
    """Run one scenario and keep its logs; what each node counted, by its name."""
    with tempfile.TemporaryDirectory() as rough, Lab(Path(rough)) as lab:
        nodes = STORIES[name](lab)
        counted = {label: _counters(node) for label, node in nodes.items() if node.alive()}
        shutil.rmtree(folder / "text" / name, ignore_errors=True)
        (folder / "text" / name).mkdir(parents=True)
        for label, node in nodes.items():
            shutil.copy(node.log_path, folder / "text" / name / f"{label}.log")
        if any(node.kind == "pyrepl" for node in nodes.values()):
            _keep_events(nodes, folder / "events" / name)
    return counted


def _keep_events(nodes: dict[str, Node], folder: Path) -> None:
    """The same run once more: of pyrepl's nodes the event log, of others the text log."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for label, node in nodes.items():
        if node.kind == "pyrepl":
            shutil.copy(node.folder / EVENT_LOG, folder / f"{label}.jsonl")
        else:
            shutil.copy(node.log_path, folder / f"{label}.log")


def _start(lab: Lab, kind: str, master: Node | None = None, directives: Mapping[str, str] | None = None) -> Node:
    """A node; pyrepl's with an event log, a sample each second."""
    own = {"event-log": EVENT_LOG, "event-log-sample-period": "1"} if kind == "pyrepl" else {}
    return lab.start(kind, master, {**own, **(directives or {})})


def _counters(node: Node) -> dict[str, int]:
    stats = node.info("stats")
    return {name: int(stats[name]) for name in COUNTERS}


def main(folder: str, *names: str) -> None:
    kept = Path(folder) / "counted.json"
    for name in names or STORIES:
        counted = json.loads(kept.read_text()) if kept.exists() else {}
        counted[name] = record(name, Path(folder))
        kept.write_text(json.dumps(counted, indent=1, sort_keys=True) + "\n")
        print(name, counted[name], flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])

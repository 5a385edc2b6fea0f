"""An event log that cannot be written: the node goes on, says so, and nothing but what had no room is missing."""

from __future__ import annotations

import json
from itertools import cycle
from pathlib import Path
from typing import Any

import psutil

from tests.peers.lab import Lab, Node, wait_until

LOG = "events.jsonl"


def lines(node: Node) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (node.folder / LOG).read_text().splitlines()]


def status(node: Node) -> str:
    return node.info("persistence")["event_log_last_write_status"]


def limit_files(node: Node, size_bytes: int) -> None:
    """The node can make no file longer than this; -1: no limit any more."""
    psutil.Process(node.process.pid).rlimit(psutil.RLIMIT_FSIZE, (size_bytes, psutil.RLIM_INFINITY))


def resize(node: Node, times: int) -> None:
    """So many events."""
    for size in range(2, 2 + times):
        node.call("CONFIG", "SET", "repl-backlog-size", f"{size}mb")


def test_a_full_disk_and_room_again(lab: Lab) -> None:
    node = lab.start("pyrepl", directives={"event-log": LOG, "event-log-sample-period": "1"})
    node.wait_ready()
    resize(node, 10)
    # The limit is for all files of the node: its own log has to stay below.
    event_log = node.folder / LOG
    wait_until("the event log is the longer file", lambda: event_log.stat().st_size > len(node.log()) + 1000)
    limit_files(node, event_log.stat().st_size + 100)
    resize(node, 10)
    wait_until("it is noticed", lambda: status(node) == "err")
    assert node.call("SET", "a", "1") == "OK"
    node.wait_log("The event log cannot be written: File too large.")
    whole = event_log.read_bytes()
    assert whole.endswith(b"\n") and all(json.loads(line) for line in whole.splitlines())
    limit_files(node, -1)
    wait_until("it is written again", lambda: status(node) == "ok")
    node.wait_log("The event log is written again")
    assert node.terminate() == 0
    told = lines(node)
    assert [line["seq"] for line in told] == list(range(1, len(told) + 1)), "what had to wait is there, in its place"
    assert sum(line["event"] == "backlog_resized" for line in told) == 20
    assert told[-1]["event"] == "node_stopped"


def test_a_folder_that_goes_away_and_comes_back(lab: Lab) -> None:
    (lab.folder / "home" / "logs").mkdir(parents=True)
    node = lab.start("pyrepl", directives={"event-log": f"logs/{LOG}"}, folder=lab.folder / "home")
    away = node.folder / "away"
    (node.folder / "logs").rename(away)
    node.call("CONFIG", "SET", "repl-backlog-size", "2mb")
    wait_until("it is noticed", lambda: status(node) == "err")
    (node.folder / "logs").mkdir()
    wait_until("it is written again", lambda: status(node) == "ok")
    node.terminate()
    first = [json.loads(line) for line in (away / LOG).read_text().splitlines()]
    then = [json.loads(line) for line in (node.folder / "logs" / LOG).read_text().splitlines()]
    assert [line["seq"] for line in [*first, *then]] == list(range(1, len(first) + len(then) + 1))


def test_killed_in_the_middle_of_everything(lab: Lab) -> None:
    """kill -9: what was written is whole lines, and the next run goes on behind them."""
    node = lab.start("pyrepl", directives={"event-log": LOG, "event-log-max-bytes": "2kb", "event-log-keep": "0"})
    sizes = cycle(range(2, 40))

    def full_files() -> list[Path]:
        """The files whose names have the time in them, after one line more."""
        node.call("CONFIG", "SET", "repl-backlog-size", f"{next(sizes)}mb")
        return sorted(node.folder.glob("events.*.jsonl"))

    wait_until("there are four full ones, while lines still come", lambda: len(full_files()) > 3, every_s=0.0)
    node.kill()
    files = sorted(node.folder.glob("events.*.jsonl"))
    assert max(path.stat().st_size for path in files) <= 2048
    told = [json.loads(line) for path in files for line in path.read_text().splitlines()]
    if (node.folder / LOG).exists():  # it may have been renamed just then
        told += lines(node)
    assert [line["seq"] for line in told] == list(range(1, len(told) + 1))
    assert told[-1]["event"] != "node_stopped"


def test_a_file_that_cannot_be_opened_ends_the_start(lab: Lab) -> None:
    node = lab.launch("pyrepl", directives={"event-log": "no/such/folder/events.jsonl"})
    wait_until("it has ended", lambda: not node.alive())
    assert node.process.returncode == 1
    assert "Can't open the event log" in node.log() and "No such file or directory" in node.log()

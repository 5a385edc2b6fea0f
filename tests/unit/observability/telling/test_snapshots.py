"""What is told of a child that writes a snapshot: to a file, to sockets, and how it may fail."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from pyrepl.observability.event import Event
from pyrepl.observability.eventlog.record import Record
from pyrepl.observability.telling.snapshots import SnapshotTeller
from pyrepl.observability.telling.voice import Voice


@dataclass
class End:
    error: str = ""
    signal: int = 0
    is_unwanted: bool = False
    seconds: float = 1.5
    cow_bytes: int = 4096
    keys: int = 7
    written_bytes: int = 77


CASES = [
    ("disk", End(), ["Background saving terminated with success"]),
    ("disk", End("no room"), ["Write error saving DB on disk(child): no room", "Background saving error"]),
    (
        "disk",
        End("died", 11),
        ["Write error saving DB on disk(child): died", "Background saving terminated by signal 11"],
    ),
    ("disk", End("flushed", 9, True), ["Background saving terminated by signal 9"]),
    (
        "socket",
        End(),
        [
            "Diskless rdb transfer, done reading from pipe, 2 replicas still up.",
            "Background RDB transfer terminated with success",
        ],
    ),
    ("socket", End("no room"), ["Write error saving DB on disk(socket): no room", "Background transfer error"]),
    ("socket", End("gone", 9, True), ["Background transfer terminated by signal 9"]),
]


@pytest.mark.parametrize(("target", "end", "lines"), CASES)
def test_an_ending_is_told_to_both_logs(target: str, end: End, lines: list[str]) -> None:
    said: list[Event] = []
    told: list[Record] = []
    teller = SnapshotTeller(Voice(said.append, told.append))
    teller.started("replicas", target, 123, 9, 50, 1000)
    said.clear()
    teller.ended(end, 2)
    assert [line.text() for line in said] == lines
    values = told[-1].field_values()
    assert (values["snapshot"], values["purpose"], values["target"]) == (1, "replicas", target)
    assert (values["ok"], values.get("signal"), values.get("error")) == (
        not end.error,
        end.signal or None,
        end.error or None,
    )
    assert (values["snapshot_ms"], values["keys"], values["private_bytes"]) == (1500, 7, 4096)


def test_a_beginning_is_told_to_both_logs_and_numbered() -> None:
    said: list[Event] = []
    told: list[Record] = []
    teller = SnapshotTeller(Voice(said.append, told.append))
    assert teller.started("bgsave", "disk", 123, 9, 50, 1000) == 1
    assert teller.started("replicas", "socket", 124, 9, 50, 1000) == 2
    assert [line.text() for line in said] == [
        "Background saving started by pid 123",
        "Background RDB transfer started by pid 124",
    ]
    assert told[1].field_values() == {
        "snapshot": 2,
        "purpose": "replicas",
        "target": "socket",
        "child_pid": 124,
        "keys": 9,
        "fork_us": 50,
        "snapshot_offset": 1000,
    }

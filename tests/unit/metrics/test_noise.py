"""What speaks of replication is a sentence, or known to tell nothing, or told to the user."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from pyrepl.metrics.noise import NOISE, SPEAKS
from pyrepl.metrics.textlines import parse
from pyrepl.observability import events
from pyrepl.observability.event import Event, Level
from tests.unit.metrics.conftest import LOGS

AT = "21 Nov 2026 11:09:41.858"
ID = "a" * 40
_WORDS = {
    "replid": ID, "replid2": ID, "fork_offset": "9", "reason": "first", "cause": "timeout", "target": "disk",
    "dialect": "redis", "where": "disk", "what": "full sync", "phase": "transfer",
}  # fmt: skip


def unknown(*messages: str, level: str = "*") -> list[str]:
    lines = [f"1:S {AT} {level} {message}" for message in messages]
    return [messages[place] for place in parse(pa.array(lines, pa.string())).unknown]


def _ours() -> list[type[Event]]:
    found = [kind for _, kind in inspect.getmembers(events, inspect.isclass) if issubclass(kind, Event)]
    return [kind for kind in found if kind is not Event and kind.LEVEL in (Level.NOTICE, Level.WARNING)]


@pytest.mark.parametrize("kind", _ours(), ids=lambda kind: kind.__name__)
def test_what_pyrepl_says_itself_is_known(kind: type[Event]) -> None:
    types = inspect.get_annotations(kind)
    said = kind.TEXT
    if kind is events.ReplicaTimedOut:
        said = said.replace("{phase}", "full sync")
    for name in re.findall(r"\{(\w+)", said):
        word = _WORDS.get(name, "9" if "int" in str(types.get(name)) else "10.0.0.2:6379")
        said = re.sub(rf"\{{{name}[^}}]*\}}", word, said)
    assert unknown(said) == []


@pytest.mark.parametrize("path", sorted((LOGS / "text").rglob("*.log")), ids=lambda path: "/".join(path.parts[-2:]))
def test_nothing_of_the_real_logs_is_unknown(path: Path) -> None:
    assert parse(pa.array(path.read_text().splitlines(), pa.string())).unknown == []


def test_a_line_that_is_worded_anew_is_told() -> None:
    """The first of each pair is what servers say, the second what they might say one day."""
    for known, anew in (
        ("Partial resynchronization request from 10.0.0.1:1 accepted. Sending 12 bytes of backlog starting from offset "
         "1.", "Partial resync request of 10.0.0.1:1 was accepted, 12 bytes follow"),
        ("MASTER <-> REPLICA sync: Finished with success", "MASTER <-> REPLICA sync: Finished in 12 ms"),
        ("Connection with replica 10.0.0.1:1 lost.", "Connection with replica 10.0.0.1:1 was lost"),
        (f"Full resync from master: {ID}:9", f"Full resync from master: {ID}"),
    ):  # fmt: skip
        assert unknown(known, anew) == [anew]


def test_what_does_not_concern_operators_or_replication_is_ignored() -> None:
    assert unknown("Ready to accept connections tcp", "100 changes in 300 seconds. Saving...") == []
    for level in ".-":
        assert unknown("The primary hummed a song", level=level) == []
    assert unknown("The primary hummed a song") == ["The primary hummed a song"]


def test_who_speaks_may_stand_before_it() -> None:
    """Valkey 9 says so; on two channels the partial resync is a step of a full one."""
    lines = [
        f"1:S {AT} * Dual channel replication: PSYNC is not possible, initialize RDB channel.",
        f"1:S {AT} * Dual channel replication: PRIMARY <-> REPLICA sync: Primary accepted a Partial Resynchronization.",
        f"1:S {AT} * PRIMARY <-> REPLICA sync: Primary accepted a Partial Resynchronization.",
        f"1:S {AT} * Replica bio thread: PRIMARY <-> REPLICA sync: receiving 55 bytes from primary to disk",
    ]
    parsed = parse(pa.array(lines, pa.string()))
    kinds = sorted((row["event"], row["mode"]) for row in parsed.events.to_pylist())
    assert kinds == [("delivery_started", "full_disk"), ("online", "continue"), ("psync_decided", None)]
    assert parsed.unknown == []


def test_the_expressions_are_sound() -> None:
    for pattern in (SPEAKS, NOISE):
        assert pc.match_substring_regex(pa.array(["nothing"]), pattern).to_pylist() == [False]

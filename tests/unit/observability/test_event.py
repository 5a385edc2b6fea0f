"""The base of events: levels, fields and sentences."""

from __future__ import annotations

import pytest

from pyrepl.observability.event import Level, one_line, snake_case
from pyrepl.observability.events import (
    ReplicaAsksForSync,
    ReplicaLost,
    SyncProgress,
    UnknownStreamCommand,
)


def test_marks_of_the_levels() -> None:
    assert [level.mark for level in Level if level is not Level.NOTHING] == [".", "-", "*", "#"]


def test_levels_by_the_directive() -> None:
    assert Level.named("verbose") is Level.VERBOSE
    assert Level.named("nothing") > Level.WARNING
    with pytest.raises(KeyError):
        Level.named("loud")


def test_numbers_are_formatted_for_people_and_kept_as_they_are() -> None:
    event = SyncProgress(512, 1024, 50.0, 99, 5)
    assert event.text() == "MASTER <-> REPLICA sync: 512 of 1024 bytes (50.0%), 99 bytes/s, about 5 s left"
    assert event.field_values()["percent"] == 50.0


def test_what_a_peer_chose_cannot_break_the_line() -> None:
    event = UnknownStreamCommand("evil\n1:M 01 Jan 2030 fake\x1b[2J", 12, skipped=False)
    assert "\n" not in event.text() and "\x1b" not in event.text()
    assert r"evil\n1:M" in event.text()


def test_braces_in_a_field_are_text() -> None:
    assert "{pid}" in ReplicaAsksForSync("{pid}").text()


def test_one_line_keeps_printable_text() -> None:
    assert one_line("prix: 5 €") == "prix: 5 €"
    assert one_line("a\r\nb\x00\ud800") == r"a\r\nb\x00\ud800"


@pytest.mark.parametrize(("name", "expected"), [("ByeBye", "bye_bye"), ("ReplicaLost", "replica_lost")])
def test_snake_case(name: str, expected: str) -> None:
    assert snake_case(name) == expected


def test_records_are_made_compared_and_left_alone() -> None:
    lost = ReplicaLost("10.0.0.1:7", cause="timeout")
    assert lost == ReplicaLost("10.0.0.1:7", "timeout") != ReplicaLost("10.0.0.1:7", "forced")
    assert repr(lost) == "ReplicaLost(replica='10.0.0.1:7', cause='timeout')"
    assert len({lost, ReplicaLost("10.0.0.1:7", "timeout")}) == 1
    with pytest.raises(AttributeError, match="does not change"):
        lost.cause = "forced"  # type: ignore[misc]


@pytest.mark.parametrize("values", [(), ("a",), ("a", "b", "c")])
def test_records_want_all_their_fields(values: tuple[str, ...]) -> None:
    with pytest.raises(TypeError, match="takes replica, cause"):
        ReplicaLost(*values)

"""The base of the event log's records, and the line that one becomes."""

from __future__ import annotations

import json

import pytest

from pyrepl.observability.eventlog.record import MAX_TEXT, encode_line
from pyrepl.observability.eventlog.records import LinkConnecting, LinkDown, NodeStopped


def test_records_are_made_compared_and_left_alone() -> None:
    down = LinkDown("m:1", "handshake", cause="timeout", up_ms=None)
    assert down == LinkDown("m:1", "handshake", "timeout") != LinkDown("m:1", "handshake", "timeout", up_ms=0)
    assert repr(down) == "LinkDown(peer='m:1', phase='handshake', cause='timeout')"
    assert len({down, LinkDown("m:1", "handshake", "timeout")}) == 1
    with pytest.raises(AttributeError, match="does not change"):
        down.cause = "forced"  # type: ignore[misc]


def test_what_is_not_known_is_left_out() -> None:
    down = LinkDown("m:1", "stream", "timeout", by_bytes=0)
    assert down.sync is None
    assert down.field_values() == {"peer": "m:1", "phase": "stream", "cause": "timeout", "by_bytes": 0}


@pytest.mark.parametrize("values", [{}, {"peer": "m:1"}, {"peer": "m:1", "attempt": 1, "color": "red"}])
def test_records_want_all_their_fields_but_the_optional_ones(values: dict[str, object]) -> None:
    with pytest.raises(TypeError, match="takes peer, attempt"):
        LinkConnecting(**values)  # type: ignore[arg-type]


def test_a_line_is_one_json_object() -> None:
    line = encode_line({"v": 1, "node": "n"}, LinkConnecting("m:1", 3))
    assert line == b'{"v":1,"node":"n","event":"link_connecting","peer":"m:1","attempt":3}\n'
    assert json.loads(encode_line({}, NodeStopped(1.5))) == {"event": "node_stopped", "uptime_s": 1.5}


def test_what_a_peer_chose_cannot_break_the_line() -> None:
    line = encode_line({}, LinkConnecting('evil"}\n{"event":"x\x1b\ud800é', 1))
    assert line.isascii() and line.count(b"\n") == 1
    assert json.loads(line)["peer"] == 'evil"}\n{"event":"x\x1b\\ud800é'
    assert len(json.loads(encode_line({}, LinkConnecting("x" * 10_000, 1)))["peer"]) == MAX_TEXT

"""Commands on elements: what they answer and propagate. Corner cases are compared in tests/property."""

from __future__ import annotations

from typing import Any

import pytest

from pyrepl.commands.vectors import vector_sets
from tests.unit.commands.desk import Desk


def said(desk: Desk, line: str) -> Any:
    return desk.say(line)


@pytest.fixture
def desk() -> Desk:
    desk = Desk(vector_sets)
    assert desk.say("VADD k VALUES 2 3 4 a SETATTR {}") is True
    assert desk.say("VADD k VALUES 2 4 3 b") is True
    desk.sent()
    return desk


def test_what_changes_propagates_as_it_is(desk: Desk) -> None:
    assert desk.say("VADD k VALUES 2 1 1 b") is False
    assert desk.say("VSETATTR k a x") is True
    assert desk.say("VSETATTR k nosuch x") is False
    assert desk.say("VREM k nosuch") is False
    assert desk.say("VREM k b") is True
    assert desk.sent() == ["VADD k VALUES 2 1 1 b", "VSETATTR k a x", "VREM k b"]


def test_reading(desk: Desk) -> None:
    assert desk.say("VCARD k") == 2
    assert desk.say("VDIM k") == 2
    assert desk.say("VGETATTR k a") == b"{}"
    assert desk.say("VGETATTR k b") is None
    assert desk.say("VISMEMBER k a") is True
    assert desk.say("VEMB k a") == pytest.approx([3, 4], abs=0.02)
    assert desk.say("VLINKS k a") == [[b"b"]]
    (scores,) = said(desk, "VLINKS k a WITHSCORES")
    assert scores[b"b"] == pytest.approx(0.98, abs=0.01)
    assert sorted(said(desk, "VRANDMEMBER k 5")) == [b"a", b"b"]
    assert desk.say("VRANDMEMBER k") in (b"a", b"b")
    assert len(said(desk, "VRANDMEMBER k -7")) == 7
    assert desk.say("VRANGE k - +") == [b"a", b"b"]
    assert desk.say("VRANGE k (a + 1") == [b"b"]


def test_what_is_stored_is_shown_raw(desk: Desk) -> None:
    raw = said(desk, "VEMB k a RAW")
    assert [raw[0].text, *raw[1:]] == [b"int8", b"\x5f\x7f", 5.0, pytest.approx(0.8)]
    desk.say("VADD f VALUES 1 2 a NOQUANT")
    assert len(said(desk, "VEMB f a RAW")) == 3


def test_about_a_set(desk: Desk) -> None:
    desk.say("VADD short REDUCE 1 VALUES 3 1 1 1 e M 8 BIN")
    about = {field.text: shown for field, shown in said(desk, "VINFO short").items()}
    uid = about.pop(b"vset-uid")
    assert uid != {field.text: shown for field, shown in said(desk, "VINFO k").items()}[b"vset-uid"]
    assert about.pop(b"quant-type").text == b"bin"
    assert about == {
        b"hnsw-m": 8,
        b"vector-dim": 1,
        b"projection-input-dim": 3,
        b"size": 1,
        b"max-level": 0,
        b"attributes-count": 0,
        b"hnsw-max-node-uid": 1,
    }


def test_what_is_missing(desk: Desk) -> None:
    assert desk.encoded("VINFO", "no") == b"*-1\r\n"
    assert desk.say("VCARD no") == 0
    assert desk.error("VDIM no") == "ERR key does not exist"
    assert desk.say("VRANDMEMBER no 3") == [] and desk.say("VRANDMEMBER no") is None


def test_errors(desk: Desk) -> None:
    assert desk.error("VRANDMEMBER k x") == "ERR COUNT value is not an integer"
    assert desk.error("VRANDMEMBER k -20000000") == "ERR value is out of range"
    assert desk.error("VRANGE k + -").startswith("ERR '-' can only be used as first argument")
    assert desk.error("VLINKS k a x") == "ERR wrong number of arguments for 'VLINKS' command"
    assert desk.error("VEMB k a x") == "ERR invalid option"

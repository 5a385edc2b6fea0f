"""What VSIM answers, in both protocols."""

from __future__ import annotations

import pytest

from pyrepl.commands.vectors import vector_searches, vector_sets
from tests.unit.commands.desk import Desk


@pytest.fixture
def desk() -> Desk:
    desk = Desk(vector_sets, vector_searches)
    for number in range(5):
        desk.say(f'VADD k VALUES 2 10 {number} e{number} SETATTR {{"n":{number}}}')
    return desk


def test_names_alone(desk: Desk) -> None:
    assert desk.say("VSIM k VALUES 2 10 0") == [b"e0", b"e1", b"e2", b"e3", b"e4"]
    assert desk.say("VSIM k ELE e4 COUNT 2") == [b"e4", b"e3"]
    assert desk.say("VSIM k VALUES 2 10 0 FILTER .n>2") == [b"e3", b"e4"]
    assert desk.say("VSIM k VALUES 2 10 0 FILTER .n>2 FILTER-EF 4") == [b"e3"]
    assert desk.say("VSIM k VALUES 2 10 0 EPSILON 0.004") == [b"e0", b"e1"]
    assert desk.say("VSIM nosuch VALUES x") == []


def test_any_count_is_taken(desk: Desk) -> None:
    most = 2**63 - 1
    assert len(desk.say(f"VSIM k VALUES 2 10 0 COUNT {most}")) == 5  # type: ignore[arg-type]
    assert desk.say(f"VSIM k VALUES 2 10 0 COUNT {most} FILTER .n>3") == [b"e4"]
    assert desk.say(f"VSIM k VALUES 2 10 0 FILTER .n>3 FILTER-EF {most}") == [b"e4"]


def test_scores_and_attributes(desk: Desk) -> None:
    flat = desk.say("VSIM k VALUES 2 10 0 COUNT 1 WITHSCORES WITHATTRIBS")
    assert flat == [b"e0", 1.0, b'{"n":0}']
    desk.client.speak(3)
    assert desk.say("VSIM k VALUES 2 10 0 COUNT 1 WITHSCORES WITHATTRIBS") == {b"e0": [1.0, b'{"n":0}']}
    assert desk.say("VSIM k VALUES 2 10 0 COUNT 1 WITHSCORES") == {b"e0": 1.0}
    assert desk.say("VSIM k VALUES 2 10 0 COUNT 1") == [b"e0"]


def test_errors(desk: Desk) -> None:
    assert desk.error("VSIM k ELE nosuch") == "ERR element not found in set"
    assert desk.error("VSIM k VALUES 3 1 1 1") == "ERR Vector dimension mismatch - got 3 but set has 2"
    assert desk.error("VSIM k XX 1") == "ERR invalid vector specification"

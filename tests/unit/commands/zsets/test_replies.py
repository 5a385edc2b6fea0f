"""The shapes of members with scores."""

from __future__ import annotations

from pyrepl.commands.zsets import zsets
from pyrepl.commands.zsets.replies import flat_scores, scored_reply
from tests.unit.commands.desk import Desk


def test_shapes() -> None:
    desk = Desk(zsets)
    entries = [(1.5, b"a"), (2.0, b"b")]
    call = desk.dispatcher.call_for(desk.connect(proto=2))
    assert scored_reply(call, entries) == flat_scores(entries) == [b"a", b"1.5", b"b", b"2"]
    newer = desk.dispatcher.call_for(desk.connect(proto=3))
    assert scored_reply(newer, entries) == [(b"a", 1.5), (b"b", 2.0)]

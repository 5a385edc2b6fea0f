"""A place in a stream, there and back through the fields of a snapshot."""

from __future__ import annotations

import pytest

from pyrepl.replication.stream_place import StreamPlace, stated_db, stated_place
from pyrepl.units import Offset, ReplId

PLACE = StreamPlace(ReplId("a" * 40), Offset(57), 3)


def test_there_and_back() -> None:
    assert stated_place(dict(PLACE.fields()), 16) == PLACE


@pytest.mark.parametrize("field, value", [(b"repl-id", b"short"), (b"repl-id", b"\xff" * 40), (b"repl-offset", b"-1")])
def test_what_cannot_be_read_is_no_place(field: bytes, value: bytes) -> None:
    assert stated_place({**dict(PLACE.fields()), field: value}, 16) is None
    assert stated_place({}, 16) is None


@pytest.mark.parametrize("text, db", [(b"3", 3), (b"15", 15), (b"16", 0), (b"-1", 0), (b"x", 0), (b"", 0)])
def test_a_database_that_is_not_there_is_the_first(text: bytes, db: int) -> None:
    assert stated_db({b"repl-stream-db": text}, 16) == db
    assert stated_db({}, 16) == 0

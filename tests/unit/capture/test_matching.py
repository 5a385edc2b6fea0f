"""Which rows `--match` takes."""

from __future__ import annotations

from pyrepl.capture.matching import Matching
from pyrepl.changes.batches import Row


def test_without_a_pattern_all_are_taken() -> None:
    assert Matching().takes(Row("keys", "", 1, 0, None))


def test_by_key() -> None:
    users = Matching("user:*")
    assert users.takes(Row("keys", "", 1, 0, [0, "user:7", "hset"]))
    assert not users.takes(Row("keys", "", 1, 0, [0, "order:7", "user:"]))
    assert not users.takes(Row("keys", "", 1, 0, [0, None, "flushdb"]))
    assert Matching("é?").takes(Row("keys", "", 1, 0, [0, "éx", "set"]))
    assert Matching("\udcff*").pattern == b"\xff*", "a byte of the command line that is no text"

"""Rows as records: the same columns whatever the bytes of a key."""

from __future__ import annotations

import pytest

from pyrepl.capture.records import columns_of, names_in, record_of
from pyrepl.changes.batches import Row
from pyrepl.changes.rows import Json

BINARY: Json = {"base64": "/w=="}


def record(stream: str, data: Json) -> dict[str, Json]:
    return record_of(Row(stream, "", 54, 2, data), columns_of(stream))


def test_keys() -> None:
    place = {"token": 54, "part": 2}
    plain = place | {"db": 0, "key": "user:7", "key_base64": None, "command": "hset"}
    assert record("keys", [0, "user:7", "hset"]) == plain
    assert record("keys", [3, BINARY, "del"]) == place | {"db": 3, "key": None, "key_base64": "/w==", "command": "del"}
    assert record("keys", [3, None, "flushdb"])["key"] is None


def test_commands() -> None:
    found = record("commands", [0, ["set", "a", BINARY]])
    assert (found["words"], found["words_base64"]) == (["set", "a", None], [None, None, "/w=="])
    assert record("commands", [0, ["set", "a", "b"]])["words_base64"] is None


def test_caches_and_others() -> None:
    assert record("caches", ["f", ["k"], 5]) == {"token": 54, "part": 2, "cache": "f", "keys": ["k"], "at_ms": 5}
    assert record("orders", {"id": 1}) == {"token": 54, "part": 2, "row": {"id": 1}}


@pytest.mark.parametrize("data", [None, 5, [], {}, [0], [0, 5], [0, {"x": 1}, "del"]])
def test_rows_of_another_shape_are_kept_as_far_as_can_be(data: Json) -> None:
    for stream in ("keys", "commands", "caches"):
        assert record(stream, data)["token"] == 54


def test_names() -> None:
    def names(stream: str, data: Json) -> list[str]:
        return names_in(Row(stream, "", 1, 0, data))

    assert names("keys", [0, "user:7", "hset"]) == ["user:7"]
    assert names("commands", [0, ["mset", "a", "1", "b", "2"]]) == ["a", "1", "b", "2"]
    assert names("caches", ["f", ["k", "l"], 5]) == ["f", "k", "l"]
    assert names("caches", ["f", None, 5]) == ["f"]
    assert names("orders", {"id": 1, "who": ["x", {"y": "z"}]}) == ["x", "z"]
    assert names("keys", None) == []

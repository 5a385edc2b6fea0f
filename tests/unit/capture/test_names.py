"""File names say which tokens they hold, and where to go on."""

from __future__ import annotations

import pytest

from pyrepl.capture.names import FolderError, Span, finished, finished_name, is_part, part_name, place_of, safe
from pyrepl.changes.place import Place

REPLID = "8371445ee67f9ab1c2d3e4f5061728394a5b6c7d"


def test_names_and_back() -> None:
    names = [
        finished_name("keys", 5021, Place(5174, REPLID), "jsonl"),
        finished_name("keys", 0, Place(5021), "parquet"),
        finished_name("key-events", 0, Place(9), "jsonl"),
    ]
    assert names[0] == f"keys-{5021:024d}-{5174:024d}-{REPLID}.jsonl"
    assert finished(names, "keys") == [Span(names[1], 0, 5021, ""), Span(names[0], 5021, 5174, REPLID)]
    assert finished(names, "key-events") == [Span(names[2], 0, 9, "")]
    assert finished(names, "events") == []
    assert finished(names, "keys")[1].place == Place(5174, REPLID)


def test_others_are_left_alone() -> None:
    part = part_name("keys", 5021, "jsonl")
    assert part == f".keys-{5021:024d}.jsonl.part"
    assert is_part(part, "keys")
    assert not is_part(part, "key")
    assert not is_part(part.removeprefix("."), "keys")
    names = [part, "keys.jsonl", "notes.txt", ".keys.token", "keys-1-2.jsonl", "_SUCCESS"]
    assert finished(names, "keys") == []


def test_a_stream_with_any_name() -> None:
    assert safe("a/b.c") == "a%2fb%2ec"
    assert finished([finished_name("../x", 1, Place(2), "jsonl")], "../x")[0].last == 2
    assert "/" not in part_name("../x", 1, "jsonl")


def test_two_captures_in_one_folder() -> None:
    names = [finished_name("keys", 0, Place(10), "jsonl"), finished_name("keys", 5, Place(20), "jsonl")]
    with pytest.raises(FolderError, match=r"00010\.jsonl and keys-.*hold the same tokens.*a folder of its own"):
        finished(names, "keys")


def test_where_to_go_on() -> None:
    spans = finished([finished_name("keys", 5, Place(10, REPLID), "jsonl")], "keys")
    assert place_of([], None) is None
    assert place_of([], Place(3)) == Place(3)
    assert place_of(spans, None) == Place(10, REPLID)
    assert place_of(spans, Place(3, "older")) == Place(10, REPLID), "killed before the token was saved"
    assert place_of(spans, Place(12, "newer")) == Place(12, "newer"), "no rows since"

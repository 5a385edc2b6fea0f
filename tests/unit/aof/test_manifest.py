"""The manifest: what Redis writes is read, what cannot be is refused with its line."""

from __future__ import annotations

import pytest

from pyrepl.aof.manifest import Entry, FileType, Manifest, parse, render
from pyrepl.errors import CorruptData

REDIS_7 = b"""file appendonly.aof.2.base.rdb seq 2 type b
file appendonly.aof.1.incr.aof seq 1 type h
file appendonly.aof.2.incr.aof seq 2 type i
"""


def test_what_redis_7_writes_is_read_and_written_back() -> None:
    manifest = parse(REDIS_7)
    assert manifest.base == Entry("appendonly.aof.2.base.rdb", 2, FileType.BASE)
    assert [entry.name for entry in manifest.loaded] == ["appendonly.aof.2.base.rdb", "appendonly.aof.2.incr.aof"]
    assert (manifest.next_base_seq, manifest.next_incr_seq) == (3, 3)
    assert render(manifest) == REDIS_7


def test_remarks_and_the_offsets_of_redis_8_are_skipped() -> None:
    text = b"# remark\nfile a.1.incr.aof seq 1 type i startoffset 0 endoffset 7\n"
    assert parse(text) == Manifest(incrs=(Entry("a.1.incr.aof", 1, FileType.INCR),))


def test_an_empty_one_counts_from_one() -> None:
    assert (Manifest().next_base_seq, Manifest().next_incr_seq, Manifest().loaded) == (1, 1, ())


@pytest.mark.parametrize("name", ["a b.aof", 'a"b', "a\\b", "a'b"])
def test_odd_names_are_quoted(name: str) -> None:
    manifest = Manifest(base=Entry(name, 1, FileType.BASE))
    assert parse(render(manifest)) == manifest


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (b"", "empty"),
        (b"file a seq 1 type b", "line 1: .*no end"),
        (b"# x\nfile a seq 1\n", "line 2: not `file"),
        (b'file "a seq 1 type b\n', "line 1: not `file"),
        (b"file ../a seq 1 type b\n", "is a path"),
        (b"file a seq x type b\n", "seq is 'x'"),
        (b"file a seq 0 type b\n", "seq is '0'"),
        (b"file a seq 1 type q\n", "type is 'q'"),
        (b"file a seq 1 type b\nfile b seq 2 type b\n", "line 2: found duplicate base"),
        (b"file a seq 2 type i\nfile b seq 2 type i\n", "line 2: found a non-monotonic"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_line(text: bytes, complaint: str) -> None:
    with pytest.raises(CorruptData, match=complaint):
        parse(text)

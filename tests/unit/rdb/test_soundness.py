"""Whether packed collections are sound; each case with what the compiled form says is in `compiled/test_checks`."""

from __future__ import annotations

import pytest

from pyrepl.rdb.packed.intset import encode_intset
from pyrepl.rdb.packed.listpack import encode_listpack, join_entries
from pyrepl.rdb.soundness import is_sound, score_of
from pyrepl.rdb.types.hash import HASH_LISTPACK
from pyrepl.rdb.types.list import LIST_QUICKLIST2
from pyrepl.rdb.types.set import SET_INTSET, SET_LISTPACK
from pyrepl.rdb.types.zset import ZSET_LISTPACK

LISTPACKS = (HASH_LISTPACK, LIST_QUICKLIST2, SET_LISTPACK, ZSET_LISTPACK)


def sound(elements: list[bytes]) -> set[int]:
    """The types that may hold a listpack of these elements."""
    return {kind for kind in LISTPACKS if is_sound(kind, encode_listpack(elements))}


def test_what_each_type_may_hold() -> None:
    assert sound([b"a", b"1", b"b", b"2"]) == set(LISTPACKS)
    assert sound([b"a", b"2", b"b", b"1"]) == {HASH_LISTPACK, LIST_QUICKLIST2, SET_LISTPACK}
    assert sound([b"b", b"1", b"a", b"1"]) == {HASH_LISTPACK, LIST_QUICKLIST2}
    assert sound([b"a", b"x", b"b", b"y"]) == {HASH_LISTPACK, LIST_QUICKLIST2, SET_LISTPACK}
    assert sound([b"a", b"1", b"a", b"2"]) == {LIST_QUICKLIST2}
    assert sound([b"a", b"1", b"b"]) == {LIST_QUICKLIST2, SET_LISTPACK}
    assert sound([]) == set()


def test_not_more_than_are_looked_through_for_duplicates() -> None:
    for count, kinds in ((1024, {HASH_LISTPACK, LIST_QUICKLIST2, SET_LISTPACK}), (1026, {LIST_QUICKLIST2})):
        assert sound([b"f%d" % number for number in range(count)]) == kinds


@pytest.mark.parametrize("kind", LISTPACKS)
def test_no_field_of_the_head_is_believed(kind: int) -> None:
    good = encode_listpack([b"a", b"1", b"b", b"2"])
    assert is_sound(kind, good)
    for at in (*range(6), len(good) - 1):
        for byte in {0, 1, 3, 5, 127, 255} - {good[at]}:
            assert not is_sound(kind, good[:at] + bytes((byte,)) + good[at + 1 :])
    for size in range(len(good)):
        assert not is_sound(kind, good[:size])
    assert not is_sound(kind, good[:4] + b"\xff\xff" + good[6:])


@pytest.mark.parametrize("entry", [b"\xc0\x05\x02", b"\xf1\x05\x00\x03", b"\x815\x02", b"\xe0\x01x\x03"])
def test_an_element_must_be_written_the_one_way(entry: bytes) -> None:
    pair = join_entries([entry, b"\x01\x01"])
    assert [kind for kind in LISTPACKS if is_sound(kind, pair)] == [LIST_QUICKLIST2]


def test_intsets() -> None:
    good = encode_intset([-3, 1, 300])
    assert is_sound(SET_INTSET, good)
    assert not is_sound(SET_INTSET, good[:-1]) and not is_sound(SET_INTSET, encode_intset([]))
    assert not is_sound(SET_INTSET, good[:8] + good[10:12] + good[8:10] + good[12:])


def test_scores() -> None:
    for text in (b"1", b"-0", b"1e5", b"-1.5e-300", b"inf", b"-inf", b"4503599627370497.0", b".5", b"5."):
        assert score_of(text) == float(text)
    for text in (b"", b"-", b"e", b"nan", b"+inf", b"1_0", b" 1", b"1 ", b"0x1", b"1-", b"infinity", b"1" * 64):
        assert score_of(text) is None

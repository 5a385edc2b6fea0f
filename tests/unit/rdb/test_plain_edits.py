"""Edits in plain Python: the same results as the compiled form, byte for byte, whatever the block says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrepl.rdb import plain_edits
from pyrepl.rdb.compiled import edits as compiled
from pyrepl.rdb.packed.listpack import decode_listpack, encode_listpack


class Block(bytes):
    """What collections are kept in here."""

    __slots__ = ()


TEXT: Final = st.one_of(
    st.binary(max_size=70),
    st.integers(-(2**63), 2**63).map(lambda number: b"%d" % number),
    st.sampled_from([b"", b"-", b"-0", b"007", b"1.5", b"inf", b"-inf", b"1e5", b"1_0", b"nan", b"x" * 63, b"x" * 64]),
)
SCORE: Final = st.one_of(st.floats(allow_nan=False), st.integers(-300, 300).map(float), st.sampled_from([0.0, -0.0]))
PAIRS: Final = st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=6).map(lambda pairs: sum(pairs, ()))


@st.composite
def blocks(draw: st.DrawFn) -> Block:
    """A listpack, as it was made or with a head, some bytes or its end changed."""
    data = bytearray(encode_listpack(draw(st.lists(TEXT, max_size=draw(st.sampled_from([4, 30, 150]))))))
    if draw(st.booleans()):
        for _ in range(draw(st.integers(1, 4))):
            data[draw(st.integers(0, len(data) - 1))] = draw(
                st.sampled_from([0, 1, 2, 127, 128, 191, 239, 240, 244, 255])
            )
    if draw(st.booleans()):
        data[4:6] = draw(st.sampled_from([0, 1, 2, 6, 65534, 65535])).to_bytes(2, "little")
    return Block(data[: draw(st.integers(0, len(data)))] if draw(st.integers(0, 9)) == 0 else data)


def same(name: str, *words: Any) -> Any:
    """What both forms give; the plain one alone where nothing is compiled."""
    found = getattr(plain_edits, name)(*words)
    if compiled.COMPILED:
        other = getattr(compiled, name)(*words)
        assert other == found and repr(other) == repr(found) and type(other) is type(found)
        if isinstance(found, tuple):
            assert type(other[0]) is type(found[0])
    return found


def within(block: Any) -> None:
    """A block that was made says its own size, and is not larger than one may be."""
    assert type(block) is Block and 7 <= len(block) <= 1024 and block[-1] == 255
    assert int.from_bytes(block[:4], "little") == len(block)


@given(blocks(), TEXT, PAIRS, SCORE, st.booleans(), st.integers(0, 40), st.sampled_from([0, 1, 7, 2**31]))
def test_any_block_gives_the_same_in_both_forms(
    block: Block, text: bytes, pairs: tuple[bytes, ...], score: float, left: bool, start: int, end: int
) -> None:
    before = bytes(block)
    found = same("elements", block, start, end)
    assert len(found) <= len(block) // 2
    assert all(len(element) <= 20 or element in before for element in found)
    same("element_count", block)
    for name in (text, *found):
        same("field_value", block, name)
        same("member_score", block, name)
        for edited in (same("set_fields", block, (name, text)), same("set_score", block, name, score)):
            if edited is not None and edited[0] is not block:
                within(edited[0])
    for edited in (
        same("push", block, pairs, left),
        same("pop", block, left),
        same("set_fields", block, pairs),
        same("set_score", block, text, score),
    ):
        if edited is not None and edited[0] is not block:
            within(edited[0])
    assert block == before


@given(PAIRS, st.booleans(), st.dictionaries(TEXT, SCORE, max_size=140))
def test_new_blocks_are_the_same_in_both_forms(
    pairs: tuple[bytes, ...], left: bool, scores: dict[bytes, float]
) -> None:
    made = [same("packed_hash", Block, pairs), same("packed_list", Block, pairs, left)]
    made.append(same("packed_scores", Block, scores))
    made += [same("packed_zset", Block, member, score) for member, score in scores.items()]
    for block in made:
        if block is not None:
            within(block)
            decode_listpack(block)


@given(st.dictionaries(TEXT, SCORE, max_size=40))
def test_scores_set_one_by_one_are_those_set_at_once(scores: dict[bytes, float]) -> None:
    block: Any = plain_edits.packed_scores(Block, {})
    for member, score in scores.items():
        edited = None if block is None else same("set_score", block, member, score)
        block = None if edited is None else edited[0]
    assert block == same("packed_scores", Block, scores)


@pytest.mark.parametrize("count", [6, 65534, 65535])
def test_a_count_that_cannot_be_is_not_computed_with(count: int) -> None:
    block = encode_listpack([b"one", b"two"])
    block = Block(block[:4] + count.to_bytes(2, "little") + block[6:])
    edits: list[Callable[[], Any]] = [
        lambda: same("push", block, (b"three",), False),
        lambda: same("pop", block, True),
        lambda: same("pop", block, False),
        lambda: same("set_fields", block, (b"three", b"four")),
        lambda: same("set_score", block, b"three", 4.0),
    ]
    assert [edit() for edit in edits] == [None] * 5

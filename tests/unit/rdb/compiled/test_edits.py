"""Blocks that are changed while they stay packed, against plain lists and dictionaries, in the form that runs."""

from __future__ import annotations

import random
import sys
from collections import deque
from typing import Final

import pytest

from pyrepl.keyspace.database import Keyspace
from pyrepl.keyspace.packed import PackedHash, PackedList, PackedZset
from pyrepl.keyspace.values import HashValue, ListValue, Value, ZsetValue
from pyrepl.keyspace.walk import PlainWalk, walk
from pyrepl.rdb import edits
from pyrepl.rdb.packed.listpack import decode_listpack, encode_listpack
from pyrepl.rdb.writer import RdbWriter

KEY: Final = b"k"
STEPS: Final = 2000
LARGEST: Final = 1024
NUMBERS: Final = [0, 127, 128, -1, -4096, -4097, 4095, 4096, 32768, -8388609, 2**31, -(2**63), 2**63]
TEXTS: Final = [b"", b"-", b"-0", b"007", b"text", b"t" * 63, b"u" * 64, *(b"%d" % number for number in NUMBERS)]
SCORES: Final = [0.0, -0.0, 1.0, -1.5, 1e300, 1e-300, float("inf"), float("-inf"), 4503599627370497.0, 127.0, 128.0]


def _text(rng: random.Random, longest: int) -> bytes:
    if rng.random() < 0.7:
        return rng.choice(TEXTS)
    return bytes(rng.choices(b"ab0", k=rng.randrange(longest)))


def _same_in_a_snapshot(packed: Value, plain: Value) -> bool:
    one, two = Keyspace(1).databases[0], Keyspace(1).databases[0]
    one.store.values[KEY] = packed
    two.store.values[KEY] = plain
    return walk(one, RdbWriter(), 1, 1).block() == PlainWalk(two, RdbWriter(), 1, 1).block() != b""


@pytest.mark.parametrize("seed", range(4))
def test_a_hash_is_what_a_dictionary_is(seed: int) -> None:
    rng = random.Random(seed)
    block: PackedHash | None = None
    plain: dict[bytes, bytes] = {}
    refused = 0
    for _ in range(STEPS):
        names = [_text(rng, 66) for _ in range(rng.choice([1, 1, 1, 3]))]
        pairs = tuple(part for name in names for part in (name, _text(rng, 66)))
        after = {**plain, **dict(zip(pairs[::2], pairs[1::2]))}
        created = len(after)
        if block is None:
            block = edits.packed_hash(PackedHash, pairs)
        else:
            before, kept = block, bytes(block)
            edited = edits.set_fields(block, pairs)
            block, created = edited or (None, edits.NO)
            assert before == kept and before is not block, "a block was changed in its place"
        if block is None:
            too_long = any(len(text) > 64 for text in pairs)
            assert too_long or sum(map(len, [*after, *after.values(), *pairs])) + 4 * len(after) > LARGEST // 2
            refused += 1
            plain = {}
            continue
        assert created == len(after) - len(plain)
        plain = after
        assert type(block) is PackedHash and len(block) <= LARGEST
        assert block.unpack().fields == plain and list(block.unpack().fields) == list(plain)
        assert decode_listpack(block) == edits.elements(block, 0, 1 << 20)
        assert edits.element_count(block) == 2 * len(plain)
        name = _text(rng, 66)
        assert edits.field_value(block, name) == plain.get(name)
        assert _same_in_a_snapshot(block, HashValue(dict(plain)))
    assert refused > 10


@pytest.mark.parametrize("seed", range(4))
def test_a_list_is_what_a_deque_is(seed: int) -> None:
    rng = random.Random(seed)
    block: PackedList | None = None
    plain: deque[bytes] = deque()
    refused = 0
    for _ in range(STEPS):
        left = rng.random() < 0.5
        kept = None if block is None else (block, bytes(block))
        if block is not None and rng.random() < 0.4:
            popped = edits.pop(block, left)
            if len(plain) == 1:
                assert popped is None
                continue
            assert popped is not None and popped[1] == (plain.popleft() if left else plain.pop())
            block = popped[0]
        else:
            pushed = tuple(_text(rng, 200) for _ in range(rng.choice([1, 1, 2, 5])))
            after = plain.copy()
            (after.extendleft if left else after.extend)(pushed)
            size = len(after)
            if block is None:
                block = edits.packed_list(PackedList, pushed, left)
            else:
                block, size = edits.push(block, pushed, left) or (None, edits.NO)
            if block is None:
                assert sum(map(len, after)) + 11 * len(after) > LARGEST - 16
                refused += 1
                plain = deque()
                continue
            assert size == len(after)
            plain = after
        assert kept is None or kept[0] == kept[1], "a block was changed in its place"
        assert type(block) is PackedList and len(block) <= LARGEST
        assert decode_listpack(block) == list(plain) == list(block.unpack().items)
        start, end = rng.randrange(12), rng.randrange(12)
        assert edits.elements(block, start, end) == list(plain)[start:end]
        assert edits.element_count(block) == len(plain)
        assert _same_in_a_snapshot(block, ListValue(plain.copy()))
    assert refused > 10


@pytest.mark.parametrize("seed", range(4))
def test_a_sorted_set_is_what_a_dictionary_is(seed: int) -> None:
    rng = random.Random(seed)
    block: PackedZset | None = None
    plain: dict[bytes, float] = {}
    refused = 0
    for _ in range(STEPS):
        member, score = _text(rng, 66), rng.choice([*SCORES, rng.uniform(-2, 2), float(rng.randrange(20))])
        done = 1
        if block is None:
            block = edits.packed_zset(PackedZset, member, score)
        else:
            before, kept = block, bytes(block)
            block, done = edits.set_score(block, member, score) or (None, edits.NO)
            assert before == kept and (before is block) == (done == 0), "a block was changed in its place"
        if block is None:
            assert len(member) > 64 or sum(map(len, [*plain, member])) + 11 * len(plain) > LARGEST // 2
            refused += 1
            plain = {}
            continue
        old = plain.get(member)
        assert done == (1 if old is None else 0 if old == score else 2)
        plain[member] = score or 0.0
        assert type(block) is PackedZset and len(block) <= LARGEST
        scores = block.unpack().scores
        assert scores == plain and list(scores) == sorted(plain, key=lambda name: (plain[name], name))
        assert all(str(scores[name]) == str(plain[name]) for name in plain)
        assert edits.member_score(block, member) == score and edits.element_count(block) == 2 * len(plain)
        assert edits.member_score(block, b"not there") is None
        assert _same_in_a_snapshot(block, ZsetValue(dict(plain)))
        assert edits.packed_scores(PackedZset, plain) == block
    assert refused > 10


def test_no_reference_is_left_behind() -> None:
    text = b"some text that is shared by all"
    before = sys.getrefcount(text), sys.getrefcount(PackedList)
    for left in (True, False):
        block = edits.packed_list(PackedList, (text,), left)
        assert block is not None
        for _ in range(3):
            held = sys.getrefcount(block)
            pushed = edits.push(block, (text, text), left)
            assert pushed is not None and sys.getrefcount(block) == held and pushed[1] == 3
            popped = edits.pop(pushed[0], left)
            assert popped is not None and popped[1] == text
            assert sys.getrefcount(pushed[0]) == sys.getrefcount(popped[0])
        del pushed, popped
        del block
    assert (sys.getrefcount(text), sys.getrefcount(PackedList)) == before


def _blocks(rng: random.Random) -> bytes:
    """Nearly a listpack: some bytes of one changed, or any bytes at all."""
    if rng.random() < 0.2:
        return rng.randbytes(rng.randrange(40))
    block = bytearray(encode_listpack([_text(rng, 66) for _ in range(rng.randrange(6))]))
    for _ in range(rng.randrange(3)):
        block[rng.randrange(len(block))] = rng.choice([0, 1, 0x7F, 0x80, 0xBF, 0xEF, 0xF0, 0xF4, 0xF8, 0xFF])
    return bytes(block[: rng.randrange(len(block) + 1)]) if rng.random() < 0.2 else bytes(block)


@pytest.mark.parametrize("seed", range(4))
def test_whatever_a_block_says_no_byte_beyond_it_is_touched(seed: int) -> None:
    """No such block comes past `checks`. What is found in one is all its own, and what it becomes is not larger."""
    rng = random.Random(seed)
    for _ in range(STEPS):
        data = _blocks(rng)
        text = _text(rng, 66)
        block = PackedList(data)
        found = edits.elements(block, rng.randrange(3), rng.choice([1, 2**31]))
        assert len(found) <= len(data) // 2
        assert all(not element or len(element) <= 20 or element in data for element in found)
        assert edits.element_count(block) in (edits.NO, int.from_bytes(data[4:6], "little"))
        popped = edits.pop(block, rng.random() < 0.5)
        assert popped is None or len(popped[1]) <= 20 or popped[1] in data
        pushed = edits.push(popped[0] if popped else block, (text,), rng.random() < 0.5)
        assert pushed is None or 1 <= pushed[1] <= LARGEST
        hashed = PackedHash(data)
        value = edits.field_value(hashed, text)
        assert value is None or len(value) <= 20 or value in data
        put = edits.set_fields(hashed, (text, text))
        assert put is None or 0 <= put[1] <= 1
        scored = PackedZset(data)
        assert isinstance(edits.member_score(scored, text), float | None)
        set_ = edits.set_score(scored, text, 1.5)
        assert set_ is None or 0 <= set_[1] <= 2
        made = [edited[0] for edited in (popped, pushed, put, set_) if edited is not None]
        assert all(len(one) <= max(len(data), LARGEST) for one in made)
        assert [bytes(one) for one in (block, hashed, scored)] == [data] * 3


def test_a_count_that_cannot_be_is_not_computed_with() -> None:
    """Two elements that say nothing, or too much, about how many they are: the caller takes them apart."""
    for count in (65535, 65534, 6):
        block = encode_listpack([b"one", b"two"])
        packed = PackedList(block[:4] + count.to_bytes(2, "little") + block[6:])
        assert edits.push(packed, (b"three",), False) is None
        assert edits.pop(packed, True) is edits.pop(packed, False) is None
        assert edits.set_fields(PackedHash(packed), (b"three", b"four")) is None
        assert edits.set_score(PackedZset(packed), b"three", 4.0) is None

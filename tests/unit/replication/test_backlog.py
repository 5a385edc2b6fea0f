"""The newest bytes of the stream: capacity, pins, reading in pieces."""

from __future__ import annotations

import pytest

from pyrepl.replication.backlog import BLOCK_SIZE, Backlog
from pyrepl.units import Offset


def filled(capacity: int, *pieces: bytes) -> Backlog:
    backlog = Backlog(capacity)
    backlog.create()
    for piece in pieces:
        backlog.append(piece)
    return backlog


def text(backlog: Backlog, at: int, max_bytes: int = 1 << 30) -> bytes:
    return b"".join(bytes(piece) for piece in backlog.read(at, max_bytes))


def test_holds_the_newest_bytes() -> None:
    backlog = filled(10, b"01234", b"56789", b"abc")
    assert (backlog.start, backlog.end, backlog.held_bytes) == (3, 13, 10)
    assert text(backlog, 3) == b"3456789abc"


def test_covers_both_ends() -> None:
    backlog = filled(4, b"012345")
    assert [held for held in range(-1, 8) if backlog.covers(held)] == [2, 3, 4, 5, 6]


def test_reading_at_the_end_gives_nothing_and_outside_is_refused() -> None:
    backlog = filled(4, b"012345")
    assert backlog.read(6, 10) == []
    for at in (1, 7):
        with pytest.raises(ValueError, match=r"\[2, 6\)"):
            backlog.read(at, 10)


def test_reading_is_limited() -> None:
    backlog = filled(100, b"0123", b"4567", b"89")
    assert text(backlog, 1, 3) == b"123"
    assert text(backlog, 8, 1) == b"8"
    assert text(backlog, 8, 2) == b"89"


def test_the_last_piece_is_handed_out_itself() -> None:
    piece = b"x" * 50
    backlog = filled(1000, b"before", piece)
    assert backlog.read(6, 100)[0] is piece


def test_a_pin_outlives_the_capacity() -> None:
    backlog = filled(4, b"0123")
    cursor = backlog.attach(Offset(1))
    backlog.append(b"4567")
    assert text(backlog, 1) == b"1234567"
    cursor.advance(7)
    backlog.append(b"8")
    assert backlog.start == 5
    backlog.detach(cursor)
    assert backlog.lowest_pin is None


def test_detaching_gives_the_bytes_back() -> None:
    backlog = filled(4, b"0123")
    cursor = backlog.attach(Offset(0))
    backlog.append(b"x" * 100)
    assert backlog.start == 0
    backlog.detach(cursor)
    assert backlog.start == 100


def test_cannot_attach_where_nothing_is_held() -> None:
    backlog = filled(4, b"012345")
    with pytest.raises(ValueError, match="cannot attach at 1"):
        backlog.attach(Offset(1))


def test_sealed_blocks_are_read_across() -> None:
    pieces = [bytes([65 + i]) * (BLOCK_SIZE // 3) for i in range(9)]
    backlog = filled(1 << 20, *pieces)
    whole = b"".join(pieces)
    for at in (0, 1, BLOCK_SIZE - 1, BLOCK_SIZE, len(whole) - 1):
        assert text(backlog, at) == whole[at:]


def test_resize_takes_effect_at_once_and_brings_nothing_back() -> None:
    backlog = filled(100, b"x" * 100)
    backlog.resize(10)
    assert backlog.start == 90
    backlog.resize(100)
    assert backlog.start == 90


def test_free_and_create_keep_the_offset() -> None:
    backlog = filled(100, b"0123")
    backlog.free()
    assert not backlog.covers(4) and backlog.end == 4
    backlog.create()
    assert backlog.covers(4) and backlog.start == 4


def test_restart_moves_to_another_stream() -> None:
    backlog = filled(100, b"0123")
    backlog.restart(Offset(1000))
    backlog.append(b"ab")
    assert (backlog.start, backlog.end) == (1000, 1002)
    assert text(backlog, 1000) == b"ab"


def test_memory_is_bounded_by_capacity_and_a_block() -> None:
    backlog = filled(BLOCK_SIZE * 4)
    for _ in range(20_000):
        backlog.append(b"x" * 100)
    assert backlog.memory_bytes <= BLOCK_SIZE * 4 + 2 * BLOCK_SIZE + 64 * (BLOCK_SIZE // 100 + 10)


def test_a_refilled_one_continues_who_was_behind() -> None:
    backlog = Backlog(4)
    backlog.restart(Offset(100))
    backlog.create()
    backlog.refill(b"abcdef")
    assert (backlog.start, backlog.end) == (96, 100), "no more than the capacity"
    backlog.append(b"g")
    assert b"".join(backlog.read(97, 100)) == b"defg"
    assert not backlog.covers(96)
    empty = Backlog(4)
    empty.create()
    empty.refill(b"")
    assert empty.start == empty.end == 0

"""What of a file is aside: counted in full, known one by one for a while."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pyrepl.aof.own_block import OWN, Aside, own_block, timestamp


def test_the_lines() -> None:
    assert timestamp(1700000000) == b"#TS:1700000000\r\n"
    assert own_block(b"*1\r\n") == b"#OWN:4\r\n*1\r\n"
    assert OWN.fullmatch(b"#OWN:4") and not OWN.fullmatch(b"#OWN:4x") and not OWN.fullmatch(b"#OWN:" + b"9" * 19)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 5)), max_size=30))
def test_what_is_left(parts: list[tuple[int, int]]) -> None:
    aside, data, stream = Aside(10), b"", b""
    for plain, hidden in parts:
        data += b"s" * plain
        stream += b"s" * plain
        aside.add(10 + len(data), 10 + len(data) + hidden)
        data += b"h" * hidden
    assert aside.without(data + b"s", 10) == stream + b"s"
    assert aside.size == len(data) - len(stream)


def test_old_spans_are_forgotten_and_still_count() -> None:
    aside = Aside(5)
    aside.add(0, 3)
    for number in range(3000):
        aside.add(10 * number + 10, 10 * number + 12)
    assert aside.size == 6000 and len(aside.spans) == 1024
    assert aside.known_from == aside.spans[0][0] - 8

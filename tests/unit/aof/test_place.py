"""The place of a file in a stream: read back exactly, or not at all."""

from __future__ import annotations

import pytest

from pyrepl.aof.place import Place, parse, render

PLACE = Place("ab" * 20, 1000, "appendonly.aof.3.incr.aof", 23)


def test_it_is_read_back() -> None:
    assert parse(render(PLACE)) == PLACE


def test_later_bytes_are_stream_bytes_and_of_earlier_ones_nothing_is_known() -> None:
    assert PLACE.cut_at(23) == 1000
    assert PLACE.cut_at(123) == 1100
    assert PLACE.cut_at(22) is None


@pytest.mark.parametrize("size", range(len(render(PLACE))))
def test_half_a_place_is_none(size: int) -> None:
    assert parse(render(PLACE)[:size]) is None


def test_another_text_is_none() -> None:
    assert parse(b"file x seq 1 type i\n") is None
    assert parse(render(PLACE) * 2) is None

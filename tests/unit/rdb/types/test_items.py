"""Tagged items: what is written is read, and another tag than the wanted one is refused."""

from __future__ import annotations

import pytest

from pyrepl.rdb.cursor import Cursor, Malformed
from pyrepl.rdb.strings import encode_string
from pyrepl.rdb.types.items import END_BYTE, decode_end, decode_text, decode_unsigned, encode_text, encode_unsigned


def at(data: bytes) -> Cursor:
    cursor = Cursor(1 << 20, 1 << 20, len(data))
    cursor.load(data)
    return cursor


def test_what_is_written_is_read() -> None:
    cursor = at(encode_unsigned(1 << 63) + encode_text(encode_string(b"abc")) + END_BYTE)
    assert decode_unsigned(cursor) == 1 << 63
    assert decode_text(cursor) == b"abc"
    decode_end(cursor)
    assert cursor.pos == cursor.end


@pytest.mark.parametrize("decode", [decode_unsigned, decode_text, decode_end])
def test_another_tag(decode: object) -> None:
    assert callable(decode)
    with pytest.raises(Malformed, match="an item with tag 4, expected"):
        decode(at(b"\x04" + bytes(8)))

"""What FUNCTION DUMP answers."""

from __future__ import annotations

import pytest

from pyrepl.errors import CommandError
from pyrepl.rdb.function_payload import decode_functions, encode_functions
from pyrepl.rdb.payload import encode_payload
from pyrepl.rdb.types.row import Form

TEXTS = [b"#!lua name=a\nx", b"#!lua name=b\n" + b"y" * 5000]


def test_there_and_back() -> None:
    assert decode_functions(encode_functions(TEXTS)) == TEXTS
    assert decode_functions(encode_functions([])) == []


@pytest.mark.parametrize("place", [0, 5, -1])
def test_a_changed_byte(place: int) -> None:
    payload = bytearray(encode_functions(TEXTS))
    payload[place] ^= 1
    with pytest.raises(CommandError, match="checksum"):
        decode_functions(bytes(payload))


def test_what_is_no_payload_of_functions() -> None:
    for payload, said in ((b"", "checksum"), (encode_payload(b"x", Form()), "not a function")):
        with pytest.raises(CommandError, match=said):
            decode_functions(payload)

"""Encoder: every kind of reply in RESP2 and RESP3."""

from __future__ import annotations

import math
from typing import Any

import pytest

from pyrepl.errors import CommandError
from pyrepl.resp.encoder import append_reply, encode_command, encode_error, encode_reply, encoded_size
from pyrepl.resp.reply import NO_REPLY, NULL_ARRAY, OK, Push, Raw, Simple, Verbatim

CASES: list[tuple[Any, bytes, bytes]] = [
    (0, b":0\r\n", b":0\r\n"),
    (1023, b":1023\r\n", b":1023\r\n"),
    (1024, b":1024\r\n", b":1024\r\n"),
    (-1, b":-1\r\n", b":-1\r\n"),
    (2**63 - 1, b":9223372036854775807\r\n", b":9223372036854775807\r\n"),
    (b"", b"$0\r\n\r\n", b"$0\r\n\r\n"),
    (b"a\r\nb", b"$4\r\na\r\nb\r\n", b"$4\r\na\r\nb\r\n"),
    (b"x" * 1023, b"$1023\r\n" + b"x" * 1023 + b"\r\n", b"$1023\r\n" + b"x" * 1023 + b"\r\n"),
    (b"x" * 1024, b"$1024\r\n" + b"x" * 1024 + b"\r\n", b"$1024\r\n" + b"x" * 1024 + b"\r\n"),
    ([b"x" * 1024], b"*1\r\n$1024\r\n" + b"x" * 1024 + b"\r\n", b"*1\r\n$1024\r\n" + b"x" * 1024 + b"\r\n"),
    (None, b"$-1\r\n", b"_\r\n"),
    (NULL_ARRAY, b"*-1\r\n", b"_\r\n"),
    (NO_REPLY, b"", b""),
    (OK, b"+OK\r\n", b"+OK\r\n"),
    (Simple(b"Background saving started"), b"+Background saving started\r\n", b"+Background saving started\r\n"),
    ([], b"*0\r\n", b"*0\r\n"),
    ([1, b"a", None], b"*3\r\n:1\r\n$1\r\na\r\n$-1\r\n", b"*3\r\n:1\r\n$1\r\na\r\n_\r\n"),
    ((b"a", [b"b"]), b"*2\r\n$1\r\na\r\n*1\r\n$1\r\nb\r\n", b"*2\r\n$1\r\na\r\n*1\r\n$1\r\nb\r\n"),
    ({b"a": 1}, b"*2\r\n$1\r\na\r\n:1\r\n", b"%1\r\n$1\r\na\r\n:1\r\n"),
    ({b"a"}, b"*1\r\n$1\r\na\r\n", b"~1\r\n$1\r\na\r\n"),
    (frozenset([1]), b"*1\r\n:1\r\n", b"~1\r\n:1\r\n"),
    (1.5, b"$3\r\n1.5\r\n", b",1.5\r\n"),
    (math.inf, b"$3\r\ninf\r\n", b",inf\r\n"),
    (-math.inf, b"$4\r\n-inf\r\n", b",-inf\r\n"),
    (True, b":1\r\n", b"#t\r\n"),
    (False, b":0\r\n", b"#f\r\n"),
    (Verbatim(b"hi"), b"$2\r\nhi\r\n", b"=6\r\ntxt:hi\r\n"),
    (Verbatim(b"hi", b"mkd"), b"$2\r\nhi\r\n", b"=6\r\nmkd:hi\r\n"),
    (Push([b"message", 1]), b"*2\r\n$7\r\nmessage\r\n:1\r\n", b">2\r\n$7\r\nmessage\r\n:1\r\n"),
    (Raw(b"+X\r\n"), b"+X\r\n", b"+X\r\n"),
    (CommandError("ERR no such key"), b"-ERR no such key\r\n", b"-ERR no such key\r\n"),
    ([CommandError("WRONGTYPE x"), OK], b"*2\r\n-WRONGTYPE x\r\n+OK\r\n", b"*2\r\n-WRONGTYPE x\r\n+OK\r\n"),
    (range(2), b"*2\r\n:0\r\n:1\r\n", b"*2\r\n:0\r\n:1\r\n"),
]


@pytest.mark.parametrize(("reply", "resp2", "resp3"), CASES)
def test_each_kind(reply: Any, resp2: bytes, resp3: bytes) -> None:
    assert encode_reply(reply, 2) == resp2
    assert encode_reply(reply, 3) == resp3
    out = [b"before"]
    append_reply(reply, 3, out)
    assert b"".join(out) == b"before" + resp3


def test_errors_stay_on_one_line() -> None:
    assert encode_error(CommandError("ERR unknown command 'a\r\nb'")) == b"-ERR unknown command 'a  b'\r\n"
    assert encode_error(CommandError("ERR \udcff")) == b"-ERR \xff\r\n"


@pytest.mark.parametrize("wrong", ["text", bytearray(b"x"), object()])
def test_what_is_no_reply_is_a_defect(wrong: Any) -> None:
    with pytest.raises(TypeError, match="not a reply"):
        encode_reply(wrong, 2)


def test_commands() -> None:
    assert encode_command([b"PING"]) == b"*1\r\n$4\r\nPING\r\n"
    assert encode_command([b"SELECT", b"0"]) == b"*2\r\n$6\r\nSELECT\r\n$1\r\n0\r\n"
    assert encode_command([b"SET", b"", b"\r\n"]) == b"*3\r\n$3\r\nSET\r\n$0\r\n\r\n$2\r\n\r\n\r\n"
    assert encode_command((b"A", b"b", b"c", b"dd")) == b"*4\r\n$1\r\nA\r\n$1\r\nb\r\n$1\r\nc\r\n$2\r\ndd\r\n"


@pytest.mark.parametrize("reply", [OK, 7, b"x" * 2000, None, [b"a", [1, None]], [b"x"] * 100, Raw(b"+x\r\n")])
def test_the_size_of_a_reply(reply: Any) -> None:
    for proto in (2, 3):
        assert encoded_size(reply, proto) == len(encode_reply(reply, proto))

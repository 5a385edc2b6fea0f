"""Parser: Redis's protocol errors to the letter, limits at their edges, byte accounting, holding back behind AUTH.

The error texts were compared with a running Redis 7.0.15.
"""

from __future__ import annotations

import pytest

from pyrepl.resp.encoder import encode_command
from pyrepl.resp.parser import NO_TLS_HERE, Parser, stream_parser
from pyrepl.resp.scan import IS_COMPILED

PING = b"*1\r\n$4\r\nPING\r\n"


def parsed(data: bytes, parser: Parser | None = None) -> list[list[bytes]]:
    return (parser or Parser()).feed(data).commands


BROKEN = [
    (b"*abc\r\n", b"invalid multibulk length"),
    (b"*\r\n", b"invalid multibulk length"),
    (b"*+1\r\n", b"invalid multibulk length"),
    (b"*01\r\n", b"invalid multibulk length"),
    (b"*1 \r\n", b"invalid multibulk length"),
    (b"*2147483648\r\n", b"invalid multibulk length"),
    (b"*99999999999999999999999\r\n", b"invalid multibulk length"),
    (b"*1\r\n$-1\r\n", b"invalid bulk length"),
    (b"*1\r\n$\r\n", b"invalid bulk length"),
    (b"*1\r\n$abc\r\n", b"invalid bulk length"),
    (b"*1\r\n$536870913\r\n", b"invalid bulk length"),
    (b"*1\r\nx4\r\nPING\r\n", b"expected '$', got 'x'"),
    (b"*1\r\n\r\nPING\r\n", b"expected '$', got ' '"),
    (b'set a "b\r\n', b"unbalanced quotes in request"),
    (b"echo 'a'b\r\n", b"unbalanced quotes in request"),
    (b"x" * 65537, b"too big inline request"),
    (b"*" + b"1" * 65536, b"too big mbulk count string"),
    (b"*1\r\n$" + b"1" * 65536, b"too big bulk count string"),
]


@pytest.mark.parametrize(("data", "reason"), BROKEN)
def test_broken_requests_get_redis_text(data: bytes, reason: bytes) -> None:
    parser = Parser()
    batch = parser.feed(PING + data)
    assert batch.commands == [[b"PING"]]
    assert batch.error == b"ERR Protocol error: " + reason
    after = parser.feed(PING)
    assert after.commands == []
    assert after.error == batch.error


@pytest.mark.parametrize(("data", "reason"), BROKEN)
def test_broken_requests_get_the_same_text_a_byte_at_a_time(data: bytes, reason: bytes) -> None:
    parser = Parser()
    errors = {parser.feed(data[at : at + 1]).error for at in range(len(data))}
    assert errors == {None, b"ERR Protocol error: " + reason} or errors == {b"ERR Protocol error: " + reason}


@pytest.mark.parametrize("data", [b"x" * 65536, b"*" + b"1" * 65535, b"*1\r\n$" + b"1" * 65535, b"*2147483647\r\n"])
def test_limits_are_inclusive(data: bytes) -> None:
    assert Parser().feed(data).error is None


def test_a_line_may_have_exactly_the_limit() -> None:
    for line, error in (
        (b"12345678\n", None),
        (b"123456789\n", b"ERR Protocol error: too big inline request"),
        (b"*1234567\r\n", None),
        (b"*12345678\r\n", b"ERR Protocol error: too big mbulk count string"),
        (b"*1\r\n$1234567\r\n", None),
        (b"*1\r\n$12345678\r\n", b"ERR Protocol error: too big bulk count string"),
    ):
        assert Parser(max_inline_bytes=8).feed(line).error == error


def test_a_bulk_string_may_have_exactly_the_limit() -> None:
    for size in (1000, 500_000):
        argument = b"v" * size
        wire = encode_command([b"ECHO", argument])
        assert parsed(wire, Parser(max_bulk_bytes=size)) == [[b"ECHO", argument]]
        too_big = Parser(max_bulk_bytes=size - 1).feed(wire)
        assert too_big.error == b"ERR Protocol error: invalid bulk length"


def test_argument_count_may_be_exactly_the_limit() -> None:
    wire = encode_command([b"MGET", b"a", b"b"])
    assert parsed(wire, Parser(max_args=3)) == [[b"MGET", b"a", b"b"]]
    assert Parser(max_args=2).feed(wire).error == b"ERR Protocol error: invalid multibulk length"


def test_pipelines_and_inline_commands_mix() -> None:
    wire = (
        PING + b"set a 1\r\n" + encode_command([b"GET", b"a"]) + b"echo \"x\\x41\" 'y z'\n\r\n \r\n*0\r\n*-1\r\n" + PING
    )
    assert parsed(wire) == [[b"PING"], [b"set", b"a", b"1"], [b"GET", b"a"], [b"echo", b"xA", b"y z"], [b"PING"]]


@pytest.mark.parametrize("value", [b"\r\n", b"a\r\nb", b"*1\r\n$4\r\nPING\r\n", b"\r\n" * 50, b"$3\r\nabc\r\n", b""])
def test_values_that_look_like_protocol(value: bytes) -> None:
    wire = encode_command([b"SET", value, value]) + PING
    assert parsed(wire * 3) == [[b"SET", value, value], [b"PING"]] * 3


def test_many_windows_of_commands_and_of_crlf_values() -> None:
    commands = [[b"SET", b"key:%d" % n, b"\r\n" * (n % 7) + b"v" * n] for n in range(2000)]
    wire = b"".join(map(encode_command, commands))
    assert len(wire) > 1_000_000
    batch = Parser().feed(wire)
    assert batch.commands == commands
    assert batch.raw == wire
    assert [batch.wire(at) for at in range(2000)] == [encode_command(argv) for argv in commands]


def test_a_large_read_may_end_anywhere_in_a_command() -> None:
    commands = [[b"SET", b"key:%d" % n, b"\r\n" * (n % 7) + b"v" * (n * 37 % 1500)] for n in range(60)]
    wire = b"".join(map(encode_command, commands))
    large = encode_command([b"SET", b"large", b"x" * 40_000])
    wire = large + wire + large
    for cut in (*range(40_030, 43_000, 11), len(wire) - 39_990, len(wire) - 30_000, len(wire) - 10_000, len(wire) - 1):
        parser = Parser()
        batches = [parser.feed(wire[:cut])]
        assert batches[0].size + parser.pending_bytes == cut
        batches.append(parser.feed(wire[cut : cut + 1]))
        batches.append(parser.feed(wire[cut + 1 :]))
        assert [argv for batch in batches for argv in batch.commands][1:-1] == commands
        assert b"".join(batch.raw for batch in batches) == wire and parser.pending_bytes == 0
        assert all(
            batch.wire(at) == encode_command(argv) for batch in batches for at, argv in enumerate(batch.commands)
        )


def test_what_is_broken_at_the_end_of_a_large_read_is_said() -> None:
    large = encode_command([b"SET", b"large", b"x" * 40_000])
    batch = Parser().feed(large + b"*2\r\n$3\r\nGET\r\nx1\r\n")
    assert batch.commands == [[b"SET", b"large", b"x" * 40_000]]
    assert batch.error == b"ERR Protocol error: expected '$', got 'x'"


def test_more_arguments_than_the_header_table() -> None:
    argv = [b"MSET", *(b"%d" % n for n in range(3000))]
    batch = Parser().feed(encode_command(argv) + PING)
    assert batch.commands == [argv, [b"PING"]]


def test_ends_cut_the_raw_bytes() -> None:
    one, two = encode_command([b"SET", b"a", b"1"]), encode_command([b"DEL", b"a"])
    batch = Parser().feed(one + two + b"*1\r\n$4\r\nPI")
    assert batch.raw == one + two
    assert batch.size == len(one + two)
    assert batch.ends == [len(one), len(one + two)]
    assert [batch.wire(0), batch.wire(1)] == [one, two]


def test_a_command_over_several_reads_is_counted_whole() -> None:
    wire = encode_command([b"SET", b"a", b"x" * 100])
    parser = Parser()
    assert parser.feed(wire[:50]).size == 0
    assert parser.pending_bytes == 50
    batch = parser.feed(wire[50:] + wire + wire[:20])
    assert batch.raw == wire + wire
    assert batch.ends == [len(wire), 2 * len(wire)]
    assert parser.pending_bytes == 20


def test_inline_and_lenient_commands_are_encoded_anew_for_the_stream() -> None:
    canonical = encode_command([b"SET", b"a", b"1"])
    lenient = b"*3\rx$3\r\nSETyy$1\r\na\r\n$1\r\n1\r\n"
    blank = b"\r\n" + canonical
    for odd in (b"SET a 1\r\n", lenient, blank):
        batch = Parser().feed(canonical + odd + canonical)
        assert batch.commands == [[b"SET", b"a", b"1"]] * 3
        assert [batch.wire(at) for at in range(3)] == [canonical] * 3
        assert batch.raw == canonical + odd + canonical


def test_ignored_bytes_at_the_end_are_consumed_and_counted() -> None:
    batch = Parser().feed(PING + b"\r\n\n")
    assert batch.ends == [len(PING)]
    assert batch.size == len(PING) + 3
    alone = Parser().feed(b"\n")
    assert (alone.commands, alone.size, alone.raw) == ([], 1, b"\n")


def test_an_unfinished_request_beyond_the_query_buffer_limit() -> None:
    parser = Parser(query_buffer_bytes=100)
    begun = b"*2\r\n$4\r\nECHO\r\n$1000\r\n"
    assert not parser.feed(begun + b"x" * (100 - len(begun))).overflow
    assert parser.feed(b"x").overflow
    assert parser.feed(b"x").overflow


def test_many_finished_commands_are_no_overflow() -> None:
    batch = Parser(query_buffer_bytes=100).feed(PING * 100)
    assert not batch.overflow
    assert len(batch.commands) == 100


UNAUTHENTICATED = [
    (b"*11\r\n", b"unauthenticated multibulk length"),
    (b"*2\r\n$16385\r\n", b"unauthenticated bulk length"),
]


@pytest.mark.parametrize(("data", "reason"), UNAUTHENTICATED)
def test_limits_before_authentication(data: bytes, reason: bytes) -> None:
    assert Parser(authenticated=False).feed(data).error == b"ERR Protocol error: " + reason
    assert Parser(authenticated=True).feed(data).error is None


@pytest.mark.parametrize("data", [b"*10\r\n", b"*2\r\n$16384\r\n"])
def test_limits_before_authentication_are_inclusive(data: bytes) -> None:
    assert Parser(authenticated=False).feed(data).error is None


def test_what_follows_auth_waits_for_its_outcome() -> None:
    auth = encode_command([b"AUTH", b"secret"])
    many = encode_command([b"MGET", *[b"k"] * 10])
    parser = Parser(authenticated=False)
    batch = parser.feed(auth + many + PING)
    assert (batch.commands, batch.more, batch.size) == ([[b"AUTH", b"secret"]], True, len(auth))
    parser.authenticated = True
    rest = parser.feed(b"")
    assert (rest.commands, rest.more) == ([[b"MGET", *[b"k"] * 10], [b"PING"]], False)

    refused = Parser(authenticated=False)
    assert refused.feed(b"AUTH wrong\r\n" + many).more
    assert refused.feed(b"").error == b"ERR Protocol error: unauthenticated multibulk length"


def test_a_held_back_command_that_was_cut_goes_on() -> None:
    parser = Parser(authenticated=False)
    assert parser.feed(PING[:5]).more is False
    batch = parser.feed(PING[5:] + PING)
    assert (batch.commands, batch.more) == ([[b"PING"]], True)
    assert parser.feed(b"").commands == [[b"PING"]]


def test_take_rest_hands_over_what_was_not_consumed() -> None:
    parser = Parser()
    assert parser.feed(PING + b"*1").commands == [[b"PING"]]
    assert parser.take_rest() == b"*1"
    assert parser.pending_bytes == 0


def test_the_stream_parser_takes_arrays_only_and_skips_newlines() -> None:
    assert stream_parser().feed(PING + b"\n" + PING).commands == [[b"PING"]] * 2
    assert stream_parser().feed(b"PING\r\n").error == b"ERR Protocol error: expected '*', got 'P'"
    assert stream_parser().feed(b"\rPING\n").error is not None
    assert stream_parser(10).feed(b"*1\r\n$11\r\n").error == b"ERR Protocol error: invalid bulk length"


def test_a_beginning_is_taken_back_and_held() -> None:
    """In the compiled form, where the fast way takes whole commands alone."""
    wire = encode_command([b"SET", b"k", b"v" * 100])
    parser = stream_parser()
    between = b"" if IS_COMPILED else None
    assert parser.take_back() == between
    parser.hold(wire[:3])
    assert parser.pending_bytes == 3
    assert parser.take_back() == (wire[:3] if IS_COMPILED else None)
    assert parser.pending_bytes == (0 if IS_COMPILED else 3)
    assert parser.feed(wire[0 if IS_COMPILED else 3 :]).raw == wire
    assert parser.take_back() == between
    parser.feed(wire[:50])
    assert parser.take_back() is None
    assert parser.feed(wire[50:]).raw == wire


def test_what_is_held_need_not_be_taken_back() -> None:
    wire = encode_command([b"PING"])
    parser = stream_parser()
    parser.hold(wire[:3])
    assert parser.feed(wire[3:]).commands == [[b"PING"]]


def test_a_broken_stream_gives_nothing_back() -> None:
    parser = stream_parser()
    assert parser.feed(b"PING\r\n").error is not None
    assert parser.take_back() is None


@pytest.mark.parametrize("cut", [1, 2, 3])
def test_a_handshake_of_tls_is_told_at_once(cut: int) -> None:
    hello = b"\x16\x03\x01\x02\x00\x01\x00"
    parser = Parser()
    first = parser.feed(hello[:cut])
    assert (first.error is None) is (cut == 1)
    assert parser.feed(hello[cut:]).error == b"ERR Protocol error: " + NO_TLS_HERE

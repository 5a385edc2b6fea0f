"""Typed arguments: numbers, times and SCAN options, with Redis's error texts."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pyrepl.commands.engine import arguments
from pyrepl.errors import CommandError
from pyrepl.resp.numbers import INT64_MAX, INT64_MIN


def text_of(parse: Callable[..., object], *given: object) -> str:
    with pytest.raises(CommandError) as caught:
        parse(*given)
    return str(caught.value)


def test_integers() -> None:
    assert arguments.integer_argument(b"-9223372036854775808") == INT64_MIN
    for bad in (b"", b"+1", b"01", b" 1", b"1 ", b"1.0", b"9223372036854775808", b"x"):
        assert text_of(arguments.integer_argument, bad) == arguments.NOT_AN_INTEGER


def test_ranges() -> None:
    assert arguments.ranged_integer_argument(b"5", 5, 5) == 5
    assert (
        text_of(arguments.ranged_integer_argument, b"6", -5, 5)
        == "ERR value is out of range, value must between -5 and 5"
    )
    assert text_of(arguments.ranged_integer_argument, b"x", 0, 5, "ERR mine") == "ERR mine"
    assert arguments.positive_argument(b"0") == 0
    assert text_of(arguments.positive_argument, b"-1") == "ERR value is out of range, must be positive"
    assert text_of(arguments.positive_argument, b"-1", "ERR mine") == "ERR mine"
    assert arguments.unsigned_argument(b"18446744073709551615") == 2**64 - 1


def test_databases() -> None:
    assert arguments.database_argument(b"15", 16) == 15
    assert text_of(arguments.database_argument, b"16", 16) == "ERR DB index is out of range"
    assert text_of(arguments.database_argument, b"-1", 16) == "ERR DB index is out of range"
    assert text_of(arguments.database_argument, b"x", 16) == arguments.NOT_AN_INTEGER


def test_timeouts_round_up_to_whole_ms() -> None:
    assert arguments.timeout_argument(b"0", 0) == 0
    assert arguments.timeout_argument(b"0.0001", 0) == 1
    assert arguments.timeout_argument(b"1.5", 0) == 1500
    assert text_of(arguments.timeout_argument, b"-1", 0) == "ERR timeout is negative"
    assert text_of(arguments.timeout_argument, b"x", 0) == "ERR timeout is not a float or out of range"
    assert text_of(arguments.timeout_argument, b"inf", 0) == "ERR timeout is out of range"


def test_timeouts_in_ms_end_at_a_time() -> None:
    most = (1 << 63) - 1
    assert arguments.timeout_ms_argument(b"10", most - 10) == 10
    assert text_of(arguments.timeout_ms_argument, b"10", most - 9) == "ERR timeout is out of range"
    integer = "ERR timeout is not an integer or out of range"
    for text, error in ((b"0.5", integer), (b"%d" % (most + 1), integer), (b"-1", "ERR timeout is negative")):
        assert text_of(arguments.timeout_ms_argument, text, 0) == error


def test_expire_times_do_not_overflow() -> None:
    now_ms = 1_700_000_000_000
    assert arguments.expire_time_argument(b"10", "set", 1000, now_ms) == now_ms + 10_000
    assert arguments.expire_time_argument(b"10", "set", 1, 0) == 10
    refused = "ERR invalid expire time in 'set' command"
    for bad in (b"0", b"-1", b"9223372036854775", b"9223372036854775807"):
        assert text_of(arguments.expire_time_argument, bad, "set", 1000, now_ms) == refused
    assert arguments.expire_point_argument(b"-10", "expire", 1000, now_ms) == now_ms - 10_000
    limit = INT64_MAX - now_ms
    assert arguments.expire_point_argument(b"%d" % limit, "pexpire", 1, now_ms) == INT64_MAX
    refused = "ERR invalid expire time in 'pexpire' command"
    assert text_of(arguments.expire_point_argument, b"%d" % (limit + 1), "pexpire", 1, now_ms) == refused
    assert arguments.expire_point_argument(b"-9223372036854775", "expire", 1000, 0) == -9223372036854775000
    refused = "ERR invalid expire time in 'expire' command"
    assert text_of(arguments.expire_point_argument, b"-9223372036854776", "expire", 1000, 0) == refused


def test_cursors_are_read_as_strtoul_does() -> None:
    assert arguments.cursor_argument(b"18446744073709551615") == 2**64 - 1
    assert arguments.cursor_argument(b"") == 0
    assert arguments.cursor_argument(b"007") == 7
    assert arguments.cursor_argument(b"-1") == 2**64 - 1
    for bad in (b" 1", b"1 ", b"x", b"+", b"-", b"18446744073709551616", b"9" * 100_000):
        assert text_of(arguments.cursor_argument, bad) == "ERR invalid cursor"


def test_scan_options() -> None:
    options = arguments.scan_options([b"match", b"a*", b"COUNT", b"3", b"type", b"STRING"], with_type=True)
    assert (options.pattern, options.count, options.type_name) == (b"a*", 3, b"string")
    assert arguments.scan_options([b"MATCH", b"*"]).pattern is None
    for bad in ([b"COUNT", b"0"], [b"COUNT"], [b"TYPE", b"string"], [b"FOO", b"1"]):
        assert text_of(arguments.scan_options, bad) == "ERR syntax error"
    assert text_of(arguments.scan_options, [b"COUNT", b"x"]) == arguments.NOT_AN_INTEGER

"""Stream bytes to units and their tokens."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pyrepl.changes.checkpoints import SPACING_BYTES
from pyrepl.changes.units import decode_units
from pyrepl.errors import CorruptData
from pyrepl.resp.encoder import encode_command


def wire(*lines: str) -> bytes:
    return b"".join(encode_command(line.encode().split()) for line in lines)


def test_tokens_are_the_cuts_behind_the_commands() -> None:
    data = wire("SELECT 2", "SET a 1", "PING", "DEL a")
    decoded = decode_units(data, 1000, 0, 1000)
    first = 1000 + len(wire("SELECT 2", "SET a 1"))
    assert decoded.units == [(first, [(2, [b"SET", b"a", b"1"])]), (1000 + len(data), [(2, [b"DEL", b"a"])])]
    assert (decoded.end, decoded.db) == (1000 + len(data), 2)


@pytest.mark.parametrize("case", [str.upper, str.lower])
def test_a_transaction_is_one_token(case: Callable[[str], str]) -> None:
    data = wire(case("MULTI"), "SET a 1", case("SELECT") + " 3", "SET b 2", case("EXEC"))
    decoded = decode_units(data, 0, 0, 0)
    assert decoded.units == [(len(data), [(0, [b"SET", b"a", b"1"]), (3, [b"SET", b"b", b"2"])])]


def test_an_open_transaction_and_half_a_command_are_left_for_later() -> None:
    head = wire("SET a 1")
    for rest in (wire("MULTI", "SET b 1"), wire("SET b 1")[:-3], wire("SELECT 5", "MULTI", "PING")):
        decoded = decode_units(head + rest, 0, 0, 0)
        assert len(decoded.units) == 1
        assert decoded.end >= len(head)
    assert decode_units(head + wire("MULTI", "SET b 1"), 0, 0, 0).end == len(head)


def test_empty_and_discarded_transactions_have_no_rows() -> None:
    data = wire("MULTI", "EXEC", "MULTI", "SET a 1", "DISCARD", "REPLCONF GETACK *")
    decoded = decode_units(data, 0, 0, 0)
    assert (decoded.units, decoded.end) == ([], len(data))


def test_only_what_lies_behind_the_token_asked_for() -> None:
    one, two = wire("SET a 1"), wire("SET b 1")
    decoded = decode_units(one + two, 0, 0, len(one))
    assert [token for token, _ in decoded.units] == [len(one + two)]
    assert decoded.found
    assert not decode_units(one + two, 0, 0, len(one) - 1).found, "within a command"


def test_a_token_within_a_transaction_is_not_found() -> None:
    begin = wire("MULTI", "SET a 1")
    assert not decode_units(begin + wire("SET b 1", "EXEC", "PING"), 0, 0, len(begin)).found


def test_places_are_spaced() -> None:
    command = wire("SET key " + "x" * 100)
    data = command * 1000
    decoded = decode_units(data, 0, 7, 0)
    cuts = [cut for cut, _ in decoded.places]
    assert all(cut % len(command) == 0 for cut in cuts)
    assert all(b - a >= SPACING_BYTES for a, b in zip([0, *cuts], cuts))
    assert len(cuts) == len(data) // (SPACING_BYTES + len(command) - SPACING_BYTES % len(command))
    assert {db for _, db in decoded.places} == {7}


def test_bytes_that_are_no_commands_are_told_with_their_place() -> None:
    with pytest.raises(CorruptData, match=f"at byte {5 + len(wire('PING'))}"):
        decode_units(wire("PING") + b"hello\r\n", 5, 0, 5)

"""The words of a REPLCONF."""

from __future__ import annotations

import pytest

from pyrepl.errors import CommandError
from pyrepl.replication.replconf import (
    MAX_ADDRESS_BYTES,
    Exclusion,
    address_of,
    exclusion_of,
    flag_of,
    is_answered,
    number_of,
    shown,
    why_not_filter,
)


@pytest.mark.parametrize(
    ("line", "answered"),
    [
        ("REPLCONF ACK 1", False),
        ("REPLCONF ack 1 fack 2", False),
        ("REPLCONF GETACK *", False),
        ("REPLCONF listening-port 1", True),
        ("REPLCONF ACK", True),
    ],
)
def test_acknowledgements_are_not_answered(line: str, answered: bool) -> None:
    assert is_answered(line.encode().split()) is answered


def test_values() -> None:
    assert number_of(b"-7") == -7 and flag_of(b"1") is True and flag_of(b"0") is False
    for value in (b"x", b"", b"1.0"):
        with pytest.raises(CommandError, match="not an integer"):
            number_of(value)
    with pytest.raises(CommandError, match="must between 0 and 1"):
        flag_of(b"2")


def test_addresses() -> None:
    longest = "h" * MAX_ADDRESS_BYTES
    assert address_of(longest.encode()) == longest
    with pytest.raises(CommandError, match="too long: 256 bytes"):
        address_of(b"h" * (MAX_ADDRESS_BYTES + 1))


def test_a_filter_names_what_is_wanted() -> None:
    everything = Exclusion.DATA | Exclusion.FUNCTIONS
    assert exclusion_of(b"") == exclusion_of(b" \t") == everything
    assert exclusion_of(b"functions") == exclusion_of(b" Functions functions ") == Exclusion.DATA
    with pytest.raises(CommandError, match=r"^ERR Unsupported rdb-filter-only option: data$"):
        exclusion_of(b"functions data")
    for unbalanced in (b"'functions", b'"', b"'a'b"):
        with pytest.raises(CommandError, match=r"^ERR Missing rdb-filter-only values$"):
            exclusion_of(unbalanced)


def test_a_filter_needs_eof() -> None:
    for excluded in (Exclusion.DATA, Exclusion.DATA | Exclusion.FUNCTIONS):
        assert why_not_filter(excluded, reads_eof=False) == "ERR Filtered replica requires EOF capability"
        assert why_not_filter(excluded, reads_eof=True) == ""
    assert why_not_filter(Exclusion.NONE, reads_eof=False) == ""


def test_a_word_in_an_error_stays_in_its_line() -> None:
    assert shown(b"a\r\nb") == "a  b"
    assert shown(b"x" * 200) == "x" * 128
    with pytest.raises(CommandError, match=r"option: a  b$"):
        exclusion_of(rb'"a\r\nb"')

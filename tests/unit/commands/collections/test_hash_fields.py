"""Arguments of the commands on times to live of fields."""

from __future__ import annotations

import pytest

from pyrepl.commands.collections.hash_fields import (
    FIELDS_MISMATCH,
    FIELDS_MISSING,
    FIELDS_NOT_POSITIVE,
    MAX_FIELD_EXPIRY_MS,
    counted_fields,
    field_count,
    field_expiry_argument,
)
from pyrepl.errors import CommandError


def test_fields_are_counted() -> None:
    assert counted_fields((b"fields", b"2", b"a", b"b")) == (b"a", b"b")


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("", FIELDS_MISSING),
        ("FOO 1 a", FIELDS_MISSING),
        ("FIELDS", FIELDS_MISMATCH),
        ("FIELDS 1", FIELDS_MISMATCH),
        ("FIELDS 2 a", FIELDS_MISMATCH),
        ("FIELDS 1 a b", FIELDS_MISMATCH),
        ("FIELDS 0 a", FIELDS_NOT_POSITIVE),
        ("FIELDS x a", FIELDS_NOT_POSITIVE),
    ],
)
def test_bad_fields_are_refused(line: str, text: str) -> None:
    with pytest.raises(CommandError) as caught:
        counted_fields(tuple(line.encode().split()))
    assert str(caught.value) == text


def test_counts_have_a_limit() -> None:
    assert field_count(b"5", "no", 5) == 5
    with pytest.raises(CommandError, match="no"):
        field_count(b"6", "no", 5)


def test_points_in_time() -> None:
    assert field_expiry_argument(b"5", "hexpire", 1000, 100) == 5100
    assert field_expiry_argument(b"%d" % MAX_FIELD_EXPIRY_MS, "hpexpireat", 1, 0) == MAX_FIELD_EXPIRY_MS


@pytest.mark.parametrize(
    ("text", "unit_ms", "base_ms", "complaint"),
    [
        (b"x", 1, 0, "ERR value is not an integer or out of range"),
        (b"-1", 1, 0, "ERR invalid expire time, must be >= 0"),
        (b"%d" % (MAX_FIELD_EXPIRY_MS + 1), 1, 0, "ERR invalid expire time in 'hexpire' command"),
        (b"%d" % MAX_FIELD_EXPIRY_MS, 1, 1, "ERR invalid expire time in 'hexpire' command"),
        (b"9223372036854775807", 1000, 0, "ERR invalid expire time in 'hexpire' command"),
    ],
)
def test_bad_points_in_time_are_refused(text: bytes, unit_ms: int, base_ms: int, complaint: str) -> None:
    with pytest.raises(CommandError) as caught:
        field_expiry_argument(text, "hexpire", unit_ms, base_ms)
    assert str(caught.value) == complaint

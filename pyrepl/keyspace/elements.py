"""Reads the elements of a list, set or sorted set, and single strings and fields, for SORT."""

from __future__ import annotations

from pyrepl.keyspace.database import Database, Expiry
from pyrepl.keyspace.values import HashValue, ListValue, SetValue, ZsetValue, wrong_type


def read_elements(db: Database, key: bytes) -> tuple[list[bytes], bool]:
    """(a copy of the elements, whether their order means something); a set's order does not. No elements without a key.

    Raises CommandError WRONGTYPE.
    """
    value = db.read(key)
    if value is None:
        return [], True
    if isinstance(value, ListValue):
        return list(value.items), True
    if isinstance(value, SetValue):
        return list(value.members), False
    if isinstance(value, ZsetValue):
        return [member for _, member in value.order], True
    raise wrong_type()


def read_string(db: Database, key: bytes) -> bytes | None:
    """The string at a key; None when no key or another type is there."""
    value = db.read(key)
    return value if isinstance(value, bytes) else None


def read_field(db: Database, key: bytes, field: bytes) -> bytes | None:
    """A field's content. None when its time has passed, or no hash is stored. Expired fields are not removed."""
    value = db.read(key)
    if not isinstance(value, HashValue):
        return None
    at_ms = value.expiry(field)
    if at_ms is not None and at_ms <= db.keyspace.now_ms and db.keyspace.expiry is not Expiry.IGNORE:
        return None
    return value.fields.get(field)

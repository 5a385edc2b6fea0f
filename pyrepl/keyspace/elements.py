"""The elements of a list, set or sorted set, whichever it is: what SORT takes and leaves."""

from __future__ import annotations

from pyrepl.keyspace.database import Database, Expiry
from pyrepl.keyspace.values import HashValue, ListValue, SetValue, ZsetValue, wrong_type


def read_elements(db: Database, key: bytes) -> tuple[list[bytes], bool]:
    """A copy of the elements, nothing without a key; and whether their order means something (a set's does not).

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
    """A string; None when anything else is stored."""
    value = db.read(key)
    return value if isinstance(value, bytes) else None


def read_field(db: Database, key: bytes, field: bytes) -> bytes | None:
    """A field's content, unless its time has passed; None when anything but a hash is stored. Removes nothing."""
    value = db.read(key)
    if not isinstance(value, HashValue):
        return None
    at_ms = value.expiry(field)
    if at_ms is not None and at_ms <= db.keyspace.now_ms and db.keyspace.expiry is not Expiry.IGNORE:
        return None
    return value.fields.get(field)

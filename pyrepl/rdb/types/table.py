"""All value types: finds the types that a version knows, and encodes plain values. Each type's file has its rows."""

from __future__ import annotations

from collections import deque
from typing import Final

from pyrepl.rdb.types import hash as hashes
from pyrepl.rdb.types import list as lists
from pyrepl.rdb.types import module as modules
from pyrepl.rdb.types import set as sets
from pyrepl.rdb.types import stream as streams
from pyrepl.rdb.types import string as strings
from pyrepl.rdb.types import vectorset
from pyrepl.rdb.types import zset as zsets
from pyrepl.rdb.types.row import Encoded, Form, ValueType
from pyrepl.rdb.values import HashWithTtls, StreamValue
from pyrepl.rdb.vectors import VectorSetValue
from pyrepl.rdb.versions import Version

VALUE_TYPES: Final[tuple[ValueType, ...]] = (
    *strings.ROWS,
    *lists.ROWS,
    *sets.ROWS,
    *zsets.ROWS,
    *hashes.ROWS,
    *streams.ROWS,
    *modules.ROWS,
)


def types_of(version: Version) -> dict[int, ValueType]:
    """Type byte -> type, for a file of this version."""
    return {row.number: row for row in VALUE_TYPES if version in row.versions}


def encode_value(value: object, form: Form) -> Encoded:
    """(type byte, bytes) of a plain value. Raises CannotHold, TypeError for anything but a plain value."""
    if isinstance(value, bytes):
        return strings.encode_text(value, form)
    if isinstance(value, dict):
        for sample in value.values():
            if isinstance(sample, float):
                return zsets.encode_zset(value, form)
            break
        return hashes.encode_hash(value, form)
    if isinstance(value, list | deque):
        return lists.encode_list(value, form)
    if isinstance(value, set):
        return sets.encode_set(value, form)
    if isinstance(value, HashWithTtls):
        return hashes.encode_hash_with_ttls(value, form)
    if isinstance(value, StreamValue):
        return streams.encode_stream(value, form)
    if isinstance(value, VectorSetValue):
        return vectorset.encode_vector_set(value, form)
    raise TypeError(f"the snapshot format has no {type(value).__name__}")

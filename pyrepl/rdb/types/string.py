"""Strings: the value is a string of the format, nothing around it."""

from __future__ import annotations

from typing import Final

from pyrepl.rdb.strings import decode_string
from pyrepl.rdb.types.row import Decode, Encoded, Form, ValueType
from pyrepl.rdb.versions import both

STRING: Final = 0


def encode_text(value: bytes, form: Form) -> Encoded:
    return STRING, form.text(value)


def _start() -> Decode:
    return decode_string


ROWS: Final[tuple[ValueType, ...]] = (ValueType(STRING, "string", both(1), _start),)

"""Rows as JSON text: one line, compact, and bytes that are no text kept exactly.

Not here: what a row of each stream holds (sources).

A key or value of Redis is bytes; JSON has text. What is UTF-8 is a string, anything else an object
`{"base64": "..."}`: a reader of any language can tell the two apart, and nothing is lost.
"""

from __future__ import annotations

import base64
import binascii
import json
from typing import Final, TypeAlias

Json: TypeAlias = bool | int | float | str | list["Json"] | dict[str, "Json"] | None

_BASE64: Final = "base64"
_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def encode_row(row: Json) -> str:
    """JSON text of a row, without spaces or line ends. Raises ValueError for NaN and infinities."""
    return _ENCODER.encode(row)


def decode_row(text: str) -> Json:
    """The value of a row. Raises ValueError if `text` is no JSON, or nested too deep for this reader."""
    try:
        row: Json = json.loads(text)
    except RecursionError:
        raise ValueError("expected JSON, got lists or objects nested too deep") from None
    return row


def from_bytes(data: bytes) -> str | dict[str, Json]:
    """Bytes as they stand in a row."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {_BASE64: base64.b64encode(data).decode()}


def to_bytes(value: Json) -> bytes:
    """The inverse of from_bytes. Raises ValueError for anything that from_bytes does not return."""
    if isinstance(value, str):
        return value.encode("utf-8")
    if isinstance(value, dict) and value.keys() == {_BASE64} and isinstance(value[_BASE64], str):
        try:
            return base64.b64decode(value[_BASE64], validate=True)
        except binascii.Error as error:
            raise ValueError(f"expected base64 in a row, got {error}") from None
    raise ValueError(f"expected a string or {{'{_BASE64}': ...}} in a row, got {type(value).__name__}")

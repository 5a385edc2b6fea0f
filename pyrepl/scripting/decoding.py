"""JSON and MessagePack as tokens for Lua: the decoding half of cjson and cmsgpack, by Python's json and by msgpack.

Python's json reads text, and JSON in Redis is bytes: what is no UTF-8 stays as it is, as in cjson. Errors name the same
place as cjson's, but seldom in the same words.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Final

import msgpack

from pyrepl.scripting.values import Tokens

_MOST_INTEGER: Final = 1 << 63
_BAD_DATA: Final = "Bad data format in input."
_MISSING: Final = "Missing bytes in input."
_DEEPEST: Final = 512
"""How deep MessagePack may be nested: as deep as msgpack itself allows."""


class DecodingError(Exception):
    """The text of an error for the script."""


class _Pairs(list[tuple[object, object]]):
    """The pairs of an object or a map, in their order; keys may be there twice, the last one counts."""


def _refuse_constant(name: str) -> float:
    raise DecodingError(f"Expected value but found invalid number {name}")


def decode_json(text: bytes, deepest: int, invalid_numbers: bool) -> Tokens:
    """The value of a JSON text. `invalid_numbers`: NaN and Infinity are read. Raises DecodingError."""
    constant: Callable[[str], float] | None = None if invalid_numbers else _refuse_constant
    try:
        value = json.loads(
            text.decode("utf-8", "surrogateescape"),
            strict=False,
            object_pairs_hook=_Pairs,
            parse_constant=constant,
        )
        tokens = Tokens()
        _add(tokens, value, deepest, b"N")
    except json.JSONDecodeError as error:
        raise DecodingError(_cjson_words(error)) from None
    except RecursionError:
        raise DecodingError(f"Found too many nested data structures ({deepest + 1})") from None
    except UnicodeEncodeError:
        raise DecodingError("Expected value but found invalid unicode escape code") from None
    return tokens


def _cjson_words(error: json.JSONDecodeError) -> str:
    """What cjson would say: where the value is wrong, or where it should have ended."""
    place = len(error.doc[: error.pos].encode("utf-8", "surrogateescape")) + 1
    found = "T_END" if error.pos >= len(error.doc) else "invalid token"
    if error.msg == "Extra data":
        return f"Expected the end but found {found} at character {place}"
    if error.msg.startswith("Expecting ',' delimiter"):
        return f"Expected comma or array end but found {found} at character {place}"
    if error.msg.startswith("Expecting ':'"):
        return f"Expected colon but found {found} at character {place}"
    if error.msg.startswith("Expecting property name"):
        return f"Expected object key string but found {found} at character {place}"
    return f"Expected value but found {found} at character {place}"


def _add(tokens: Tokens, value: object, deepest: int, null: bytes) -> None:
    """Append a decoded value; `null` is the token for null."""
    if isinstance(value, str):
        tokens.add(b"v", value.encode("utf-8", "surrogateescape"))
    elif value is None:
        tokens.add(null)
    elif isinstance(value, bool):
        tokens.add(b"t" if value else b"f")
    elif isinstance(value, int):
        tokens.add(b"v", value if -_MOST_INTEGER <= value < _MOST_INTEGER else _as_float(value))
    elif isinstance(value, bytes | float):
        tokens.add(b"v", value)
    elif not isinstance(value, list):
        raise DecodingError(_BAD_DATA)
    elif deepest <= 0:
        raise DecodingError("Found too many nested data structures")
    elif isinstance(value, _Pairs):
        tokens.add(b"o", len(value))
        for key, item in value:
            _add(tokens, key, deepest - 1, null)
            _add(tokens, item, deepest - 1, null)
    else:
        tokens.add(b"a", len(value))
        for item in value:
            _add(tokens, item, deepest - 1, null)


def _as_float(value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def decode_msgpack(data: bytes, most: int, offset: int) -> Tokens:
    """An array: how many values there are in `data` from `offset` on, `most` of them (0: all), then these values, and
    at last the offset behind them, -1 for the end of the data. Raises DecodingError."""
    if offset < 0 or most < 0:
        raise DecodingError(f"Invalid request to unpack with offset of {offset} and limit of {len(data)}.")
    if offset > len(data):
        raise DecodingError(f"Start offset {offset} greater than input length {len(data)}.")
    unpacker = msgpack.Unpacker(
        raw=True, strict_map_key=False, object_pairs_hook=_Pairs, max_buffer_size=max(1, len(data))
    )
    unpacker.feed(data[offset:])
    found: list[object] = []
    at = offset
    try:
        while at < len(data) and (not most or len(found) < most):
            found.append(unpacker.unpack())
            at = offset + unpacker.tell()
    except msgpack.OutOfData:
        raise DecodingError(_MISSING) from None
    except (msgpack.UnpackException, ValueError, TypeError):
        raise DecodingError(_BAD_DATA) from None
    tokens = Tokens()
    tokens.add(b"a", len(found) + 2)
    tokens.add(b"v", len(found))
    for value in found:
        _add(tokens, value, _DEEPEST, b"n")
    tokens.add(b"v", -1 if at >= len(data) else at)
    return tokens

"""Packed encodings that only old servers wrote, and whole files, built by hand from the facts of the format.

Nothing here is shared with the decoders under test.
"""

from __future__ import annotations

import struct

from anycrc import Model


def ziplist(elements: list[bytes | int]) -> bytes:
    """A ziplist: strings with the shortest length, integers in the narrowest encoding."""
    body = b""
    last = 10
    before = 0
    for element in elements:
        last = 10 + len(body)
        entry = (bytes((before,)) if before < 254 else b"\xfe" + struct.pack("<I", before)) + _ziplist_data(element)
        body += entry
        before = len(entry)
    return struct.pack("<IIH", 11 + len(body), last, min(len(elements), 65535)) + body + b"\xff"


def _ziplist_data(element: bytes | int) -> bytes:
    if isinstance(element, int):
        return _ziplist_integer(element)
    size = len(element)
    if size < 64:
        return bytes((size,)) + element
    if size < 16384:
        return struct.pack(">H", 0x4000 | size) + element
    return b"\x80" + struct.pack(">I", size) + element


def _ziplist_integer(number: int) -> bytes:
    if 0 <= number <= 12:
        return bytes((0xF1 + number,))
    for encoding, width in ((0xFE, 1), (0xC0, 2), (0xF0, 3), (0xD0, 4), (0xE0, 8)):
        if -(1 << width * 8 - 1) <= number < 1 << width * 8 - 1:
            return bytes((encoding,)) + number.to_bytes(width, "little", signed=True)
    raise ValueError(number)


def zipmap(pairs: list[tuple[bytes, bytes]], unused: int = 0) -> bytes:
    """A zipmap; `unused` bytes of free space behind every value."""
    body = b""
    for field, value in pairs:
        body += _zipmap_length(field) + field + _zipmap_length(value) + bytes((unused,)) + value + b"\xee" * unused
    return bytes((min(len(pairs), 254),)) + body + b"\xff"


def _zipmap_length(text: bytes) -> bytes:
    return bytes((len(text),)) if len(text) < 254 else b"\xfe" + struct.pack("<I", len(text))


def text(data: bytes) -> bytes:
    """A string of the format, with a 32-bit length: every reader takes it whatever the size."""
    return b"\x80" + struct.pack(">I", len(data)) + data


def key(kind: int, name: bytes, value: bytes) -> bytes:
    """A key with its type byte and the value's bytes."""
    return bytes((kind,)) + text(name) + value


def snapshot(version: int, body: bytes, magic: bytes | None = None) -> bytes:
    """A whole file around `body`, with the checksum its version has."""
    data = (magic or b"REDIS%04d" % version) + body + b"\xff"
    if version < 5:
        return data
    return data + struct.pack("<Q", Model("CRC64-REDIS").calc(data))

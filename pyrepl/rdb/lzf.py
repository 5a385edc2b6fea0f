"""LZF, the compression of long strings: by the compiled kernel, by python-lzf, or in pure Python.

The format (liblzf's): a control byte n below 32 is followed by n + 1 literal bytes. Any other control byte means a copy
of bytes that were expanded before: its top 3 bits are the length less 2 (7: add the next byte), its low 5 bits and the
next byte are the distance back, less 1. So 3 bytes expand to at most 264, which bounds what a declared length may
claim.

COMPRESSOR_IS_NATIVE tells a caller whether it can afford to compress a whole snapshot.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from pyrepl.rdb.compiled import lzf as kernel
from pyrepl.rdb.cursor import Malformed

MAX_RATIO: Final = 88
"""264 bytes out of 3: no valid input expands more."""

_MAX_DISTANCE: Final = 1 << 13
_MAX_MATCH: Final = 264
_MAX_LITERALS: Final = 32

try:
    import lzf as _native
except ImportError:
    _native = None

_native_compress: Final[Callable[[bytes, int], bytes | None] | None] = _native and _native.compress
_native_decompress: Final[Callable[[bytes, int], bytes | None] | None] = _native and _native.decompress

COMPRESSOR_IS_NATIVE: Final = kernel.COMPILED or _native is not None
"""Whether it runs as C. The pure compressor is a hundred times slower: fit for tests, not snapshots."""


def decompress(data: bytes, size: int) -> bytes:
    """The `size` bytes that `data` stands for. Raises Malformed if it stands for anything else."""
    if size > len(data) * MAX_RATIO or size == 0:
        raise Malformed(f"LZF: {len(data)} bytes cannot expand to the {size} declared")
    if kernel.COMPILED:
        expanded = kernel.decompress(data, size)
        # The pure decompressor has the words for what is wrong.
        return decompress_pure(data, size) if expanded is None else expanded
    if _native_decompress is None:
        return decompress_pure(data, size)
    try:
        plain = _native_decompress(data, size)
    except ValueError as error:
        raise Malformed(f"LZF: {error}") from None
    if plain is None or len(plain) != size:
        raise Malformed(f"LZF: the data does not expand to the {size} bytes declared")
    return plain


def compress(data: bytes) -> bytes | None:
    """`data` compressed, or None when that would not save at least 4 bytes (Redis's rule)."""
    if len(data) <= 4:
        return None
    if kernel.COMPILED:
        return kernel.compress(data)
    if _native_compress is None:
        return compress_pure(data, len(data) - 4)
    return _native_compress(data, len(data) - 4)


def decompress_pure(data: bytes, size: int) -> bytes:
    """As decompress, without the native module; memory stays below `size` plus one match."""
    out = bytearray()
    pos = 0
    end = len(data)
    while pos < end:
        control = data[pos]
        pos += 1
        if control < _MAX_LITERALS:
            stop = pos + control + 1
            if stop > end:
                raise Malformed("LZF: the literals run past the data")
            out += data[pos:stop]
            pos = stop
        else:
            pos = _copy_match(data, pos, control, out)
        if len(out) > size:
            raise Malformed(f"LZF: the data expands past the {size} bytes declared")
    if len(out) != size:
        raise Malformed(f"LZF: the data expands to {len(out)} bytes, {size} are declared")
    return bytes(out)


def _copy_match(data: bytes, pos: int, control: int, out: bytearray) -> int:
    length = control >> 5
    if pos + (2 if length == 7 else 1) > len(data):
        raise Malformed("LZF: a copy runs past the data")
    if length == 7:
        length += data[pos]
        pos += 1
    distance = ((control & 31) << 8 | data[pos]) + 1
    length += 2
    start = len(out) - distance
    if start < 0:
        raise Malformed(f"LZF: a copy from {distance} bytes back, only {len(out)} are there")
    if distance >= length:
        out += out[start : start + length]
    else:
        # The match overlaps what it produces: the last `distance` bytes repeat.
        pattern = bytes(out[start:])
        out += (pattern * (length // distance + 1))[:length]
    return pos + 1


def compress_pure(data: bytes, max_bytes: int) -> bytes | None:
    """`data` compressed into at most `max_bytes`, or None."""
    seen: dict[bytes, int] = {}
    out = bytearray()
    end = len(data)
    literal_start = 0
    pos = 0
    while pos + 2 < end:
        triple = data[pos : pos + 3]
        at = seen.get(triple, -1)
        seen[triple] = pos
        if at < 0 or pos - at > _MAX_DISTANCE:
            pos += 1
            continue
        _put_literals(out, data, literal_start, pos)
        length = _match_length(data, at, pos)
        _put_match(out, pos - at, length)
        pos += length
        literal_start = pos
        if len(out) > max_bytes:
            return None
    _put_literals(out, data, literal_start, end)
    return bytes(out) if len(out) <= max_bytes else None


def _match_length(data: bytes, at: int, pos: int) -> int:
    limit = min(len(data) - pos, _MAX_MATCH)
    length = 3
    while length < limit and data[at + length] == data[pos + length]:
        length += 1
    return length


def _put_literals(out: bytearray, data: bytes, start: int, stop: int) -> None:
    while start < stop:
        size = min(stop - start, _MAX_LITERALS)
        out.append(size - 1)
        out += data[start : start + size]
        start += size


def _put_match(out: bytearray, distance: int, length: int) -> None:
    back = distance - 1
    if length - 2 < 7:
        out.append((length - 2) << 5 | back >> 8)
    else:
        out.append(7 << 5 | back >> 8)
        out.append(length - 2 - 7)
    out.append(back & 0xFF)

# cython: language_level=3, boundscheck=False, wraparound=False, annotation_typing=False
"""The registers of a HyperLogLog, in the two forms in which Redis keeps them as a string.

| bytes | what |
|---|---|
| 0 to 3 | `HYLL` |
| 4 | 0: dense, 1: sparse |
| 5 to 7 | 0 |
| 8 to 15 | the cardinality as it was last worked out, little endian; the highest bit says that it is out of date |
| from 16 on | dense: 16384 registers of 6 bits, the lowest bits first; sparse: runs of equal registers |

| run | what |
|---|---|
| `00llllll` | l + 1 registers that are 0 |
| `01llllll llllllll` | l + 1 registers that are 0 |
| `1vvvvvll` | l + 1 registers that are v + 1 |

A string may hold anything behind its header: clients write into it by SETRANGE. Nothing here reads beyond the string,
whatever it says, and runs that are not of exactly 16384 registers are refused. What a header may be, and what the
registers mean, is `hyperloglog`.

Source: Redis 8.2, byte for byte; the point at which the sparse form becomes dense and the way in which runs are split
and joined too. Compiled by Cython with the types of hll_registers.pxd; as it is written it does the same.
"""

from __future__ import annotations

from array import array

try:
    import cython
except ImportError:
    from pyrepl import plain as cython

if cython.compiled:
    from cython.cimports.cpython.bytes import PyBytes_AS_STRING, PyBytes_FromStringAndSize

_UNRAISED = (b"", 0)
"""What `add` returns where no register was raised."""
_UNSOUND = (b"", -1)
"""What `add` returns for a string that is unsound, or no HyperLogLog at all."""

HEADER_BYTES = 16
REGISTERS = 16384
DENSE_BYTES = 12304
"""The header, and 16384 times 6 bits."""

_MULTIPLIER = 0xC6A4A7935BD1E995
_SEED = 0xADC83B19
_ALL = 0xFFFFFFFFFFFFFFFF
_STOP = 1 << 50
"""Of the 64 bits of a hash, 14 choose the register; this is the bit behind the last of the others."""

_BYTES: list[bytes] = [bytes((number,)) for number in range(256)]


def place_of(element: bytes) -> int:
    """The register of an element and what it counts, as count << 14 | register; the count is in 1..51.

    The hash is MurmurHash64A, of which the lowest 14 bits are the register. The count is that of the zeros behind them,
    and one.
    """
    text = element
    size = len(element)
    number = (_SEED ^ (size * _MULTIPLIER)) & _ALL
    at = 0
    while at + 8 <= size:
        # Eight bytes, the lowest first: a C compiler makes one read of these lines.
        word = text[at + 7]
        word = word << 8 | text[at + 6]
        word = word << 8 | text[at + 5]
        word = word << 8 | text[at + 4]
        word = word << 8 | text[at + 3]
        word = word << 8 | text[at + 2]
        word = word << 8 | text[at + 1]
        word = word << 8 | text[at]
        at += 8
        word = word * _MULTIPLIER & _ALL
        word = (word ^ word >> 47) * _MULTIPLIER & _ALL
        number = (number ^ word) * _MULTIPLIER & _ALL
    if at < size:
        word = 0
        byte = size - 1
        while byte >= at:
            word = word << 8 | text[byte]
            byte -= 1
        number = (number ^ word) * _MULTIPLIER & _ALL
    number = (number ^ number >> 47) * _MULTIPLIER & _ALL
    number ^= number >> 47
    index = number & 16383
    number = number >> 14 | _STOP
    count = 1
    while not number & 1:
        number >>= 1
        count += 1
    return count << 14 | index


def has_sound_header(value: bytes) -> bool:
    """Is the string a HyperLogLog, as far as its header and its length tell?"""
    text = value
    size = len(value)
    if size < 16 or text[0] != 0x48 or text[1] != 0x59 or text[2] != 0x4C or text[3] != 0x4C:
        return False
    return text[4] == 1 or (text[4] == 0 and size == 12304)


def add(value: bytes, words: list[bytes], start: int, most_bytes: int) -> tuple[bytes, int]:
    """Add the elements `words[start:]`. Returns (the string then, how many of them raised a register): (b"", 0) where
    none did, (b"", -1) if the string is unsound, its header included. A sparse string longer than `most_bytes` becomes
    dense.

    Where registers were raised, the cardinality is out of date.
    """
    if not has_sound_header(value):
        return _UNSOUND
    changed = 0
    count = len(words)
    at = start
    while at < count and value[4] == 1:
        place = place_of(words[at])
        raised = raise_sparse(value, place & 16383, place >> 14, most_bytes)
        if raised is None:
            return _UNSOUND
        if raised is not value:
            changed += 1
            value = raised
        at += 1
    if at < count:
        return _add_dense(value, words, at, changed)
    return (value, changed) if changed else _UNRAISED


def _add_dense(value: bytes, words: list[bytes], start: int, changed: int) -> tuple[bytes, int]:
    """As `add`, for a dense string; `changed` have raised a register already."""
    if len(value) != DENSE_BYTES:
        return _UNSOUND
    made = value
    text = value
    count = len(words)
    at = start
    is_copied = False
    while at < count:
        place = place_of(words[at])
        at += 1
        if place >> 14 <= _register(text, place & 16383):
            continue
        if not is_copied:
            # Nobody else knows the new string before it is returned, so its bytes may still be set.
            is_copied = True
            if cython.compiled:
                made = PyBytes_FromStringAndSize(PyBytes_AS_STRING(value), len(value))
                out = made
            else:
                out = bytearray(value)
            out[15] = out[15] | 0x80
            text = out
        _put_register(out, place & 16383, place >> 14)
        changed += 1
    if not changed:
        return _UNRAISED
    return (made if cython.compiled or not is_copied else bytes(out)), changed


def _register(text: bytes | bytearray, index: int) -> int:
    """A register of a dense string, which has all its bytes."""
    bit = index * 6
    at = 16 + (bit >> 3)
    bit = bit & 7
    low = text[at] >> bit
    # The last register ends with the last byte.
    if bit > 2:
        low = low | text[at + 1] << (8 - bit)
    return low & 63


def _put_register(out: bytearray, index: int, count: int) -> None:
    """Set a register of a dense string, which has all its bytes; `count` is in 0..63."""
    bit = index * 6
    at = 16 + (bit >> 3)
    bit = bit & 7
    out[at] = (out[at] & ~(63 << bit) | count << bit) & 255
    if bit > 2:
        out[at + 1] = (out[at + 1] & ~(63 >> (8 - bit)) | count >> (8 - bit)) & 255


def raise_sparse(value: bytes, index: int, count: int, most_bytes: int) -> bytes | None:
    """Raise a register of a sparse string to `count`, in 1..63. Returns the same string if it is not less already, None
    if the runs do not reach that register. The string becomes dense where it would grow beyond `most_bytes`, or the
    count is more than a run can say."""
    if count > 32:
        return _raise_as_dense(value, index, count)
    text = value
    size = len(value)
    at = 16
    before = 16
    first = 0
    span = 0
    step = 1
    code = 0
    while at < size:
        code = text[at]
        step = 1
        if code < 0x40:
            span = code + 1
        elif code >= 0x80:
            span = (code & 3) + 1
        else:
            if at + 1 >= size:
                return None
            span = ((code & 0x3F) << 8 | text[at + 1]) + 1
            step = 2
        if index < first + span:
            break
        before = at
        at += step
        first += span
    if at >= size:
        return None
    is_value = code >= 0x80
    if is_value and (code >> 2 & 31) + 1 >= count:
        return value
    left = index - first
    right = first + span - 1 - index
    one = _BYTES[0x80 | (count - 1) << 2]
    if is_value:
        low = _BYTES[code & 0xFC | left - 1] if left else b""
        high = _BYTES[code & 0xFC | right - 1] if right else b""
    else:
        low = _zeros(left)
        high = _zeros(right)
    more = len(low) + 1 + len(high) - step
    if more > 0 and size + more > most_bytes:
        return _raise_as_dense(value, index, count)
    # The highest bit of byte 15 says that the cardinality is out of date.
    made = b"".join((text[:15], _BYTES[text[15] | 0x80], text[16:at], low, one, high, text[at + step : size]))
    return _joined(made, before)


def raise_all(value: bytes, maxima: bytearray, most_bytes: int) -> bytes | None:
    """Raise the registers of a string with a sound header to `maxima`, REGISTERS bytes, none of which is below the
    string's own. As `raise_sparse` for each, from the first to the last."""
    if len(maxima) != REGISTERS:
        return None
    text = maxima
    index = 0
    while index < 16384 and value[4] == 1:
        if text[index]:
            raised = raise_sparse(value, index, text[index], most_bytes)
            if raised is None:
                return None
            value = raised
        index += 1
    # In the dense form the order in which registers are raised makes no difference.
    return value if value[4] == 1 else packed(value, maxima)


def _zeros(span: int) -> bytes:
    """The run of so many registers that are 0, up to 16384; nothing for none."""
    if span == 0:
        return b""
    if span <= 64:
        return _BYTES[span - 1]
    return _BYTES[0x40 | span - 1 >> 8] + _BYTES[span - 1 & 255]


def _joined(value: bytes, start: int) -> bytes:
    """Join neighbouring runs of the same value, from the run at `start` on.

    Five steps are made, as in Redis, where a step is a run that is passed by or joined to the next.
    """
    text = value
    end = len(value)
    at = start
    steps = 5
    while at < end and steps:
        code = text[at]
        if code >= 0x80 and at + 1 < end and text[at + 1] >> 2 == code >> 2 and (code & 3) + (text[at + 1] & 3) < 3:
            return _with_runs_joined(value, at, steps)
        steps -= 1
        at += 2 if code >= 0x40 and code < 0x80 else 1
    return value


def _with_runs_joined(value: bytes, at: int, steps: int) -> bytes:
    """As `_joined`, from the first run that can be joined on, with the steps that are left."""
    room = bytearray(value)
    end = len(room)
    while at < end and steps:
        steps -= 1
        code = room[at]
        if code < 0x40:
            at += 1
        elif code < 0x80:
            at += 2
        elif at + 1 < end and room[at + 1] >> 2 == code >> 2 and (code & 3) + (room[at + 1] & 3) < 3:
            room[at + 1] = code + (room[at + 1] & 3) + 1
            del room[at]
            end -= 1
        else:
            at += 1
    return bytes(room)


def _raise_as_dense(value: bytes, index: int, count: int) -> bytes | None:
    """As `raise_sparse`, and the result is dense."""
    dense = to_dense(value)
    if dense is None:
        return None
    room = bytearray(dense)
    _put_register(room, index, count)
    room[15] = room[15] | 0x80
    return bytes(room)


def to_dense(value: bytes) -> bytes | None:
    """The dense form of a string with a sound header, with the cardinality as it was; None if the runs are unsound."""
    if value[4] == 0:
        return value
    maxima = bytearray(REGISTERS)
    return packed(value, maxima) if merge(maxima, value) else None


def packed(header: bytes, maxima: bytearray) -> bytes | None:
    """The dense string of these registers, REGISTERS bytes up to 63, with the cardinality of another string; None for
    another number of registers."""
    if len(maxima) != REGISTERS or len(header) < HEADER_BYTES:
        return None
    room = bytearray(DENSE_BYTES)
    out = room
    text = maxima
    room[:16] = header[:16]
    out[4] = 0
    at = 16
    index = 0
    while index < 16384:
        low = text[index] | text[index + 1] << 6 | text[index + 2] << 12 | text[index + 3] << 18
        out[at] = low & 255
        out[at + 1] = low >> 8 & 255
        out[at + 2] = low >> 16 & 255
        at += 3
        index += 4
    return bytes(room)


def merge(maxima: bytearray, value: bytes) -> bool:
    """Raise `maxima`, REGISTERS bytes, to the registers of a string with a sound header. False if that is unsound; some
    registers may have been raised then."""
    if len(maxima) != REGISTERS:
        return False
    out = maxima
    text = value
    size = len(value)
    index = 0
    if text[4] == 0:
        if size != DENSE_BYTES:
            return False
        while index < 16384:
            count = _register(text, index)
            if count > out[index]:
                out[index] = count
            index += 1
        return True
    at = 16
    while at < size:
        code = text[at]
        at += 1
        count = 0
        if code < 0x40:
            span = code + 1
        elif code >= 0x80:
            span = (code & 3) + 1
            count = (code >> 2 & 31) + 1
        else:
            # A run whose second byte is missing is as if that byte were 0, as behind a string of Redis.
            span = ((code & 0x3F) << 8 | (text[at] if at < size else 0)) + 1
            at += 1
        if index + span > 16384:
            return False
        if count == 0:
            index += span
            continue
        while span:
            if count > out[index]:
                out[index] = count
            index += 1
            span -= 1
    return index == 16384


def histogram(maxima: bytearray) -> list[int]:
    """How many of these registers, bytes up to 63, are 0, 1, ... 63."""
    counts = array("i", [0] * 64)
    out = counts
    text = maxima
    size = len(maxima)
    index = 0
    while index < size:
        out[text[index] & 63] += 1
        index += 1
    return counts.tolist()

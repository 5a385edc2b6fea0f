"""Commands on the bits of a string. Bit 0 is the highest bit of the first byte. BITFIELD is in `bitfields`.

Ranges of bits and bytes are inclusive at both ends, and negative positions count from the end, as in Redis.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import and_, or_, xor
from typing import Final

from pyrepl.commands.engine.arguments import integer_argument, syntax_error
from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.table import DENYOOM, FAST, FIRST_ARG, READONLY, WRITE, Keys, command
from pyrepl.errors import CommandError
from pyrepl.resp.numbers import parse_integer

BAD_OFFSET: Final = "ERR bit offset is not an integer or out of range"
BAD_BIT: Final = "ERR bit is not an integer or out of range"


def bit_offset(call: Call, text: bytes, unit_bits: int = 1) -> int:
    """The position of a bit, 0 <= n < 8 * proto-max-bulk-len. The number in `text` counts units of `unit_bits` bits.

    Raises CommandError. proto-max-bulk-len does not limit our master.
    """
    number = parse_integer(text)
    if number is None or number < 0:
        raise CommandError(BAD_OFFSET)
    number *= unit_bits
    limit = call.node.settings.proto_max_bulk_len
    if number >= 2**63 or (number >> 3 >= limit and not call.client.is_master_link):
        raise CommandError(BAD_OFFSET)
    return number


@command("SETBIT", arity=4, flags=WRITE | DENYOOM, keys=FIRST_ARG, group="bitmap", since="2.2.0")
def setbit(call: Call, key: bytes, offset: bytes, bit: bytes) -> int:
    """Set one bit, making the string long enough; the bit it was."""
    position = bit_offset(call, offset)
    if integer_argument(bit, BAD_BIT) not in (0, 1):
        raise CommandError(BAD_BIT)
    value = call.db.find_as(bytes, key)
    at, mask = position >> 3, 0x80 >> (position & 7)
    content = bytearray(value or b"")
    grows = len(content) <= at
    if grows:
        content.extend(bytes(at + 1 - len(content)))
    old = content[at] & mask
    if value is None or grows or bool(old) != (bit == b"1"):
        content[at] = content[at] | mask if bit == b"1" else content[at] & ~mask
        call.db.replace(key, bytes(content))
        call.db.changed(key)
    return 1 if old else 0


@command("GETBIT", arity=3, flags=READONLY | FAST, keys=FIRST_ARG, group="bitmap", since="2.2.0")
def getbit(call: Call, key: bytes, offset: bytes) -> int:
    """One bit; 0 beyond the end."""
    position = bit_offset(call, offset)
    value = call.db.read_as(bytes, key)
    at = position >> 3
    if value is None or at >= len(value):
        return 0
    return value[at] >> (7 - (position & 7)) & 1


@command("BITCOUNT", arity=-2, flags=READONLY, keys=FIRST_ARG, group="bitmap", since="2.6.0")
def bitcount(call: Call, key: bytes, *bounds: bytes) -> int:
    """How many bits are set, in the whole string or from one position to another, both inclusive."""
    if len(bounds) not in (0, 2, 3):
        raise syntax_error()
    start, end = (integer_argument(bounds[0]), integer_argument(bounds[1])) if bounds else (0, -1)
    in_bits = _in_bits(bounds[2:])
    value = call.db.read_as(bytes, key)
    if value is None or (start < 0 and end < 0 and start > end):
        return 0
    total = len(value) * 8 if in_bits else len(value)
    start, end = _clamped(start, end, total)
    if start > end:
        return 0
    return _count(value, start, end) if in_bits else int.from_bytes(value[start : end + 1], "big").bit_count()


def _in_bits(unit: tuple[bytes, ...]) -> bool:
    """Does a range count bits (BIT) and not bytes (BYTE, or no word)? Raises CommandError for another word."""
    if not unit:
        return False
    word = unit[0].upper()
    if word not in (b"BIT", b"BYTE"):
        raise syntax_error()
    return word == b"BIT"


def _clamped(start: int, end: int, total: int) -> tuple[int, int]:
    """A range of positions, counted from the start and cut to the string, which has `total` of them.

    Negative positions count from the end. A range that begins after the end of the string has a start above its end.
    """
    start = max(0, start + total) if start < 0 else start
    end = max(0, end + total) if end < 0 else end
    return start, min(end, total - 1)


def _count(value: bytes, start: int, end: int) -> int:
    """How many bits are 1 from bit `start` to bit `end`, both inclusive and within the string."""
    part = int.from_bytes(value[start >> 3 : (end >> 3) + 1], "big") >> (7 - (end & 7))
    return (part & ((1 << (end - start + 1)) - 1)).bit_count()


@command("BITPOS", arity=-3, flags=READONLY, keys=FIRST_ARG, group="bitmap", since="2.8.7")
def bitpos(call: Call, key: bytes, bit: bytes, *bounds: bytes) -> int:
    """The position of the first bit that is 1, or 0; -1 when there is none in the range.

    Without an end the string counts as followed by zeros for ever, so a 0 is always found.
    """
    wanted = integer_argument(bit)
    if wanted not in (0, 1):
        raise CommandError("ERR The bit argument must be 1 or 0.")
    if len(bounds) > 3:
        raise syntax_error()
    start = integer_argument(bounds[0]) if bounds else 0
    in_bits = _in_bits(bounds[2:])
    end = integer_argument(bounds[1]) if len(bounds) > 1 else -1
    value = call.db.read_as(bytes, key)
    if value is None:
        return -1 if wanted else 0
    total = len(value) * 8 if in_bits else len(value)
    start, end = _clamped(start, end, total)
    if start > end:
        return -1
    if not in_bits:
        start, end = start * 8, end * 8 + 7
    found = _first(value, wanted, start, end)
    if found <= end:
        return found
    return -1 if wanted or len(bounds) > 1 else found


def _first(value: bytes, wanted: int, start: int, end: int) -> int:
    """The position of the first bit at `start` or above that is `wanted`, 0 or 1; a position above `end` for none.

    Only the bytes up to that of `end` are searched. Bits after `end` in that byte may be found too.
    """
    byte = start >> 3
    head = value[byte] ^ (0 if wanted else 0xFF)
    head &= 0xFF >> (start & 7)
    if head:
        return byte * 8 + 8 - head.bit_length()
    rest = value[byte + 1 : (end >> 3) + 1]
    stripped = rest.lstrip(b"\0" if wanted else b"\xff")
    at = byte + 1 + len(rest) - len(stripped)
    if not stripped:
        return at * 8
    return at * 8 + 8 - (stripped[0] ^ (0 if wanted else 0xFF)).bit_length()


def _in_exactly_one(numbers: list[int]) -> int:
    """The bits that are 1 in exactly one of the numbers."""
    once = twice = 0
    for number in numbers:
        twice |= once & number
        once |= number
    return once & ~twice


_OPERATIONS: Final[dict[bytes, Callable[[list[int]], int]]] = {
    b"AND": lambda numbers: reduce(and_, numbers),
    b"OR": lambda numbers: reduce(or_, numbers),
    b"XOR": lambda numbers: reduce(xor, numbers),
    b"DIFF": lambda numbers: numbers[0] & ~reduce(or_, numbers[1:]),
    b"DIFF1": lambda numbers: ~numbers[0] & reduce(or_, numbers[1:]),
    b"ANDOR": lambda numbers: numbers[0] & reduce(or_, numbers[1:]),
    b"ONE": _in_exactly_one,
}
"""Operation of BITOP -> the result for numbers of equal length, at least one. NOT is apart; the last four are Redis
8.2's."""
_NEED_TWO: Final = frozenset({b"DIFF", b"DIFF1", b"ANDOR"})
"""The operations that need two source keys or more."""


@command("BITOP", arity=-4, flags=WRITE | DENYOOM, keys=Keys(2, -1, 1), group="bitmap", since="2.6.0")
def bitop(call: Call, operation: bytes, target: bytes, *sources: bytes) -> int:
    """Store the AND, OR, XOR or NOT of strings, shorter ones padded with zeros; the result's length."""
    word = operation.upper()
    if word != b"NOT" and word not in _OPERATIONS:
        raise syntax_error()
    if word == b"NOT" and len(sources) != 1:
        raise CommandError("ERR BITOP NOT must be called with a single source key.")
    if word in _NEED_TWO and len(sources) < 2:
        raise CommandError(f"ERR BITOP {word.decode()} must be called with at least two source keys.")
    values = [call.db.read_as(bytes, key) or b"" for key in sources]
    size = max(map(len, values))
    if not size:
        if call.db.delete(target):
            call.db.changed(target)
        return 0
    numbers = [int.from_bytes(value.ljust(size, b"\0"), "big") for value in values]
    result = numbers[0] ^ ((1 << 8 * size) - 1) if word == b"NOT" else _OPERATIONS[word](numbers)
    call.db.put(target, result.to_bytes(size, "big"))
    call.db.changed(target)
    return size

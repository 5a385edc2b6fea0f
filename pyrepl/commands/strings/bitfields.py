"""BITFIELD: integers of any width at any bit of a string. Commands on single bits are in `bits`.

An integer stands with its highest bit first, from the bit at its offset on; bit 0 is the highest bit of the first byte.
"""

from __future__ import annotations

from typing import Final, NamedTuple, final

from pyrepl.commands.engine.arguments import integer_argument, syntax_error
from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.table import DENYOOM, FAST, FIRST_ARG, READONLY, WRITE, command
from pyrepl.commands.strings.bits import bit_offset
from pyrepl.errors import CommandError
from pyrepl.resp.numbers import parse_integer

BAD_TYPE: Final = "ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but i64 is."
# What OVERFLOW does with a number that a type cannot hold: keep its low bits, take the nearest one, refuse.
WRAP: Final = b"WRAP"
SAT: Final = b"SAT"
FAIL: Final = b"FAIL"
_ALL_64_BITS: Final = 2**64 - 1


class Kind(NamedTuple):
    """A type of integer, such as `i5` (signed) and `u8` (unsigned): 1 to 64 bits, at most 63 if unsigned.

    A reply of RESP2 cannot hold an unsigned integer of 64 bits.
    """

    signed: bool
    bits: int

    @property
    def lowest(self) -> int:
        return -(1 << (self.bits - 1)) if self.signed else 0

    @property
    def highest(self) -> int:
        return (1 << (self.bits - 1 if self.signed else self.bits)) - 1

    def wrapped(self, number: int) -> int:
        """The integer of this kind that has the same lowest `bits` bits as `number`."""
        number &= (1 << self.bits) - 1
        return number - (1 << self.bits) if self.signed and number > self.highest else number


class Operation(NamedTuple):
    """One operation of a BITFIELD.

    `verb` is GET, SET or INCRBY, `offset` a position in bits. `amount` is the number of SET or INCRBY, 0 for GET.
    `overflow` is the word of the last OVERFLOW before the operation, WRAP without one.
    """

    verb: bytes
    kind: Kind
    offset: int
    amount: int
    overflow: bytes


@command("BITFIELD", arity=-2, flags=WRITE | DENYOOM, keys=FIRST_ARG, group="bitmap", since="3.2.0")
def bitfield(call: Call, key: bytes, *arguments: bytes) -> list[int | None]:
    """Read, set and add to integers inside a string; an array of results, null where an overflow was refused."""
    return _run(call, key, _parse(call, arguments))


@command("BITFIELD_RO", arity=-2, flags=READONLY | FAST, keys=FIRST_ARG, group="bitmap", since="6.0.0")
def bitfield_ro(call: Call, key: bytes, *arguments: bytes) -> list[int | None]:
    """Read integers inside a string."""
    operations = _parse(call, arguments)
    if any(operation.verb != b"GET" for operation in operations):
        raise CommandError("ERR BITFIELD_RO only supports the GET subcommand")
    return _run(call, key, operations)


def _parse(call: Call, arguments: tuple[bytes, ...]) -> list[Operation]:
    """The operations, in the order in which they were given. Raises CommandError."""
    operations: list[Operation] = []
    overflow = WRAP
    at = 0
    while at < len(arguments):
        verb = arguments[at].upper()
        left = len(arguments) - at - 1
        if verb == b"OVERFLOW" and left >= 1:
            overflow = arguments[at + 1].upper()
            if overflow not in (WRAP, SAT, FAIL):
                raise CommandError("ERR Invalid OVERFLOW type specified")
            at += 2
            continue
        size = {b"GET": 2, b"SET": 3, b"INCRBY": 3}.get(verb)
        if size is None or left < size:
            raise syntax_error()
        kind = _kind(arguments[at + 1])
        offset = _offset(call, arguments[at + 2], kind)
        amount = integer_argument(arguments[at + 3]) if verb != b"GET" else 0
        operations.append(Operation(verb, kind, offset, amount, overflow))
        at += size + 1
    return operations


def _kind(text: bytes) -> Kind:
    """The type that a text such as `i5` or `u8` names. Raises CommandError."""
    bits = parse_integer(text[1:])
    signed = text[:1] == b"i"
    if text[:1] not in (b"i", b"u") or bits is None or not 1 <= bits <= (64 if signed else 63):
        raise CommandError(BAD_TYPE)
    return Kind(signed, bits)


def _offset(call: Call, text: bytes, kind: Kind) -> int:
    """The position in bits that `n` or `#n` means; `#n` counts in integers of this kind. Raises CommandError."""
    if text[:1] == b"#":
        return bit_offset(call, text[1:], kind.bits)
    return bit_offset(call, text)


def _run(call: Call, key: bytes, operations: list[Operation]) -> list[int | None]:
    """The results of the operations, one each. Before a write the string grows to hold all written integers.

    As in Redis, it grows even when an overflow then refuses the write. Operations that only read make no key.
    """
    writes = [operation for operation in operations if operation.verb != b"GET"]
    if not writes:
        value = call.db.read_as(bytes, key)
        field = _Field(value or b"")
        return [field.get(operation.kind, operation.offset) for operation in operations]
    value = call.db.find_as(bytes, key)
    field = _Field(value or b"")
    size = (max(operation.offset + operation.kind.bits for operation in writes) + 7) >> 3
    grown = value is None or field.grow(size)
    if value is None:
        field.grow(size)
    replies = [field.apply(operation, grown=grown) for operation in operations]
    if grown or field.changes:
        call.db.replace(key, bytes(field.content))
    if field.changes:
        call.db.changed(key, field.changes)
    return replies


@final
class _Field:
    """The bytes of the string while the operations run. `changes` counts the writes that `dirty` counts."""

    __slots__ = ("changes", "content")

    def __init__(self, content: bytes) -> None:
        self.content = bytearray(content)
        self.changes = 0

    def grow(self, size: int) -> bool:
        """Pad the string with zero bytes to `size` bytes; True if it was shorter."""
        missing = size - len(self.content)
        if missing > 0:
            self.content.extend(bytes(missing))
        return missing > 0

    def get(self, kind: Kind, offset: int) -> int:
        """The integer of this kind at bit `offset`; bits beyond the end of the string are 0."""
        first, last = offset >> 3, (offset + kind.bits - 1) >> 3
        part = bytes(self.content[first : last + 1]).ljust(last - first + 1, b"\0")
        return kind.wrapped(int.from_bytes(part, "big") >> (7 - (offset + kind.bits - 1 & 7)))

    def set(self, kind: Kind, offset: int, number: int) -> None:
        """Write the lowest bits of `number` at bit `offset`. The string must be long enough."""
        first, last = offset >> 3, (offset + kind.bits - 1) >> 3
        shift = 7 - (offset + kind.bits - 1 & 7)
        mask = (1 << kind.bits) - 1
        part = int.from_bytes(self.content[first : last + 1], "big") & ~(mask << shift)
        part |= (number & mask) << shift
        self.content[first : last + 1] = part.to_bytes(last - first + 1, "big")

    def apply(self, operation: Operation, *, grown: bool) -> int | None:
        """Run one operation, and return its result: the integer that GET reads, SET replaces or INCRBY makes.

        None when OVERFLOW FAIL refuses the write. `grown` tells whether the string has grown for this command; then
        each write counts as a change, even one of the same number.
        """
        kind, offset = operation.kind, operation.offset
        old = self.get(kind, offset)
        if operation.verb == b"GET":
            return old
        if operation.verb == b"INCRBY":
            wanted = old + operation.amount
        else:
            # Redis reads the number for SET of an unsigned type as 64 unsigned bits, so a negative one is too great.
            wanted = operation.amount if kind.signed else operation.amount & _ALL_64_BITS
        number = _fitted(kind, wanted, operation.overflow)
        if number is None:
            return None
        self.set(kind, offset, number)
        if grown or number != old:
            self.changes += 1
        return old if operation.verb == b"SET" else number


def _fitted(kind: Kind, number: int, overflow: bytes) -> int | None:
    """The number that is written in place of `number`, by the rule of `overflow`; None when FAIL refuses."""
    if kind.lowest <= number <= kind.highest:
        return number
    if overflow == FAIL:
        return None
    if overflow == SAT:
        return kind.highest if number > kind.highest else kind.lowest
    return kind.wrapped(number)

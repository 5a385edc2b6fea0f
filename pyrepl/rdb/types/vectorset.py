"""Vector sets: the value of Redis 8's module `vectorset`, as items with tags (items.py).

In order: dimensions; number of elements; form of the vectors (8 bits) and M above it (16 bits); flags (1: there is a
projection, 2: there are attributes); the projection: its input dimensions and its matrix. Then the elements, newest
first: name; attributes, if there are any (empty: none); vector; the number of parameters; the parameters:

| parameter | what |
|---|---|
| 1 | id, above 0 |
| 2 | highest layer (8 bits), version of what follows (the uppermost 8 of 32 bits) |
| for each layer | number of links; most links there may be; the ids linked; in version 1: the farthest link |
| last | the vector's length (lower 32 bits, a float), its range (upper 32) |

Written is version 0: Redis 8.0 to 8.6 then look for the farthest links themselves. They keep its place in the list, but
reorder the list as they load it, so what version 1 says there is not to be trusted.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Final, final

from pyrepl.rdb.cursor import Cursor, Malformed
from pyrepl.rdb.length import encode_length
from pyrepl.rdb.types.items import END_BYTE, decode_end, decode_text, decode_unsigned, encode_text, encode_unsigned
from pyrepl.rdb.types.row import CannotHold, Encoded, Form
from pyrepl.rdb.vectors import (
    BIN,
    DEFAULT_M,
    MAX_DIM,
    MAX_LEVEL,
    MAX_M,
    NO_QUANT,
    Q8,
    Projection,
    VectorNode,
    VectorSetValue,
    why_links_unsound,
)
from pyrepl.rdb.versions import redis_only, version_name

MODULE: Final = 7
MODULE_ID: Final = 0xBDE72DA2BB1EB400
"""The id of the module `vectorset`, with version 0 of its encoding."""

VERSIONS: Final = redis_only(8)
"""The versions that can hold it. None is Redis 8's alone: 7.4 writes 12 too, and refuses the module."""

_HAS_PROJECTION: Final = 1
_HAS_ATTRIBUTES: Final = 2
_MOST_LINKS: Final = MAX_M * 4
_WORST_LINKS_VERSION: Final = 1
_MOST_PARAMETERS: Final = 3 + (MAX_LEVEL + 1) * (_MOST_LINKS + 3)
_U32: Final = 0xFFFFFFFF
_TWO_FLOATS: Final = Struct("<ff")


@final
class VectorSetDecoder:
    """A machine whose steps each take some items of the input and say which step comes next (None: done)."""

    __slots__ = ("attributes", "flags", "left", "name", "parameters", "sizes", "step", "value", "vector")

    def __init__(self) -> None:
        self.value = VectorSetValue(1, NO_QUANT)
        self.left = 0
        self.flags = 0
        self.name = self.vector = b""
        self.attributes: bytes | None = None
        self.parameters: list[int] = []
        self.sizes = 0
        self.step: Callable[[Cursor], None] | None = self._head

    def decode(self, cursor: Cursor) -> object:
        """The value. Raises Malformed, ShortInput; see Decode."""
        while self.step is not None:
            self.step(cursor)
            cursor.commit()
        return self.value

    def _head(self, cursor: Cursor) -> None:
        dim = decode_unsigned(cursor)
        count = decode_unsigned(cursor)
        config = decode_unsigned(cursor)
        flags = decode_unsigned(cursor)
        quant, m = config & 0xFF, config >> 8 & 0xFFFF
        if not 0 < dim <= MAX_DIM:
            raise Malformed(f"Vector set of {dim} dimensions, expected 1 to {MAX_DIM}")
        if quant not in (NO_QUANT, Q8, BIN):
            raise Malformed(f"Vector set with the unknown quantization {quant}")
        reason = cursor.why_not_count(count)
        if reason is not None:
            raise Malformed(reason)
        self.value = VectorSetValue(dim, quant, min(m, MAX_M) or DEFAULT_M)
        self.left = count
        self.flags = flags
        self.step = self._projection if flags & _HAS_PROJECTION else self._next()

    def _projection(self, cursor: Cursor) -> None:
        value = self.value
        input_dim = decode_unsigned(cursor)
        if not value.dim <= input_dim <= MAX_DIM:
            raise Malformed(f"Vector set with a projection of {input_dim} dimensions to {value.dim}")
        matrix = decode_text(cursor)
        if len(matrix) != input_dim * value.dim * 4:
            raise Malformed(
                f"Vector set with a projection of {len(matrix)} bytes, expected {input_dim * value.dim * 4}"
            )
        value.projection = Projection(input_dim, matrix)
        self.step = self._next()

    def _next(self) -> Callable[[Cursor], None]:
        return self._element if self.left else self._end

    def _element(self, cursor: Cursor) -> None:
        name = decode_text(cursor)
        attributes = decode_text(cursor) if self.flags & _HAS_ATTRIBUTES else b""
        vector = decode_text(cursor)
        sizes = decode_unsigned(cursor)
        if len(vector) != self.value.vector_bytes:
            raise Malformed(f"Vector of {len(vector)} bytes, expected {self.value.vector_bytes}")
        if name in self.value.nodes:
            raise Malformed(f"Duplicate vector set element {name!r}")
        if not 2 < sizes <= _MOST_PARAMETERS:
            raise Malformed(f"Vector set element with {sizes} parameters")
        self.name, self.attributes, self.vector = name, attributes or None, vector
        self.sizes = sizes
        self.parameters = []
        self.step = self._parameters

    def _parameters(self, cursor: Cursor) -> None:
        taken = self.parameters
        while len(taken) < self.sizes:
            taken.append(decode_unsigned(cursor))
            cursor.commit()
        node = self._node(taken)
        if node.id in self.value.by_id:
            raise Malformed(f"Vector set with the element id {node.id} twice")
        self.value.add(node)
        self.left -= 1
        self.step = self._next()

    def _node(self, parameters: list[int]) -> VectorNode:
        level, version = parameters[1] & 0xFF, parameters[1] >> 24 & 0xFF
        if not parameters[0] or level > MAX_LEVEL or version > _WORST_LINKS_VERSION:
            raise Malformed(f"Vector set element with id {parameters[0]}, layer {level}, version {version}")
        links: list[list[int]] = []
        at = 2
        for _ in range(level + 1):
            at = _take_links(parameters, at, version, links)
        if at + 1 != len(parameters):
            raise Malformed(f"Vector set element with {len(parameters)} parameters, expected {at + 1}")
        l2, value_range = _TWO_FLOATS.unpack(parameters[at].to_bytes(8, "little"))
        if self.value.quant != Q8:
            value_range = 0.0  # Redis has left it as its memory was
        return VectorNode(self.name, parameters[0], self.vector, l2, value_range, links, self.attributes)

    def _end(self, cursor: Cursor) -> None:
        decode_end(cursor)
        value = self.value
        reason = why_links_unsound(value)
        if reason is not None:
            raise Malformed(f"Vector set: {reason}")
        value.nodes = dict(reversed(value.nodes.items()))
        self.step = None


def _take_links(parameters: list[int], at: int, version: int, links: list[list[int]]) -> int:
    """Add the links of one layer, which begins at `at`, to `links`; the index behind it."""
    has_worst = version >= _WORST_LINKS_VERSION
    if at + 2 > len(parameters):
        raise Malformed("Vector set element that ends before its links")
    count, most = parameters[at] & _U32, parameters[at + 1] & _U32
    end = at + 2 + count + has_worst
    if count > most or most > _MOST_LINKS or end > len(parameters):
        raise Malformed(f"Vector set element with {count} links of at most {most}")
    links.append(parameters[at + 2 : at + 2 + count])
    return end


def encode_vector_set(value: VectorSetValue, form: Form) -> Encoded:
    """The value as Redis 8 loads it. Raises CannotHold for a version of Valkey, which has no vector sets."""
    if form.version not in VERSIONS:
        raise CannotHold(f"{version_name(form.version)} has no vector sets")
    has_attributes = any(node.attributes for node in value.nodes.values())
    flags = (_HAS_PROJECTION if value.projection else 0) | (_HAS_ATTRIBUTES if has_attributes else 0)
    out = bytearray(encode_length(MODULE_ID))
    for number in (value.dim, len(value), value.quant | value.m << 8, flags):
        out += encode_unsigned(number)
    if value.projection is not None:
        out += encode_unsigned(value.projection.input_dim)
        out += encode_text(form.text(value.projection.matrix))
    for node in reversed(value.nodes.values()):
        out += encode_text(form.text(node.name))
        if has_attributes:
            out += encode_text(form.text(node.attributes or b""))
        out += encode_text(form.text(node.vector))
        out += b"".join(map(encode_unsigned, _parameters_of(node, value.m)))
    out += END_BYTE
    return MODULE, bytes(out)


def _parameters_of(node: VectorNode, m: int) -> list[int]:
    """The number of parameters of a node, and the parameters."""
    numbers = [node.id, len(node.links) - 1]
    for layer, ids in enumerate(node.links):
        numbers += [len(ids), max(len(ids), m if layer else m * 2), *ids]
    numbers.append(int.from_bytes(_TWO_FLOATS.pack(node.l2, node.range), "little"))
    return [len(numbers), *numbers]

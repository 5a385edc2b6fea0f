"""A vector set as plain data: elements with a vector each, and the graph between them that Redis searches (Redis 8).

The keyspace uses these records as its own payload. What numbers mean is `keyspace.vector_numbers`, how links are made
and unmade is `keyspace.vector_links`; here are data and their bounds.

Vectors are kept as Redis keeps them: scaled to length 1, then in one of three forms.

| form | bytes of a vector | an element is |
|---|---|---|
| NO_QUANT (f32) | 4 for each dimension | a float, least significant byte first |
| Q8 (int8) | 1 for each dimension | a signed number; 127 stands for the greatest of the vector, `range` |
| BIN (bin) | 8 for each 64 dimensions | a bit, lowest first: is it above zero? |
"""

from __future__ import annotations

from typing import Final, NamedTuple, final

NO_QUANT: Final = 0
Q8: Final = 1
BIN: Final = 2

QUANT_NAMES: Final = {NO_QUANT: "f32", Q8: "int8", BIN: "bin"}
"""Redis's names of the forms, as VINFO and VEMB show them."""

MAX_DIM: Final = 1 << 16
MAX_LEVEL: Final = 16
MAX_M: Final = 4096
DEFAULT_M: Final = 16


class Projection(NamedTuple):
    """A matrix that makes vectors of `input_dim` numbers into vectors of the set's `dim`: `dim` rows of floats."""

    input_dim: int
    matrix: bytes


@final
class VectorNode:
    """One element. `links[n]` are the ids of its neighbours in layer n; it stands in each layer of `links`.

    `l2` is the vector's length before it was scaled, `range` see Q8; both are floats of 32 bits. `attributes` is a text
    in JSON, None for none.
    """

    __slots__ = ("attributes", "id", "l2", "links", "name", "range", "vector")

    def __init__(
        self,
        name: bytes,
        node_id: int,
        vector: bytes,
        l2: float,
        value_range: float,
        links: list[list[int]],
        attributes: bytes | None = None,
    ) -> None:
        self.name = name
        self.id = node_id
        self.vector = vector
        self.l2 = l2
        self.range = value_range
        self.links = links
        self.attributes = attributes

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, VectorNode):
            return NotImplemented
        return (
            self.name == other.name
            and self.id == other.id
            and self.vector == other.vector
            and self.l2 == other.l2
            and self.range == other.range
            and self.attributes == other.attributes
            and [sorted(ids) for ids in self.links] == [sorted(ids) for ids in other.links]
        )

    def __repr__(self) -> str:
        return f"VectorNode({self.name!r}, {self.id}, {self.vector!r}, {self.l2}, {self.range}, {self.links}, ...)"


@final
class VectorSetValue:
    """A vector set; never empty while stored.

    `nodes` are the elements by name, oldest first; `by_id` the same by id; `last_id` the greatest id ever given. `m` is
    the number of links that an element should get in a layer. `scan` is what a search keeps of the vectors, made by
    `keyspace.vector_scan` when it is None and needed; it is no part of the value: neither saved nor compared.

    Invariants: each link is mutual, to another node, and stands once in its list; both nodes stand in that layer.
    """

    __slots__ = ("by_id", "dim", "last_id", "m", "nodes", "projection", "quant", "scan")

    def __init__(self, dim: int, quant: int, m: int = DEFAULT_M, projection: Projection | None = None) -> None:
        self.dim = dim
        self.quant = quant
        self.m = m
        self.projection = projection
        self.nodes: dict[bytes, VectorNode] = {}
        self.by_id: dict[int, VectorNode] = {}
        self.last_id = 0
        self.scan: object | None = None

    def __len__(self) -> int:
        """The number of elements."""
        return len(self.nodes)

    @property
    def vector_bytes(self) -> int:
        """The bytes of each vector."""
        if self.quant == NO_QUANT:
            return self.dim * 4
        return self.dim if self.quant == Q8 else (self.dim + 63) // 64 * 8

    @property
    def attributes_count(self) -> int:
        """How many elements have attributes."""
        return sum(1 for node in self.nodes.values() if node.attributes is not None)

    def add(self, node: VectorNode) -> None:
        """Take in a node whose name and id are new."""
        assert node.name not in self.nodes and node.id not in self.by_id
        self.nodes[node.name] = node
        self.by_id[node.id] = node
        self.last_id = max(self.last_id, node.id)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, VectorSetValue):
            return NotImplemented
        return (
            self.dim == other.dim
            and self.quant == other.quant
            and self.m == other.m
            and self.projection == other.projection
            and self.nodes == other.nodes
        )

    def __repr__(self) -> str:
        return f"VectorSetValue({self.dim}, {QUANT_NAMES[self.quant]}, {list(self.nodes.values())!r})"


def why_links_unsound(value: VectorSetValue) -> str | None:
    """Why Redis would refuse the links of a value, or None: see the invariants of VectorSetValue."""
    seen: dict[tuple[int, int], frozenset[int]] = {}
    for node in value.nodes.values():
        for layer, ids in enumerate(node.links):
            if len(set(ids)) != len(ids):
                return f"element {node.name!r} has a link twice"
            for linked in ids:
                reason = _why_not_link(value, node.id, linked, layer, seen)
                if reason is not None:
                    return f"element {node.name!r} {reason}"
    return None


_LONG: Final = 64
"""Lists of links up to this length are looked through; longer ones, which data may hold, are made sets."""


def _why_not_link(
    value: VectorSetValue, node_id: int, linked: int, layer: int, seen: dict[tuple[int, int], frozenset[int]]
) -> str | None:
    """Why `node_id` may not be linked to `linked`, or None. `seen` keeps the sets made of long lists."""
    other = value.by_id.get(linked)
    if other is None or other.id == node_id or layer >= len(other.links):
        return f"has a link to {linked}, which is no other element of its layer {layer}"
    back = other.links[layer]
    if len(back) > _LONG:
        if (linked, layer) not in seen:
            seen[linked, layer] = frozenset(back)
        mutual = node_id in seen[linked, layer]
    else:
        mutual = node_id in back
    return None if mutual else f"has a link to {linked} that is not mutual"

"""Operations on vector sets: add, remove, search, read. `commands` parses arguments and shapes replies.

Values are `rdb.vectors.VectorSetValue`. Whoever computes with vectors needs numpy, which is no part of a plain
installation: those verbs raise CommandError without it. What only reads names, attributes and counts does without.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from pyrepl.errors import CommandError
from pyrepl.keyspace.database import Database
from pyrepl.keyspace.sampling import Below, distinct_positions
from pyrepl.rdb.vectors import VectorNode, VectorSetValue

if TYPE_CHECKING:
    from pyrepl.keyspace.vector_filter import Filter
    from pyrepl.keyspace.vector_numbers import Floats
    from pyrepl.keyspace.vector_scan import Near, VectorScan

MOST_PROJECTED: Final = 1 << 24
"""How many numbers the matrix of REDUCE may have: 64 MB, enough to make 4096 dimensions of 4096. Redis has no limit."""
NEEDS_NUMPY: Final = "ERR vector sets need numpy on this node: pip install 'pyrepl-server[vectors]'"


def need_numpy() -> None:
    """Raise CommandError if numpy is not installed. The first call loads it."""
    try:
        import numpy  # noqa: F401
    except ImportError:
        raise CommandError(NEEDS_NUMPY) from None


class Shape(NamedTuple):
    """What a VADD says of the whole set: the form of its vectors, M, and the dimensions of REDUCE (0: without it)."""

    quant: int
    m: int
    reduce: int


# ------------------------------------------------------------------ changing


def add(db: Database, key: bytes, name: bytes, floats: Floats, shape: Shape, attributes: bytes | None, ef: int) -> bool:
    """Add an element, or give it another vector; make the set if there is none. True if the element is new.

    `attributes` None: those that the element has stay. An empty text takes them away, but a new element keeps it, as in
    Redis. `ef` is how many near elements are looked at for links. Raises CommandError, also when the set is of another
    shape.
    """
    need_numpy()
    from pyrepl.keyspace.vector_links import link, top_layer, unlink
    from pyrepl.keyspace.vector_numbers import projected, stored

    value = db.find_as(VectorSetValue, key)
    is_new_set = value is None
    if value is None:
        value = _new_set(len(floats), shape)
    else:
        _check_shape(value, len(floats), shape)
    if value.projection is not None:
        floats = projected(value.projection, floats)
    scan = _scan_of(value)
    old = value.nodes.get(name)
    if old is not None:
        unlink(value, scan, old)
        attributes = old.attributes if attributes is None else attributes or None
    vector = stored(value, floats)
    node_id = value.last_id + 1
    links: list[list[int]] = [[] for _ in range(top_layer(node_id) + 1)]
    node = VectorNode(name, node_id, vector.vector, vector.l2, vector.range, links, attributes)
    link(value, scan, node, ef)
    if is_new_set:
        db.put(key, value)
    db.changed(key)
    return old is None


def _new_set(dim: int, shape: Shape) -> VectorSetValue:
    from pyrepl.keyspace.vector_numbers import projection

    if not shape.reduce:
        return VectorSetValue(dim, shape.quant, shape.m)
    if dim * shape.reduce > MOST_PROJECTED:
        raise CommandError(f"ERR REDUCE of {dim} dimensions to {shape.reduce} needs too large a matrix")
    return VectorSetValue(shape.reduce, shape.quant, shape.m, projection(dim, shape.reduce))


def _check_shape(value: VectorSetValue, dim: int, shape: Shape) -> None:
    """Raise CommandError, with Redis's text, if a vector of `dim` floats with these options does not fit the set."""
    if value.quant != shape.quant:
        raise CommandError("ERR asked quantization mismatch with existing vector set")
    if value.m != shape.m:
        raise CommandError("ERR asked M value mismatch with existing vector set")
    if (dim if value.projection is None else shape.reduce) != value.dim:
        raise _other_dimension(value, dim)
    if value.projection is None:
        if shape.reduce:
            raise CommandError("ERR cannot add projection to existing set without projection")
    elif dim != value.projection.input_dim:
        raise _other_input(dim, value.projection.input_dim)


def _other_dimension(value: VectorSetValue, dim: int) -> CommandError:
    return CommandError(f"ERR Vector dimension mismatch - got {dim} but set has {value.dim}")


def _other_input(dim: int, wanted: int) -> CommandError:
    return CommandError(f"ERR Input dimension mismatch for projection - got {dim} but projection expects {wanted}")


def remove(db: Database, key: bytes, name: bytes) -> bool:
    """Remove an element, and the key with the last one; True if the element was there. Raises CommandError."""
    value = db.find_as(VectorSetValue, key)
    node = None if value is None else value.nodes.get(name)
    if value is None or node is None:
        return False
    need_numpy()
    from pyrepl.keyspace.vector_links import unlink

    unlink(value, _scan_of(value), node)
    if not value.nodes:
        db.delete(key)
    db.changed(key)
    return True


def set_attributes(db: Database, key: bytes, name: bytes, attributes: bytes) -> bool:
    """Give an element attributes, or take them away with an empty text; True if the element is there."""
    value = db.find_as(VectorSetValue, key)
    node = None if value is None else value.nodes.get(name)
    if node is None:
        return False
    node.attributes = attributes or None
    db.changed(key)
    return True


# ------------------------------------------------------------------ reading


def similarity(distance: float) -> float:
    """What clients are told of a distance: 1 for the same direction, 0 for the opposite one."""
    return 1.0 - distance / 2.0


def read(db: Database, key: bytes) -> VectorSetValue | None:
    """The set, which the caller only looks at; counts a hit or a miss."""
    return db.read_as(VectorSetValue, key)


def element(db: Database, key: bytes, name: bytes) -> tuple[VectorSetValue, VectorNode] | None:
    """A set and one of its elements; None if one of them is missing. Counts a hit or a miss of the key."""
    value = read(db, key)
    node = None if value is None else value.nodes.get(name)
    return None if value is None or node is None else (value, node)


def sample(value: VectorSetValue, count: int, below: Below) -> list[bytes]:
    """The names of `count` different elements, or of all, in random order."""
    names = list(value.nodes)
    return [names[position] for position in distinct_positions(count, len(names), below)]


def pick_several(value: VectorSetValue, count: int, below: Below) -> list[bytes]:
    """The names of `count` random elements; an element may come more than once."""
    names = list(value.nodes)
    return [names[below(len(names))] for _ in range(count)]


def numbers_of(value: VectorSetValue, node: VectorNode) -> list[float]:
    """The vector of an element, as near as the form of the set allows to what was added. Raises CommandError."""
    need_numpy()
    from pyrepl.keyspace.vector_numbers import floats_of

    return [float(number) for number in floats_of(value, node)]


def distances_of_links(value: VectorSetValue, node: VectorNode, layer: int) -> list[float]:
    """The distances from an element to those that it is linked to in a layer, in their order. Raises CommandError."""
    linked = [value.by_id[other] for other in node.links[layer]]
    if not linked:
        return []
    need_numpy()
    return [float(distance) for distance in _scan_of(value).between([node], linked)[0]]


def query_of(value: VectorSetValue, floats: Floats) -> Floats:
    """A vector to search with, made shorter if the set does so and it is not yet. Raises CommandError."""
    from pyrepl.keyspace.vector_numbers import projected

    if value.projection is not None and len(floats) != value.dim:
        if len(floats) != value.projection.input_dim:
            raise _other_input(len(floats), value.projection.input_dim)
        return projected(value.projection, floats)
    if len(floats) != value.dim:
        raise _other_dimension(value, len(floats))
    return floats


def query_of_element(value: VectorSetValue, name: bytes) -> Floats:
    """The vector of an element to search with. Raises CommandError."""
    node = value.nodes.get(name)
    if node is None:
        raise CommandError("ERR element not found in set")
    need_numpy()
    from pyrepl.keyspace.vector_numbers import floats_of

    return floats_of(value, node)


def nearest(value: VectorSetValue, floats: Floats, count: int) -> Sequence[Near]:
    """The `count` elements that are nearest to a vector of `value.dim` floats, nearest first. The search is exact."""
    from pyrepl.keyspace.vector_numbers import stored

    scan = _scan_of(value)
    return scan.nearest(scan.distances_from(stored(value, floats)), count)


def nearest_kept(value: VectorSetValue, floats: Floats, count: int, keeps: Filter, most: int | None) -> Sequence[Near]:
    """As `nearest`, of the elements whose attributes a filter keeps; it is asked about the `most` nearest, or all."""
    from pyrepl.keyspace.vector_numbers import stored

    scan = _scan_of(value)
    away = scan.distances_from(stored(value, floats))
    asked: Iterable[Near] = islice(scan.in_order(away), most)
    return list(islice((near for near in asked if keeps.keeps(near.node.attributes)), count))


def _scan_of(value: VectorSetValue) -> VectorScan:
    """The rows of a set, made when they are first needed."""
    from pyrepl.keyspace.vector_scan import VectorScan

    if not isinstance(value.scan, VectorScan):
        value.scan = VectorScan(value)
    return value.scan

"""Commands on the elements of vector sets; searching is in `vector_searches`. Redis 8 has them in a module.

What numbers mean is `keyspace.vector_numbers`. Replies and texts are Redis 8.2's, VRANGE's those of 8.4.
"""

from __future__ import annotations

from heapq import nsmallest
from typing import Final

from pyrepl.commands.engine.arguments import integer_argument
from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.key_counts import check_pick_count
from pyrepl.commands.engine.table import DENYOOM, FAST, FIRST_ARG, READONLY, WRITE, command
from pyrepl.commands.vectors.arguments import Addition, Bound, wrong_arity
from pyrepl.errors import CommandError
from pyrepl.keyspace import vector_verbs
from pyrepl.rdb.vectors import Q8, QUANT_NAMES
from pyrepl.resp.reply import NULL_ARRAY, Reply, Simple

_GROUP: Final = "module"


@command("VADD", arity=-5, flags=WRITE | DENYOOM, keys=FIRST_ARG, group=_GROUP, since="8.0.0")
def vadd(call: Call, key: bytes, *words: bytes) -> bool:
    """Add an element to a vector set, or give it another vector

    It propagates in both cases. Redis keeps an update to itself, and its replicas keep the old vector.
    """
    added = Addition(words)
    return vector_verbs.add(call.db, key, added.name, added.floats, added.shape, added.attributes, added.ef)


@command("VREM", arity=3, flags=WRITE, keys=FIRST_ARG, group=_GROUP, since="8.0.0")
def vrem(call: Call, key: bytes, element: bytes) -> bool:
    """Remove an element; the set goes with its last one"""
    return vector_verbs.remove(call.db, key, element)


@command("VSETATTR", arity=4, flags=WRITE | FAST, keys=FIRST_ARG, group=_GROUP, since="8.0.0")
def vsetattr(call: Call, key: bytes, element: bytes, json: bytes) -> bool:
    """Give an element attributes, a text in JSON, or take them away with an empty one"""
    return vector_verbs.set_attributes(call.db, key, element, json)


@command("VGETATTR", arity=3, flags=READONLY | FAST, keys=FIRST_ARG, group=_GROUP, since="8.0.0")
def vgetattr(call: Call, key: bytes, element: bytes) -> bytes | None:
    """The attributes of an element"""
    found = vector_verbs.element(call.db, key, element)
    return None if found is None else found[1].attributes


@command("VCARD", arity=2, flags=READONLY | FAST, keys=FIRST_ARG, group=_GROUP, since="8.0.0")
def vcard(call: Call, key: bytes) -> int:
    """The number of elements"""
    value = vector_verbs.read(call.db, key)
    return 0 if value is None else len(value)


@command("VDIM", arity=2, flags=READONLY | FAST, keys=FIRST_ARG, group=_GROUP, since="8.0.0")
def vdim(call: Call, key: bytes) -> int:
    """The number of dimensions that each vector of a set has"""
    value = vector_verbs.read(call.db, key)
    if value is None:
        raise CommandError("ERR key does not exist")
    return value.dim


@command("VISMEMBER", arity=3, flags=READONLY, keys=FIRST_ARG, group=_GROUP, since="8.2.0")
def vismember(call: Call, key: bytes, element: bytes) -> bool:
    """Whether an element is in a vector set"""
    return vector_verbs.element(call.db, key, element) is not None


@command("VEMB", arity=-3, flags=READONLY | FAST, keys=FIRST_ARG, group=_GROUP, since="8.0.0")
def vemb(call: Call, key: bytes, element: bytes, *options: bytes) -> Reply:
    """The vector of an element, as near as the set's form of storage allows"""
    if any(option.upper() != b"RAW" for option in options):
        raise CommandError("ERR invalid option")
    found = vector_verbs.element(call.db, key, element)
    if found is None:
        return None
    value, node = found
    if not options:
        return list(vector_verbs.numbers_of(value, node))
    raw: list[Reply] = [Simple(QUANT_NAMES[value.quant].encode()), node.vector, node.l2]
    return [*raw, node.range] if value.quant == Q8 else raw


@command("VLINKS", arity=-3, flags=READONLY | FAST, keys=FIRST_ARG, group=_GROUP, since="8.0.0")
def vlinks(call: Call, key: bytes, element: bytes, *options: bytes) -> list[Reply] | None:
    """The elements that one is linked to, for each of its layers"""
    if len(options) > 1 or any(option.upper() != b"WITHSCORES" for option in options):
        raise wrong_arity("VLINKS")
    found = vector_verbs.element(call.db, key, element)
    if found is None:
        return None
    value, node = found
    layers: list[Reply] = []
    for layer in reversed(range(len(node.links))):
        names: list[Reply] = [value.by_id[linked].name for linked in node.links[layer]]
        if options:
            distances = vector_verbs.distances_of_links(value, node, layer)
            layers.append(dict(zip(names, map(vector_verbs.similarity, distances))))
        else:
            layers.append(names)
    return layers


@command("VINFO", arity=2, flags=READONLY | FAST, keys=FIRST_ARG, group=_GROUP, since="8.0.0")
def vinfo(call: Call, key: bytes) -> Reply:
    """How a vector set stores its elements, and how many it has

    `vset-uid` tells sets apart as long as they live; it is no count of sets as in Redis.
    """
    value = vector_verbs.read(call.db, key)
    if value is None:
        return NULL_ARRAY
    return {
        Simple(b"quant-type"): Simple(QUANT_NAMES[value.quant].encode()),
        Simple(b"hnsw-m"): value.m,
        Simple(b"vector-dim"): value.dim,
        Simple(b"projection-input-dim"): 0 if value.projection is None else value.projection.input_dim,
        Simple(b"size"): len(value),
        Simple(b"max-level"): max(len(node.links) for node in value.nodes.values()) - 1,
        Simple(b"attributes-count"): value.attributes_count,
        Simple(b"vset-uid"): id(value),
        Simple(b"hnsw-max-node-uid"): value.last_id,
    }


@command("VRANDMEMBER", arity=-2, flags=READONLY, keys=FIRST_ARG, group=_GROUP, since="8.0.0")
def vrandmember(call: Call, key: bytes, *counts: bytes) -> Reply:
    """Random elements; a negative count allows repetitions"""
    if len(counts) > 1:
        raise wrong_arity("VRANDMEMBER")
    count = integer_argument(counts[0], "ERR COUNT value is not an integer") if counts else 0
    if counts and not count:
        return []
    value = vector_verbs.read(call.db, key)
    if value is None:
        return [] if counts else None
    below = call.random.below
    if not counts:
        return vector_verbs.pick_several(value, 1, below)[0]
    if count > 0:
        return list(vector_verbs.sample(value, count, below))
    check_pick_count(count, pairs=False)
    return list(vector_verbs.pick_several(value, -count, below))


@command("VRANGE", arity=-4, flags=READONLY, keys=FIRST_ARG, group=_GROUP, since="8.4.0")
def vrange(call: Call, key: bytes, start: bytes, end: bytes, *counts: bytes) -> list[Reply]:
    """The elements whose names lie between two, in order"""
    if len(counts) > 1:
        raise wrong_arity("VRANGE")
    count = integer_argument(counts[0], "ERR invalid COUNT value") if counts else -1
    first, last = Bound(start, "start"), Bound(end, "end")
    if first.is_greatest or end == b"-":
        raise CommandError("ERR '-' can only be used as first argument, '+' only as second")
    value = vector_verbs.read(call.db, key)
    if value is None:
        return []
    names = [name for name in value.nodes if first.is_below(name) and last.is_above(name)]
    return list(sorted(names) if count < 0 else nsmallest(count, names))

"""Commands on single places: adding them to a sorted set, and asking where they are. Searching is in `searches`.

What a score says is `keyspace.geo_cells`. Replies and texts are Redis 8.2's.
"""

from __future__ import annotations

from pyrepl.commands.engine.arguments import syntax_error
from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.table import DENYOOM, FIRST_ARG, READONLY, WRITE, command
from pyrepl.commands.geo.arguments import distance_text, place_argument, unit_argument
from pyrepl.keyspace import geo_cells, zset_verbs
from pyrepl.keyspace.zset_verbs import Condition
from pyrepl.resp.reply import NULL_ARRAY, Reply


@command("GEOADD", arity=-5, flags=WRITE | DENYOOM, keys=FIRST_ARG, group="geo", since="3.2.0")
def geoadd(call: Call, key: bytes, *arguments: bytes) -> int:
    """Add members with their places to a sorted set, or change places; how many were new.

    Propagates as ZADD with the scores.
    """
    condition = Condition()
    with_changed = False
    start = 0
    for word in map(bytes.upper, arguments):
        if word == b"NX":
            condition.nx = True
        elif word == b"XX":
            condition.xx = True
        elif word == b"CH":
            with_changed = True
        else:
            break
        start += 1
    rest = arguments[start:]
    if not rest or len(rest) % 3 or (condition.nx and condition.xx):
        raise syntax_error()
    cells = [
        geo_cells.cell_of(*place_argument(*pair), geo_cells.STEPS, geo_cells.MAX_LATITUDE) for pair in _pairs(rest)
    ]
    members = rest[2::3]
    added, updated = zset_verbs.add_several(call.db, key, members, [float(cell) for cell in cells], condition)
    if added + updated:
        words = [word for cell, member in zip(cells, members) for word in (b"%d" % cell, member)]
        call.rewrite(b"zadd", key, *arguments[:start], *words)
    return added + updated if with_changed else added


def _pairs(triples: tuple[bytes, ...]) -> list[tuple[bytes, bytes]]:
    return list(zip(triples[::3], triples[1::3]))


@command("GEOPOS", arity=-2, flags=READONLY, keys=FIRST_ARG, group="geo", since="3.2.0")
def geopos(call: Call, key: bytes, *members: bytes) -> list[Reply]:
    """The longitude and latitude of members; null for one that is missing."""
    scores = zset_verbs.scores(call.db, key, members)
    return [NULL_ARRAY if score is None else list(geo_cells.place_of(score)) for score in scores]


@command("GEOHASH", arity=-2, flags=READONLY, keys=FIRST_ARG, group="geo", since="3.2.0")
def geohash(call: Call, key: bytes, *members: bytes) -> list[bytes | None]:
    """The places of members as geohashes of 11 letters; null for one that is missing."""
    scores = zset_verbs.scores(call.db, key, members)
    return [None if score is None else geo_cells.text_of(score) for score in scores]


@command("GEODIST", arity=-4, flags=READONLY, keys=FIRST_ARG, group="geo", since="3.2.0")
def geodist(call: Call, key: bytes, member1: bytes, member2: bytes, *units: bytes) -> bytes | None:
    """The distance between two members, in metres or another unit; null if one is missing."""
    metres = unit_argument(units[0]) if len(units) == 1 else 1.0
    if len(units) > 1:
        raise syntax_error()
    one, other = zset_verbs.scores(call.db, key, (member1, member2))
    if one is None or other is None:
        return None
    return distance_text(geo_cells.distance(*geo_cells.place_of(one), *geo_cells.place_of(other)) / metres)

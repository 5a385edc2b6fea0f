"""Searches for members around a place: GEOSEARCH, GEORADIUS and their relatives.

Parsing them is `search_arguments`; which scores are looked at, and what lies inside, is `keyspace.geo_cells`. Replies,
their order, and texts are Redis 8.2's; polygons are Valkey's.
"""

from __future__ import annotations

import math
from typing import Final, final

from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.table import (
    DENYOOM,
    FIRST_ARG,
    FIRST_TWO,
    MOVABLE_KEYS,
    READONLY,
    WRITE,
    Keys,
    KeysOf,
    Words,
    command,
)
from pyrepl.commands.geo.arguments import distance_text
from pyrepl.commands.geo.search_arguments import (
    AS_FOUND,
    ASCENDING,
    DESCENDING,
    MEMBER,
    MEMBER_RO,
    RADIUS,
    RADIUS_RO,
    SEARCH,
    SEARCH_STORE,
    Kind,
    Search,
    parse_search,
)
from pyrepl.keyspace import geo_cells, zset_verbs
from pyrepl.keyspace.geo_cells import Area
from pyrepl.keyspace.merge_sort import Entry
from pyrepl.keyspace.partial_sort import first_in_order
from pyrepl.keyspace.zset_verbs import ScoreReader
from pyrepl.resp.reply import Reply

_INSIDE: Final = geo_cells.inside
_CIRCLE: Final = geo_cells.circle
_BOX: Final = geo_cells.box
_POLYGON: Final = geo_cells.polygon
_PLACE_OF: Final = geo_cells.place_of
_MEMBERS_OF: Final = geo_cells.members_of
"""Looked up once: mypyc would look up a function of a Cython module by its name at each call."""


def _stored_keys(start: int) -> KeysOf:
    """Of GEORADIUS: its first argument, and what follows the first STORE and the first STOREDIST from `start` on."""

    def positions(argv: list[bytes]) -> list[int]:
        words = [word.upper() for word in argv]
        keys = [1]
        for word in (b"STORE", b"STOREDIST"):
            if word in words[start:]:
                place = words.index(word, start) + 1
                if place < len(argv):
                    keys.append(place)
        return keys

    return positions


@final
class _Geosearch(Words):
    def run(self, call: Call, argv: list[bytes]) -> object:
        return _search(call, SEARCH, argv, 2)


_GEOSEARCH: Final = _Geosearch()


@command("GEOSEARCH", arity=-7, flags=READONLY, keys=FIRST_ARG, group="geo", since="6.2.0", words=_GEOSEARCH)
def geosearch(call: Call, key: bytes, *arguments: bytes) -> object:
    """The members inside a circle or box around a place or a member, or inside a polygon."""
    return _GEOSEARCH.run(call, [b"GEOSEARCH", key, *arguments])


@command("GEOSEARCHSTORE", arity=-8, flags=WRITE | DENYOOM, keys=FIRST_TWO, group="geo", since="6.2.0")
def geosearchstore(call: Call, destination: bytes, source: bytes, *arguments: bytes) -> Reply:
    """Store the members inside a circle or box around a place or a member, or inside a polygon; how many they are."""
    return _search(call, SEARCH_STORE, call.argv, 3, destination)


@command(
    "GEORADIUS",
    arity=-6,
    flags=WRITE | DENYOOM | MOVABLE_KEYS,
    keys=Keys(1, 1, 1, _stored_keys(6)),
    group="geo",
    since="3.2.0",
)
def georadius(call: Call, key: bytes, *arguments: bytes) -> Reply:
    """The members inside a circle around a place, answered or stored."""
    return _search(call, RADIUS, call.argv, 2)


@command("GEORADIUS_RO", arity=-6, flags=READONLY, keys=FIRST_ARG, group="geo", since="3.2.10")
def georadius_ro(call: Call, key: bytes, *arguments: bytes) -> Reply:
    """The members inside a circle around a place."""
    return _search(call, RADIUS_RO, call.argv, 2)


@command(
    "GEORADIUSBYMEMBER",
    arity=-5,
    flags=WRITE | DENYOOM | MOVABLE_KEYS,
    keys=Keys(1, 1, 1, _stored_keys(5)),
    group="geo",
    since="3.2.0",
)
def georadiusbymember(call: Call, key: bytes, *arguments: bytes) -> Reply:
    """The members inside a circle around a member, answered or stored."""
    return _search(call, MEMBER, call.argv, 2)


@command("GEORADIUSBYMEMBER_RO", arity=-5, flags=READONLY, keys=FIRST_ARG, group="geo", since="3.2.10")
def georadiusbymember_ro(call: Call, key: bytes, *arguments: bytes) -> Reply:
    """The members inside a circle around a member."""
    return _search(call, MEMBER_RO, call.argv, 2)


def _search(call: Call, kind: Kind, argv: list[bytes], start: int, destination: bytes | None = None) -> Reply:
    """The reply to a command whose words say from `start` on, behind the key that is read, what is searched."""
    source = zset_verbs.reader(call.db, argv[start - 1])
    search = parse_search(kind, argv, start, source, destination)
    entries: list[Entry] = [] if source is None else _ordered(search, _found(search, source))
    if search.destination is None:
        return _answer(search, entries)
    scores = {member: away_m / search.unit_m if search.stores_distances else score for away_m, score, member in entries}
    zset_verbs.store(call.db, search.destination, scores, changes=max(1, len(scores)))
    return len(scores)


def _found(search: Search, source: ScoreReader) -> list[Entry]:
    """(distance in metres, score, member) of what lies inside, in the order of cells."""
    most = search.count if search.any else 0
    return _INSIDE(source.pieces(), _area(search), most)


def _area(search: Search) -> Area:
    x, y, unit_m = search.longitude, search.latitude, search.unit_m
    if search.vertices:
        return _POLYGON(search.vertices)
    if not search.is_box:
        return _CIRCLE(x, y, search.radius * unit_m)
    half_width, half_height = search.width / 2.0, search.height / 2.0
    corner = math.sqrt(half_width * half_width + half_height * half_height)
    return _BOX(x, y, half_width * unit_m, half_height * unit_m, corner * unit_m)


def _ordered(search: Search, found: list[Entry]) -> list[Entry]:
    """As many as are asked for, in the order that is asked for."""
    count = search.count or len(found)
    order = search.order
    if order == AS_FOUND:
        # The nearest ones are wanted, unless any will do.
        if not search.count or search.any:
            return found[:count]
        order = ASCENDING
    return first_in_order(found, count, order == DESCENDING)


def _answer(search: Search, entries: list[Entry]) -> Reply:
    if not (search.with_distance or search.with_hash or search.with_place):
        return _MEMBERS_OF(entries)
    unit_m = search.unit_m
    items: list[Reply] = []
    for entry in entries:
        item: list[Reply] = [entry[2]]
        if search.with_distance:
            item.append(distance_text(entry[0] / unit_m))
        if search.with_hash:
            item.append(int(entry[1]))
        if search.with_place:
            item.append(list(_PLACE_OF(entry[1])))
        items.append(item)
    return items

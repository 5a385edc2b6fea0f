"""The arguments of GEOSEARCH, GEORADIUS and their relatives. Which error comes first, and its text, is Redis 8.2's."""

from __future__ import annotations

import enum
from typing import Final, final

from pyrepl.commands.engine.arguments import integer_argument, syntax_error
from pyrepl.commands.geo.arguments import box_argument, place_argument, radius_argument
from pyrepl.errors import CommandError
from pyrepl.keyspace import geo_cells
from pyrepl.keyspace.zset_verbs import ScoreReader
from pyrepl.words import to_text


class Kind(enum.Enum):
    """Which command it is."""

    SEARCH = "search"
    SEARCH_STORE = "search and store"
    RADIUS = "around a place"
    RADIUS_RO = "around a place, without storing"
    MEMBER = "around a member"
    MEMBER_RO = "around a member, without storing"


class Order(enum.Enum):
    """By distance, or as members are found."""

    NONE = "none"
    ASCENDING = "ascending"
    DESCENDING = "descending"


_SEARCHES: Final = frozenset({Kind.SEARCH, Kind.SEARCH_STORE})
_MAY_STORE: Final = frozenset({Kind.RADIUS, Kind.MEMBER})
_FLAGS: Final = frozenset({b"WITHDIST", b"WITHHASH", b"WITHCOORD", b"ANY", b"ASC", b"DESC"})


@final
class Search:
    """What is searched for and how it is answered. `count` 0: all. Lengths are in units of `unit_m` metres."""

    __slots__ = (
        "any",
        "count",
        "destination",
        "has_area",
        "has_center",
        "height",
        "is_box",
        "latitude",
        "longitude",
        "order",
        "radius",
        "stores_distances",
        "unit_m",
        "width",
        "with_distance",
        "with_hash",
        "with_place",
    )

    def __init__(self, destination: bytes | None) -> None:
        self.destination = destination
        self.stores_distances: bool = False
        self.longitude: float = 0.0
        self.latitude: float = 0.0
        self.has_center: bytes = b""
        """FROMMEMBER or FROMLONLAT, once one of them was given."""
        self.has_area: bytes = b""
        """BYRADIUS or BYBOX, once one of them was given."""
        self.unit_m: float = 1.0
        self.is_box: bool = False
        self.radius: float = 0.0
        self.width: float = 0.0
        self.height: float = 0.0
        self.count: int = 0
        self.any: bool = False
        self.order: Order = Order.NONE
        self.with_distance: bool = False
        self.with_hash: bool = False
        self.with_place: bool = False

    def set_flag(self, word: bytes) -> None:
        """One of _FLAGS; of ASC and DESC the last one counts."""
        if word == b"WITHDIST":
            self.with_distance = True
        elif word == b"WITHHASH":
            self.with_hash = True
        elif word == b"WITHCOORD":
            self.with_place = True
        elif word == b"ANY":
            self.any = True
        else:
            self.order = Order.ASCENDING if word == b"ASC" else Order.DESCENDING

    def set_radius(self, radius: bytes, unit: bytes) -> None:
        """A circle."""
        self.radius, self.unit_m = radius_argument(radius, unit)

    def set_box(self, width: bytes, height: bytes, unit: bytes) -> None:
        """A box."""
        self.width, self.height, self.unit_m = box_argument(width, height, unit)
        self.is_box = True

    def set_place(self, longitude: bytes, latitude: bytes) -> None:
        """The place around which is searched."""
        self.longitude, self.latitude = place_argument(longitude, latitude)

    def set_member(self, source: ScoreReader | None, member: bytes) -> None:
        """The member around which is searched, in the sorted set; without one nothing will be found."""
        if source is None:
            return
        score = source.score(member)
        if score is None:
            raise CommandError("ERR could not decode requested zset member")
        self.longitude, self.latitude = geo_cells.place_of(score)


def parse_search(
    kind: Kind, name: bytes, arguments: tuple[bytes, ...], source: ScoreReader | None, destination: bytes | None
) -> Search:
    """Parse what follows the keys. `name` is the command's as the client wrote it, `source` reads its sorted set."""
    search = Search(destination)
    options = arguments
    if kind in (Kind.RADIUS, Kind.RADIUS_RO):
        search.set_place(arguments[0], arguments[1])
        search.set_radius(arguments[2], arguments[3])
        options = arguments[4:]
    elif kind not in _SEARCHES:
        search.set_member(source, arguments[0])
        if source is not None:
            search.set_radius(arguments[1], arguments[2])
        options = arguments[3:]
    at = 0
    while at < len(options):
        at += _take_option(search, kind, options[at:], source)
    _check(search, kind, name)
    return search


def _take_option(search: Search, kind: Kind, options: tuple[bytes, ...], source: ScoreReader | None) -> int:
    """Parse the first option; how many words it has."""
    word = options[0].upper()
    more = len(options) - 1
    if word in _FLAGS:
        search.set_flag(word)
        return 1
    if word == b"COUNT" and more:
        search.count = integer_argument(options[1])
        if search.count <= 0:
            raise CommandError("ERR COUNT must be > 0")
        return 2
    if word == b"STOREDIST" and kind is Kind.SEARCH_STORE:
        search.stores_distances = True
        return 1
    if word in (b"STORE", b"STOREDIST") and more and kind in _MAY_STORE:
        search.destination = options[1]
        search.stores_distances = word == b"STOREDIST"
        return 2
    return _take_area(search, options, source) if kind in _SEARCHES else _refuse()


def _take_area(search: Search, options: tuple[bytes, ...], source: ScoreReader | None) -> int:
    """As `_take_option`, for the options that only GEOSEARCH has."""
    word = options[0].upper()
    more = len(options) - 1
    if word in (b"FROMMEMBER", b"FROMLONLAT") and search.has_center in (b"", word):
        if word == b"FROMMEMBER" and more:
            search.set_member(source, options[1])
            search.has_center = word
            return 2
        if word == b"FROMLONLAT" and more > 1:
            search.set_place(options[1], options[2])
            search.has_center = word
            return 3
    elif word in (b"BYRADIUS", b"BYBOX") and search.has_area in (b"", word):
        if word == b"BYRADIUS" and more > 1:
            search.set_radius(options[1], options[2])
            search.has_area = word
            return 3
        if word == b"BYBOX" and more > 2:
            search.set_box(options[1], options[2], options[3])
            search.has_area = word
            return 4
    return _refuse()


def _refuse() -> int:
    raise syntax_error()


def _check(search: Search, kind: Kind, name: bytes) -> None:
    """Are the options complete, and do they go together?"""
    if search.destination is not None and (search.with_distance or search.with_hash or search.with_place):
        what = "GEOSEARCHSTORE" if kind is Kind.SEARCH_STORE else "STORE option in GEORADIUS"
        raise CommandError(f"ERR {what} is not compatible with WITHDIST, WITHHASH and WITHCOORD options")
    shown = to_text(name)
    if kind in _SEARCHES and not search.has_center:
        raise CommandError(f"ERR exactly one of FROMMEMBER or FROMLONLAT can be specified for {shown}")
    if kind in _SEARCHES and not search.has_area:
        raise CommandError(f"ERR exactly one of BYRADIUS and BYBOX can be specified for {shown}")
    if search.any and not search.count:
        raise CommandError("ERR the ANY argument requires COUNT argument")

"""The arguments of GEOSEARCH, GEORADIUS and their relatives. Which error comes first, and its text, is Redis 8.2's; for
BYPOLYGON Valkey 9.1's."""

from __future__ import annotations

from typing import Final, final

from pyrepl.commands.engine.arguments import int32_argument, integer_argument, syntax_error
from pyrepl.commands.geo.arguments import box_argument, place_argument, radius_argument
from pyrepl.errors import CommandError
from pyrepl.keyspace import geo_cells
from pyrepl.keyspace.zset_verbs import ScoreReader
from pyrepl.words import to_text


@final
class Kind:
    """Which command it is: GEOSEARCH or an older one, what the older one searches around, and whether it can store."""

    __slots__ = ("around_member", "is_geosearch", "may_store")

    def __init__(self, *, is_geosearch: bool = False, around_member: bool = False, may_store: bool = False) -> None:
        self.is_geosearch = is_geosearch
        self.around_member = around_member
        self.may_store = may_store


SEARCH: Final = Kind(is_geosearch=True)
SEARCH_STORE: Final = Kind(is_geosearch=True, may_store=True)
RADIUS: Final = Kind(may_store=True)
RADIUS_RO: Final = Kind()
MEMBER: Final = Kind(around_member=True, may_store=True)
MEMBER_RO: Final = Kind(around_member=True)

_PLACE_OF: Final = geo_cells.place_of
"""Looked up once: mypyc would look up a function of a Cython module by its name at each call."""

_NONE: Final = 0
_FROMMEMBER: Final = 1
_FROMLONLAT: Final = 2
_BYRADIUS: Final = 3
_BYBOX: Final = 4
_BYPOLYGON: Final = 5
_COUNT: Final = 6
_STORE: Final = 7
_STOREDIST: Final = 8
_WITHDIST: Final = 9
_WITHHASH: Final = 10
_WITHCOORD: Final = 11
_ANY: Final = 12
_ASC: Final = 13
_DESC: Final = 14
_OPTIONS: Final[dict[bytes, int]] = {
    b"FROMMEMBER": _FROMMEMBER,
    b"FROMLONLAT": _FROMLONLAT,
    b"BYRADIUS": _BYRADIUS,
    b"BYBOX": _BYBOX,
    b"BYPOLYGON": _BYPOLYGON,
    b"COUNT": _COUNT,
    b"STORE": _STORE,
    b"STOREDIST": _STOREDIST,
    b"WITHDIST": _WITHDIST,
    b"WITHHASH": _WITHHASH,
    b"WITHCOORD": _WITHCOORD,
    b"ANY": _ANY,
    b"ASC": _ASC,
    b"DESC": _DESC,
}
"""The words of options as numbers, which are compared faster."""

AS_FOUND: Final = 0
ASCENDING: Final = 1
DESCENDING: Final = -1
"""The order of what is found: by distance, or as it is met."""


@final
class Search:
    """What is searched for and how it is answered. `count` 0: all. Lengths are in units of `unit_m` metres."""

    __slots__ = (
        "any",
        "area",
        "center",
        "count",
        "destination",
        "height",
        "is_box",
        "latitude",
        "longitude",
        "order",
        "radius",
        "stores_distances",
        "unit_m",
        "vertices",
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
        self.center: int = _NONE
        """FROMMEMBER or FROMLONLAT, once one of them was given."""
        self.area: int = _NONE
        """BYRADIUS, BYBOX or BYPOLYGON, once one of them was given."""
        self.vertices: list[tuple[float, float]] = []
        self.unit_m: float = 1.0
        self.is_box: bool = False
        self.radius: float = 0.0
        self.width: float = 0.0
        self.height: float = 0.0
        self.count: int = 0
        self.any: bool = False
        self.order: int = AS_FOUND
        self.with_distance: bool = False
        self.with_hash: bool = False
        self.with_place: bool = False

    def set_flag(self, option: int) -> None:
        """Of ASC and DESC the last one counts. Raises CommandError for any other option."""
        if option == _ASC:
            self.order = ASCENDING
        elif option == _DESC:
            self.order = DESCENDING
        elif option == _WITHDIST:
            self.with_distance = True
        elif option == _WITHHASH:
            self.with_hash = True
        elif option == _WITHCOORD:
            self.with_place = True
        elif option == _ANY:
            self.any = True
        else:
            raise syntax_error()

    def note_center(self, option: int) -> None:
        """FROMMEMBER or FROMLONLAT: any number of times, but not both, and not for a polygon."""
        if (self.center != _NONE and self.center != option) or self.area == _BYPOLYGON:
            raise syntax_error()
        self.center = option

    def note_area(self, option: int) -> None:
        """BYRADIUS, BYBOX or BYPOLYGON, in the same way."""
        if (self.area != _NONE and self.area != option) or (option == _BYPOLYGON and self.center != _NONE):
            raise syntax_error()
        self.area = option

    def set_radius(self, radius: bytes, unit: bytes) -> None:
        """A circle."""
        self.radius, self.unit_m = radius_argument(radius, unit)

    def set_box(self, width: bytes, height: bytes, unit: bytes) -> None:
        """A box."""
        self.width, self.height, self.unit_m = box_argument(width, height, unit)
        self.is_box = True

    def set_polygon(self, numbers: list[bytes]) -> None:
        """A polygon with these longitudes and latitudes."""
        self.vertices = [place_argument(numbers[at], numbers[at + 1]) for at in range(0, len(numbers), 2)]
        self.unit_m = 1.0

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
        self.longitude, self.latitude = _PLACE_OF(score)


def parse_search(
    kind: Kind, argv: list[bytes], start: int, source: ScoreReader | None, destination: bytes | None
) -> Search:
    """Parse the words of a command from `start` on, behind its keys; `source` reads its sorted set."""
    search = Search(destination)
    at = start
    if kind.is_geosearch:
        pass
    elif kind.around_member:
        search.set_member(source, argv[at])
        if source is not None:
            search.set_radius(argv[at + 1], argv[at + 2])
        at += 3
    else:
        search.set_place(argv[at], argv[at + 1])
        search.set_radius(argv[at + 2], argv[at + 3])
        at += 4
    while at < len(argv):
        at += _take_option(search, kind, argv, at, source)
    _check(search, kind, argv[0])
    return search


def _take_option(search: Search, kind: Kind, argv: list[bytes], at: int, source: ScoreReader | None) -> int:
    """Parse the option that begins at `at`; how many words it has."""
    option = _OPTIONS.get(argv[at]) or _OPTIONS.get(argv[at].upper(), _NONE)
    more = len(argv) - at - 1
    if kind.is_geosearch and _NONE < option <= _BYPOLYGON:
        size = _take_area(search, option, argv, at, source)
        if size:
            return size
    if option == _COUNT and more:
        search.count = integer_argument(argv[at + 1])
        if search.count <= 0:
            raise CommandError("ERR COUNT must be > 0")
        return 2
    if option in (_STORE, _STOREDIST) and kind.may_store:
        if not kind.is_geosearch and more:
            search.destination = argv[at + 1]
            search.stores_distances = option == _STOREDIST
            return 2
        if kind.is_geosearch and option == _STOREDIST:
            search.stores_distances = True
            return 1
    search.set_flag(option)
    return 1


def _take_area(search: Search, option: int, argv: list[bytes], at: int, source: ScoreReader | None) -> int:
    """As `_take_option`, for the options that only GEOSEARCH has; 0 if words are missing behind it."""
    more = len(argv) - at - 1
    if option == _FROMMEMBER and more > 0:
        search.note_center(option)
        search.set_member(source, argv[at + 1])
        return 2
    if option == _FROMLONLAT and more > 1:
        search.note_center(option)
        search.set_place(argv[at + 1], argv[at + 2])
        return 3
    if option == _BYRADIUS and more > 1:
        search.note_area(option)
        search.set_radius(argv[at + 1], argv[at + 2])
        return 3
    if option == _BYBOX and more > 2:
        search.note_area(option)
        search.set_box(argv[at + 1], argv[at + 2], argv[at + 3])
        return 4
    if option == _BYPOLYGON and more > 1:
        search.note_area(option)
        count = int32_argument(argv[at + 1], "ERR invalid number of vertices")
        if count < 3 or count > (more - 1) // 2:
            raise CommandError("ERR GEOSEARCH BYPOLYGON must have at least 3 vertices")
        search.set_polygon(argv[at + 2 : at + 2 + 2 * count])
        return 2 + 2 * count
    return 0


def _check(search: Search, kind: Kind, name: bytes) -> None:
    """Are the options complete, and do they go together?"""
    if search.destination is not None and (search.with_distance or search.with_hash or search.with_place):
        what = "GEOSEARCHSTORE" if kind.is_geosearch else "STORE option in GEORADIUS"
        raise CommandError(f"ERR {what} is not compatible with WITHDIST, WITHHASH and WITHCOORD options")
    if kind.is_geosearch and search.center == _NONE and not search.vertices:
        raise _lacks("FROMMEMBER or FROMLONLAT", name)
    if kind.is_geosearch and search.area == _NONE:
        raise _lacks("BYRADIUS and BYBOX", name)
    if search.any and not search.count:
        raise CommandError("ERR the ANY argument requires COUNT argument")


def _lacks(what: str, name: bytes) -> CommandError:
    return CommandError(f"ERR exactly one of {what} can be specified for {to_text(name)}")

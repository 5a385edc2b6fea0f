"""Replication stream bytes to units: what takes effect together has one token, the offset behind it.

Not here: where reading may begin (checkpoints.py), and the rows made of a unit (replicated.py).

| in the stream | means |
|---|---|
| SELECT n | the database of what follows |
| PING, REPLCONF | nothing; the offset moves on |
| MULTI ... EXEC | one unit, whose token is the offset behind EXEC |
| any other command | a unit |
"""

from __future__ import annotations

from typing import Final, TypeAlias, final

from pyrepl.changes.checkpoints import SPACING_BYTES
from pyrepl.errors import CorruptData
from pyrepl.resp.parser import stream_parser

Unit: TypeAlias = tuple[int, list[tuple[int, list[bytes]]]]
"""(token, its commands as (database, argv)); never without a command."""

_SILENT: Final = frozenset({b"PING", b"REPLCONF"})
_OPEN: Final = b"MULTI"
_EXEC: Final = b"EXEC"
_CLOSE: Final = frozenset({_EXEC, b"DISCARD"})
_SELECT: Final = b"SELECT"
_FRAME: Final = frozenset({_SELECT, _OPEN, *_SILENT, *_CLOSE})
_FRAMES: Final = frozenset(word for name in _FRAME for word in (name, name.lower()))


@final
class Decoded:
    """Whole units out of a piece of the stream.

    `units` are those whose token lies behind what was asked for. `end` is the cut behind the last whole unit, or behind
    what meant nothing after it; `db` is selected there. `found`: the cut asked for lies between units, or is not
    reached. `places` are some of the boundaries passed, spaced, each with the database there.
    """

    __slots__ = ("db", "end", "found", "places", "units")

    def __init__(self, at: int, db: int) -> None:
        self.units: Final[list[Unit]] = []
        self.places: Final[list[tuple[int, int]]] = []
        self.end = at
        self.db = db
        self.found = True


def decode_units(data: bytes, at: int, db: int, after: int) -> Decoded:
    """The units that are whole in `data`, which begins at the cut `at`, a unit boundary where `db` is selected, as far
    as their tokens are larger than `after`; at <= after.

    Raises CorruptData, whose offset is a cut of the stream, if the bytes are no commands: `at` was no boundary.
    """
    assert at <= after
    batch = stream_parser().feed(data)
    decoded = Decoded(at, db)
    units = decoded.units
    next_place = at + SPACING_BYTES
    cut = at
    passed = at == after
    unit: list[tuple[int, list[bytes]]] | None = None
    for argv, behind in zip(batch.commands, batch.ends):
        name = argv[0]
        if name in _FRAMES:
            name = name.upper()
            if name == _OPEN:
                unit = []
                continue
            if name == _SELECT and len(argv) == 2 and argv[1].isdigit():
                db = int(argv[1])
            elif name in _CLOSE and unit is not None:
                cut = at + behind
                if unit and name == _EXEC and cut > after:
                    units.append((cut, unit))
                unit = None
            if unit is not None:
                continue
            cut = at + behind
        elif unit is not None:
            unit.append((db, argv))
            continue
        else:
            cut = at + behind
            if cut > after:
                units.append((cut, [(db, argv)]))
        if not passed and cut >= after:
            passed = True
            decoded.found = cut == after
        if cut >= next_place:
            decoded.places.append((cut, db))
            next_place = cut + SPACING_BYTES
        decoded.db = db
    decoded.end = cut
    if batch.error is not None:
        raise CorruptData(batch.error.decode("utf-8", "replace"), cut)
    return decoded

"""LOLWUT: a drawing made by chance, and our version, as in Redis since 5.0.

The drawing shows a stream that runs from a master (`@`) down to its replicas (`o`): it wanders, and sometimes it
divides. Nobody needs it. People who look at it have found out that the node answers, and which version it is.
"""

from __future__ import annotations

from typing import Final

from pyrepl import VERSION
from pyrepl.commands.engine.arguments import integer_argument
from pyrepl.commands.engine.call import Call, RandomSource
from pyrepl.commands.engine.table import FAST, READONLY, command
from pyrepl.resp.reply import Verbatim

DRAWING: Final = 1
"""The version of LOLWUT that has a drawing. As in Redis, another one answers the version line alone."""
COLUMNS: Final = 66
ROWS: Final = 12
MOST_COLUMNS: Final = 1000
MOST_ROWS: Final = 200
_DIVIDES_ONE_IN: Final = 5
_STEPS: Final = "/|\\"
"""How the stream goes on: to the left, down, to the right."""


@command("LOLWUT", arity=-1, flags=READONLY | FAST, group="server", since="5.0.0")
def lolwut(call: Call, *words: bytes) -> Verbatim:
    """Draw something, and answer the version. LOLWUT [VERSION version] [columns [rows]]"""
    version = DRAWING
    if len(words) >= 2 and words[0].upper() == b"VERSION":
        version = integer_argument(words[1])
        words = words[2:]
    columns, rows = (integer_argument(word) for word in (*words[:2], *(b"%d" % COLUMNS, b"%d" % ROWS)[len(words) :]))
    last = f"pyrepl ver. {VERSION}\n"
    if version != DRAWING:
        return Verbatim(last.encode())
    lines = drawing(max(1, min(columns, MOST_COLUMNS)), max(1, min(rows, MOST_ROWS)), call.random)
    return Verbatim("\n".join((*lines, "", f"One master, many replicas. {last}")).encode())


def drawing(columns: int, rows: int, random: RandomSource) -> list[str]:
    """The lines of a drawing: one with the master, `rows` with the stream, one with the replicas."""
    at = {columns // 2}
    lines = [_line(dict.fromkeys(at, "@"))]
    for _ in range(rows):
        signs: dict[int, str] = {}
        following: set[int] = set()
        for place in sorted(at):
            if random.below(_DIVIDES_ONE_IN):
                step = random.below(len(_STEPS)) - 1
                signs[place] = _STEPS[step + 1]
                following.add(place + step)
            else:
                signs[place] = "^"
                following.update((place - 1, place + 1))
        lines.append(_line(signs))
        at = {min(max(place, 0), columns - 1) for place in following}
    return [*lines, _line(dict.fromkeys(at, "o"))]


def _line(signs: dict[int, str]) -> str:
    """The signs at their columns, with spaces between them."""
    return "".join(signs.get(place, " ") for place in range(max(signs) + 1))

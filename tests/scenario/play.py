"""Playing conversations: one side against a file's other side, or both live against each other (for --rewrite)."""

from __future__ import annotations

from tests.scenario.conversation import MASTER, REPLICA, Line, Said, Told
from tests.scenario.sides import MasterSide, ReplicaSide, Side

SIDES: dict[str, type[Side]] = {REPLICA: ReplicaSide, MASTER: MasterSide}


def play(lines: list[Line], name: str) -> list[Line]:
    """The conversation with the lines of side `name` as it says them now, and its `=` values as they are now."""
    side = SIDES[name]()
    out: list[Line] = []
    own_line_passed = False
    for line in lines:
        if isinstance(line, Said) and line.side == name:
            own_line_passed = True
            continue
        if own_line_passed or not _goes_on(out, line, name):
            out.extend(side.said())
        own_line_passed = False
        out.append(line)
        if isinstance(line, Said):
            side.hear(line)
        else:
            out[-1] = _tell(side, line)
    return out + list(side.said())


def play_live(lines: list[Line]) -> list[Line]:
    """The conversation that both sides have when only the told lines are given."""
    replica, master = ReplicaSide(), MasterSide()
    out: list[Line] = []
    for line in lines:
        if isinstance(line, Said):
            continue
        out.append(_tell(master, _tell(replica, line)))
        speaker, listener = (master, replica) if line.text.startswith(MASTER) else (replica, master)
        silent = 0
        while silent < 2:
            said = speaker.said()
            out.extend(said)
            for each in said:
                listener.hear(each)
            silent = 0 if said else silent + 1
            speaker, listener = listener, speaker
    return out


def _goes_on(out: list[Line], line: Line, name: str) -> bool:
    """Does `line` belong to the block that the other side is saying, which this side answers as a whole?"""
    if not out or not isinstance(line, Said):
        return False
    return isinstance(out[-1], Said) or (name == MASTER and out[-1].mark == "@")


def _tell(side: Side, line: Told) -> Told:
    """Let a told line happen to a side; an `=` line comes back with the side's values."""
    if line.mark == "@":
        side.pass_time(side.now + float(line.text))
    elif line.text.split()[:1] == [side.name]:
        if line.mark == "!":
            side.happen(line.text.split()[1:])
        elif line.mark == "=":
            keys = [word.partition("=")[0] for word in line.text.split()[1:]]
            return Told("=", " ".join([side.name, *(f"{key}={side.value(key)}" for key in keys)]))
    return line

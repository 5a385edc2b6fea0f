"""Flags that several nodes change at the same time: each flag of a message is a register, the higher stamp stands.

So the order in which changes arrive does not matter, and nodes that know the same changes have the same flags.

A SAVE or COPY writes all flags of its message: those that it names are set, every other one is not. That is one more
register, FLOOR: what is older than it does not count. It matters when a GUID comes to a mailbox where it was before.
"""

from __future__ import annotations

from collections.abc import Iterable

from pyrepl.mailbox.words import FLOOR, Register, Registers, Stamp


def merged(one: Registers, other: Iterable[Register]) -> Registers:
    """Of each flag the register with the higher stamp, without those below the floor; ascending by flag."""
    found = {register.flag: register for register in one}
    for register in other:
        mine = found.get(register.flag)
        if mine is None or mine.stamp < register.stamp:
            found[register.flag] = register
    floor = found.get(FLOOR)
    least = Stamp(0, "") if floor is None else floor.stamp
    return tuple(found[flag] for flag in sorted(found) if found[flag].stamp >= least)


def changed(flags: Registers, add: Iterable[str], remove: Iterable[str], stamp: Stamp) -> Registers:
    """The flags after a STORE; a flag that is both added and removed is set."""
    removed = [Register(flag, False, stamp) for flag in remove]
    return merged(merged(flags, [Register(flag, True, stamp) for flag in add]), removed)


def from_set(flags: Iterable[str], stamp: Stamp) -> Registers:
    """The registers of a message that is saved with these flags."""
    return merged((Register(FLOOR, False, stamp),), [Register(flag, True, stamp) for flag in flags])

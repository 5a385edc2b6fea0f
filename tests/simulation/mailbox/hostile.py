"""Commands of a member that knows the secret and says anything: well-formed, and with whatever values."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, Final

from pyrepl.mailbox.answers import ANSWERS, Reason
from pyrepl.mailbox.kinds import KINDS
from pyrepl.mailbox.verbs import COMMANDS, Command, Side
from pyrepl.mailbox.words import Box, Dot, Register, Stamp, Token

_Make = Callable[[random.Random], Any]


def _number(rng: random.Random) -> int:
    return rng.choice((1, 2, 3, rng.randint(1, 1000), rng.randint(1, 2**31)))


def _dot(rng: random.Random) -> Dot:
    return Dot(rng.choice(("a", "b", "c", f"n{rng.randint(1, 10**6)}")), _number(rng))


def _vector(rng: random.Random) -> tuple[Dot, ...]:
    return tuple(sorted({dot.origin: dot for dot in (_dot(rng) for _ in range(3))}.values()))


def _name(rng: random.Random) -> str:
    return f"x{_number(rng)}"


def _names(rng: random.Random) -> tuple[str, ...]:
    return tuple(_name(rng) for _ in range(rng.randint(0, 5)))


def _uids(rng: random.Random) -> tuple[tuple[int, int], ...]:
    first = _number(rng)
    return ((first, first + rng.choice((0, 4, 2**20))),)


class Hostile:
    """`box`: the GUID of a mailbox that is there."""

    def __init__(self, rng: random.Random, box: str) -> None:
        self._rng: Final = rng
        by_name: dict[str, _Make] = {
            "User": lambda rng: rng.choice(("alice", _name(rng))),
            "Box": lambda rng: rng.choice((Box(box, True), Box(f"{_number(rng):032x}", True), Box(_name(rng)))),
            "BoxGuid": lambda rng: f"{_number(rng):032x}",
            "Node": lambda rng: rng.choice("abc"),
            "Flags": _names,
            "Guids": _names,
            "Registers": lambda rng: (Register(_name(rng), True, Stamp(_number(rng), "b")),),
            "Uids": _uids,
            "Dot": _dot,
            "Dots": _vector,
            "Vector": _vector,
            "Token": lambda rng: Token(rng.randint(0, 3), rng.randint(-1, 9)),
            "Stamp": lambda rng: Stamp(_number(rng), "b"),
            "Sums": lambda rng: (1, 2),
            "Yes": lambda rng: rng.random() < 0.5,
            "Epoch": lambda rng: rng.randint(0, 3),
        }
        texts = ("Guid", "Text")
        self._makes: Final = {
            id(kind): by_name.get(name, _name if name in texts else _number) for name, kind in KINDS.items()
        }
        kinds = (*COMMANDS, *ANSWERS.values())
        self._kinds: Final = tuple(kind for kind in kinds if Side.NODE in kind.SENDERS)

    def command(self) -> Command:
        """Any command of a node, or any answer."""
        kind = self._rng.choice(self._kinds)
        values = {
            name: self._makes[id(shape)](self._rng) for name, shape in kind.SHAPE.items() if self._given(kind, name)
        }
        return kind(**(values | ({"reason": Reason.BUSY} if "reason" in kind.SHAPE else {})))

    def _given(self, kind: type[Command], name: str) -> bool:
        return name in kind.NEEDED or self._rng.random() < 0.7

    def tag(self) -> str:
        return self._rng.choice("rgsfco") + str(self._rng.randint(1, 10**6)) if self._rng.random() < 0.8 else "*"

"""Words that random commands on collections are made of: few keys and elements, so that they meet; some of them bad."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Final, TypeVar

T = TypeVar("T")

KEYS: Final = (b"k1", b"k2", b"k3", b"k4")
STRANGERS: Final = (b"text", b"a list", b"a set", b"a hash", b"a zset", b"nosuch")
ELEMENTS: Final = (b"0", b"1", b"2", b"3", b"4", b"5", b"a", b"b", b"c", b"d", b"", b"x\x00y")
INDICES: Final = (b"0", b"1", b"-1", b"2", b"-2", b"3", b"-3", b"5")
NUMBERS: Final = (
    b"100", b"-100", b"x", b"", b"01", b"9223372036854775807", b"-9223372036854775808", b"9223372036854775808",
)  # fmt: skip

SETTING: Final = (
    (b"SET", b"text", b"hello"),
    (b"RPUSH", b"a list", b"a", b"1"),
    (b"SADD", b"a set", b"a", b"1"),
    (b"HSET", b"a hash", b"a", b"1"),
    (b"ZADD", b"a zset", b"1", b"a"),
    (b"SADD", b"lone set", b"m"),
    (b"HSET", b"lone hash", b"m", b"v"),
    (b"ZADD", b"lone zset", b"2.5", b"m"),
    (b"SET", b"lone text", b"hello"),
)
"""What makes the STRANGERS, a key of each type, and the lone keys, for commands that must leave nothing to chance."""


class Writer:
    """A seeded choice of words."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def pick(self, *choices: T) -> T:
        return self.rng.choice(choices)

    def some(self, make: Callable[[], bytes], low: int = 1, high: int = 4) -> list[bytes]:
        """low..high words, both inclusive."""
        return [make() for _ in range(self.rng.randint(low, high))]

    def key(self) -> bytes:
        return self.pick(*KEYS) if self.chance(0.94) else self.pick(*STRANGERS)

    def element(self) -> bytes:
        return self.pick(*ELEMENTS)

    def index(self) -> bytes:
        return self.pick(*INDICES) if self.chance(0.85) else self.pick(*NUMBERS)

    def spelled(self, word: bytes) -> bytes:
        """A word in some mixture of cases."""
        return self.pick(word, word, word.lower(), word.title())

    def count_of(self, items: list[bytes]) -> bytes:
        """How many they are, mostly."""
        return b"%d" % len(items) if self.chance(0.93) else self.index()

    def lone(self, key: bytes) -> bytes:
        """A key that nobody changes: `key`, one of another type or one that is not there."""
        return self.pick(key, key, key, b"lone text", b"never")

    def option(self, share: float, *words: bytes) -> list[bytes]:
        """These words, or none."""
        return [self.spelled(words[0]), *words[1:]] if self.chance(share) else []

    def pop_count(self) -> list[bytes]:
        """The optional count of a pop."""
        if self.chance(0.6):
            return []
        return self.some(self.index, 1, 2 if self.chance(0.1) else 1)

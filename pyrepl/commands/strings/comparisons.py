"""A string compared with what a client expects: DIGEST, DELEX, and the conditions of SET (Redis 8.4).

A client states the value it knows (IFEQ, IFNE) or, where that is long, its digest (IFDEQ, IFDNE): XXH3-64 in 16 digits.
"""

from __future__ import annotations

from typing import Final, final

from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.table import FAST, FIRST_ARG, READONLY, WRITE, command
from pyrepl.errors import CommandError
from pyrepl.keyspace.values import is_string, wrong_type

CONDITIONS: Final = frozenset((b"IFEQ", b"IFNE", b"IFDEQ", b"IFDNE"))

_DIGEST_DIGITS: Final = 16


def string_digest(value: bytes) -> bytes:
    """What DIGEST answers: 16 hexadecimal digits in lower case."""
    from xxhash import xxh3_64_hexdigest  # few nodes ever need it

    return xxh3_64_hexdigest(value).encode()


@final
class Condition:
    """One of CONDITIONS (in upper case) with the value or digest that a client stated."""

    __slots__ = ("expected", "word")

    def __init__(self, word: bytes, expected: bytes) -> None:
        assert word in CONDITIONS
        self.word = word
        self.expected = expected

    def holds(self, value: bytes) -> bool:
        """Is it true of this string? CommandError for a digest of another length: Redis 8.6 looks no closer."""
        if self.word == b"IFEQ":
            return value == self.expected
        if self.word == b"IFNE":
            return value != self.expected
        if len(self.expected) != _DIGEST_DIGITS:
            raise CommandError("ERR must be exactly 16 hexadecimal characters")
        return (string_digest(value) == self.expected.lower()) == (self.word == b"IFDEQ")

    def holds_at(self, call: Call, key: bytes) -> bool:
        """Is it true of what stands under a key? A key that is not there is unlike whatever is stated.

        CommandError WRONGTYPE where it is no string.
        """
        kept = call.db.find_kept(key)
        if kept is None:
            return self.word in (b"IFNE", b"IFDNE")
        call.keyspace.hits += 1
        if is_string(kept):
            return self.holds(kept)
        raise wrong_type()


@command("DIGEST", arity=2, flags=READONLY | FAST, keys=FIRST_ARG, group="string", since="8.4.0")
def digest(call: Call, key: bytes) -> bytes | None:
    """Hash a string (XXH3, 64 bits), to state it in a condition"""
    value = call.db.read_as(bytes, key)
    return None if value is None else string_digest(value)


@command("DELEX", arity=-2, flags=WRITE | FAST, keys=FIRST_ARG, group="string", since="8.4.0")
def delex(call: Call, key: bytes, *condition: bytes) -> int:
    """Delete a key if its string, or the digest of that, is or is not as stated; 1 if deleted

    Without a condition any key. With one it propagates as DEL.
    """
    db = call.db
    if not condition:
        if db.find_kept(key) is None:
            return 0
    elif len(condition) != 2:
        raise CommandError("ERR wrong number of arguments for 'delex' command")
    else:
        value = db.read_kept(key)
        if value is None:
            return 0
        if not is_string(value):
            raise CommandError("ERR Key should be of string type if conditions are specified")
        word = condition[0].upper()
        if word not in CONDITIONS:
            raise CommandError("ERR Invalid condition. Use IFEQ, IFNE, IFDEQ, or IFDNE")
        if not Condition(word, condition[1]).holds(value):
            return 0
        call.rewrite(b"DEL", key)
    db.drop(key)
    db.changed(key)
    return 1

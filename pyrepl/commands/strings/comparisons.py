"""Conditions on the value of a string: DIGEST, DELEX, the conditions of SET (Redis 8.4), and DELIFEQ (Valkey 9.0).

A client that has read a value can change or delete the key only if the value is still the same. It states the value
that it knows (IFEQ: equal, IFNE: not equal). When the value is long, it states its digest instead (IFDEQ, IFDNE): the
XXH3 hash of 64 bits in 16 hexadecimal digits.
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
    """The digest of a value, as DIGEST answers it: XXH3 with 64 bits, as 16 hexadecimal digits in lower case."""
    from xxhash import xxh3_64_hexdigest  # few nodes ever need it

    return xxh3_64_hexdigest(value).encode()


@final
class Condition:
    """A condition: `word` is one of CONDITIONS, `expected` the value or digest that the client stated."""

    __slots__ = ("expected", "word")

    def __init__(self, word: bytes, expected: bytes) -> None:
        assert word in CONDITIONS
        self.word = word
        self.expected = expected

    def is_met_by(self, value: bytes) -> bool:
        """Is the condition true for this value? The digits of a digest may be in upper or lower case.

        Raises CommandError for a digest that is not 16 bytes long. As in Redis 8.6, a digest of 16 bytes that are no
        hexadecimal digits is no error; it just equals none.
        """
        if self.word == b"IFEQ":
            return value == self.expected
        if self.word == b"IFNE":
            return value != self.expected
        if len(self.expected) != _DIGEST_DIGITS:
            raise CommandError("ERR must be exactly 16 hexadecimal characters")
        return (string_digest(value) == self.expected.lower()) == (self.word == b"IFDEQ")

    def is_met_at(self, call: Call, key: bytes) -> bool:
        """Is the condition true for the value of a key? For a missing key IFNE and IFDNE are true, IFEQ and IFDEQ not.

        Raises CommandError WRONGTYPE when the key is_met_by no string.
        """
        kept = call.db.find_kept(key)
        if kept is None:
            return self.word in (b"IFNE", b"IFDNE")
        call.keyspace.hits += 1
        if is_string(kept):
            return self.is_met_by(kept)
        raise wrong_type()


@command("DIGEST", arity=2, flags=READONLY | FAST, keys=FIRST_ARG, group="string", since="8.4.0")
def digest(call: Call, key: bytes) -> bytes | None:
    """Hash a string (XXH3, 64 bits), to state it in a condition"""
    value = call.db.read_as(bytes, key)
    return None if value is None else string_digest(value)


@command("DELEX", arity=-2, flags=WRITE | FAST, keys=FIRST_ARG, group="string", since="8.4.0")
def delex(call: Call, key: bytes, *condition: bytes) -> int:
    """Delete a key if its string, or the digest of that, is or is not as stated; 1 if deleted

    Without a condition it deletes a key of any type. With one it is propagated as DEL, as the condition was true here.
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
        if not Condition(word, condition[1]).is_met_by(value):
            return 0
        call.rewrite(b"DEL", key)
    db.drop(key)
    db.changed(key)
    return 1


@command("DELIFEQ", arity=3, flags=WRITE | FAST, keys=FIRST_ARG, group="string", since="9.0.0")
def delifeq(call: Call, key: bytes, value: bytes) -> int:
    """Delete a key if its string is the stated one; 1 if deleted

    It is propagated as DEL, as the condition was true here.
    """
    db = call.db
    kept = db.find_kept(key)
    if kept is None:
        return 0
    if not is_string(kept):
        raise wrong_type()
    if kept != value:
        return 0
    db.drop(key)
    db.changed(key)
    call.rewrite(b"DEL", key)
    return 1

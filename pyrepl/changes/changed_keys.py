"""Which keys a command of the replication stream changed.

Not here: where keys stand in a command (the command table, handed in as a function), and commands that only read,
which are in no stream.

A stream carries effects: SPOP comes as SREM, an expired key as DEL. So all keys of a command were changed but for those
that a command with a destination reads; and a few commands change whole databases and name no key.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, final

PositionsOf = Callable[[list[bytes]], "tuple[str, list[int]] | None"]
"""From a whole command to its own name in upper case, whatever rename-command has made of it, and the positions of its
keys; None if the command is not known."""

_FIRST: Final = frozenset(
    {b"SINTERSTORE", b"SUNIONSTORE", b"SDIFFSTORE", b"ZUNIONSTORE", b"ZINTERSTORE", b"ZDIFFSTORE", b"ZRANGESTORE"}
    | {b"GEOSEARCHSTORE", b"PFMERGE", b"BITOP"}
)
"""The destination is the first key."""
_LAST: Final = frozenset({b"COPY", b"SORT", b"GEORADIUS", b"GEORADIUSBYMEMBER"})
"""The destination is the last key."""
_WHOLE: Final = frozenset({b"FLUSHALL", b"FLUSHDB", b"SWAPDB"})
_NO_KEYS: Final = frozenset(
    {b"PUBLISH", b"SPUBLISH", b"FUNCTION", b"SCRIPT", b"EVAL", b"EVALSHA", b"FCALL", b"ACL", b"CONFIG", b"WAIT"}
)
"""Commands that a stream may have and that change no key by themselves."""
_ONE_KEY: Final = frozenset(
    {b"SET", b"HSET", b"HDEL", b"INCR", b"INCRBY", b"DECR", b"DECRBY", b"APPEND", b"LPUSH", b"RPUSH", b"LPOP", b"RPOP"}
    | {b"SADD", b"SREM", b"ZADD", b"ZREM", b"ZINCRBY", b"PEXPIREAT", b"PERSIST", b"SETRANGE", b"XADD", b"LTRIM"}
    | {b"HINCRBY", b"INCRBYFLOAT", b"SETBIT", b"LREM", b"LSET", b"GETSET", b"SETNX", b"RESTORE"}
)
"""The usual ones, whose only key follows the name: no table is asked."""
_FAST: Final = frozenset(word for name in _ONE_KEY for word in (name, name.lower()))


@final
class ChangedKeys:
    """Answers for commands as they stand in a stream."""

    __slots__ = ("_positions_of",)

    def __init__(self, positions_of: PositionsOf) -> None:
        self._positions_of = positions_of

    def of(self, argv: list[bytes]) -> list[bytes | None]:
        """The keys, each once; [None] if a whole database was changed; [] if no key was."""
        if argv[0] in _FAST and len(argv) > 1:
            return [argv[1]]
        name = argv[0].upper()
        if name in _WHOLE:
            return [None]
        if name in _NO_KEYS:
            return []
        found = self._positions_of(argv)
        if found is None:
            # A command that this node does not have, of a newer master or a module: as a rule its key comes first.
            return [argv[1]] if len(argv) > 1 else []
        name, positions = found[0].encode(), found[1]
        if name in _WHOLE:
            return [None]
        if name in _FIRST:
            positions = positions[:1]
        elif name in _LAST:
            positions = positions[-1:]
        return list(dict.fromkeys(argv[position] for position in positions))


def swapped(argv: list[bytes]) -> list[int]:
    """The two databases of a SWAPDB, [] for any other command: both were changed, whichever is selected."""
    if len(argv) == 3 and argv[0].upper() == b"SWAPDB" and argv[1].isdigit() and argv[2].isdigit():
        return [int(argv[1]), int(argv[2])]
    return []

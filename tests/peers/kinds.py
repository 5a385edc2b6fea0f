"""The kinds of servers, one row each: what tests ask about a kind instead of naming it."""

from __future__ import annotations

from typing import Final, NamedTuple

REDIS: Final = "redis"
VALKEY: Final = "valkey"
OURS: Final = "pyrepl"


class Kind(NamedTuple):
    """One kind of server.

    maker       whose words its log and INFO use: pyrepl, redis or valkey
    dialects    of the two connections that a full sync may use, see tests/interop/channels.py
    newest      knows the commands that Redis 8.4 and 8.6 brought
    field_ttl   the makers with whose servers it shares hashes whose fields expire: Redis and Valkey have each their own
    delicate    commands behind which a cut costs this replica a full resync: Redis 8 frees the keys of a FLUSHDB in the
                background, and forgets its master if the connection ends meanwhile
    """

    maker: str
    dialects: tuple[str, ...]
    newest: bool
    field_ttl: frozenset[str]
    delicate: frozenset[str] = frozenset()


TABLE: Final[dict[str, Kind]] = {
    "pyrepl": Kind(OURS, (REDIS, VALKEY), True, frozenset({OURS, REDIS, VALKEY})),
    "redis7": Kind(REDIS, (), False, frozenset()),
    "redis8": Kind(REDIS, (REDIS,), False, frozenset({OURS, REDIS}), frozenset({"FLUSHDB"})),
    "redis86": Kind(REDIS, (REDIS,), True, frozenset({OURS, REDIS}), frozenset({"FLUSHDB"})),
    "valkey8": Kind(VALKEY, (VALKEY,), False, frozenset()),
    "valkey91": Kind(VALKEY, (VALKEY,), False, frozenset({OURS, VALKEY})),
}

KINDS: Final = tuple(TABLE)
REAL: Final = tuple(kind for kind in KINDS if kind != OURS)


def maker(kind: str) -> str:
    """Whose words it uses."""
    return TABLE[kind].maker


def field_ttl(*kinds: str) -> bool:
    """Do all of these know hashes whose fields expire, and each other's?"""
    makers = {maker(kind) for kind in kinds}
    return all(makers <= TABLE[kind].field_ttl for kind in kinds)


def newest(*kinds: str) -> bool:
    """Do all of these know the commands of Redis 8.4 and 8.6?"""
    return all(TABLE[kind].newest for kind in kinds)


def delicate(*kinds: str) -> frozenset[str]:
    """What a writer leaves out while connections of these are cut, and nothing else may cost a full resync."""
    return frozenset().union(*(TABLE[kind].delicate for kind in kinds))


def exact_scores(*kinds: str) -> bool:
    """Must scores be such that all of these print them alike? Redis 7.0 has an older rule than the others."""
    return "redis7" in kinds

"""Are two nodes equal? By DEBUG DIGEST, and by a walk over every key that names the first differences.

`settle` first: nobody writes, short times to live have passed, and the replica has the master's last byte. The digest
judges all at once; the walk compares type, content and time to live key by key, in Python, with no help from the
digest. Where two digests follow different rules the walk alone has the last word.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final, cast

from tests.peers.kinds import VALKEY, exact_scores, maker
from tests.peers.lab import Node, wait_until
from tests.peers.wire import ErrorReply, Reply, Wire, Word
from tests.peers.writer import SHORT_TTL_MS, WRITTEN_GROUPS

DATABASES: Final = 16
BATCH: Final = 200
SHOWN: Final = 10

Entry = tuple[str, int, object]
"""A key as (type, PEXPIRETIME or -1, content)."""
_Hash = tuple[dict[bytes, bytes], dict[bytes, int]]
"""Content of a hash: its fields, and Unix ms of those that expire."""

_READ: Final[dict[str, tuple[Word, ...]]] = {
    "string": ("GET",),
    "list": ("LRANGE", 0, -1),
    "set": ("SMEMBERS",),
    "hash": ("HGETALL",),
    "zset": ("ZRANGE", 0, -1, "WITHSCORES"),
    "stream": ("XRANGE", "-", "+"),
}


def settle(master: Node, *replicas: Node, field_ttl: bool = False, timeout_s: float = 60.0) -> None:
    """Until nothing is due to expire any more and every replica has the master's last byte. Nobody else may write.

    A scan of all keys makes a master delete what has expired, which its own cycle may put off. Fields of hashes expire
    by that cycle alone, so with `field_ttl` their longest short time is waited out. Raises LabError.
    """
    if field_ttl:
        time.sleep(SHORT_TTL_MS / 1000 + 1)
    with master.connect() as wire:
        for database in range(DATABASES):
            wire.call("SELECT", database)
            wait_until(
                f"the short times to live of {master.name}, database {database}, are over",
                lambda: not _expiring_soon(wire),
                every_s=0.2,
            )
    for replica in replicas:
        what = f"{replica.name} has the last byte of {master.name}"
        wait_until(what, partial(_at_the_same_byte, master, replica), timeout_s, every_s=0.1)


def _at_the_same_byte(master: Node, replica: Node) -> bool:
    return replica.link_is_up() and replica.offset() == master.offset()


def _expiring_soon(wire: Wire) -> bool:
    keys = list(_keys(wire))
    for start in range(0, len(keys), BATCH):
        if any(0 <= ttl < 60_000 for ttl in wire.pipeline([("PTTL", key) for key in keys[start : start + BATCH]])):
            return True
    return False


def digest(node: Node) -> str:
    """DEBUG DIGEST: 40 hex digits over all databases; all zeros when empty."""
    return str(node.call("DEBUG", "DIGEST"))


def assert_equal(one: Node, other: Node) -> None:
    """Raises AssertionError naming up to ten keys that differ.

    Equal contents with unequal digests are a difference too, where both digests follow one rule.
    """
    digests = digest(one), digest(other)
    walked = list(_walks(one, other))
    found = [line for each in walked for line in _compare(*each)] + _function_differences(one, other)
    if found:
        raise AssertionError(
            f"{one.name} and {other.name} differ in {len(found)} keys (digests {digests}):\n" + "\n".join(found[:SHOWN])
        )
    has_field_ttls = any(_has_field_ttls(keys) for _, keys, _ in walked)
    if digests[0] != digests[1] and _same_rule(one, other, has_field_ttls):
        raise AssertionError(f"the walk finds {one.name} and {other.name} equal, their digests are not: {digests}")


def _function_differences(one: Node, other: Node) -> list[str]:
    """One line for every library that is not the same on both."""
    first, second = libraries(one), libraries(other)
    names = sorted(first.keys() | second.keys())
    return [
        f"library {name!r}: {first.get(name)!r} / {second.get(name)!r}"
        for name in names
        if first.get(name) != second.get(name)
    ]


def libraries(node: Node) -> dict[bytes, bytes]:
    """The text of each library, by its name."""
    rows = [dict(zip(row[::2], row[1::2], strict=True)) for row in node.call("FUNCTION", "LIST", "WITHCODE")]
    return {row[b"library_name"]: row[b"library_code"] for row in rows}


def _same_rule(one: Node, other: Node, has_field_ttls: bool) -> bool:
    """Redis 7.0 prints scores otherwise; Valkey leaves out when fields of hashes expire, which the others put in."""
    if not exact_scores(one.kind, other.kind):
        valkeys = [maker(node.kind) == VALKEY for node in (one, other)]
        return valkeys[0] == valkeys[1] or not has_field_ttls
    return False


def _has_field_ttls(keys: dict[bytes, Entry]) -> bool:
    return any(kind == "hash" and cast(_Hash, content)[1] for kind, _, content in keys.values())


def differences(one: Node, other: Node, times: bool = True) -> list[str]:
    """One line for every key that is not the same on both, by database and key; empty when equal.

    Without `times`, moments count only as being there or not: for nodes that ran the same commands, each at its own
    time.
    """
    return [line for each in _walks(one, other, times) for line in _compare(*each)]


def _walks(one: Node, other: Node, times: bool = True) -> Iterator[tuple[int, dict[bytes, Entry], dict[bytes, Entry]]]:
    """Each database with the keys of both."""
    with one.connect() as first, other.connect() as second:
        for database in range(DATABASES):
            first.call("SELECT", database)
            second.call("SELECT", database)
            yield database, walk(first, times), walk(second, times)


def _compare(database: int, one: dict[bytes, Entry], other: dict[bytes, Entry]) -> list[str]:
    return [
        f"db {database} {key!r:.80}: {_difference(one.get(key), other.get(key))}"
        for key in sorted(one.keys() | other.keys())
        if one.get(key) != other.get(key)
    ]


def _difference(one: Entry | None, other: Entry | None) -> str:
    if one is None or other is None:
        return f"only on the {'second' if one is None else 'first'}, as {(one or other or ('?',))[0]}"
    for name, left, right in zip(("type", "time to live", "content"), one, other, strict=True):
        if left != right:
            return f"{name} {_first_difference(left, right)}"
    return "equal"


def _first_difference(left: object, right: object) -> str:
    """Both in short; of two long sequences their first unequal elements."""
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        for index, (one, other) in enumerate(zip(left, right)):
            if one != other:
                return f"[{index}] {_first_difference(one, other)}"
        return f"length {len(left)} | {len(right)}"
    if isinstance(left, dict) and isinstance(right, dict):
        names = [name for name in left.keys() | right.keys() if left.get(name) != right.get(name)]
        return "; ".join(
            f"{name!r:.40}: {left.get(name)!r:.40} | {right.get(name)!r:.40}" for name in sorted(names)[:4]
        )
    return f"{left!r:.200} | {right!r:.200}"


def walk(wire: Wire, times: bool = True) -> dict[bytes, Entry]:
    """Every key of the selected database with its type, expiry and content in a form that has no order by chance."""
    result: dict[bytes, Entry] = {}
    keys = list(_keys(wire))
    for start in range(0, len(keys), BATCH):
        result.update(_entries(wire, keys[start : start + BATCH], times))
    return result


def _keys(wire: Wire) -> Iterator[bytes]:
    seen: set[bytes] = set()
    cursor: bytes = b"0"
    while True:
        cursor, keys = wire.call("SCAN", cursor, "COUNT", 1000)
        seen.update(keys)
        if cursor == b"0":
            return iter(sorted(seen))


def _entries(wire: Wire, keys: Sequence[bytes], times: bool) -> Iterator[tuple[bytes, Entry]]:
    heads = wire.pipeline([command for key in keys for command in (("TYPE", key), ("PEXPIRETIME", key))])
    types, expiries = heads[::2], heads[1::2]
    contents = _replies(wire, [_reading(kind, key) for kind, key in zip(types, keys, strict=True)])
    asked = [_asking(*each) for each in zip(types, keys, contents, strict=True)]
    more = iter(wire.pipeline([command for command in asked if command]))
    for key, kind, expiry, content, command in zip(keys, types, expiries, contents, asked, strict=True):
        told = next(more) if command else None
        if kind != "none":  # it expired between the scan and the look
            yield key, (kind, _moment(expiry, times), _ordered(kind, content, told, key, times))


def _replies(wire: Wire, commands: Sequence[Sequence[Word]]) -> list[Reply]:
    """Raises ErrorReply, the first that comes."""
    replies = wire.pipeline(commands)
    for reply in replies:
        if isinstance(reply, ErrorReply):
            raise reply
    return replies


def _reading(kind: str, key: bytes) -> tuple[Word, ...]:
    name, *rest = _READ.get(kind, ("TYPE",))
    return name, key, *rest


def _asking(kind: str, key: bytes, content: Reply) -> tuple[Word, ...]:
    """What has to be asked besides the content; empty if that is all."""
    match kind:
        case "hash":
            return "HPEXPIRETIME", key, "FIELDS", len(content) // 2, *content[::2]
        case "stream":
            return "XINFO", "STREAM", key, "FULL", "COUNT", 0
        case _:
            return ()


def _moment(at_ms: int, times: bool) -> int:
    return at_ms if times else min(at_ms, 0)


def _ordered(kind: str, content: Reply, told: Reply, key: bytes, times: bool) -> object:
    match kind:
        case "set":
            return sorted(content)
        case "hash":
            return dict(zip(content[::2], content[1::2], strict=True)), _field_expiries(content[::2], told, times)
        case "zset":
            return [(member, float(score)) for member, score in zip(content[::2], content[1::2], strict=True)]
        case "stream":
            return content, _stream_state(told, key.startswith(WRITTEN_GROUPS), times)
        case _:
            return content


def _field_expiries(fields: Sequence[bytes], told: Reply, times: bool) -> dict[bytes, int]:
    """Unix ms by field, for those that expire; a server that knows no such thing has none."""
    if isinstance(told, ErrorReply):
        return {}
    return {name: _moment(at_ms, times) for name, at_ms in zip(fields, told, strict=True) if at_ms >= 0}


def _stream_state(told: Reply, live: bool, times: bool) -> object:
    """All that XINFO STREAM FULL tells and every version tells alike; no clock times of consumers.

    Real servers do not feed everything about groups to their replicas: a consumer that never got an entry, and the
    counter of entries read after some commands, stay behind. So for the groups the writer works on while replicas
    follow (`live`), these two are left out; for groups that arrived in a snapshot they count. Raises ErrorReply.
    """
    if isinstance(told, ErrorReply):
        raise told
    info = _pairs(told)
    groups = [_group(_pairs(group), live, times) for group in info[b"groups"]]
    names = (b"length", b"last-generated-id", b"max-deleted-entry-id", b"entries-added", b"recorded-first-entry-id")
    return [info[name] for name in names], groups


def _group(group: dict[bytes, Reply], live: bool, times: bool) -> object:
    pending = [(entry, name, _moment(at_ms, times), count) for entry, name, at_ms, count in group[b"pending"]]
    consumers = [(consumer[b"name"], consumer[b"pel-count"]) for consumer in map(_pairs, group[b"consumers"])]
    if live:
        return group[b"name"], group[b"last-delivered-id"], pending, [consumer for consumer in consumers if consumer[1]]
    return group[b"name"], group[b"last-delivered-id"], group[b"entries-read"], pending, consumers


def _pairs(flat: Sequence[Reply]) -> dict[bytes, Reply]:
    return dict(zip(flat[::2], flat[1::2], strict=True))

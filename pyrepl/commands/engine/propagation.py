"""Puts units of commands, and deletions by expiry and eviction, into the replication stream. Hot.

`dispatch` decides when something is propagated and in which form; `replication.feed` makes the bytes.
"""

from __future__ import annotations

from pyrepl.node.node import Node
from pyrepl.resp.encoder import encode_command


def collect_expired(node: Node, unit: list[tuple[int, bytes]]) -> None:
    """Append a deletion to `unit`, as (database, bytes of a command), for each key and field that expiry has deleted
    since the last call."""
    keyspace = node.keyspace
    if keyspace.expired:
        verb = b"UNLINK" if node.lazy_expire else b"DEL"
        unit.extend([(index, encode_command([verb, key])) for index, key in keyspace.expired])
        keyspace.expired.clear()
    if keyspace.expired_fields:
        unit.extend([(index, encode_command([b"HDEL", key, field])) for index, key, field in keyspace.expired_fields])
        keyspace.expired_fields.clear()


def send(node: Node, unit: list[tuple[int, bytes]]) -> None:
    """Put commands that take effect together into the stream, if this node makes the stream, or into the append-only
    file alone, if this is a writable replica that has one."""
    if not unit:
        return
    if node.conditions.propagates:
        node.replication.feed_unit(unit)
    elif node.conditions.keeps_own:
        node.persistence.aof.own_writes.add(node.stream_end, node.replication.stream_db, unit)


def send_each(node: Node, commands: list[tuple[int, bytes]]) -> None:
    """As `send`, for commands that do not depend on each other: each is a unit of its own."""
    for command in commands:
        send(node, [command])


def send_evicted(node: Node) -> None:
    """Put a deletion of each evicted key into the stream, each one a unit of its own, and count them."""
    evicted = node.memory.evicted
    verb = b"UNLINK" if node.settings.lazyfree_lazy_eviction else b"DEL"
    for index, key in evicted:
        node.replication.feed_one(index, encode_command([verb, key]))
    node.stats.evicted_keys += len(evicted)
    evicted.clear()

"""What goes to the replicas besides the commands themselves: deletions by expiry and eviction, and whole units. Hot.

When something is propagated, and in which form, is `dispatch`'s; the bytes are made by `replication.feed`.
"""

from __future__ import annotations

from pyrepl.node.node import Node
from pyrepl.resp.encoder import encode_command


def collect_expired(node: Node, unit: list[tuple[int, bytes]]) -> None:
    """Move what expiry has deleted since the last time to the end of `unit`: (database, bytes of a command)."""
    keyspace = node.keyspace
    if keyspace.expired:
        verb = b"UNLINK" if node.lazy_expire else b"DEL"
        unit.extend([(index, encode_command([verb, key])) for index, key in keyspace.expired])
        keyspace.expired.clear()
    if keyspace.expired_fields:
        unit.extend([(index, encode_command([b"HDEL", key, field])) for index, key, field in keyspace.expired_fields])
        keyspace.expired_fields.clear()


def send(node: Node, unit: list[tuple[int, bytes]]) -> None:
    """Put commands that take effect together into our stream, if it is we who make it."""
    if unit and node.conditions.propagates:
        node.replication.feed_unit(unit)


def send_each(node: Node, commands: list[tuple[int, bytes]]) -> None:
    """As `send`, for commands that have nothing to do with each other."""
    if node.conditions.propagates:
        for index, raw in commands:
            node.replication.feed_one(index, raw)


def send_evicted(node: Node) -> None:
    """One DEL for each evicted key, none of them in a transaction."""
    evicted = node.memory.evicted
    verb = b"UNLINK" if node.settings.lazyfree_lazy_eviction else b"DEL"
    for index, key in evicted:
        node.replication.feed_one(index, encode_command([verb, key]))
    node.stats.evicted_keys += len(evicted)
    evicted.clear()

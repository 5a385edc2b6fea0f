"""Change streams: lines of text that anyone can follow, from a token, on any node.

Both ends:
    verbs, tokens        each command of the line protocol, typed; stream names, writers and tokens
    history_digits       tokens that name their history
    codec                bytes -> lines -> commands, and back
    rows                 rows as JSON, and the bytes in them
    refusals             the words that begin an ERROR, and what they mean to a subscriber

A node's end:
    subscription         one subscriber's connection; following: a stream on it; catalog: what it asks of the node
    block                facts on their way to many
    source               what every kind of stream answers
    replicated_source    keys, commands and caches, made of the replication stream by checkpoints, units,
                         replication_log, changed_keys and replicated
    recent_source        sync: a node's own events, the newest in memory
    fact_source          what applications write; ids are its theory, table where facts are kept, with
                         sqlite_table and postgres_table; writer writes them, also from another process
    unavailable          why rows cannot be had

A subscriber's end:
    client               a client for asyncio; subscriber is its machine
    batches, holdings, place, roundabout, token_file
                         parts of it
    invalidation, cache_names
                         dropping entries of caches as rows of `caches` come

`Writer`, and what it writes to, `SqliteTable` and `PostgresTable`, can be taken from here too; they are imported when
somebody does.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pyrepl.changes.postgres_table import PostgresTable
    from pyrepl.changes.sqlite_table import SqliteTable
    from pyrepl.changes.writer import Writer

__all__ = ["PostgresTable", "SqliteTable", "Writer"]

_HOME: Final = {"PostgresTable": "postgres_table", "SqliteTable": "sqlite_table", "Writer": "writer"}


def __getattr__(name: str) -> Any:
    """Import on demand: a node that opens no stream port needs none of it."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)

"""INFO keyspace: one line per database that has keys. Also the two sections on what does not exist here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from pyrepl.keyspace.database import Database
from pyrepl.node.node import Node
from pyrepl.observability.info.field import Rows, Section, constant

_SAMPLES: Final = 16


def _databases(node: Node) -> Iterator[tuple[str, str]]:
    for db in node.keyspace.databases:
        if db.key_count:
            yield (
                f"db{db.index}",
                f"keys={db.key_count},expires={db.timed_count},avg_ttl={_mean_ttl_ms(db)},"
                f"subexpiry={len(db.volatile_hashes)}",
            )


def _mean_ttl_ms(db: Database) -> int:
    """Over a few keys, as Redis estimates it too; 0 without any."""
    now_ms = db.keyspace.now_ms
    spans = [at_ms - now_ms for at_ms in db.some_expiries(_SAMPLES) if at_ms > now_ms]
    return sum(spans) // len(spans) if spans else 0


KEYSPACE: Final = Section(
    "Keyspace",
    (
        Rows(
            "db<n>",
            _databases,
            "Per database: keys, keys with a time to live, the mean of these times in ms, hashes with fields"
            " that may expire.",
        ),
    ),
)
MODULES: Final = Section("Modules", ())
CLUSTER: Final = Section("Cluster", (constant("cluster_enabled", 0, "There is no cluster."),))

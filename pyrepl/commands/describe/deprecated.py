"""Which commands COMMAND DOCS calls deprecated, since which version of Redis, and what takes their place; and which it
calls words between nodes or for testers. Facts of Redis 8.6. All of them work as they always did.
"""

from __future__ import annotations

from typing import Final

DEPRECATED: Final[dict[str, tuple[str, str]]] = {
    "BRPOPLPUSH": ("6.2.0", "`BLMOVE` from `RIGHT` to `LEFT`"),
    "CLUSTER|SLAVES": ("5.0.0", "`CLUSTER REPLICAS`"),
    "CLUSTER|SLOTS": ("7.0.0", "`CLUSTER SHARDS`"),
    "GEORADIUS": ("6.2.0", "`GEOSEARCH` or `GEOSEARCHSTORE` with `BYRADIUS`"),
    "GEORADIUS_RO": ("6.2.0", "`GEOSEARCH` with `BYRADIUS`"),
    "GEORADIUSBYMEMBER": ("6.2.0", "`GEOSEARCH` or `GEOSEARCHSTORE` with `BYRADIUS` and `FROMMEMBER`"),
    "GEORADIUSBYMEMBER_RO": ("6.2.0", "`GEOSEARCH` with `BYRADIUS` and `FROMMEMBER`"),
    "GETSET": ("6.2.0", "`SET` with `GET`"),
    "HMSET": ("4.0.0", "`HSET`, which takes several fields"),
    "PSETEX": ("2.6.12", "`SET` with `PX`"),
    "QUIT": ("7.2.0", "closing the connection"),
    "RPOPLPUSH": ("6.2.0", "`LMOVE` from `RIGHT` to `LEFT`"),
    "SETEX": ("2.6.12", "`SET` with `EX`"),
    "SETNX": ("2.6.12", "`SET` with `NX`"),
    "SLAVEOF": ("5.0.0", "`REPLICAOF`"),
    "SUBSTR": ("2.0.0", "`GETRANGE`"),
    "ZRANGEBYLEX": ("6.2.0", "`ZRANGE` with `BYLEX`"),
    "ZRANGEBYSCORE": ("6.2.0", "`ZRANGE` with `BYSCORE`"),
    "ZREVRANGE": ("6.2.0", "`ZRANGE` with `REV`"),
    "ZREVRANGEBYLEX": ("6.2.0", "`ZRANGE` with `REV` and `BYLEX`"),
    "ZREVRANGEBYSCORE": ("6.2.0", "`ZRANGE` with `REV` and `BYSCORE`"),
}
"""Name of the row -> (since, what to use in its place)."""

OF_THE_SYSTEM: Final = frozenset({"DEBUG", "PFDEBUG", "PFSELFTEST", "REPLCONF", "RESTORE-ASKING"})
"""Rows that the flag syscmd marks: no client has a use for them."""

"""The version of Redis that we claim to be where clients ask for one: INFO and HELLO.

8.2.3: that is the server whose commands, replies and rules ours are compared with, so whoever decides by this number
what to use finds times to live of hash fields (7.4), HGETEX and HSETEX (8.0) and `XREAD +` (7.4). A lower number would
keep clients from what is there. It promises nothing about what README lists as missing (ACL, vector sets),
which no such version of Redis lacks. Nodes do not look at it: replicas and Sentinel ask for capabilities and roles.
Our own version stands beside it in INFO (pyrepl_version).
"""

from __future__ import annotations

from typing import Final

REDIS_VERSION: Final = "8.2.3"

VALKEY_VERSION: Final = "9.0.0"
"""The Valkey whose snapshots (RDB 80) we read, as a replica tells it to its master.

A Valkey 9 that is told none, or a lower one, writes RDB 11, and gives up at the first hash whose fields expire.
"""

"""What COMMAND INFO says of a command for clients alone: tips, and flags that decide nothing in pyrepl.

Tips tell a client of many servers how to send a command and how to join the replies (Redis 7.0, command tips; the rows
are those of Redis 8.6, and of Valkey 9.1 for what only it has). The flags concern loads during which a server still
serves, clusters, and modules: pyrepl has none of them. Vector sets are a module in Redis 8, so their commands say so
here too. Flags with an effect stand in the row itself.
"""

from __future__ import annotations

from typing import Final

_TIPS: Final[tuple[tuple[str, str], ...]] = (
    (
        "nondeterministic_output",
        "CLIENT|INFO CLIENT|LIST CLUSTER|BUMPEPOCH CLUSTER|COUNT-FAILURE-REPORTS CLUSTER|GETKEYSINSLOT CLUSTER|INFO"
        " CLUSTER|LINKS CLUSTER|MYSHARDID CLUSTER|NODES CLUSTER|REPLICAS CLUSTER|SHARDS CLUSTER|SLAVES CLUSTER|SLOTS"
        " CLUSTER|SYNCSLOTS DUMP HPTTL HRANDFIELD HSCAN HTTL LASTSAVE MIGRATE OBJECT|ENCODING OBJECT|FREQ"
        " OBJECT|IDLETIME OBJECT|REFCOUNT PTTL SPOP SRANDMEMBER SSCAN TIME TTL XADD XAUTOCLAIM XCLAIM"
        " XINFO|CONSUMERS XPENDING XTRIM ZRANDMEMBER ZSCAN",
    ),
    (
        "nondeterministic_output request_policy:all_nodes",
        "SLOWLOG|GET COMMANDLOG|GET",
    ),
    (
        "nondeterministic_output request_policy:all_nodes response_policy:agg_sum",
        "SLOWLOG|LEN COMMANDLOG|LEN",
    ),
    (
        "nondeterministic_output request_policy:all_nodes response_policy:special",
        "LATENCY|DOCTOR LATENCY|GRAPH LATENCY|HISTOGRAM LATENCY|HISTORY LATENCY|LATEST",
    ),
    (
        "nondeterministic_output request_policy:all_shards",
        "CLUSTER|SLOT-STATS",
    ),
    (
        "nondeterministic_output request_policy:all_shards response_policy:special",
        "FUNCTION|STATS INFO MEMORY|DOCTOR MEMORY|MALLOC-STATS MEMORY|STATS RANDOMKEY",
    ),
    (
        "nondeterministic_output request_policy:special response_policy:special",
        "CLUSTERSCAN HOTKEYS|GET SCAN",
    ),
    (
        "nondeterministic_output_order",
        "COMMAND COMMAND|DOCS COMMAND|INFO COMMAND|LIST FUNCTION|LIST HGETALL HKEYS HVALS MODULE|LIST SDIFF SINTER"
        " SMEMBERS SUNION",
    ),
    (
        "nondeterministic_output_order request_policy:all_shards",
        "KEYS",
    ),
    (
        "request_policy:all_nodes response_policy:agg_sum",
        "LATENCY|RESET",
    ),
    (
        "request_policy:all_nodes response_policy:all_succeeded",
        "CLIENT|SETINFO CLIENT|SETNAME CONFIG|RESETSTAT CONFIG|REWRITE CONFIG|SET SCRIPT|FLUSH SCRIPT|LOAD"
        " SLOWLOG|RESET COMMANDLOG|RESET ACL|DELUSER ACL|SAVE ACL|SETUSER",
    ),
    (
        "request_policy:all_shards response_policy:agg_logical_and",
        "SCRIPT|EXISTS",
    ),
    (
        "request_policy:all_shards response_policy:agg_min",
        "WAIT WAITAOF",
    ),
    (
        "request_policy:all_shards response_policy:agg_sum",
        "DBSIZE",
    ),
    (
        "request_policy:all_shards response_policy:all_succeeded",
        "FLUSHALL FLUSHDB FUNCTION|DELETE FUNCTION|FLUSH FUNCTION|LOAD FUNCTION|RESTORE MEMORY|PURGE PING",
    ),
    (
        "request_policy:all_shards response_policy:one_succeeded",
        "FUNCTION|KILL SCRIPT|KILL",
    ),
    ("request_policy:special", "HOTKEYS|START HOTKEYS|STOP HOTKEYS|RESET"),
    (
        "request_policy:multi_shard",
        "MGET",
    ),
    (
        "request_policy:multi_shard response_policy:agg_sum",
        "DEL EXISTS TOUCH UNLINK",
    ),
    (
        "request_policy:multi_shard response_policy:all_succeeded",
        "MSET MSETEX",
    ),
)
TIPS: Final[dict[str, tuple[str, ...]]] = {name: tuple(tips.split()) for tips, names in _TIPS for name in names.split()}
"""The tips of a command, by its name in upper case, in Redis's order."""

_FLAGS: Final[tuple[tuple[str, str], ...]] = (
    (
        "no_async_loading",
        "BGREWRITEAOF BGSAVE CLUSTER|ADDSLOTS CLUSTER|ADDSLOTSRANGE CLUSTER|BUMPEPOCH CLUSTER|CANCELSLOTMIGRATIONS"
        " CLUSTER|DELSLOTS CLUSTER|DELSLOTSRANGE CLUSTER|FAILOVER CLUSTER|FLUSHSLOT CLUSTER|FLUSHSLOTS"
        " CLUSTER|FORGET CLUSTER|GETSLOTMIGRATIONS CLUSTER|MEET CLUSTER|MIGRATESLOTS CLUSTER|MIGRATION"
        " CLUSTER|REPLICATE CLUSTER|SAVECONFIG CLUSTER|SET-CONFIG-EPOCH CLUSTER|SETSLOT CLUSTER|SYNCSLOTS"
        " MODULE|LOAD MODULE|LOADEX MODULE|UNLOAD PSYNC REPLICAOF SAVE SLAVEOF SYNC",
    ),
    ("asking", "RESTORE-ASKING"),
    (
        "module",
        "VADD VCARD VDIM VEMB VGETATTR VINFO VISMEMBER VLINKS VRANDMEMBER VRANGE VREM VSETATTR VSIM",
    ),
)
SHOWN_FLAGS: Final[dict[str, tuple[str, ...]]] = {name: (flag,) for flag, names in _FLAGS for name in names.split()}
"""The flags of a command that are shown alone, by its name in upper case. No command has two of them."""

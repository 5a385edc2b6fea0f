"""CLUSTER and the other commands of cluster mode, which pyrepl has not: each answers as a Redis with cluster mode off.

All of them stand in the table, so that clients that ask COMMAND find them, and a call with the wrong number of words is
refused for that, as there. Arities, flags and versions are those of Redis 8.6, and of Valkey 9.1 for its own. Not here:
hash tags and slots; nothing of pyrepl is divided by slots.
"""

from __future__ import annotations

from typing import Final, NoReturn

from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.table import (
    ADMIN,
    FAST,
    LOADING,
    NO_KEYS,
    NOSCRIPT,
    READONLY,
    SHARD_CHANNEL,
    STALE,
    WRITE,
    Command,
    command,
    container,
)
from pyrepl.errors import CommandError
from pyrepl.resp.reply import OK, Simple

NO_CLUSTER: Final = "ERR This instance has cluster support disabled"
_ADMIN: Final = ADMIN | STALE


def _refused(name: str, arity: int, flags: int, since: str, summary: str) -> Command:
    """The row of a subcommand of CLUSTER, which refuses every call."""

    def refuse(call: Call, *words: bytes) -> NoReturn:
        raise CommandError(NO_CLUSTER)

    refuse.__doc__ = summary
    return Command(f"CLUSTER|{name}", refuse, arity, flags, NO_KEYS, "cluster", since)


cluster = container("CLUSTER", group="cluster", since="3.0.0", summary="A container for commands of cluster mode")
addslots = _refused("ADDSLOTS", -3, _ADMIN, "3.0.0", "Assign hash slots to a node")
addslotsrange = _refused("ADDSLOTSRANGE", -4, _ADMIN, "7.0.0", "Assign ranges of hash slots to a node")
bumpepoch = _refused("BUMPEPOCH", 2, _ADMIN, "3.0.0", "Advance the epoch of the cluster's configuration")
cancelslotmigrations = _refused(
    "CANCELSLOTMIGRATIONS", 2, _ADMIN, "9.0.0", "Cancel the migrations of slots that are under way"
)
count_failure_reports = _refused(
    "COUNT-FAILURE-REPORTS", 3, _ADMIN, "3.0.0", "Count the nodes that report another one as failing"
)
countkeysinslot = _refused("COUNTKEYSINSLOT", 3, STALE, "3.0.0", "Count the keys of a hash slot")
delslots = _refused("DELSLOTS", -3, _ADMIN, "3.0.0", "Take hash slots from a node")
delslotsrange = _refused("DELSLOTSRANGE", -4, _ADMIN, "7.0.0", "Take ranges of hash slots from a node")
failover = _refused("FAILOVER", -2, _ADMIN, "3.0.0", "Make a replica take over from its master")
flushslot = _refused("FLUSHSLOT", -3, WRITE | ADMIN, "9.0.0", "Delete the keys of a hash slot")
flushslots = _refused("FLUSHSLOTS", 2, _ADMIN, "3.0.0", "Forget which hash slots a node has")
forget = _refused("FORGET", 3, _ADMIN, "3.0.0", "Remove a node from the table of nodes")
getkeysinslot = _refused("GETKEYSINSLOT", 4, STALE, "3.0.0", "Answer keys of a hash slot")
getslotmigrations = _refused("GETSLOTMIGRATIONS", 2, _ADMIN, "9.0.0", "Describe the migrations of slots")
help_ = _refused("HELP", 2, LOADING | STALE, "5.0.0", "Show what CLUSTER can do")
info = _refused("INFO", 2, STALE, "3.0.0", "Describe the cluster as a node sees it")
keyslot = _refused("KEYSLOT", 3, STALE, "3.0.0", "Answer the hash slot of a key")
links = _refused("LINKS", 2, STALE, "7.0.0", "List the connections between nodes")
meet = _refused("MEET", -4, _ADMIN, "3.0.0", "Make a node greet another one")
migrateslots = _refused("MIGRATESLOTS", -4, _ADMIN, "9.0.0", "Migrate hash slots to other nodes")
migration = _refused("MIGRATION", -4, _ADMIN, "8.4.0", "Start, watch or cancel migrations of slots")
myid = _refused("MYID", 2, STALE, "3.0.0", "Answer the id of this node")
myshardid = _refused("MYSHARDID", 2, STALE, "7.2.0", "Answer the id of this node's shard")
nodes = _refused("NODES", 2, STALE, "3.0.0", "Describe the nodes")
replicas = _refused("REPLICAS", 3, _ADMIN, "5.0.0", "List the replicas of a node")
replicate = _refused("REPLICATE", 3, _ADMIN, "3.0.0", "Make a node the replica of another one")
reset = _refused("RESET", -2, _ADMIN | NOSCRIPT, "3.0.0", "Forget the cluster")
saveconfig = _refused("SAVECONFIG", 2, _ADMIN, "3.0.0", "Write the cluster's configuration to disk")
set_config_epoch = _refused("SET-CONFIG-EPOCH", 3, _ADMIN, "3.0.0", "Set the epoch of a new node")
setslot = _refused("SETSLOT", -4, _ADMIN, "3.0.0", "Bind a hash slot to a node")
shards = _refused("SHARDS", 2, LOADING | STALE, "7.0.0", "Describe the shards and their hash slots")
slaves = _refused("SLAVES", 3, _ADMIN, "3.0.0", "List the replicas of a node")
slot_stats = _refused("SLOT-STATS", -4, LOADING | STALE, "8.2.0", "Answer statistics of hash slots")
slots = _refused("SLOTS", 2, LOADING | STALE, "3.0.0", "Answer which nodes have which hash slots")
syncslots = _refused("SYNCSLOTS", -3, _ADMIN, "8.4.0", "Carry a migration of slots between nodes")


@command("ASKING", arity=1, flags=FAST, group="cluster", since="3.0.0")
def asking(call: Call) -> NoReturn:
    """Follow an -ASK redirection; refused: this is no cluster"""
    raise CommandError(NO_CLUSTER)


@command("READONLY", arity=1, flags=LOADING | STALE | FAST, group="cluster", since="3.0.0")
def readonly(call: Call) -> Simple:
    """Read from a replica; for clients that go where -REDIRECT sends them (CLIENT CAPA)"""
    return _read_replica(call, wanted=True)


def _read_replica(call: Call, *, wanted: bool) -> Simple:
    """Raises CommandError for other clients, as Redis does without a cluster: they may read anyway."""
    if not call.client.follows_redirects:
        raise CommandError(NO_CLUSTER)
    call.client.reads_replica = wanted
    return OK


@command("READWRITE", arity=1, flags=LOADING | STALE | FAST, group="cluster", since="3.0.0")
def readwrite(call: Call) -> Simple:
    """End READONLY"""
    return _read_replica(call, wanted=False)


@command("CLUSTERSCAN", arity=-2, flags=READONLY, keys=SHARD_CHANNEL, group="cluster", since="9.1.0")
def clusterscan(call: Call, cursor: bytes, *options: bytes) -> NoReturn:
    """Iterate over the keys of a cluster; refused: this is no cluster"""
    raise CommandError(NO_CLUSTER)


@command("TRIMSLOTS", arity=-5, flags=WRITE, group="server", since="8.4.0")
def trimslots(call: Call, *words: bytes) -> NoReturn:
    """Delete the keys of slots that this node no longer has; refused: this is no cluster"""
    raise CommandError(NO_CLUSTER)

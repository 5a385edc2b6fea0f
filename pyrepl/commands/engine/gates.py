"""May this command run now? The checks between look-up and execution, in Redis's order (`processCommand`, 7.0).

The dispatcher calls `why_not_now` while the client is guarded or a condition of the node holds. Texts are Redis's.
Unknown names and numbers of words are checked before (`table`), and queueing in MULTI comes after (`dispatch`).
"""

from __future__ import annotations

from typing import Final

from pyrepl.commands.engine.rights import why_not_allowed, why_not_in_script
from pyrepl.commands.engine.table import (
    ADMIN,
    ALLOW_BUSY,
    DENYOOM,
    LOADING,
    MAY_REPLICATE,
    NO_AUTH,
    NOSCRIPT,
    READONLY,
    STALE,
    WRITE,
    Command,
)
from pyrepl.node.client import Client
from pyrepl.node.node import Node
from pyrepl.node.scripts import Running
from pyrepl.scripting.shebang import ALLOW_OOM, ALLOW_STALE, COMPATIBLE, NO_WRITES

NOAUTH: Final = "NOAUTH Authentication required."
MAXCLIENTS: Final = "ERR max number of clients reached"
READONLY_TEXT: Final = "READONLY You can't write against a read only replica."
NOREPLICAS: Final = "NOREPLICAS Not enough good replicas to write."
LOADING_TEXT: Final = "LOADING Redis is loading the dataset in memory"
MASTERDOWN: Final = "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'."
MISCONF: Final = (
    "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk. Commands that "
    "may modify the data set are disabled, because this instance is configured to report errors during writes if RDB "
    "snapshotting fails (stop-writes-on-bgsave-error option). Please check the Redis logs for details about the RDB "
    "error."
)
OOM: Final = "OOM command not allowed when used memory > 'maxmemory'."
MISCONF_AOF: Final = "MISCONF Errors writing to the AOF file: "
REPLICA_NO_DATA: Final = "ERR Replica can't interact with the keyspace"
BUSY_SCRIPT: Final = "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE."
BUSY_FUNCTION: Final = "BUSY Redis is busy running a script. You can only call FUNCTION KILL or SHUTDOWN NOSAVE."
_SCRIPTS_BLOCKED: Final = (
    "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk. Writable "
    "scripts are blocked. Use 'no-writes' flag for read only scripts."
)
_SCRIPTS_BLOCKED_AOF: Final = (
    "MISCONF Redis is configured to persist data to AOF, but it's currently unable to persist to disk. Writable "
    "scripts are blocked. Use 'no-writes' flag for read only scripts."
)
_OPERATORS_USE: Final = frozenset({"PING", "INFO", "ROLE", "CLIENT", "COMMAND", "ACL", "CONFIG", "MEMORY", "LATENCY"})
"""Besides the commands with the flag admin: what a connection beyond maxclients may run."""
_LEAVES_MULTI: Final = frozenset({"EXEC", "DISCARD", "QUIT", "RESET"})
"""The commands that end a transaction."""
_IN_SUBSCRIPTION: Final = frozenset(
    {"SUBSCRIBE", "UNSUBSCRIBE", "PSUBSCRIBE", "PUNSUBSCRIBE", "SSUBSCRIBE", "SUNSUBSCRIBE", "PING", "QUIT", "RESET"}
)


def why_not_now(node: Node, client: Client, row: Command, argv: list[bytes]) -> str | None:
    """The error text when `row` must not run for `client` now, or None.

    The checks of the node's conditions are skipped while none of them holds: often only the client is guarded, as in
    MULTI.
    """
    flags = row.flags
    conditions = node.conditions
    if not client.authenticated and not flags & NO_AUTH:
        return NOAUTH
    if client.in_reserve and _is_for_others(node, client, row):
        return MAXCLIENTS
    if client.limited:
        refusal = why_not_allowed(node, client, row, argv)
        if refusal is not None:
            return refusal
    if client.is_master_link:
        return None
    if client.is_replica and flags & (WRITE | READONLY):
        return REPLICA_NO_DATA
    writes = bool(flags & WRITE) or (row.name == "EXEC" and client.queue_writes)
    if client.follows_redirects and (writes or (flags & READONLY and not client.reads_replica)):
        master = node.replication.role.master
        if master is not None:
            return f"REDIRECT {master.host}:{master.port}"
    if conditions.tracked and node.memory.full and _needs_memory(client, row):
        return OOM
    if conditions.guarded and (writes or row.name == "PING"):
        refusal = _why_not_write(node) if writes else _why_not_saved(node)
        if refusal is not None:
            return refusal
    if client.proto == 2 and client.subscribed and row.name not in _IN_SUBSCRIPTION:
        return (
            f"ERR Can't execute '{row.wire_name}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are "
            "allowed in this context"
        )
    if conditions.guarded:
        if node.link_is_stale and not flags & STALE:
            return MASTERDOWN
        if node.is_loading and not flags & LOADING:
            return LOADING_TEXT
        running = node.scripts.running
        if running is not None and not flags & ALLOW_BUSY:
            return BUSY_SCRIPT if running.is_eval else BUSY_FUNCTION
        if running is not None and row.name == "SHUTDOWN" and [word.upper() for word in argv[1:]] != [b"NOSAVE"]:
            return BUSY_SCRIPT if running.is_eval else BUSY_FUNCTION
    return None


def why_not_from_script(node: Node, client: Client, running: Running, row: Command, argv: list[bytes]) -> str | None:
    """The error text when the script that runs must not call `row`, or None (Redis's scriptCall). `client` has called
    the script.

    Here too the checks of the node's conditions are skipped while none of them holds.
    """
    flags = row.flags
    guarded = node.conditions.guarded
    if flags & NOSCRIPT:
        return "ERR This Redis command is not allowed from script"
    if guarded and node.link_is_stale and not flags & STALE:
        return "ERR Can not execute the command on a stale replica"
    if client.limited:
        denied = why_not_in_script(node, client, row, argv)
        if denied is not None:
            return denied
    if running.is_read_only and flags & (WRITE | MAY_REPLICATE):
        return "ERR Write commands are not allowed from read-only scripts."
    if running.wrote or running.from_master:
        return None
    if guarded and flags & WRITE:
        refusal = READONLY_TEXT if node.refuses_writes else _why_not_saved(node)
        if refusal is None and node.too_few_replicas:
            refusal = NOREPLICAS
        if refusal is not None:
            return refusal
    if flags & DENYOOM and not running.allows_oom and node.conditions.tracked and node.memory.full:
        return OOM
    return None


def why_not_begin(node: Node, flags: int, *, is_read_only: bool, from_master: bool) -> str | None:
    """The error text when a script with these flags of its first line must not begin, or None (scriptPrepareForRun).

    `is_read_only`: it came by EVAL_RO, EVALSHA_RO or FCALL_RO.
    """
    guarded = node.conditions.guarded
    if flags & COMPATIBLE:
        return MASTERDOWN if guarded and node.link_is_stale else None
    if guarded and node.link_is_stale and not flags & ALLOW_STALE:
        return (
            "MASTERDOWN Link with MASTER is down, replica-serve-stale-data is set to 'no' and 'allow-stale' flag is "
            "not set on the script."
        )
    if not flags & NO_WRITES:
        if guarded and node.refuses_writes and not from_master:
            return "READONLY Can not run script with write flag on readonly replica"
        refusal = _why_not_saved(node) if guarded and not from_master else None
        if refusal is not None:
            return _SCRIPTS_BLOCKED_AOF if refusal.startswith(MISCONF_AOF) else _SCRIPTS_BLOCKED
        if is_read_only:
            return "ERR Can not execute a script with write flag using *_ro command."
        if guarded and node.too_few_replicas:
            return NOREPLICAS
    if not flags & (ALLOW_OOM | NO_WRITES) and node.conditions.tracked and node.memory.full:
        return "OOM allow-oom flag is not set on the script, can not run it when used memory > 'maxmemory'"
    return None


def _is_for_others(node: Node, client: Client, row: Command) -> bool:
    """Is this a command that a connection beyond maxclients must not run? Then the connection ends. Once there is room,
    the connection is one like any other."""
    if len(node.clients) <= node.settings.maxclients:
        client.leave_reserve()
        return False
    if row.flags & (ADMIN | NO_AUTH) or row.name.partition("|")[0] in _OPERATORS_USE:
        return False
    node.stats.rejected_connections += 1
    client.close_after_reply()
    return True


def _needs_memory(client: Client, row: Command) -> bool:
    """May the command need more memory? In MULTI every command that is queued does, as the queue grows. The commands
    that end the queue do not, except an EXEC with a queued command that may need memory."""
    if row.name == "EXEC":
        return client.queue_grows
    return bool(row.flags & DENYOOM) or (client.queue is not None and row.name not in _LEAVES_MULTI)


def _why_not_saved(node: Node) -> str | None:
    """The error text while our data cannot be saved, or None. PING is refused with it as well, so that a monitoring
    that sends PING notices (Redis 2.6)."""
    if node.must_not_write_to_disk_error:
        return MISCONF
    aof_error = node.persistence.aof.write_error
    return f"{MISCONF_AOF}{aof_error}" if aof_error and node.replication.role.guards_writes else None


def _why_not_write(node: Node) -> str | None:
    """The error text while no client may write to this node, or None."""
    refusal = _why_not_saved(node)
    if refusal is not None:
        return refusal
    if node.too_few_replicas:
        return NOREPLICAS
    if node.refuses_writes:
        return READONLY_TEXT
    return None

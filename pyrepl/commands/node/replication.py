"""Commands of replication: ROLE, REPLICAOF, WAIT, and those that a replica sends (REPLCONF, PSYNC, SYNC).

`pyrepl.replication` decides what these commands lead to, and the daemon does it. Here their arguments are checked, and
they are refused where the node's state alone is reason enough.
"""

from __future__ import annotations

from typing import Final

from pyrepl.commands.engine.arguments import (
    int32_argument,
    integer_argument,
    ranged_integer_argument,
    syntax_error,
    timeout_ms_argument,
)
from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.effects import AbortFailover, Failover, HurryLink, Promote, Replconf, ReplicaOf, Sync, Wait
from pyrepl.commands.engine.table import (
    ADMIN,
    ALLOW_BUSY,
    BLOCKING,
    FAST,
    IN_STREAM,
    LOADING,
    NO_MULTI,
    NOSCRIPT,
    STALE,
    command,
)
from pyrepl.errors import CommandError
from pyrepl.replication.events import SessionState
from pyrepl.replication.failover import ALREADY, FailoverState
from pyrepl.resp.reply import OK, Reply, Simple
from pyrepl.words import to_text

ALREADY_CONNECTED: Final = Simple(b"OK Already connected to specified master")
WAIT_ON_REPLICA: Final = (
    "ERR WAIT cannot be used with replica instances. Please also note that since Redis 4.0 if a replica is configured "
    "to be writable (which is not the default) writes to replicas are just local and are not propagated."
)


FAILOVER_OF_REPLICA: Final = "ERR FAILOVER is not valid when server is a replica."
WHILE_FAILING_OVER: Final = "ERR REPLICAOF not allowed while failing over."


@command("ROLE", arity=1, flags=NOSCRIPT | LOADING | STALE | FAST, group="server", since="2.8.12")
def role(call: Call) -> list[Reply]:
    """Tell the role in replication: master with its replicas, or slave with its master

    As in Redis 8.2, a replica is listed once its sync is complete. INFO lists it earlier, with the state of the sync.
    """
    replication = call.node.replication
    link = replication.link
    if link is not None:
        return [
            b"slave",
            replication.master_host.encode(),
            replication.master_port,
            link.role_state.encode(),
            -1 if link.held is None else link.held,
        ]
    replicas: list[Reply] = [
        [session.ip.encode(), b"%d" % session.told.listening_port, b"%d" % session.ack_cut]
        for session in replication.roster.sessions.values()
        if session.state is SessionState.ONLINE
    ]
    return [b"master", replication.backlog.end, replicas]


def _replicaof(call: Call, host: bytes, port: bytes) -> ReplicaOf | Promote | HurryLink | Simple:
    """REPLICAOF and SLAVEOF: host and port of a master, or NO ONE. Raises CommandError.

    A node that follows that master already does not start anew; it only tries to connect at once if it has no link.
    """
    replication = call.node.replication
    if replication.failover.state is not FailoverState.NONE:
        raise CommandError(WHILE_FAILING_OVER)
    if host.lower() == b"no" and port.lower() == b"one":
        return Promote() if replication.role.is_replica else OK
    if call.client.is_replica:
        raise CommandError("ERR Command is not valid when client is a replica.")
    number = ranged_integer_argument(port, 0, 65535, "ERR Invalid master port")
    name = to_text(host)
    if replication.role.is_replica and (replication.master_host.lower(), replication.master_port) == (
        name.lower(),
        number,
    ):
        return HurryLink(ALREADY_CONNECTED)
    return ReplicaOf(name, number)


@command("REPLICAOF", arity=3, flags=ADMIN | NOSCRIPT | STALE, group="server", since="5.0.0")
def replicaof(call: Call, host: bytes, port: bytes) -> ReplicaOf | Promote | HurryLink | Simple:
    """Follow the master at this address, or be a master (NO ONE)"""
    return _replicaof(call, host, port)


@command("SLAVEOF", arity=3, flags=ADMIN | NOSCRIPT | STALE, group="server")
def slaveof(call: Call, host: bytes, port: bytes) -> ReplicaOf | Promote | HurryLink | Simple:
    """Follow the master at this address, or be a master (NO ONE); the old spelling of REPLICAOF"""
    return _replicaof(call, host, port)


@command("WAIT", arity=3, flags=BLOCKING, group="generic", since="3.0.0")
def wait(call: Call, replicas: bytes, timeout: bytes) -> Wait | int:
    """Wait until so many replicas have what this connection wrote, for so many ms at most; how many have it"""
    replication = call.node.replication
    if not replication.role.makes_stream:
        raise CommandError(WAIT_ON_REPLICA)
    wanted = int32_argument(replicas)
    timeout_ms = timeout_ms_argument(timeout, call.now_ms)
    acked = replication.roster.acked_at_least(call.client.write_cut)
    if acked >= wanted or call.is_nested:
        return acked
    return Wait(wanted, timeout_ms)


@command(
    "REPLCONF",
    arity=-1,
    flags=ADMIN | NOSCRIPT | LOADING | STALE | IN_STREAM | ALLOW_BUSY,
    group="server",
    since="3.0.0",
)
def replconf(call: Call, *words: bytes) -> Replconf | Simple:
    """Tell a master about the replica that sends it; for replicas alone"""
    if len(words) % 2:
        raise CommandError("ERR syntax error")
    return Replconf(tuple(call.argv)) if words else OK


@command("PSYNC", arity=-3, flags=ADMIN | NOSCRIPT | NO_MULTI, group="server", since="2.8.0")
def psync(call: Call, *words: bytes) -> Sync:
    """Ask for the stream from an offset on, or for a snapshot and then the stream; for replicas alone"""
    return Sync(tuple(call.argv))


@command("SYNC", arity=1, flags=ADMIN | NOSCRIPT | NO_MULTI, group="server")
def sync(call: Call) -> Sync:
    """Ask for a snapshot and then the stream; for replicas alone"""
    return Sync(tuple(call.argv))


@command("FAILOVER", arity=-1, flags=ADMIN | NOSCRIPT | STALE, group="server", since="6.2.0")
def failover(call: Call, *options: bytes) -> Failover | AbortFailover:
    """Hand the role of master over to a replica, without losing a write"""
    words = list(options)
    if [word.upper() for word in words] == [b"ABORT"]:
        return AbortFailover()
    target: tuple[str, int] | None = None
    force = False
    timeout_ms: int | None = None
    while words:
        option = words.pop(0).upper()
        if option == b"TIMEOUT" and words and timeout_ms is None:
            timeout_ms = integer_argument(words.pop(0))
            if timeout_ms <= 0:
                raise CommandError("ERR FAILOVER timeout must be greater than 0")
        elif option == b"TO" and len(words) > 1 and target is None:
            target = (to_text(words.pop(0)), int32_argument(words.pop(0)))
        elif option == b"FORCE" and not force:
            force = True
        else:
            raise syntax_error()
    if call.node.replication.failover.state is not FailoverState.NONE:
        raise CommandError(ALREADY)
    if call.node.replication.role.is_replica:
        raise CommandError(FAILOVER_OF_REPLICA)
    return Failover(target, force, timeout_ms)

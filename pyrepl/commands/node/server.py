"""Commands on the node as a whole: TIME, INFO, LASTSAVE, SAVE, BGSAVE, SHUTDOWN, MONITOR.

ROLE and the replication commands are in `replication`, CONFIG is in `config_admin`; SLOWLOG, MEMORY and DEBUG are in
modules of these names. There is no latency monitor here: LATENCY exists only because clients send it without being told
to.
"""

from __future__ import annotations

from typing import Final

from pyrepl.commands.engine.arguments import syntax_error
from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.effects import AbortShutdown, BgSave, Save, SaveMode, ScheduleBgSave, Shutdown
from pyrepl.commands.engine.table import ADMIN, FAST, LOADING, NO_MULTI, NOSCRIPT, STALE, command, container
from pyrepl.errors import CommandError
from pyrepl.observability.info.report import info_text
from pyrepl.resp.reply import OK, Reply, Simple, Verbatim

_ADMIN: Final = ADMIN | NOSCRIPT | LOADING | STALE


@command("TIME", arity=1, flags=LOADING | STALE | FAST, group="server", since="2.6.0")
def time_(call: Call) -> list[bytes]:
    """Answer the Unix time in seconds and the microseconds within the second"""
    seconds, ms = divmod(call.now_ms, 1000)
    return [b"%d" % seconds, b"%d" % (ms * 1000)]


@command("INFO", arity=-1, flags=LOADING | STALE, group="server")
def info(call: Call, *sections: bytes) -> Verbatim:
    """Report on the node: the usual sections, or those that are named"""
    return Verbatim(info_text(call.node, [word.decode("utf-8", "replace").lower() for word in sections]))


@command("LASTSAVE", arity=1, flags=LOADING | STALE | FAST, group="server")
def lastsave(call: Call) -> int:
    """Answer the Unix time of the last snapshot on disk"""
    return call.node.persistence.last_save_unix_s


@command("SAVE", arity=1, flags=ADMIN | NOSCRIPT | NO_MULTI, group="server")
def save(call: Call) -> Save:
    """Write a snapshot to disk; nobody is served meanwhile"""
    if call.node.persistence.bgsave_in_progress:
        raise CommandError("ERR Background save already in progress")
    return Save()


@command("BGSAVE", arity=-1, flags=ADMIN | NOSCRIPT, group="server")
def bgsave(call: Call, *options: bytes) -> BgSave | ScheduleBgSave:
    """Write a snapshot to disk in a child process"""
    if len(options) > 1 or (options and options[0].upper() != b"SCHEDULE"):
        raise syntax_error()
    if call.node.persistence.bgsave_in_progress:
        raise CommandError("ERR Background save already in progress")
    return ScheduleBgSave() if call.is_nested else BgSave()


@command("SHUTDOWN", arity=-1, flags=_ADMIN | NO_MULTI, group="server")
def shutdown(call: Call, *options: bytes) -> Shutdown | AbortShutdown:
    """End the process, after the replicas have caught up and, if save points are set, a snapshot is written"""
    words = [word.upper() for word in options]
    if b"ABORT" in words:
        if len(words) > 1:
            raise syntax_error()
        return AbortShutdown()
    if not set(words) <= {b"SAVE", b"NOSAVE", b"NOW", b"FORCE"} or {b"SAVE", b"NOSAVE"} <= set(words):
        raise syntax_error()
    mode = SaveMode.SAVE if b"SAVE" in words else SaveMode.NOSAVE if b"NOSAVE" in words else SaveMode.DEFAULT
    return Shutdown(mode, now=b"NOW" in words, force=b"FORCE" in words)


@command("MONITOR", arity=1, flags=_ADMIN, group="server")
def monitor(call: Call) -> Simple:
    """Show every command that the node executes, until RESET or QUIT"""
    if call.is_nested:
        raise CommandError("ERR MONITOR isn't allowed for DENY BLOCKING client")
    call.node.begin_monitor(call.client)
    return OK


latency = container("LATENCY", group="server", since="2.8.13", summary="A container for latency diagnostics commands")


@command("LATENCY|LATEST", arity=2, flags=_ADMIN, group="server", since="2.8.13")
def latency_latest(call: Call) -> list[bytes]:
    """Answer the latest latency samples: none, there is no latency monitor"""
    return []


@command("LATENCY|HISTORY", arity=3, flags=_ADMIN, group="server", since="2.8.13")
def latency_history(call: Call, event: bytes) -> list[bytes]:
    """Answer the latency samples of an event: none, there is no latency monitor"""
    return []


@command("LATENCY|HISTOGRAM", arity=-2, flags=_ADMIN, group="server", since="7.0.0")
def latency_histogram(call: Call, *names: bytes) -> dict[Reply, Reply]:
    """Answer how many calls of each command took no longer than so many microseconds; without names, of all."""
    rows = call.node.stats.commands
    wanted = {name.decode("utf-8", "surrogateescape").lower() for name in names}
    found: dict[Reply, Reply] = {}
    for name, row in rows.items():
        if row.latencies.count and (not wanted or name in wanted or name.partition("|")[0] in wanted):
            steps: dict[Reply, Reply] = dict(row.latencies.doublings())
            found[name.encode()] = {b"calls": row.latencies.count, b"histogram_usec": steps}
    return found


@command("LATENCY|RESET", arity=-2, flags=_ADMIN, group="server", since="2.8.13")
def latency_reset(call: Call, *events: bytes) -> int:
    """Forget latency samples; how many events had some: none"""
    return 0

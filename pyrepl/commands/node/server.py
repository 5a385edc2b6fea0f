"""Commands on the node as a whole: TIME, INFO, LASTSAVE, SAVE, BGSAVE, SHUTDOWN, MONITOR.

ROLE and the replication commands are in `replication`, CONFIG is in `config_admin`; SLOWLOG, LATENCY, MEMORY and DEBUG
are in modules of these names.
"""

from __future__ import annotations

from typing import Final

from pyrepl.commands.engine.arguments import syntax_error
from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.effects import AbortShutdown, BgSave, Save, SaveMode, ScheduleBgSave, Shutdown
from pyrepl.commands.engine.table import (
    ADMIN,
    ALLOW_BUSY,
    FAST,
    LOADING,
    NO_MULTI,
    NOSCRIPT,
    STALE,
    command,
)
from pyrepl.errors import CommandError
from pyrepl.observability.info.report import info_text
from pyrepl.resp.reply import OK, Simple, Verbatim

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


@command("SHUTDOWN", arity=-1, flags=_ADMIN | NO_MULTI | ALLOW_BUSY, group="server")
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

"""DEBUG: the subcommands of Redis that tests and operators use and that make sense here.

As in Redis, DEBUG is one command: it looks its subcommands up in a table of its own, so a wrong number of words is the
same error as an unknown subcommand. It is refused unless enable-debug-command allows it. The replies of DEBUG PROTOCOL
are in `debug_protocol`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from pyrepl.commands.describe.help import help_reply, subcommand_syntax_error
from pyrepl.commands.engine.arguments import no_such_key, positive_argument
from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.effect import Effect
from pyrepl.commands.engine.effects import (
    DebugLoadAof,
    DebugReload,
    DebugSleep,
    InSlices,
    Log,
    ReplPause,
    ReplPausePoint,
)
from pyrepl.commands.engine.protected import check_protected
from pyrepl.commands.engine.slices import FEW_KEYS, DigestJob
from pyrepl.commands.engine.table import ADMIN, LOADING, NOSCRIPT, STALE, command
from pyrepl.commands.node.debug_protocol import protocol_sample
from pyrepl.errors import CommandError
from pyrepl.keyspace.digest import key_digest, keyspace_digest
from pyrepl.keyspace.encoding import encoding
from pyrepl.keyspace.packed import kept_plain
from pyrepl.observability.events import DebugLog, ReplicationIdsChanged
from pyrepl.rdb.payload import encode_payload
from pyrepl.rdb.types.hash import FIELD_TTL_VERSIONS
from pyrepl.rdb.types.row import Form
from pyrepl.rdb.versions import lowest_version
from pyrepl.resp.doubles import parse_double
from pyrepl.resp.reply import OK, Reply, Simple
from pyrepl.units import ReplId

_NOT_POSITIVE: Final = "ERR value is out of range, must be positive"
_PAYLOAD_FRAME_BYTES: Final = 11
"""How many bytes DUMP adds to those of the value: its type (1), the RDB version (2), the checksum (8)."""
_SIZED_VERSION: Final = lowest_version((FIELD_TTL_VERSIONS,))
"""The RDB version in which DEBUG OBJECT measures a value; it can hold times to live of fields."""
_HEX: Final = "0123456789abcdef"

Outcome: TypeAlias = Reply | Effect
_MANY: Final = 1 << 30
"""Stands for no limit on the number of words."""


@command("DEBUG", arity=-2, flags=ADMIN | NOSCRIPT | LOADING | STALE, group="server")
def debug(call: Call, subcommand: bytes, *arguments: bytes) -> Outcome:
    """Inspect and disturb the node, for tests"""
    check_protected(call, "debug", call.node.settings.enable_debug_command)
    row = _SUBCOMMANDS.get(subcommand.upper())
    if row is None or not row[0] <= len(arguments) <= row[1]:
        raise subcommand_syntax_error("DEBUG", subcommand)
    return row[2](call, *arguments)


def _sleep(call: Call, seconds: bytes) -> Outcome:
    """A text that is no number, and a negative one, mean 0."""
    return DebugSleep(max(0.0, parse_double(seconds) or 0.0))


def _digest(call: Call) -> Outcome:
    if call.keyspace.key_count > FEW_KEYS:
        return InSlices(DigestJob(call.keyspace))
    return Simple(keyspace_digest(call.keyspace).encode())


def _digest_value(call: Call, *keys: bytes) -> Outcome:
    return [Simple(key_digest(call.db, key).encode()) for key in keys]


def _object(call: Call, key: bytes) -> Outcome:
    """The line of Redis. Address, reference count and access time mean nothing here, but clients parse the line."""
    kept = call.db.find_kept(key)
    if kept is None:
        raise no_such_key()
    size = len(encode_payload(kept_plain(kept), Form(_SIZED_VERSION))) - _PAYLOAD_FRAME_BYTES
    clock = call.now_ms // 1000 & 0xFFFFFF
    text = f"Value at:{id(kept):#x} refcount:1 encoding:{encoding(kept, call.node.settings)}"
    return Simple(f"{text} serializedlength:{size} lru:{clock} lru_seconds_idle:0".encode())


def _populate(call: Call, count: bytes, prefix: bytes = b"key", size: bytes = b"0") -> Outcome:
    """Make keys `prefix:0`, `prefix:1`, ... Existing keys stay as they are. As in Redis, nothing is propagated.

    With a size every value has that many bytes: it is cut, or padded with zero bytes.
    """
    keys, width, db = positive_argument(count, _NOT_POSITIVE), positive_argument(size, _NOT_POSITIVE), call.db
    for number in range(keys):
        key = b"%b:%d" % (prefix, number)
        if db.find_kept(key) is None:
            value = b"value:%d" % number
            db.put(key, value[:width].ljust(width, b"\0") if width else value)
            db.touched(key)
    return OK


def _set_active_expire(call: Call, switch: bytes) -> Outcome:
    """Off for 0 and for a text that is no number, else on, as C's atoi reads it."""
    call.node.active_expire = switch.lstrip(b"+-0")[:1].isdigit()
    return OK


def _reload(call: Call, *options: bytes) -> Outcome:
    words = {option.upper() for option in options}
    if not words <= {b"MERGE", b"NOFLUSH", b"NOSAVE"}:
        raise CommandError("ERR DEBUG RELOAD only supports the MERGE, NOFLUSH and NOSAVE options.")
    return DebugReload(save=b"NOSAVE" not in words, flush=b"NOFLUSH" not in words, merge=b"MERGE" in words)


def _loadaof(call: Call) -> Outcome:
    return DebugLoadAof()


def _replicate(call: Call, *argv: bytes) -> Outcome:
    """Propagate a command without executing it here, so that a test can make a replica differ from its master."""
    call.rewrite(*argv)
    return OK


def _change_repl_id(call: Call) -> Outcome:
    """Take a new random replication id and forget the old ones, so that replicas need a full resync."""
    replid = ReplId("".join(_HEX[call.random.below(16)] for _ in range(40)))
    call.node.replication.history.restart(replid)
    return Log(ReplicationIdsChanged())


def _repl_pause(call: Call, point: bytes) -> Outcome:
    try:
        return ReplPause(ReplPausePoint(point.decode("utf-8", "replace").lower()))
    except ValueError:
        raise subcommand_syntax_error("DEBUG", call.argv[1]) from None


def _error(call: Call, text: bytes) -> Outcome:
    raise CommandError(text.decode("utf-8", "replace"))


def _log(call: Call, message: bytes) -> Outcome:
    return Log(DebugLog(message.decode("utf-8", "replace")))


def _protocol(call: Call, kind: bytes) -> Outcome:
    return protocol_sample(kind.decode("utf-8", "replace").lower(), call.client.proto)


def _help(call: Call) -> Outcome:
    return help_reply("DEBUG", *_HELP)


_SUBCOMMANDS: Final[dict[bytes, tuple[int, int, Callable[..., Outcome]]]] = {
    b"CHANGE-REPL-ID": (0, 0, _change_repl_id),
    b"DIGEST": (0, 0, _digest),
    b"DIGEST-VALUE": (0, _MANY, _digest_value),
    b"ERROR": (1, 1, _error),
    b"HELP": (0, 0, _help),
    b"LOADAOF": (0, 0, _loadaof),
    b"LOG": (1, 1, _log),
    b"OBJECT": (1, 1, _object),
    b"POPULATE": (1, 3, _populate),
    b"PROTOCOL": (1, 1, _protocol),
    b"RELOAD": (0, _MANY, _reload),
    b"REPL-PAUSE": (1, 1, _repl_pause),
    b"REPLICATE": (1, _MANY, _replicate),
    b"SET-ACTIVE-EXPIRE": (1, 1, _set_active_expire),
    b"SLEEP": (1, 1, _sleep),
}
"""Subcommand -> (the least and the greatest number of words after it, both inclusive, its function)."""

_HELP: Final = (
    "CHANGE-REPL-ID",
    "    Change the replication IDs of the instance.",
    "    Dangerous: should be used only for testing the replication subsystem.",
    "DIGEST",
    "    Output a hex signature representing the current DB content.",
    "DIGEST-VALUE <key> [<key> ...]",
    "    Output a hex signature of the values of all the specified keys.",
    "ERROR <string>",
    "    Return a Redis protocol error with <string> as message. Useful for clients",
    "    unit tests to simulate Redis errors.",
    "LOG <message>",
    "    Write <message> to the server log.",
    "LOADAOF",
    "    Flush the AOF buffers on disk and reload the AOF in memory.",
    "REPLICATE <string>",
    "    Replicates the provided string to replicas, allowing data divergence.",
    "OBJECT <key>",
    "    Show low level info about `key` and associated value.",
    "POPULATE <count> [<prefix>] [<size>]",
    "    Create <count> string keys named key:<num>. If <prefix> is specified then",
    "    it is used instead of the 'key' prefix. These are not propagated to",
    "    replicas.",
    "PROTOCOL <type>",
    "    Reply with a test value of the specified type. <type> can be: string,",
    "    integer, double, bignum, null, array, set, map, attrib, push, verbatim,",
    "    true, false.",
    "RELOAD [option ...]",
    "    Save the RDB on disk and reload it back to memory. Valid <option> values:",
    "    * MERGE: conflicting keys will be loaded from RDB.",
    "    * NOFLUSH: the existing database will not be removed before load.",
    "    * NOSAVE: the database will be loaded from an existing RDB file.",
    "REPL-PAUSE <clear|after-fork|before-rdb-channel|on-streaming-repl-buf>",
    "    Pause the server's main process during various replication steps.",
    "SET-ACTIVE-EXPIRE <0|1>",
    "    Setting it to 0 disables expiring keys in background when they are not",
    "    accessed (otherwise the Redis behavior). Setting it to 1 reenables back the",
    "    default.",
    "SLEEP <seconds>",
    "    Stop the server for <seconds>. Decimals allowed.",
)

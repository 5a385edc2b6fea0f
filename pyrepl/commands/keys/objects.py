"""OBJECT: how a value is represented, and when or how often its key was accessed.

The name of the representation comes from `keyspace.encoding`. Access times are kept only while maxmemory-policy is an
LRU policy, frequencies only while it is an LFU policy.
"""

from __future__ import annotations

from typing import Final

from pyrepl.commands.describe.help import help_reply
from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.table import LOADING, READONLY, SECOND_ARG, STALE, command, container
from pyrepl.errors import CommandError
from pyrepl.keyspace.access import Tracking
from pyrepl.keyspace.encoding import encoding
from pyrepl.keyspace.values import is_string
from pyrepl.resp.numbers import parse_integer
from pyrepl.resp.reply import Simple

SHARED_INTEGERS: Final = 10_000
SHARED_REFCOUNT: Final = 2**31 - 1
"""The reference count that Redis answers for the integers below SHARED_INTEGERS, which all keys share."""

OBJECT = container("OBJECT", group="generic", since="2.2.3", summary="A container for object introspection commands")


@command("OBJECT|HELP", arity=2, flags=LOADING | STALE, group="generic", since="6.2.0")
def object_help(call: Call) -> list[Simple]:
    """Helpful text about the subcommands."""
    return help_reply(
        "OBJECT",
        "ENCODING <key>",
        "    Return the kind of internal representation used in order to store the value",
        "    associated with a <key>.",
        "FREQ <key>",
        "    Return the access frequency index of the <key>. The returned integer is",
        "    proportional to the logarithm of the recent access frequency of the key.",
        "IDLETIME <key>",
        "    Return the idle time of the <key>, that is the approximated number of",
        "    seconds elapsed since the last access to the key.",
        "REFCOUNT <key>",
        "    Return the number of references of the value associated with the specified",
        "    <key>.",
    )


@command("OBJECT|ENCODING", arity=3, flags=READONLY, keys=SECOND_ARG, group="generic", since="2.2.3")
def object_encoding(call: Call, key: bytes) -> bytes | None:
    """The representation that Redis would choose for a value."""
    value = call.db.read_kept(key)
    return None if value is None else encoding(value, call.node.settings).encode()


@command("OBJECT|REFCOUNT", arity=3, flags=READONLY, keys=SECOND_ARG, group="generic", since="2.2.3")
def object_refcount(call: Call, key: bytes) -> int | None:
    """How many references a value has: 1, but for the small integers that Redis shares."""
    value = call.db.read_kept(key)
    if value is None:
        return None
    number = parse_integer(value) if is_string(value) else None
    return SHARED_REFCOUNT if number is not None and 0 <= number < SHARED_INTEGERS else 1


@command("OBJECT|IDLETIME", arity=3, flags=READONLY, keys=SECOND_ARG, group="generic", since="2.2.3")
def object_idletime(call: Call, key: bytes) -> int | None:
    """Seconds since the last access, under an LRU policy

    Redis answers them under every policy except LFU. Here access times are kept only while the policy needs them.
    Without them any number would be wrong, so the command answers an error.
    """
    if call.db.read_kept(key) is None:
        return None
    tracker = call.node.memory.tracker
    if tracker.tracking is Tracking.LRU:
        return tracker.idle_s(call.db, key)
    if tracker.tracking is Tracking.LFU:
        raise CommandError(
            "ERR An LFU maxmemory policy is selected, idle time not tracked. Please note that when switching "
            "between policies at runtime LRU and LFU data will take some time to adjust."
        )
    raise CommandError(
        "ERR An LRU maxmemory policy is not selected, idle time not tracked. CONFIG SET maxmemory-policy allkeys-lru"
        " tracks it from then on, and evicts nothing while maxmemory is 0."
    )


@command("OBJECT|FREQ", arity=3, flags=READONLY, keys=SECOND_ARG, group="generic", since="4.0.0")
def object_freq(call: Call, key: bytes) -> int | None:
    """The logarithmic access frequency, under an LFU policy"""
    if call.db.read_kept(key) is None:
        return None
    tracker = call.node.memory.tracker
    if tracker.tracking is Tracking.LFU:
        return tracker.frequency(call.db, key)
    raise CommandError(
        "ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that when switching "
        "between policies at runtime LRU and LFU data will take some time to adjust."
    )

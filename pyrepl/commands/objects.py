"""OBJECT: what a value looks like inside.

pyrepl keeps plain values; the encoding named is the one that the value would have in Redis 7.2 or later, computed from
its contents and the thresholds in force, and the one it has in a snapshot. Access times and frequencies are kept only
while maxmemory-policy is by LRU or LFU.
"""

from __future__ import annotations

from typing import Final

from pyrepl.commands.call import Call
from pyrepl.commands.help import help_reply
from pyrepl.commands.table import LOADING, READONLY, SECOND_ARG, STALE, command, container
from pyrepl.config.settings import Settings
from pyrepl.errors import CommandError
from pyrepl.keyspace.access import Tracking
from pyrepl.keyspace.packed import unpacked
from pyrepl.keyspace.values import HashValue, ListValue, SetValue, Value, ZsetValue
from pyrepl.rdb.settings import list_node_bytes, list_node_entries
from pyrepl.resp.numbers import parse_integer
from pyrepl.resp.reply import Simple

EMBSTR_MAX_BYTES: Final = 44
SHARED_INTEGERS: Final = 10_000
SHARED_REFCOUNT: Final = 2**31 - 1
"""What Redis answers for the small integers that all keys share."""
_ENTRY_OVERHEAD_BYTES: Final = 11
"""Most that a listpack adds to an element: its header and its length at the end."""
_LISTPACK_FRAME_BYTES: Final = 7

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
    return None if value is None else encoding(unpacked(value), call.node.settings).encode()


@command("OBJECT|REFCOUNT", arity=3, flags=READONLY, keys=SECOND_ARG, group="generic", since="2.2.3")
def object_refcount(call: Call, key: bytes) -> int | None:
    """How many references a value has: 1, but for the small integers that Redis shares."""
    value = call.db.read_kept(key)
    if value is None:
        return None
    number = parse_integer(value) if type(value) is bytes else None
    return SHARED_REFCOUNT if number is not None and 0 <= number < SHARED_INTEGERS else 1


@command("OBJECT|IDLETIME", arity=3, flags=READONLY, keys=SECOND_ARG, group="generic", since="2.2.3")
def object_idletime(call: Call, key: bytes) -> int | None:
    """Seconds since the last access, under an LRU policy

    Redis tells them under every policy but LFU. Here a time for each key is kept only where the policy goes by it;
    where it does not, an error says so, as no number would be true.
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


def encoding(value: Value, settings: Settings) -> str:
    """The name OBJECT ENCODING gives to the representation of such a value."""
    if isinstance(value, bytes):
        if parse_integer(value) is not None:
            return "int"
        return "embstr" if len(value) <= EMBSTR_MAX_BYTES else "raw"
    if isinstance(value, ListValue):
        return _list_encoding(value, settings)
    if isinstance(value, SetValue):
        return _set_encoding(value, settings)
    if isinstance(value, HashValue):
        return _hash_encoding(value, settings)
    if isinstance(value, ZsetValue):
        compact = _fits(value.scores, settings.zset_max_listpack_entries, settings.zset_max_listpack_value)
        return "listpack" if compact else "skiplist"
    return "stream"


def _list_encoding(value: ListValue, settings: Settings) -> str:
    limit = list_node_bytes(settings.list_max_listpack_size)
    if len(value.items) > min(list_node_entries(settings.list_max_listpack_size), limit):
        return "quicklist"
    size = _LISTPACK_FRAME_BYTES + sum(len(item) + _ENTRY_OVERHEAD_BYTES for item in value.items)
    return "listpack" if size <= limit else "quicklist"


def _set_encoding(value: SetValue, settings: Settings) -> str:
    members = value.members
    if len(members) <= settings.set_max_intset_entries and all(parse_integer(member) is not None for member in members):
        return "intset"
    compact = _fits(members, settings.set_max_listpack_entries, settings.set_max_listpack_value)
    return "listpack" if compact else "hashtable"


def _hash_encoding(value: HashValue, settings: Settings) -> str:
    entries, size = settings.hash_max_listpack_entries, settings.hash_max_listpack_value
    if not _fits(value.fields, entries, size) or any(len(content) > size for content in value.fields.values()):
        return "hashtable"
    return "listpackex" if value.expires else "listpack"


def _fits(elements: set[bytes] | dict[bytes, float] | dict[bytes, bytes], max_entries: int, max_bytes: int) -> bool:
    return len(elements) <= max_entries and all(len(element) <= max_bytes for element in elements)

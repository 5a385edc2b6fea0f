"""DUMP, RESTORE, RESTORE-ASKING: one value as bytes in the format of snapshots (RDB), and back. `rdb.payload` is the
format.
"""

from __future__ import annotations

from typing import final

from pyrepl.commands.engine import deletions
from pyrepl.commands.engine.arguments import integer_argument, syntax_error
from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.table import DENYOOM, FIRST_ARG, READONLY, WRITE, command
from pyrepl.config.settings import Settings
from pyrepl.errors import CommandError
from pyrepl.keyspace.access import Tracking
from pyrepl.keyspace.database import Expiry
from pyrepl.keyspace.idmp import limits_of_new
from pyrepl.keyspace.packed import kept_plain
from pyrepl.keyspace.values import Value, from_plain
from pyrepl.rdb.payload import decode_payload, encode_payload, version_of
from pyrepl.rdb.reader import RdbLimits
from pyrepl.rdb.settings import PackingSettings
from pyrepl.rdb.types.hash import FIELD_TTL_VERSIONS
from pyrepl.rdb.types.row import CannotHold, Form
from pyrepl.rdb.types.stream import IDMP_VERSIONS
from pyrepl.rdb.values import HashWithTtls, IdmpState, StreamValue
from pyrepl.rdb.versions import Version, VersionSet, lowest_version, numbered
from pyrepl.resp.numbers import INT64_MAX
from pyrepl.resp.reply import OK, Simple

MAX_FREQ = 255
"""The greatest FREQ, inclusive: Redis keeps the access frequency in 8 bits."""


@command("DUMP", arity=2, flags=READONLY, keys=FIRST_ARG, group="generic", since="2.6.0")
def dump(call: Call, key: bytes) -> bytes | None:
    """A value as bytes that RESTORE takes, here and on any Redis that reads the RDB version they are in.

    That is the lowest one that holds the value, or `rdb-version`.
    """
    kept = call.db.read_kept(key)
    return None if kept is None else payload_of(call, kept)


def payload_of(call: Call, kept: Value) -> bytes:
    """A stored value as DUMP gives it. Raises CommandError if `rdb-version` is one that cannot hold it."""
    plain = kept_plain(kept)
    try:
        return encode_payload(plain, _form(plain, call.node.settings))
    except CannotHold as error:
        raise CommandError(f"ERR {error}") from None


def _form(plain: object, settings: Settings) -> Form:
    """How DUMP encodes a value: the RDB version, compression and packing that the settings ask for."""
    packing = PackingSettings(**{name: getattr(settings, name) for name in PackingSettings._fields})
    version = _lowest_version_of(plain) if settings.rdb_version is None else numbered(settings.rdb_version)
    return Form(version, settings.rdbcompression, packing)


def _lowest_version_of(plain: object) -> Version:
    """The lowest RDB version that holds a value completely, so that the most other servers can restore it."""
    needs: list[VersionSet] = []
    if isinstance(plain, HashWithTtls):
        needs.append(FIELD_TTL_VERSIONS)
    if isinstance(plain, StreamValue) and plain.idmp is not None and not plain.idmp.tells_nothing:
        needs.append(IDMP_VERSIONS)
    return lowest_version(needs)


@command("RESTORE", arity=-4, flags=WRITE | DENYOOM, keys=FIRST_ARG, group="generic", since="2.6.0")
def restore(call: Call, key: bytes, ttl: bytes, payload: bytes, *arguments: bytes) -> Simple:
    """Create a key from what DUMP gave. The time to live is in ms, 0 for none, or with ABSTTL a Unix time in ms.

    A replica's clock differs, so a time to live is propagated as a point in time, with ABSTTL. A value that has expired
    already is not stored; when it would have replaced a key, that key is deleted, and DEL is propagated.
    """
    return _restored(call, b"RESTORE", key, ttl, payload, arguments)


@command("RESTORE-ASKING", arity=-4, flags=WRITE | DENYOOM, keys=FIRST_ARG, group="server", since="3.0.0")
def restore_asking(call: Call, key: bytes, ttl: bytes, payload: bytes, *arguments: bytes) -> Simple:
    """As RESTORE: what MIGRATE sends to a node of a cluster that takes over the key's slot"""
    return _restored(call, b"RESTORE-ASKING", key, ttl, payload, arguments)


def _restored(call: Call, name: bytes, key: bytes, ttl: bytes, payload: bytes, arguments: tuple[bytes, ...]) -> Simple:
    """Do what RESTORE says; `name` is the name it is propagated by. Raises CommandError."""
    options = _Options(arguments)
    settings = call.node.settings
    db = call.db
    old = db.find_kept(key)
    if old is not None and not options.replace:
        raise CommandError("BUSYKEY Target key name already exists.")
    at_ms = integer_argument(ttl)
    if at_ms < 0:
        raise CommandError("ERR Invalid TTL value, must be >= 0")
    value = from_plain(decode_payload(payload, RdbLimits(relaxed=settings.rdb_version_check == "relaxed")))
    if isinstance(value, StreamValue) and version_of(payload) not in IDMP_VERSIONS:
        value.idmp = IdmpState.of_new(limits_of_new(settings))
    if at_ms and not options.absolute:
        # Redis 7.0 does not bound the sum: it overflows, and drops a key that was meant to live very long.
        at_ms = min(at_ms + call.now_ms, INT64_MAX)
    if at_ms and at_ms <= call.now_ms and db.keyspace.expiry is Expiry.DELETE:
        if old is not None:
            db.delete(key)
            db.changed(key)
            call.rewrite(deletions.of_replaced(call.node.settings), key)
        return OK
    db.put(key, value)
    if at_ms:
        db.expire_at(key, at_ms)
        if not options.absolute:
            call.rewrite(name, key, b"%d" % at_ms, payload, *arguments, b"ABSTTL")
    _set_idle_time_or_frequency(call, key, options)
    db.changed(key)
    return OK


def _set_idle_time_or_frequency(call: Call, key: bytes, options: _Options) -> None:
    """Give a restored key the idle time of IDLETIME or the access frequency of FREQ.

    Does nothing while maxmemory-policy needs neither. A key without these options counts as accessed now.
    """
    tracker = call.node.memory.tracker
    if tracker.tracking is Tracking.NONE:
        return
    tracker.touch(call.db, key, call.random.below)
    idle_s = {} if options.idle_s is None else {key: options.idle_s}
    tracker.take_loaded(call.db, idle_s, {} if options.frequency is None else {key: options.frequency})


@final
class _Options:
    """The options of RESTORE: REPLACE, ABSTTL (`absolute`), IDLETIME in seconds (`idle_s`) and FREQ (`frequency`).

    The two last are None when they are not given; they exclude each other. Raises CommandError.
    """

    __slots__ = ("absolute", "frequency", "idle_s", "replace")

    def __init__(self, arguments: tuple[bytes, ...]) -> None:
        self.replace = self.absolute = False
        self.idle_s: int | None = None
        self.frequency: int | None = None
        access = b""
        words = iter(arguments)
        for option in words:
            word = option.upper()
            if word == b"REPLACE":
                self.replace = True
            elif word == b"ABSTTL":
                self.absolute = True
            elif word in (b"IDLETIME", b"FREQ") and access in (b"", word) and (number := next(words, None)) is not None:
                access = word
                self._take_access(word, integer_argument(number))
            else:
                raise syntax_error()

    def _take_access(self, word: bytes, number: int) -> None:
        """Note IDLETIME (0 or more) or FREQ (0..MAX_FREQ). Raises CommandError for another number."""
        if word == b"IDLETIME":
            if number < 0:
                raise CommandError("ERR Invalid IDLETIME value, must be >= 0")
            self.idle_s = number
        else:
            if not 0 <= number <= MAX_FREQ:
                raise CommandError("ERR Invalid FREQ value, must be >= 0 and <= 255")
            self.frequency = number

"""DUMP and RESTORE: one value as bytes in the snapshot's format, and back. The format is `rdb.payload`'s."""

from __future__ import annotations

from typing import final

from pyrepl.commands.engine import deletions
from pyrepl.commands.engine.arguments import integer_argument, syntax_error
from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.table import DENYOOM, FIRST_ARG, READONLY, WRITE, command
from pyrepl.config.settings import Settings
from pyrepl.errors import CommandError
from pyrepl.keyspace.access import Tracking
from pyrepl.keyspace.idmp import limits_of_new
from pyrepl.keyspace.packed import kept_plain
from pyrepl.keyspace.values import from_plain
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


@command("DUMP", arity=2, flags=READONLY, keys=FIRST_ARG, group="generic", since="2.6.0")
def dump(call: Call, key: bytes) -> bytes | None:
    """A value as bytes that RESTORE takes, here and on any Redis that reads the RDB version they are in.

    That is the lowest one that holds the value, or `rdb-version`.
    """
    kept = call.db.read_kept(key)
    if kept is None:
        return None
    plain = kept_plain(kept)
    try:
        return encode_payload(plain, _form(plain, call.node.settings))
    except CannotHold as error:
        raise CommandError(f"ERR {error}") from None


def _form(plain: object, settings: Settings) -> Form:
    packing = PackingSettings(**{name: getattr(settings, name) for name in PackingSettings._fields})
    version = _needed(plain) if settings.rdb_version is None else numbered(settings.rdb_version)
    return Form(version, settings.rdbcompression, packing)


def _needed(plain: object) -> Version:
    """The lowest version that holds all of a value."""
    needs: list[VersionSet] = []
    if isinstance(plain, HashWithTtls):
        needs.append(FIELD_TTL_VERSIONS)
    if isinstance(plain, StreamValue) and plain.idmp is not None and not plain.idmp.tells_nothing:
        needs.append(IDMP_VERSIONS)
    return lowest_version(needs)


@command("RESTORE", arity=-4, flags=WRITE | DENYOOM, keys=FIRST_ARG, group="generic", since="2.6.0")
def restore(call: Call, key: bytes, ttl: bytes, payload: bytes, *arguments: bytes) -> Simple:
    """Create a key from what DUMP gave. The time to live is in ms, 0 for none, or with ABSTTL a Unix time in ms.

    Propagates with ABSTTL; as DEL when the value has expired already and one of that name had to go.
    """
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
        # Redis 7.0 overflows here and drops a key that was meant to live for ever.
        at_ms = min(at_ms + call.now_ms, INT64_MAX)
    if at_ms and at_ms <= call.now_ms and call.node.replication.role.deletes_expired:
        if old is not None:
            db.delete(key)
            db.changed(key)
            call.rewrite(deletions.of_replaced(call.node.settings), key)
        return OK
    db.put(key, value)
    if at_ms:
        db.expire_at(key, at_ms)
        if not options.absolute:
            call.rewrite(b"RESTORE", key, b"%d" % at_ms, payload, *arguments, b"ABSTTL")
    _note_access(call, key, options)
    db.changed(key)
    return OK


def _note_access(call: Call, key: bytes, options: _Options) -> None:
    """A key is restored as old as IDLETIME or as often used as FREQ says, where the policy goes by that."""
    tracker = call.node.memory.tracker
    if tracker.tracking is Tracking.NONE:
        return
    tracker.touch(call.db, key, call.random.below)
    idle_s = {} if options.idle_s is None else {key: options.idle_s}
    tracker.take_loaded(call.db, idle_s, {} if options.frequency is None else {key: options.frequency})


@final
class _Options:
    """REPLACE, ABSTTL, IDLETIME (seconds) and FREQ; None where they are not given. Raises CommandError."""

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
        if word == b"IDLETIME":
            if number < 0:
                raise CommandError("ERR Invalid IDLETIME value, must be >= 0")
            self.idle_s = number
        else:
            if not 0 <= number <= MAX_FREQ:
                raise CommandError("ERR Invalid FREQ value, must be >= 0 and <= 255")
            self.frequency = number

"""Operations on hashes: put, get, remove, and times to live of fields. `commands` parses arguments and shapes replies.

A verb takes the database and the key. Only the verb knows whether the hash there is packed, plain or absent. It notes
the change, counts hits and misses where it only reads, removes the key with the last field, and raises CommandError
WRONGTYPE when another type is stored. A new hash is packed if it is small, and stays packed as long as only `put`,
`put_pairs`, `get`, `get_several`, `flat`, `everything`, `names`, `contents`, `size` and `check` are called for it. A
packed hash has no times to live.

All verbs but `size`, `discard` and `check` see a hash without its expired fields (`field_expiry`). Nothing that a verb
returns is stored any more: callers may keep and change it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Final

from pyrepl.keyspace.collection_scan import ContentScan
from pyrepl.keyspace.database import Database, Expiry
from pyrepl.keyspace.events import FIELDS_DELETED, FIELDS_TIMED, FIELDS_UNTIMED
from pyrepl.keyspace.field_expiry import find_hash, read_hash, visible_hash
from pyrepl.keyspace.packed import PackedHash
from pyrepl.keyspace.sampling import Below, distinct_positions
from pyrepl.keyspace.values import HashValue, Value, wrong_type
from pyrepl.rdb import edits

NO_FIELD: Final = -2
NO_TTL: Final = -1
NOT_MET: Final = 0
DONE: Final = 1
DELETED: Final = 2
"""Outcomes for one field, with the numbers that Redis's commands on times to live answer."""

_SET_FIELDS: Final = edits.set_fields
"""Looked up once: mypyc would look up a function of a Cython module by its name at each call."""

# ------------------------------------------------------------------ putting


def put(db: Database, key: bytes, field: bytes, content: bytes) -> int:
    """Set a field, which loses its time to live; make the hash if there is none. 1 if the field is new, else 0."""
    value = db.find_kept(key)
    if type(value) is HashValue and value.expires is None:
        fields = value.fields
        before = len(fields)
        fields[field] = content
        db.changed(key, 1)
        return len(fields) - before
    return _put_pairs(db, key, value, (field, content))


def put_pairs(db: Database, key: bytes, pairs: tuple[bytes, ...]) -> int:
    """As `put`, for several pairs: field, value, field, value (at least one pair). Returns how many fields are new."""
    return _put_pairs(db, key, db.find_kept(key), pairs)


def _put_pairs(db: Database, key: bytes, kept: Value | None, pairs: tuple[bytes, ...]) -> int:
    """As `put_pairs`; `kept` is the value that `find_kept` returned for the key."""
    count = len(pairs)
    if kept is None:
        made = edits.packed_hash(PackedHash, pairs)
        if made is not None:
            db.put(key, made)
            db.changed(key, count >> 1)
            return edits.element_count(made) >> 1
    elif type(kept) is PackedHash:
        edited = _SET_FIELDS(kept, pairs)
        if edited is not None:
            db.repack(key, edited[0], count >> 1)
            return edited[1]
    value = _writable(db, key)
    fields = value.fields
    before = len(fields)
    if count == 2:
        fields[pairs[0]] = pairs[1]
    else:
        fields.update(zip(pairs[::2], pairs[1::2]))
    if value.expires is not None:
        for field in pairs[::2]:
            value.persist(field)
    db.changed(key, count >> 1)
    return len(fields) - before


def _writable(db: Database, key: bytes) -> HashValue:
    """The hash to write to. If there is none, an empty one is stored, into which the caller must put a field."""
    value = find_hash(db, key)
    if value is None:
        value = HashValue()
        db.put(key, value)
    return value


def put_new(db: Database, key: bytes, field: bytes, content: bytes) -> bool:
    """Set a field unless it exists; True if it was set."""
    value = _writable(db, key)
    if field in value.fields:
        return False
    value.fields[field] = content
    db.changed(key, 1)
    return True


def put_keeping(db: Database, key: bytes, field: bytes, content: bytes) -> int | None:
    """Set a field, which keeps its time to live. Returns when it expires (Unix ms), None if it does not."""
    value = _writable(db, key)
    value.fields[field] = content
    db.changed(key, 1)
    return value.expiry(field)


def put_timed(
    db: Database, key: bytes, pairs: tuple[bytes, ...], must_exist: bool | None, at_ms: int | None, keep_ttl: bool
) -> list[int] | None:
    """Set fields (field, value, field, value) and when they expire.

    `must_exist` True sets them only if all fields exist, False only if none exists, None always. Returns an outcome for
    each field, as `expire` does; no outcomes without `at_ms`; None if nothing was set.
    """
    names = pairs[::2]
    value = find_hash(db, key)
    if must_exist is not None:
        for field in names:
            if (value is not None and field in value.fields) != must_exist:
                return None
    if value is None:
        value = _writable(db, key)
    for field, content in zip(names, pairs[1::2]):
        if keep_ttl:
            value.fields[field] = content
        else:
            value.put(field, content)
    outcomes: list[int] = []
    if at_ms is not None:
        outcomes = [_expire_field(db, value, field, at_ms, b"") for field in names]
        if DELETED not in outcomes:
            db.volatile_hashes.add(key)
        _note_outcomes(db, key, outcomes)
    _settle(db, key, value, len(names))
    return outcomes


def _settle(db: Database, key: bytes, value: HashValue, count: int) -> None:
    """After `count` fields changed: delete the key if no field is left, and note the change."""
    if not value.fields:
        db.delete(key)
    if count:
        db.changed(key, count)


# ------------------------------------------------------------------ getting


def check(db: Database, key: bytes) -> None:
    """Raise CommandError WRONGTYPE when another type is stored: for commands that refuse it before their arguments."""
    _check_type(db.find_kept(key))


def check_to_read(db: Database, key: bytes) -> None:
    """As `check`, for reading commands: a hit or a miss is counted here, as it is in Redis before the arguments are
    looked at. The verb that then reads counts none."""
    _check_type(db.read_kept(key))


def _check_type(kept: object) -> None:
    if kept is not None and type(kept) is not PackedHash and type(kept) is not HashValue:
        raise wrong_type()


def scan(db: Database, key: bytes) -> ContentScan[bytes] | None:
    """Reads the fields with their contents by cursor; None without a hash."""
    value = read_hash(db, key)
    return None if value is None else ContentScan(db, key, value.fields)


def written(db: Database, key: bytes, field: bytes) -> bytes | None:
    """As `get`, for a command that then writes the field: no hit or miss is counted."""
    value = find_hash(db, key)
    return None if value is None else value.fields.get(field)


def written_several(db: Database, key: bytes, names: Sequence[bytes]) -> list[bytes | None]:
    """As `written`, for several fields."""
    return _contents(find_hash(db, key), names)


def _contents(value: HashValue | None, names: Sequence[bytes]) -> list[bytes | None]:
    """The contents of several fields, None for a field that does not exist."""
    return [None] * len(names) if value is None else [value.fields.get(name) for name in names]


def get(db: Database, key: bytes, field: bytes) -> bytes | None:
    """One field's content, None without it. It copies no hash with expired fields on a replica, as other verbs do."""
    kept = db.read_kept(key)
    if type(kept) is PackedHash:
        content: bytes | None = edits.field_value(kept, field)
        return content
    if kept is None:
        return None
    if not isinstance(kept, HashValue):
        raise wrong_type()
    if db.keyspace.expiry is not Expiry.HIDE:
        value = visible_hash(db, key, kept)
        return None if value is None else value.fields.get(field)
    at_ms = kept.expiry(field)
    return None if at_ms is not None and at_ms <= db.keyspace.now_ms else kept.fields.get(field)


def get_several(db: Database, key: bytes, names: tuple[bytes, ...]) -> list[bytes | None]:
    """The contents of several fields, None for a field that does not exist."""
    kept = db.read_kept(key)
    if type(kept) is PackedHash:
        return [edits.field_value(kept, name) for name in names]
    return _contents(_visible(db, key, kept), names)


def _visible(db: Database, key: bytes, kept: Value | None) -> HashValue | None:
    """The hash that `read_hash` would return, from the value that `read_kept` returned, which is no packed hash."""
    if kept is None:
        return None
    if not isinstance(kept, HashValue):
        raise wrong_type()
    return visible_hash(db, key, kept)


def flat(db: Database, key: bytes) -> list[bytes]:
    """All fields and contents in one list (field, content, field, content): a copy."""
    kept = db.read_kept(key)
    if type(kept) is PackedHash:
        return edits.elements(kept, 0, len(kept))
    value = _visible(db, key, kept)
    if value is None:
        return []
    fields = value.fields
    parts: list[bytes] = [b""] * (2 * len(fields))
    parts[::2] = fields
    parts[1::2] = fields.values()
    return parts


def everything(db: Database, key: bytes) -> dict[bytes, bytes]:
    """All fields with their contents: a copy."""
    kept = db.read_kept(key)
    if type(kept) is PackedHash:
        return kept.unpack().fields
    value = _visible(db, key, kept)
    return {} if value is None else dict(value.fields)


def names(db: Database, key: bytes) -> list[bytes]:
    """All fields: a copy; [] without a hash."""
    kept = db.read_kept(key)
    if type(kept) is PackedHash:
        return edits.elements(kept, 0, len(kept))[::2]
    value = _visible(db, key, kept)
    return [] if value is None else list(value.fields)


def contents(db: Database, key: bytes) -> list[bytes]:
    """The contents of all fields, in the order of `names`: a copy; [] without a hash."""
    kept = db.read_kept(key)
    if type(kept) is PackedHash:
        return edits.elements(kept, 0, len(kept))[1::2]
    value = _visible(db, key, kept)
    return [] if value is None else list(value.fields.values())


def pick(db: Database, key: bytes, below: Below) -> bytes | None:
    """A uniformly random field; None without a hash. O(size), as a dict has no positions."""
    value = read_hash(db, key)
    if value is None:
        return None
    return next(islice(value.fields, below(len(value.fields)), None))


def sample(db: Database, key: bytes, count: int, below: Below) -> list[bytes]:
    """`count` different fields in random order, all fields if there are no more; -`count` fields with repetitions if
    `count` is negative. [] without a hash. O(size)."""
    value = read_hash(db, key)
    return [] if value is None else _sample(value.fields, count, below)


def sample_pairs(db: Database, key: bytes, count: int, below: Below) -> list[tuple[bytes, bytes]]:
    """As `sample`, each field with its content."""
    value = read_hash(db, key)
    if value is None:
        return []
    fields = value.fields
    return [(name, fields[name]) for name in _sample(fields, count, below)]


def _sample(fields: dict[bytes, bytes], count: int, below: Below) -> list[bytes]:
    every = list(fields)
    if count >= len(every):
        return every
    if count < 0:
        return [every[below(len(every))] for _ in range(-count)]
    return [every[position] for position in distinct_positions(count, len(every), below)]


def size(db: Database, key: bytes) -> int:
    """How many fields there are, with expired fields that are not removed yet (Redis 8.2); 0 without a hash."""
    kept = db.read_kept(key)
    if type(kept) is PackedHash:
        return edits.element_count(kept) >> 1
    if kept is None:
        return 0
    if not isinstance(kept, HashValue):
        raise wrong_type()
    return len(kept.fields)


# ------------------------------------------------------------------ removing


def discard(db: Database, key: bytes, names: tuple[bytes, ...]) -> int:
    """Remove fields; how many were there. Expired fields that were not removed yet count too (Redis 8.2)."""
    value = db.find_as(HashValue, key)
    if value is None:
        return 0
    removed = 0
    for name in names:
        if value.discard(name):
            removed += 1
    if removed:
        _settle(db, key, value, removed)
    return removed


def take(db: Database, key: bytes, names: Sequence[bytes]) -> list[bytes | None]:
    """Remove fields and return the contents that they had, None for a field that did not exist."""
    value = find_hash(db, key)
    if value is None:
        return [None] * len(names)
    found: list[bytes | None] = []
    removed = 0
    for field in names:
        found.append(value.fields.get(field))
        if value.discard(field):
            removed += 1
    _settle(db, key, value, removed)
    return found


# ------------------------------------------------------------------ times to live


def expire(db: Database, key: bytes, names: Sequence[bytes], at_ms: int, condition: bytes) -> list[int]:
    """Set when fields expire if `condition` (NX, XX, GT, LT or empty) holds. If `at_ms` has passed, a master deletes
    the field instead.

    Returns NO_FIELD, NOT_MET, DONE or DELETED for each field. The caller propagates to the replicas.
    """
    value = find_hash(db, key)
    return [NO_FIELD] * len(names) if value is None else _expire(db, key, value, names, at_ms, condition)


def get_expiring(db: Database, key: bytes, names: Sequence[bytes], at_ms: int) -> tuple[list[bytes | None], list[int]]:
    """The contents of fields as `written_several` gives them, and the outcomes of `expire` without a condition."""
    value = find_hash(db, key)
    if value is None:
        return [None] * len(names), [NO_FIELD] * len(names)
    found = _contents(value, names)
    return found, _expire(db, key, value, names, at_ms, b"")


def _expire(
    db: Database, key: bytes, value: HashValue, names: Sequence[bytes], at_ms: int, condition: bytes
) -> list[int]:
    outcomes = [_expire_field(db, value, field, at_ms, condition) for field in names]
    if DONE in outcomes:
        db.volatile_hashes.add(key)
    _note_outcomes(db, key, outcomes)
    _settle(db, key, value, outcomes.count(DONE) + outcomes.count(DELETED))
    return outcomes


def _note_outcomes(db: Database, key: bytes, outcomes: list[int]) -> None:
    """Note that fields got times to live, or were deleted as their time has passed."""
    if DELETED in outcomes:
        db.note(FIELDS_DELETED, key)
    elif DONE in outcomes:
        db.note(FIELDS_TIMED, key)


def _expire_field(db: Database, value: HashValue, field: bytes, at_ms: int, condition: bytes) -> int:
    """As `expire`, for one field. A replica does not delete the field: its master sends an HDEL."""
    if field not in value.fields:
        return NO_FIELD
    if condition and not _holds(condition, value.expiry(field), at_ms):
        return NOT_MET
    if at_ms <= db.keyspace.now_ms and db.keyspace.expiry is Expiry.DELETE:
        value.discard(field)
        return DELETED
    value.expire_at(field, at_ms)
    return DONE


def _holds(condition: bytes, old_ms: int | None, at_ms: int) -> bool:
    """Does the condition allow a new time to live? A field without one counts as if its time were infinite, as for
    keys."""
    if condition == b"NX":
        return old_ms is None
    if condition == b"XX":
        return old_ms is not None
    if condition == b"GT":
        return old_ms is not None and at_ms > old_ms
    return old_ms is None or at_ms < old_ms


def persist(db: Database, key: bytes, names: Sequence[bytes]) -> list[int]:
    """Take away the times to live of fields; NO_FIELD, NO_TTL or DONE for each field."""
    value = find_hash(db, key)
    return [NO_FIELD] * len(names) if value is None else _persist(db, key, value, names)


def get_persisting(db: Database, key: bytes, names: Sequence[bytes]) -> tuple[list[bytes | None], list[int]]:
    """The contents of fields as `written_several` gives them, and the outcomes of `persist`."""
    value = find_hash(db, key)
    if value is None:
        return [None] * len(names), [NO_FIELD] * len(names)
    return _contents(value, names), _persist(db, key, value, names)


def _persist(db: Database, key: bytes, value: HashValue, names: Sequence[bytes]) -> list[int]:
    outcomes: list[int] = []
    for field in names:
        if field not in value.fields:
            outcomes.append(NO_FIELD)
        else:
            outcomes.append(DONE if value.persist(field) else NO_TTL)
    if DONE in outcomes:
        db.note(FIELDS_UNTIMED, key)
        db.changed(key, outcomes.count(DONE))
    return outcomes


def expiries(db: Database, key: bytes, names: Sequence[bytes]) -> list[int]:
    """For each field: when it expires (Unix ms, not negative), NO_FIELD or NO_TTL. `check_to_read` comes before."""
    stored = db.find_as(HashValue, key)
    value = None if stored is None else visible_hash(db, key, stored)
    if value is None:
        return [NO_FIELD] * len(names)
    times: list[int] = []
    for field in names:
        at_ms = value.expiry(field)
        if at_ms is not None:
            times.append(at_ms)
        else:
            times.append(NO_TTL if field in value.fields else NO_FIELD)
    return times

"""HyperLogLog commands: estimates of how many different elements there were, in strings of at most 12 KiB.

What such a string holds is `keyspace.hyperloglog`. Strings are those of Redis 8.2 byte for byte, and so are texts. A
command that meets an unsound string changes nothing, where Redis keeps what it has done up to there.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, final

from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.table import (
    ADMIN,
    ALL_ARGS,
    DENYOOM,
    FAST,
    FIRST_ARG,
    MAY_REPLICATE,
    READONLY,
    SECOND_ARG,
    WRITE,
    Words,
    command,
)
from pyrepl.errors import CommandError
from pyrepl.keyspace import hyperloglog
from pyrepl.keyspace.hll_selftest import why_not_right
from pyrepl.resp.reply import OK, Reply, Simple
from pyrepl.words import to_text

_NO_HLL: Final = "WRONGTYPE Key is not a valid HyperLogLog string value."
_UNSOUND: Final = "INVALIDOBJ Corrupted HLL object detected"

_TEST_ROUNDS: Final = 4
_TEST_ELEMENTS: Final = 10_000


def _checked(value: bytes) -> bytes:
    if not hyperloglog.is_sound_header(value):
        raise CommandError(_NO_HLL)
    return value


def _found(call: Call, key: bytes) -> bytes | None:
    """The HyperLogLog of a key, for a command that writes; None without one."""
    value = call.db.find_as(bytes, key)
    return None if value is None else _checked(value)


def _read(call: Call, key: bytes) -> bytes | None:
    """As `_found`, for a command that only reads."""
    value = call.db.read_as(bytes, key)
    return None if value is None else _checked(value)


@final
class _Pfadd(Words):
    def run(self, call: Call, argv: list[bytes]) -> object:
        key = argv[1]
        db = call.db
        value = db.find_as(bytes, key)
        if value is None:
            made, raised = hyperloglog.add(hyperloglog.EMPTY, argv, 2, call.node.hll_sparse_bytes)
            db.put(key, made if raised else hyperloglog.outdated(hyperloglog.EMPTY))
            db.changed(key, raised + 1)
            return 1
        made, raised = hyperloglog.add(value, argv, 2, call.node.hll_sparse_bytes)
        if raised == 0:
            return 0
        if raised < 0:
            _checked(value)
            raise CommandError(_UNSOUND)
        db.replace(key, made)
        db.changed(key, raised)
        return 1


_PFADD: Final = _Pfadd()


@command(
    "PFADD", arity=-2, flags=WRITE | DENYOOM | FAST, keys=FIRST_ARG, group="hyperloglog", since="2.8.9", words=_PFADD
)
def pfadd(call: Call, key: bytes, *elements: bytes) -> object:
    """Add elements to a HyperLogLog, or create it; 1 if that may have changed its estimate."""
    return _PFADD.run(call, [b"PFADD", key, *elements])


@command("PFCOUNT", arity=-2, flags=READONLY | MAY_REPLICATE, keys=ALL_ARGS, group="hyperloglog", since="2.8.9")
def pfcount(call: Call, *keys: bytes) -> int:
    """The estimate of how many different elements one HyperLogLog has, or several have together.

    The estimate of one is kept in its string: that is a change, and propagates.
    """
    if len(keys) > 1:
        return hyperloglog.count(_merged(call, keys)[0])
    key = keys[0]
    value = _read(call, key)
    if value is None:
        return 0
    if hyperloglog.is_counted(value):
        return hyperloglog.cardinality(value)
    count = hyperloglog.count(_merge(hyperloglog.no_registers(), value))
    call.db.replace(key, hyperloglog.with_cardinality(value, count))
    call.db.changed(key)
    return count


def _merge(registers: bytearray, value: bytes) -> bytearray:
    if not hyperloglog.merge(registers, value):
        raise CommandError(_UNSOUND)
    return registers


def _merged(call: Call, keys: Iterable[bytes]) -> tuple[bytearray, bool]:
    """The highest registers of several HyperLogLogs, and whether any of these is dense."""
    registers = hyperloglog.no_registers()
    is_dense = False
    for key in keys:
        value = _read(call, key)
        if value is not None:
            is_dense = is_dense or value[4] == hyperloglog.DENSE
            _merge(registers, value)
    return registers, is_dense


@command("PFMERGE", arity=-2, flags=WRITE | DENYOOM, keys=ALL_ARGS, group="hyperloglog", since="2.8.9")
def pfmerge(call: Call, destination: bytes, *sources: bytes) -> Simple:
    """Merge HyperLogLogs into the first one, or create it."""
    registers, is_dense = _merged(call, (destination, *sources))
    old = _found(call, destination)
    made = hyperloglog.with_registers(
        hyperloglog.EMPTY if old is None else old,
        registers,
        call.node.hll_sparse_bytes,
        dense=is_dense,
    )
    if made is None:
        raise CommandError(_UNSOUND)
    if old is None:
        call.db.put(destination, made)
    else:
        call.db.replace(destination, made)
    call.db.changed(destination)
    return OK


@command("PFDEBUG", arity=3, flags=WRITE | DENYOOM | ADMIN, keys=SECOND_ARG, group="hyperloglog", since="2.8.9")
def pfdebug(call: Call, subcommand: bytes, key: bytes) -> Reply:
    """Show the registers (GETREG), runs (DECODE) or form (ENCODING) of a HyperLogLog, or make it dense (TODENSE).

    GETREG makes it dense too.
    """
    value = _found(call, key)
    if value is None:
        raise CommandError("ERR The specified key does not exist")
    is_sparse = value[4] == hyperloglog.SPARSE
    word = subcommand.upper()
    if word == b"GETREG":
        return list(_merge(hyperloglog.no_registers(), _as_dense(call, key, value)))
    if word == b"DECODE":
        if not is_sparse:
            raise CommandError("ERR HLL encoding is not sparse")
        return hyperloglog.runs_in_words(value)
    if word == b"ENCODING":
        return Simple(b"sparse" if is_sparse else b"dense")
    if word == b"TODENSE":
        _as_dense(call, key, value)
        return 1 if is_sparse else 0
    raise CommandError(f"ERR Unknown PFDEBUG subcommand '{to_text(subcommand)}'")


def _as_dense(call: Call, key: bytes, value: bytes) -> bytes:
    """Make the HyperLogLog of a key dense. Clients that WATCH it are not told: its elements are the same."""
    if value[4] == hyperloglog.DENSE:
        return value
    dense = hyperloglog.to_dense(value)
    if dense is None:
        raise CommandError(_UNSOUND)
    call.db.replace(key, dense)
    call.keyspace.dirty += 1
    return dense


@command("PFSELFTEST", arity=1, flags=ADMIN, group="hyperloglog", since="2.8.9")
def pfselftest(call: Call) -> Simple:
    """Test HyperLogLogs: registers keep what is written, and estimates are near and the same in both forms.

    With fewer rounds and elements than in Redis, where it takes seconds in which nobody is served.
    """
    complaint = why_not_right(call.random.below, _TEST_ROUNDS, _TEST_ELEMENTS)
    if complaint is not None:
        raise CommandError(f"TESTFAILED {complaint}")
    return OK

"""Commands on whole databases: their size, exchanging and emptying them. SELECT is in `session.connection`."""

from __future__ import annotations

from pyrepl.commands.engine.arguments import int32_argument, syntax_error
from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.effects import Flushed
from pyrepl.commands.engine.table import FAST, READONLY, WRITE, command
from pyrepl.commands.session.transactions import tell_watchers_of_swap
from pyrepl.errors import CommandError
from pyrepl.keyspace.database import Database
from pyrepl.resp.reply import OK, Simple


@command("DBSIZE", arity=1, flags=READONLY | FAST, group="server")
def dbsize(call: Call) -> int:
    """How many keys the database holds, those included that have expired and are still to be removed."""
    return call.db.key_count


@command("SWAPDB", arity=3, flags=WRITE | FAST, group="server", since="4.0.0")
def swapdb(call: Call, first: bytes, second: bytes) -> Simple:
    """Exchange two databases, under the feet of the clients connected to them."""
    one = int32_argument(first, "ERR invalid first DB index")
    two = int32_argument(second, "ERR invalid second DB index")
    count = len(call.keyspace.databases)
    if not (0 <= one < count and 0 <= two < count):
        raise CommandError("ERR DB index is out of range")
    if one != two:
        call.keyspace.swap(one, two)
        tell_watchers_of_swap(call.keyspace.databases[one], call.keyspace.databases[two])
    call.keyspace.dirty += 1
    return OK


@command("FLUSHDB", arity=-1, flags=WRITE, group="server")
def flushdb(call: Call, *mode: bytes) -> Simple:
    """Delete all keys of the database. SYNC and ASYNC are accepted and do the same."""
    return _flush(call, [call.db], mode)


@command("FLUSHALL", arity=-1, flags=WRITE, group="server")
def flushall(call: Call, *mode: bytes) -> Flushed:
    """Delete all keys of all databases. SYNC and ASYNC are accepted and do the same."""
    _flush(call, call.keyspace.databases, mode)
    return Flushed()


def _flush(call: Call, databases: list[Database], mode: tuple[bytes, ...]) -> Simple:
    """Empty these databases. Raises CommandError for a mode that is neither SYNC nor ASYNC.

    It is propagated even when there was nothing to delete, as in Redis 7.0, because a replica may hold keys that this
    node does not have.
    """
    if len(mode) > 1 or (mode and mode[0].upper() not in (b"SYNC", b"ASYNC")):
        raise syntax_error()
    count = sum(database.clear() for database in databases)
    call.keyspace.flushed()
    call.keyspace.dirty += count
    if not count:
        call.rewrite(*call.argv)
    return OK

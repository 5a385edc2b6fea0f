"""The streams that applications write, called facts: the STREAMS.* commands, reads for subscribers, and new facts of
other writers.

`server` makes it; `performer` calls its deed, and `hub` reads through it. Not here: ids, writers and tables
(pyrepl.changes), subscribers (`hub`). A table in a database makes its caller wait, so all work on such a table runs on
one thread, in order; work on the table in the keyspace runs in the loop.

Facts that other nodes and processes have written are found by looking into the table: every _LOOK_S while a subscriber
is connected here, otherwise every _IDLE_LOOK_S, and at once after a write of our own.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar, final

from pyrepl.changes.block import Block
from pyrepl.changes.fact_source import FactSource, Fetched
from pyrepl.changes.sqlite_table import SqliteTable
from pyrepl.changes.table import Table, TableError
from pyrepl.changes.writer import Writer
from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.dispatch import Dispatcher
from pyrepl.commands.engine.effects import FactDeed, WriteFact
from pyrepl.daemon.changes.hub import StreamHub
from pyrepl.daemon.changes.keyspace_table import KeyspaceTable
from pyrepl.daemon.clients.clients import Clients
from pyrepl.daemon.clock import Clock
from pyrepl.daemon.faults import Faults
from pyrepl.daemon.log_sink import Log
from pyrepl.daemon.performer import Deeds
from pyrepl.errors import CommandError, ConfigError
from pyrepl.node.node import Node
from pyrepl.node.waits import WorkWait
from pyrepl.observability import events
from pyrepl.resp.reply import Reply

T = TypeVar("T")

KEYSPACE: Final = "keyspace"
SQLITE: Final = "sqlite:"
_POSTGRES: Final = ("postgresql://", "postgres://", "host=", "dbname=", "service=")
_LOOK_S: Final = 0.1
_IDLE_LOOK_S: Final = 0.25
_RETRY_S: Final = 5.0
_WANT_BYTES: Final = 64 * 1024

_Key = tuple[str, str | None]


@final
class StreamFacts:
    """The facts of one node.

    Invariants: `_writers` and a `_table` in a database are touched on the thread only; `source` is set from the first
    successful look into the table on.
    """

    def __init__(
        self,
        node: Node,
        dispatcher: Dispatcher,
        clients: Clients,
        hub: StreamHub,
        faults: Faults,
        clock: Clock,
        log: Log,
    ) -> None:
        """Raises ConfigError if `stream-facts` names no kind of table that we know."""
        self._node = node
        self._dispatcher = dispatcher
        self._clients = clients
        self._faults = faults
        self._clock = clock
        self._log = log
        self._hub = hub
        self._where = node.settings.stream_facts.decode("utf-8", "surrogateescape")
        self._name = hub.name
        self._loop = asyncio.get_running_loop()
        self._thread: ThreadPoolExecutor | None = None
        if self._where != KEYSPACE:
            _check(self._where)
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="streams")
        self._table: Table | None = None
        self._writers: dict[str, Writer] = {}
        self.source: FactSource | None = None
        self._live_at: dict[_Key, int] = {}
        """For each (stream, writer) that is followed live, the id up to which its subscribers got the facts."""
        self._reading: set[_Key] = set()
        self._look_at = 0.0
        self._is_looking = False
        self._made_stream = True
        self._failed = False

    # ------------------------------------------------------------------ life

    def begin(self) -> None:
        """The data is loaded: look into the table for the first time. An SQLite file that does not exist is made only
        when a STREAMS command needs it."""
        self._made_stream = self._node.replication.role.makes_stream
        if self._where.startswith(SQLITE) and not os.path.exists(self._where.removeprefix(SQLITE)):
            return
        self._look()

    def tick(self, now: float) -> None:
        """Look into the table if that is due; to be called about every 100 ms."""
        makes_stream = self._node.replication.role.makes_stream
        if makes_stream != self._made_stream:
            self._made_stream = makes_stream
            self._run(self._forget_writers, lambda result: self._look())
        if self.source is not None and now >= self._look_at and not self._node.is_loading:
            self._look()

    def close(self) -> None:
        """Close the table, after the work that is running on the thread."""
        if self._thread is not None:
            self._thread.submit(self._close_table)
            self._thread.shutdown(wait=True)

    # ------------------------------------------------------------------ commands

    @property
    def deeds(self) -> Deeds:
        """STREAMS.*"""
        return {WriteFact: self._perform}

    def _perform(self, call: Call, effect: WriteFact) -> Reply:
        """STREAMS.*: the reply, or NO_REPLY while the client is held."""
        if effect.deed is FactDeed.LIST:
            return [stream.encode() for stream in self._hub.streams()]
        if self._thread is None:
            try:
                return self._act(effect)
            except TableError as error:
                raise CommandError(str(error)) from None
            finally:
                self._look()
        waits = self._clients.waits
        if call.client.id not in self._clients.conns:
            raise CommandError("ERR STREAMS commands need a connection of their own")

        def answer(results: tuple[Any, Any]) -> None:
            result, news = results
            # Apply the look before the reply goes out: when the client hears of its write, subscribers can read it.
            self._looked(news)
            if isinstance(result, TableError):
                result = CommandError(f"ERR the table of streams cannot be used: {result}")
            elif isinstance(result, Exception) and not isinstance(result, CommandError):
                self._faults.survived("STREAMS command", result)
                result = CommandError(f"ERR internal error, see the log: {result}")
            waits.finish(call.client.id, result)

        self._run(lambda: (_outcome(lambda: self._act(effect)), _outcome(self._fetch)), answer)
        return waits.hold(WorkWait(call.client))

    def _act(self, effect: WriteFact) -> Reply:
        """Carry out a STREAMS command on the table, and return the reply. Runs on the thread if there is one. Raises
        CommandError, TableError."""
        stream = effect.stream
        if stream in self._hub.built_in:
            raise CommandError(f"ERR {stream} is made by the node itself, applications cannot write to it")
        if effect.deed is FactDeed.POSITION:
            return self._positions(stream)
        writer = self._writer(stream)
        if effect.deed is FactDeed.RESERVE:
            ids = writer.reserve(effect.number or 1)
            return list(ids) if effect.number else ids[0]
        if effect.deed is FactDeed.APPEND:
            return writer.append(*effect.rows)
        try:
            writer.complete(effect.number, effect.rows)
        except KeyError:
            raise CommandError(
                f"ERR {effect.number} is not reserved in {stream} at this node: it is complete already, or was reserved"
                " elsewhere or before a restart"
            ) from None
        return writer.current

    def _positions(self, stream: str) -> Reply:
        positions = self._opened().positions().get(stream)
        if positions is None:
            raise CommandError(f"ERR there is no stream {stream}")
        source = FactSource(self._opened())
        source.apply(source.fetch())
        flat: list[Reply] = []
        for writer, position in sorted(positions.items()):
            flat += (writer.encode(), position)
        return [source.head(stream, None), flat]

    def _writer(self, stream: str) -> Writer:
        writer = self._writers.get(stream)
        if writer is None:
            writer = self._writers[stream] = Writer(self._opened(), stream, self._name)
        return writer

    def _forget_writers(self) -> None:
        """The role has changed: forget the ids that were reserved here. In the keyspace's table, a new master makes a
        writer for each stream, which settles the ids that the old master had reserved."""
        self._writers.clear()
        if self._table is not None and self._table.is_sole and self._node.replication.role.makes_stream:
            for stream in self._table.positions():
                self._writer(stream)

    def _opened(self) -> Table:
        if self._table is None:
            self._table = self._open()
        return self._table

    def _open(self) -> Table:
        if self._where == KEYSPACE:
            return KeyspaceTable(self._node, self._dispatcher, self._clock)
        if self._where.startswith(SQLITE):
            return SqliteTable(self._where.removeprefix(SQLITE))
        from pyrepl.changes.postgres_table import PostgresTable

        return PostgresTable(self._where)

    def _close_table(self) -> None:
        if self._table is not None:
            self._table.close()

    # ------------------------------------------------------------------ subscribers

    def look_in_place(self) -> None:
        """A subscriber asks for a stream that is not known: look into the table once more, if that needs no waiting."""
        if self._thread is None and not self._node.is_loading:
            self._look()

    def has(self, stream: str) -> bool:
        """Is `stream` one that applications write?"""
        return self.source is not None and stream in self.source.streams()

    def read(self, stream: str, writer: str | None, after: int, done: Callable[[Block | Exception], None]) -> None:
        """Read facts after the id `after` for one subscriber. `done` is called now or later, with a Block or with the
        exception that the read raised."""
        source = self.source
        assert source is not None
        self._run(lambda: source.read(stream, writer, after, _WANT_BYTES), done)

    def _look(self) -> None:
        """Look into the table for new facts, unless a look is under way."""
        now = self._clock.now()
        self._look_at = now + (_LOOK_S if self._hub.conns else _IDLE_LOOK_S)
        if not self._is_looking:
            self._is_looking = True
            self._run(self._fetch, self._looked_around)

    def _fetch(self) -> tuple[FactSource, Fetched]:
        source = self.source or FactSource(self._opened())
        if not self._opened().is_sole:
            for writer in self._writers.values():
                writer.rest()
        return source, source.fetch()

    def _looked_around(self, result: tuple[FactSource, Fetched] | Exception) -> None:
        self._is_looking = False
        self._looked(result)

    def _looked(self, result: tuple[FactSource, Fetched] | Exception) -> None:
        if isinstance(result, Exception):
            self._look_at = self._clock.now() + _RETRY_S
            if not self._failed:
                self._failed = True
                self._log(events.StreamTableFailed(str(result)))
            if not isinstance(result, TableError):
                self._faults.survived("looking into the table of streams", result)
            elif self.source is None:
                self._loop.call_later(_RETRY_S, self._look)
            return
        if self._failed:
            self._failed = False
            self._log(events.StreamTableRecovered())
        source, fetched = result
        if self.source is None:
            self.source = source
            self._hub.sources.append(source)
        for stream, writer in self.source.apply(fetched):
            self._hub.appeared(stream, writer)
        self._tell()

    def _tell(self) -> None:
        """Read the new facts for subscribers that follow live, one read at a time for each (stream, writer)."""
        assert self.source is not None
        followed = self._hub.live_keys(self.source.streams())
        for key in set(self._live_at) - set(followed):
            del self._live_at[key]
        for key, at in followed.items():
            told = self._live_at.setdefault(key, at)
            head = self.source.head(*key)
            if head is not None and head > told and key not in self._reading:
                self._reading.add(key)
                self.read(*key, told, lambda result, key=key: self._told(key, result))  # type: ignore[misc]

    def _told(self, key: _Key, result: Block | Exception) -> None:
        self._reading.discard(key)
        if isinstance(result, Block):
            self._live_at[key] = result.upto
            self._hub.hand_out_to(result, key[1])
            self._tell()

    # ------------------------------------------------------------------ the thread

    def _run(self, work: Callable[[], T], done: Callable[[Any], None]) -> None:
        """Run `work` on the thread, or here if there is none; then call `done` in the loop with the result, or with the
        exception that `work` raised."""
        if self._thread is None:
            done(_outcome(work))
            return
        future = self._loop.run_in_executor(self._thread, _outcome, work)
        future.add_done_callback(lambda finished: done(finished.result()))


def _outcome(work: Callable[[], T]) -> T | Exception:
    try:
        return work()
    except Exception as error:
        # Every exception, also from a defect of ours: `done` must always be called, as a client may wait for it.
        return error


def _check(where: str) -> None:
    """Raises ConfigError if `where` names no table, or if a module that it needs is not installed."""
    if where.startswith(_POSTGRES):
        try:
            import psycopg
        except ImportError:
            raise ConfigError(
                "stream-facts names a PostgreSQL database, which needs psycopg: pip install 'pyrepl-server[streams]'"
            ) from None
        assert psycopg.paramstyle
    elif not where.removeprefix(SQLITE) or not where.startswith(SQLITE):
        raise ConfigError("stream-facts must be keyspace, sqlite:<file>, or postgresql://...")

"""From the words of a command to its reply: look-up, gates, MULTI, execution, propagation. One call per command: hot.

`client_conn` calls it for clients, `master_link` and the load of an append-only file for streams of commands. Not here:
what a command does (its family), whether it may run now (`gates`). A command that needs the daemon returns an Effect,
which `perform` carries out. A command that raises CommandError has, by convention, changed nothing.

Propagation (Redis 8.2, `propagatePendingCommands`): all commands that one call propagates, those of nested calls
included, are one unit. A unit of several commands goes out between MULTI and EXEC; deletions of keys that SCAN,
RANDOMKEY or the clock found expired do not. Deletions of expired keys go before the command that met these keys.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, final

from pyrepl.commands.describe.acl_names import AclNames
from pyrepl.commands.engine.call import Call, RandomSource, Runner
from pyrepl.commands.engine.effect import Effect
from pyrepl.commands.engine.effects import Log
from pyrepl.commands.engine.entry import Entries, Entry
from pyrepl.commands.engine.eviction import make_room
from pyrepl.commands.engine.gates import why_not_now
from pyrepl.commands.engine.key_events import tell_events
from pyrepl.commands.engine.propagation import collect_expired, send, send_each
from pyrepl.commands.engine.rights import is_allowed_at_once
from pyrepl.commands.engine.table import (
    ADMIN,
    ARBITRARY_KEYS,
    DENYOOM,
    FAST,
    MAY_REPLICATE,
    NO_AUTH,
    NO_MONITOR,
    NO_MULTI,
    NO_SLOWLOG,
    NOW_IN_MULTI,
    READONLY,
    WRITE,
    Table,
)
from pyrepl.commands.session.transactions import discard_queue
from pyrepl.errors import CommandError
from pyrepl.node.client import Client
from pyrepl.node.node import Node
from pyrepl.observability.events import SecurityAttack
from pyrepl.resp.encoder import append_reply, encode_command
from pyrepl.resp.parser import Batch
from pyrepl.resp.reply import NO_REPLY, OK, QUEUED, Reply, Simple

_HTTP_WORDS: Final = frozenset({b"POST", b"HOST:"})
"""First words of an HTTP request: a browser that was tricked into talking to us sends them (Redis 3.2.7: cross protocol
scripting)."""
_PROPAGATES: Final = WRITE | MAY_REPLICATE
"""A command with one of these flags is propagated as it came when it has changed something."""
_EVICTION_S: Final = 0.0005
"""How many seconds a command waits at most for evictions before it; later commands and the cron evict on (Redis's
default tenacity)."""


@final
class Dispatcher(Runner):
    """Executes commands against one node.

    `perform(call, effect)` carries out an Effect and gives its reply; `clock()` is monotonic seconds, for commandstats
    and the slow log alone; `random` is what random commands draw from.
    """

    __slots__ = (
        "_backlog",
        "_by_name",
        "_clock",
        "_conditions",
        "_entries",
        "_keyspace",
        "_node",
        "_perform",
        "random",
        "table",
    )

    def __init__(
        self,
        node: Node,
        table: Table,
        random: RandomSource,
        perform: Callable[[Call, Effect], Reply],
        clock: Callable[[], float],
    ) -> None:
        self.table = table
        self.random = random
        self._node = node
        self._conditions = node.conditions
        self._keyspace = node.keyspace
        self._backlog = node.replication.backlog
        self._perform = perform
        self._clock = clock
        node.users.learn(AclNames(table))
        self._entries = Entries(table, node.stats)
        self._by_name = self._entries.by_name

    def call_for(self, client: Client) -> Call:
        """The Call that all commands of one client share."""
        return Call(self._node, client, self.random, self)

    def execute_again(self, call: Call, argv: list[bytes]) -> Reply:
        """As `execute`, for a command that waited and changed nothing so far; NO_REPLY if it goes on waiting.

        The gates are asked again (Redis 7.2). The first execution was counted and shown to monitors, so this one is
        not. What is changed must be told in other words (`Call.rewrite`) than the client's.
        """
        entry = self._entries.resolve(argv)
        refusal = why_not_now(self._node, call.client, entry.row, argv)
        if refusal is not None:
            return self._rejected(call.client, entry, CommandError(refusal))
        reply = self._run_checked(call, entry, argv, b"")
        entry.stats.calls -= 1
        return reply

    def keys_of(self, argv: list[bytes]) -> list[bytes]:
        """The keys that a whole command names; none for one that is unknown or has too few words."""
        try:
            return self._entries.resolve(argv).keys_of(argv)
        except CommandError:
            return []

    def runs_queue(self, name: bytes) -> bool:
        """Is `name`, in any case, the name by which clients call EXEC?"""
        entry = self._by_name.get(name) or self._by_name.get(name.upper())
        return entry is not None and entry.is_exec

    def execute(self, call: Call, argv: list[bytes], raw: bytes) -> Reply:
        """The reply to one command; `argv` is not empty, `raw` are the exact bytes it came in."""
        entry = self._by_name.get(argv[0])
        if entry is None or entry.children or not entry.fits(len(argv)):
            try:
                entry = self._entries.resolve(argv)
            except CommandError as error:
                return self._refused(call, argv, error)
        client = call.client
        if client.guarded or client.limited or self._conditions.checked or client.tracking is not None:
            return self._execute_guarded(call, entry, argv, raw)
        return self._run(call, entry, argv, raw)

    def execute_plain(self, call: Call, batch: Batch, start: int, end: int, out: list[bytes]) -> int:
        """Execute commands [start, end) of a batch, as long as nothing forbids or changes any of them; hot.

        The encoded replies are added to `out`. Stops before a command that needs `execute`: the client or the node is
        guarded, memory is tracked, the name is not found at once, or the user's rights have to be asked in full. Stops
        behind a command that asked for an effect, which may hold the client. Returns the index of the first command
        that was not executed.
        The bytes of consecutive writes go into the stream as one piece, exactly as they came.
        """
        if call.client.tracking is None:
            return self._execute_plain(call, batch, start, end, out)
        tracking = self._node.tracking
        tracking.writer = call.client
        try:
            return self._execute_plain(call, batch, start, end, out)
        finally:
            tracking.writer = None

    def _execute_plain(self, call: Call, batch: Batch, start: int, end: int, out: list[bytes]) -> int:
        """See `execute_plain`."""
        client = call.client
        conditions = self._conditions
        keyspace = self._keyspace
        by_name = self._by_name
        clock = self._clock
        commands = batch.commands
        index = start
        unfed = start
        """The commands [unfed, index) have been executed, and their bytes are not in the stream yet."""
        fetched = start + 1 if len(commands) - start == 1 else start
        """The keys of the commands before this index were prefetched; for a single command that is not worth it."""
        name: bytes | None = None
        entry: Entry | None = None
        started = clock()
        while index < end and not (client.guarded or conditions.checked):
            if index >= fetched:
                fetched = call.db.prefetch_commands(commands, index)
            argv = commands[index]
            if argv[0] is not name:
                name = argv[0]
                entry = by_name.get(name)
            if entry is None or not entry.is_plain:
                break
            if not entry.fits(len(argv)):
                break
            if client.limited and not is_allowed_at_once(client.identity.user, entry.row, argv):
                break
            flags = entry.flags
            if unfed < index and not flags & WRITE:
                self._feed(call, batch, unfed, index)
                unfed = index
            dirty = keyspace.dirty
            try:
                reply = self._call(call, entry, argv)
            except BaseException:
                self._feed(call, batch, unfed, index)
                raise
            is_effect = _is_effect(reply)
            if is_effect:
                reply = self._performed(call, entry, reply)
            if client.tracking is not None and flags & READONLY:
                self._node.tracking.remember(client, entry.keys_of(argv))
            now = clock()
            self._count(call, entry, argv, now - started)
            started = now
            changed = keyspace.dirty != dirty
            index += 1
            if call.propagated is not None or keyspace.expired or keyspace.expired_fields:
                self._feed(call, batch, unfed, index - 1)
                raw = batch.wire(index - 1) if call.propagated is None else b""
                self._propagate(call, entry, raw, changed=changed)
                unfed = index
            elif not changed or not flags & _PROPAGATES:
                self._feed(call, batch, unfed, index - 1)
                unfed = index
            append_reply(reply, client.proto, out)
            if is_effect:
                break
        self._feed(call, batch, unfed, index)
        return index

    def _call(self, call: Call, entry: Entry, argv: list[bytes]) -> Any:
        """Call the command's function. Returns the reply, an Effect that is not performed yet, or the CommandError that
        was raised."""
        call.argv = argv
        call.client.last_command = entry.wire_name
        try:
            words = entry.words
            if words is not None:
                return words.run(call, argv)
            if entry.skip == 1:
                count = len(argv)
                if count == 3:
                    return entry.fn(call, argv[1], argv[2])
                if count == 2:
                    return entry.fn(call, argv[1])
                if count == 4:
                    return entry.fn(call, argv[1], argv[2], argv[3])
                if count == 1:
                    return entry.fn(call)
            return entry.fn(call, *argv[entry.skip :])
        except CommandError as error:
            self._failed(call, entry, error)
            return error
        except BaseException:
            call.propagated = None
            raise

    def _count(self, call: Call, entry: Entry, argv: list[bytes], elapsed_s: float) -> None:
        """Note that a command was executed, and how long it took."""
        stats = entry.stats
        stats.calls += 1
        stats.seconds += elapsed_s
        if self._node.tracks_latencies and not call.client.in_slices:
            stats.latencies.note(elapsed_s)
        if elapsed_s >= self._node.slow_limit_s:
            is_fast, is_logged = bool(entry.flags & FAST), not entry.flags & NO_SLOWLOG
            keys = [] if self._node.hotkeys is None else entry.keys_of(argv)
            self._node.note_slow(call.client, argv, keys, call.now_ms, elapsed_s, is_fast=is_fast, is_logged=is_logged)

    def _feed(self, call: Call, batch: Batch, start: int, end: int) -> None:
        """Put the bytes of commands [start, end) of a batch, all of them writes that changed something, into the
        stream."""
        if start == end:
            return
        if not self._conditions.propagates:
            if self._conditions.keeps_own:
                send(self._node, [(call.db.index, batch.wires(start, end))])
            return
        if self._backlog.active:
            self._node.replication.feed_one(call.db.index, batch.wires(start, end))
        call.client.write_cut = self._backlog.end

    def _performed(self, call: Call, entry: Entry, effect: Effect) -> Reply:
        """Have the daemon perform an effect. Returns its reply, or the CommandError that was raised."""
        try:
            return self._perform(call, effect)
        except CommandError as error:
            self._failed(call, entry, error)
            return error
        except BaseException:
            call.propagated = None
            raise

    def _failed(self, call: Call, entry: Entry, error: CommandError) -> None:
        """Count a command that raised CommandError. It has changed nothing, so nothing is propagated."""
        entry.stats.failed_calls += 1
        self._node.stats.count_error(str(error))
        call.propagated = None

    def apply(self, call: Call, commands: list[list[bytes]], start: int) -> tuple[int, Exception | None]:
        """Execute commands of our master's stream, or of a file, from index `start` on; hot. No gate is asked, and
        nothing is propagated: the master's own bytes go on to our replicas.

        Returns (len(commands), None), or (the index of a command that failed, its error): a CommandError, or any
        exception from a defect of ours. MULTI and EXEC are skipped: a unit comes whole, and no client is served between
        its commands.
        """
        by_name = self._by_name
        clock = self._clock
        node = self._node
        tracked, notified = self._conditions.tracked, self._conditions.notified
        index = start
        try:
            fetched = start
            started = clock()
            for index in range(start, len(commands)):
                if index >= fetched:
                    fetched = call.db.prefetch_commands(commands, index)
                argv = commands[index]
                entry = by_name.get(argv[0])
                if entry is None or entry.children or not entry.fits(len(argv)):
                    entry = self._entries.resolve(argv, in_stream=True)
                if not entry.applies:
                    if not entry.frames:
                        return index, CommandError(f"ERR '{entry.wire_name}' is no command of a replication stream")
                    reply: Any = OK
                elif tracked:
                    reply = self._run_tracked(call, entry, argv, b"")
                    started = clock()
                else:
                    reply = self._call(call, entry, argv)
                    if _is_effect(reply):
                        reply = self._performed(call, entry, reply)
                    call.propagated = None
                    now = clock()
                    self._count(call, entry, argv, now - started)
                    started = now
                if notified:
                    tell_events(self._node, entry.row.name, argv)
                if node.monitors:
                    self._show_monitors(call.client, argv, entry)
                if type(reply) is CommandError:
                    return index, reply
        except Exception as error:
            return index, error
        return len(commands), None

    def propagate_expired(self) -> None:
        """Put deletions into the stream for what has expired outside of commands (the active cycle, slices)."""
        deletions: list[tuple[int, bytes]] = []
        collect_expired(self._node, deletions)
        send_each(self._node, deletions)
        tell_events(self._node, "", [])

    def make_room(self, slice_s: float = _EVICTION_S) -> bool:
        """Evict for `slice_s` at most, and put the deletions into the stream. Returns whether the time was too short.
        See `eviction.make_room`."""
        return make_room(self._node, self.random, self._clock, slice_s)

    def _execute_guarded(self, call: Call, entry: Entry, argv: list[bytes], raw: bytes) -> Reply:
        """As `execute`, while the client is guarded or the node has conditions: check the gates, and queue in MULTI."""
        client = call.client
        client.last_command = entry.wire_name
        memory = self._node.memory
        if self._conditions.tracked and memory.seems_over and client.authenticated:
            self.make_room()
        refusal = why_not_now(self._node, client, entry.row, argv)
        if refusal is not None:
            if entry.is_exec:
                return self._abort_exec(client, entry, refusal)
            return self._rejected(client, entry, CommandError(refusal))
        if client.queue is not None and not entry.flags & NOW_IN_MULTI:
            if entry.flags & NO_MULTI:
                return self._rejected(client, entry, CommandError("ERR Command not allowed inside a transaction"))
            client.queue.append((argv, raw))
            if entry.flags & WRITE:
                client.queue_writes = True
            if entry.flags & DENYOOM:
                client.queue_grows = True
            return QUEUED
        reply = self._run_checked(call, entry, argv, raw)
        if client.tracking is not None and client.queue is None and not entry.wire_name.startswith("client|"):
            client.tracking.caching = False
        self._show_monitors(client, argv, entry)
        return reply

    def _run_checked(self, call: Call, entry: Entry, argv: list[bytes], raw: bytes) -> Reply:
        """As `_run`, on a node with conditions: the memory limit measures, and what has expired may be seen otherwise
        (`Node.expiry_for`)."""
        keyspace = self._keyspace
        before = keyspace.expiry
        self._node.tracking.writer = call.client
        during = keyspace.expiry = self._node.expiry_for(call.client, writes=bool(entry.flags & WRITE))
        try:
            if self._conditions.tracked:
                return self._run_tracked(call, entry, argv, raw)
            return self._run(call, entry, argv, raw)
        finally:
            self._node.tracking.writer = None
            if during is not before and keyspace.expiry is during:
                keyspace.expiry = before

    def _run_tracked(self, call: Call, entry: Entry, argv: list[bytes], raw: bytes) -> Reply:
        """As `_run`, and tell the memory limit by how much the command's keys grew, and that they were accessed."""
        memory = self._node.memory
        db = call.db
        keys = entry.keys_of(argv)
        if not keys:
            return self._run(call, entry, argv, raw)
        if len(keys) > 1:
            keys = list(dict.fromkeys(keys))
        if memory.limited and entry.flags & WRITE:
            size, count = memory.data.of_keys(db, keys)
            reply = self._run(call, entry, argv, raw)
            new_size, new_count = memory.data.of_keys(db, keys)
            memory.data.note(new_size - size, new_count - count)
        else:
            reply = self._run(call, entry, argv, raw)
        if entry.is_access and not call.client.no_touch:
            memory.note_accesses(db, keys, self.random.below)
        return reply

    def _run(self, call: Call, entry: Entry, argv: list[bytes], raw: bytes) -> Reply:
        """Execute a command, count its time, and propagate what it changed."""
        keyspace = self._keyspace
        dirty = keyspace.dirty
        started = self._clock()
        reply: Any = self._call(call, entry, argv)
        if _is_effect(reply):
            reply = self._performed(call, entry, reply)
        self._count(call, entry, argv, self._clock() - started)
        if call.client.tracking is not None and entry.flags & READONLY:
            self._node.tracking.remember(call.client, entry.keys_of(argv))
        if keyspace.facts:
            tell_events(self._node, entry.row.name, argv)
        if keyspace.dirty != dirty or call.propagated is not None or keyspace.expired or keyspace.expired_fields:
            self._propagate(call, entry, raw, changed=keyspace.dirty != dirty)
        settled: Reply = reply
        return settled

    def _propagate(self, call: Call, entry: Entry, raw: bytes, *, changed: bool) -> None:
        """Put what one command propagates into the stream, or into the unit of the call that it runs inside.

        `raw` are the command's own bytes, which are propagated if it has `changed` something and was not rewritten;
        empty where there are none yet, or where it was.
        """
        rewritten = call.propagated
        call.propagated = None
        unit = call.unit
        keyspace = self._keyspace
        node = self._node
        conditions = self._conditions
        # What our master sends is in its stream already.
        keeps_own = conditions.keeps_own and not call.client.is_master_link
        if not keeps_own and (not conditions.propagates or not self._backlog.active):
            # Without an active backlog nobody follows the stream, and its end does not move.
            if keyspace.expired:
                keyspace.expired.clear()
            if keyspace.expired_fields:
                keyspace.expired_fields.clear()
            if conditions.propagates:
                call.client.write_cut = self._backlog.end
            return
        if (
            unit is None
            and rewritten is None
            and not keyspace.expired
            and not keyspace.expired_fields
            and conditions.propagates
        ):
            if entry.flags & _PROPAGATES:
                call.client.write_cut = node.replication.feed_one(call.db.index, raw)
            return
        effects = unit if unit is not None else []
        collect_expired(node, effects)
        if rewritten is not None:
            effects.extend((call.db.index, encode_command(argv)) for argv in rewritten)
        elif changed and entry.flags & _PROPAGATES:
            effects.append((call.db.index, raw or encode_command(call.argv)))
        if unit is None:
            if entry.flags & ARBITRARY_KEYS:
                send_each(node, effects)
            else:
                send(node, effects)
            call.client.write_cut = node.stream_end

    def run_nested(self, call: Call, argv: list[bytes], raw: bytes) -> Reply:
        """As `execute`, for a command that another one runs: `call` comes from `Call.nested`, and no gate is asked.
        Raises CommandError if there is no such command, or if it takes another number of words."""
        entry = self._by_name.get(argv[0])
        if entry is None or entry.children or not entry.fits(len(argv)):
            entry = self._entries.resolve(argv)
        return self.run_entry(call, entry, argv, raw)

    def find_entry(self, argv: list[bytes]) -> Any:
        entry = self._by_name.get(argv[0]) or self._by_name.get(argv[0].upper())
        return None if entry is None else entry.named_by(argv)

    def run_entry(self, call: Call, entry: Any, argv: list[bytes], raw: bytes) -> Reply:
        reply = self._run_checked(call, entry, argv, raw)
        self._show_monitors(call.client, argv, entry)
        return reply

    def end_unit(self, outer: Call, unit: list[tuple[int, bytes]]) -> None:
        """The commands inside `outer` are over: put their unit into the stream, or into the unit that `outer` is in."""
        if not unit:
            return
        if outer.unit is not None:
            outer.unit.extend(unit)
            return
        send(self._node, unit)
        outer.client.write_cut = self._node.stream_end

    def _show_monitors(self, client: Client, argv: list[bytes], entry: Entry) -> None:
        """Send a command to the clients in MONITOR, without the words of one that holds passwords."""
        if self._node.monitors and not entry.flags & (NO_MONITOR | ADMIN):
            self._node.show_monitors(client, argv, secret=bool(entry.flags & NO_AUTH and entry.row.name != "QUIT"))

    def _refused(self, call: Call, argv: list[bytes], error: CommandError) -> Reply:
        """Refuse a command that is unknown or has the wrong number of words. An HTTP request ends the connection."""
        client = call.client
        name = argv[0].upper()
        known = self._by_name.get(name)
        client.last_command = known.wire_name if known is not None and not known.children else "NULL"
        if name in _HTTP_WORDS:
            client.close_after_reply()
            self._perform(call, Log(SecurityAttack(client.addr)))
            return NO_REPLY
        if known is not None and known.is_exec:
            return self._abort_exec(client, None, str(error))
        return self._rejected(client, None, error)

    def _abort_exec(self, client: Client, entry: Entry | None, refusal: str) -> CommandError:
        """Refuse an EXEC that may not run; a transaction ends thereby (Redis 7.0 `rejectCommand`). `entry` counts the
        refusal, if it is given."""
        discard_queue(client, self._keyspace)
        return self._rejected(
            client, entry, CommandError(f"EXECABORT Transaction discarded because of: {refusal.removeprefix('ERR ')}")
        )

    def _rejected(self, client: Client, entry: Entry | None, error: CommandError) -> CommandError:
        """Count a command that did not run. In MULTI it makes the later EXEC fail."""
        if entry is not None:
            entry.stats.rejected_calls += 1
        if client.queue is not None:
            client.dirty_exec = True
        self._node.stats.count_error(str(error))
        return error


def _is_effect(reply: Any) -> bool:
    """Is this an Effect, which must be performed? The usual replies are recognized by their type, which is quicker."""
    kind = type(reply)
    return kind is not int and kind is not Simple and kind is not bytes and isinstance(reply, Effect)

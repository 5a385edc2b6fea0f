"""The link to our master: the shell around `replication.link`, the machine that takes all decisions.

`roles` makes a MasterLink when the node becomes a replica. The shell opens and closes connections (`link_conn`), a
second one where the snapshot comes over its own, moves bytes between them and the machine, and calls the machine's
`tick` at its deadline. The machine answers with events, which the shell carries out: it hands snapshots to `sync_load`,
commands of the stream to the dispatcher, and the raw bytes of the stream to the owner, who puts them into our own
backlog. `observability.telling.replica_end` is given each event before it is carried out, and writes what the logs say.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Protocol, final

from pyrepl.commands.engine.effects import ReplPausePoint
from pyrepl.daemon.clock import Clock
from pyrepl.daemon.disk.files import Files
from pyrepl.daemon.feeding.repl_pauses import ReplPauses
from pyrepl.daemon.following import sync_load
from pyrepl.daemon.following.link_conn import LinkConn, nothing_to_take_back
from pyrepl.daemon.log_sink import Log
from pyrepl.daemon.wires.connecting import Reach
from pyrepl.daemon.wires.descriptor_io import MOST_BYTES
from pyrepl.errors import CommandError
from pyrepl.keyspace.database import Expiry
from pyrepl.keyspace.loader import Loader
from pyrepl.observability import events
from pyrepl.observability.eventlog.record import Record
from pyrepl.observability.telling import link_lines
from pyrepl.observability.telling.replica_end import ReplicaEnd
from pyrepl.observability.telling.voice import Voice
from pyrepl.replication import events as machine
from pyrepl.replication.link import Link, OldData
from pyrepl.replication.stream_place import stated_db

if TYPE_CHECKING:
    from pyrepl.commands.engine.dispatch import Dispatcher
    from pyrepl.node.client import Client
    from pyrepl.node.node import Node

_KEEPALIVE_S: Final = 300
_WAIT_S: Final = 0.002
_EARLY_S: Final = 0.001
"""How much too early a timer of the loop may come, as timers count in whole milliseconds."""
_APPLIED_AT_ONCE_BYTES: Final = 64 * 1024
"""How much one read takes of a stream of small commands: what was read is then still in the processor's cache when it
is executed."""
_SMALL_COMMAND_BYTES: Final = 256
"""Commands are small if they have fewer bytes than this in the mean. Of larger ones a read holds few, so that smaller
reads would gain nothing."""


class LinkOwner(Protocol):
    """What the link tells `roles`, which decides what this node is."""

    pauses: ReplPauses

    def link_up(self) -> None:
        """The stream flows."""

    def link_lost(self, event: machine.Lost) -> None:
        """The connection is lost; the link connects again by itself."""

    def link_continued(self, event: machine.Continued) -> None:
        """The master continues our stream (`+CONTINUE`), maybe under a new name."""

    def data_goes(self) -> None:
        """Our data is about to be replaced: from now on no replica of ours can be continued from it."""

    def snapshot_loaded(self, replid: str, cut: int) -> None:
        """The master's snapshot is our data now: the stream `replid` up to `cut`."""

    def stream_applied(self, raw: bytes) -> None:
        """These bytes of the stream are applied; they follow those of the call before without a gap."""

    def panic(self) -> None:
        """Our data differs from the master's, and the operator wants no such node
        (propagation-error-behavior): end the process at once, without saving."""


@final
class MasterLink:
    """The shell of one Link.

    Invariants: `_main` is the connection in use, None without one, `_rdb` the second one while a snapshot comes on it;
    `_load` is set from FullResyncBegins until the snapshot is loaded or given up.
    """

    def __init__(
        self,
        link: Link,
        client: Client,
        owner: LinkOwner,
        node: Node,
        dispatcher: Dispatcher,
        files: Files,
        clock: Clock,
        reach: Reach,
        log: Log,
        tell: Callable[[Record], None],
    ) -> None:
        """`reach` connects to the master; `tell` takes the records of the event log."""
        self.link = link
        self._story = ReplicaEnd(Voice(log, tell), link, clock.now())
        self.client = client
        """The client that executes the commands of the stream; CLIENT LIST shows it with flag M."""
        self._owner = owner
        self._node = node
        self._dispatcher = dispatcher
        self._call = dispatcher.call_for(client)
        self._files = files
        self._clock = clock
        self._reach = reach
        self._log = log
        self._loop = asyncio.get_running_loop()
        self._main: LinkConn | None = None
        self._rdb: LinkConn | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._load: sync_load.SyncLoad | None = None
        self._announced: machine.FullResyncBegins | None = None
        self._is_catching_up = False
        self._pumping = False
        self._slow_until = 0.0
        """key-load-delay, or room is being made: the snapshot's connection is not read before this time (monotonic)."""
        self._command_bytes = 0.0
        """The mean size of the commands of the last Apply, in bytes."""
        self._deeds: dict[type[Any], Callable[[Any], None]] = {
            machine.Connect: self._on_connect,
            machine.Disconnect: self._on_disconnect,
            machine.OpenRdbChannel: self._on_open_rdb_channel,
            machine.SnapshotAsked: self._on_snapshot_asked,
            machine.CloseRdbChannel: self._on_close_rdb_channel,
            machine.CatchUpBegins: self._on_catch_up_begins,
            machine.StateChanged: self._on_state_changed,
            machine.FullResyncBegins: self._on_begins,
            machine.SnapshotBytes: self._on_bytes,
            machine.SnapshotEnds: self._on_ends,
            machine.Continued: self._on_continued,
            machine.Apply: self._on_apply,
            machine.LinkUp: self._on_up,
            machine.Lost: self._on_lost,
        }
        """The function that carries out each kind of event. Events of all other kinds are only told to the logs."""

    def start(self) -> None:
        """Begin to connect to the master."""
        self.link.start(self._clock.now())
        self._pump()

    def stop(self) -> None:
        """End the link for good. A snapshot that is not loaded yet is thrown away."""
        self.link.stop(self._clock.now())
        self._pump()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def drop(self) -> None:
        """Break the connection (CLIENT KILL); the link connects again by itself."""
        if self._main is not None:
            self._main.drop()

    def pump(self) -> None:
        """Carry out what the machine wants now: to be called after its options have changed."""
        self._pump()

    def _pump(self) -> None:
        """Carry out the machine's events until there are none left, then send and set the timer.

        An event's function may end in `_pump` again (a load that fails at once); the loop here takes its events.
        """
        if self._pumping:
            return
        self._pumping = True
        try:
            while pending := self.link.events():
                for event in pending:
                    self._carry_out(event)
            self._send()
        finally:
            self._pumping = False
        self._set_timer()

    def _carry_out(self, event: machine.LinkEvent) -> None:
        kind = type(event)
        if kind in self._story.told:
            self._story.tell(event, self._clock.now())
        deed = self._deeds.get(kind)
        if deed is not None:
            deed(event)

    def _send(self) -> None:
        """Write what the machine has to say, and read from the connections that it wants to hear.

        While `_slow_until` lasts, the connection that brings the snapshot is not read.
        """
        slow = self._clock.now() < self._slow_until
        if self._main is not None:
            self.client.total_out_bytes += self._main.send(self.link.data_to_send())
            self._main.read(self.link.wants_data and not (slow and self._rdb is None))
        if self._rdb is not None:
            self._rdb.send(self.link.rdb_data_to_send())
            self._rdb.read(not slow)

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        at = self.link.next_deadline()
        if at is not None:
            self._timer = self._loop.call_later(max(0.0, at - self._clock.now()), self._tick)

    def _tick(self) -> None:
        self._timer = None
        self.link.tick(self._clock.now())
        self._story.progress(self._clock.now())
        self._pump()

    # ------------------------------------------------------------------ the connections

    def _conn(
        self,
        on_made: Callable[[], None],
        on_data: Callable[[bytes, bytes], None],
        on_lost: Callable[[str], None],
        take_back: Callable[[], bytes | None] = nothing_to_take_back,
    ) -> LinkConn:
        alive_s = self._node.settings.tcp_keepalive or _KEEPALIVE_S
        return LinkConn(on_made, on_data, on_lost, alive_s, self._reach, take_back)

    def _on_connect(self, event: machine.Connect) -> None:
        self._main = self._conn(self._main_made, self._main_data, self._main_lost, self._take_back)
        self._main.open(event.host, event.port)

    def _main_made(self) -> None:
        assert self._main is not None
        self.client.laddr = self._main.local_address
        self._story.connected(self._main.local_address)
        self.link.connected(self._clock.now())
        self._pump()

    def _take_back(self) -> bytes | None:
        """The unfinished command at the end of the last read: LinkConn passes it on again with its rest, so that it
        would be counted twice."""
        beginning = self.link.take_back()
        if beginning:
            self._count(-len(beginning))
        return beginning

    def _main_data(self, data: bytes, beginning: bytes) -> None:
        self._count(len(data) + len(beginning))
        self.link.receive(data, self._clock.now(), beginning)
        self._pump()
        if self._main is not None:
            is_small = self.link.is_up and self._command_bytes < _SMALL_COMMAND_BYTES
            self._main.most_read_bytes = _APPLIED_AT_ONCE_BYTES if is_small else MOST_BYTES

    def _main_lost(self, text: str) -> None:
        self._main = None
        if self.link.state is machine.LinkState.CONNECTING:
            self._story.cannot_connect(text)
        self.link.lost(self._clock.now(), text)
        self._pump()

    def _on_disconnect(self, event: machine.Disconnect) -> None:
        main, self._main = self._main, None
        if main is not None:
            main.abort()

    def _on_open_rdb_channel(self, event: machine.OpenRdbChannel) -> None:
        self._rdb = self._conn(self._rdb_made, self._rdb_data, self._rdb_lost)
        self._rdb.gathers = True
        self._rdb.open(event.host, event.port)

    def _rdb_made(self) -> None:
        self.link.rdb_connected(self._clock.now())
        self._pump()

    def _rdb_data(self, data: bytes, beginning: bytes) -> None:
        self._count(len(data))
        self.link.rdb_receive(data, self._clock.now())
        self._pump()

    def _rdb_lost(self, text: str) -> None:
        self._rdb = None
        self.link.rdb_lost(self._clock.now(), text)
        self._pump()

    def _on_snapshot_asked(self, event: machine.SnapshotAsked) -> None:
        self._owner.pauses.reached(ReplPausePoint.BEFORE_RDB_CHANNEL)

    def _on_close_rdb_channel(self, event: machine.CloseRdbChannel) -> None:
        rdb, self._rdb = self._rdb, None
        if rdb is not None:
            rdb.abort()

    def _count(self, size: int) -> None:
        """Count bytes that came from the master; negative for bytes that will come again (`_take_back`)."""
        self.client.total_in_bytes += size
        self._node.stats.total_net_repl_input_bytes += size

    def _on_catch_up_begins(self, event: machine.CatchUpBegins) -> None:
        self._is_catching_up = True

    def _on_state_changed(self, event: machine.StateChanged) -> None:
        """Nothing to do: each change that needs an action of ours also comes as an event of its own."""

    # ------------------------------------------------------------------ the snapshot

    def _on_begins(self, event: machine.FullResyncBegins) -> None:
        """A snapshot is about to come: choose how to load it, and tell the machine how long the old data stays."""
        if not self.link.may_load:
            # An event before this one in the same pump has ended the sync.
            return
        self._announced = event
        try:
            load = sync_load.choose(
                self._node,
                self._files,
                self._log,
                event.replid,
                event.total_bytes,
                self._loaded,
                self._load_failed,
                self._owner.data_goes,
            )
        except OSError as error:
            self.link.keep_old_data(OldData.GOES_AT_LAST_BYTE)
            text = f"cannot write the snapshot file: {error}"
            self._story.cannot_load("disk", text, self._clock.now())
            self.link.load_failed("disk", self._clock.now(), text)
            return
        self._load = load
        self.link.keep_old_data(load.old_data)
        if self._main is not None and not self.link.uses_two_channels:
            self._main.gathers = True
        self._story.delivery_started(event.cut, event.total_bytes, load.how, self._clock.now())

    def _on_bytes(self, event: machine.SnapshotBytes) -> None:
        if self._load is None or not self.link.may_load:
            return
        delay_s = self._load.feed(event.data)
        if delay_s > 0:
            now = self._clock.now()
            self._slow_until = max(now, self._slow_until) + delay_s
            self._loop.call_later(self._slow_until - now, self._read_on)

    def _read_on(self) -> None:
        """Read on if the delay is over, otherwise look again later: the loop's timers may come a moment early, and no
        other event would make us look."""
        now = self._clock.now()
        if self._load is not None and self._load.is_waiting:
            self._slow_until = max(now + _WAIT_S, self._slow_until)
        if self._slow_until > now:
            self._loop.call_later(self._slow_until - now + _EARLY_S, self._read_on)
        else:
            self._pump()

    def _on_ends(self, event: machine.SnapshotEnds) -> None:
        if not self.link.may_load:
            return
        load = self._load
        if self._main is not None:
            self._main.gathers = False
        self._story.delivery_ended(event.size_bytes, load.how if load is not None else "", self._clock.now())
        wait_s = self._slow_until - self._clock.now()
        if load is not None and wait_s > 0:
            self._loop.call_later(wait_s, self._end_load, load)
        elif load is not None:
            load.end()

    def _end_load(self, load: sync_load.SyncLoad) -> None:
        """End a load whose last byte came earlier: key-load-delay has made it last until now. `load` may be given up by
        now."""
        if load is self._load:
            load.end()
            self._pump()

    def _loaded(self, loader: Loader) -> None:
        announced = self._announced
        assert announced is not None
        self._load = self._announced = None
        self._story.loaded(loader.loaded_keys, loader.expired_keys, self._clock.now())
        self.client.db_index = stated_db(loader.aux, self._node.settings.databases)
        self._call.db = self._node.keyspace.databases[self.client.db_index]
        # The owner first: what the machine sends and applies from `loaded` on belongs to the new stream.
        self._owner.snapshot_loaded(announced.replid, announced.cut)
        self.link.loaded(self._clock.now())
        self._pump()

    def _load_failed(self, word: str, text: str) -> None:
        self._load = self._announced = None
        self._story.load_failed(word, text, self._clock.now())
        self.link.load_failed(word, self._clock.now(), text)
        self._pump()

    # ------------------------------------------------------------------ the stream

    def _on_continued(self, event: machine.Continued) -> None:
        self._owner.link_continued(event)

    def _on_up(self, event: machine.LinkUp) -> None:
        self._is_catching_up = False
        self._owner.link_up()

    def _on_apply(self, event: machine.Apply) -> None:
        if not self.link.may_apply:
            return
        node = self._node
        now = self._clock.now()
        node.process.now = self.client.last_seen_at = now
        keyspace = node.keyspace
        keyspace.now_ms = self._call.now_ms = self._clock.unix_ms()
        # The master decides when a key expires, and sends a DEL.
        before, keyspace.expiry = keyspace.expiry, Expiry.IGNORE
        try:
            index, failure = self._apply(event)
        finally:
            keyspace.expiry = before
        node.stats.total_commands_processed += len(event.commands)
        self._command_bytes = len(event.raw) / (len(event.commands) or 1)
        if failure:
            self._stop_at(event, index, failure)
            return
        self._owner.stream_applied(event.raw)
        self.link.applied(event.end)
        if self._is_catching_up:
            self._owner.pauses.reached(ReplPausePoint.ON_STREAMING_REPL_BUF)

    def _apply(self, event: machine.Apply) -> tuple[int, str]:
        """Execute the commands of `event`. Returns (their number, "") if all went well, otherwise (the index of the
        command before which we have to stop, the word for why)."""
        index = 0
        while True:
            index, error = self._dispatcher.apply(self._call, event.commands, index)
            if error is None:
                return index, ""
            if not isinstance(error, CommandError):
                # A defect of ours: what was executed before it must not be executed again after the partial resync.
                self._log(events.InternalError("applying the master's stream", f"{type(error).__name__}: {error}"))
                return index, "internal"
            word = self._why_not_go_on(event, index, event.commands[index], error)
            if word:
                return index, word
            index += 1

    def _why_not_go_on(self, event: machine.Apply, index: int, argv: list[bytes], error: CommandError) -> str:
        """Decide on a command of the stream that was answered with an error: empty to go on behind it, else the word
        for why not.

        We cannot know what an unknown command would have changed, and a command that no master sends must not be
        obeyed: both stop the link. A known command that fails here has failed on the master too, or our data differs
        from the master's already; Redis goes on in both cases, and so do we.
        """
        cut = event.start + (event.ends[index - 1] if index else 0)
        name = link_lines.command_name(argv)
        word = self._dispatcher.table.why_not_in_stream(argv)
        if word == "foreign_command":
            self._log(events.ForeignStreamCommand(name, cut))
        elif word:
            self._node.stats.unknown_replicated_commands += 1
            skipped = self._node.settings.replica_ignore_unknown_commands
            self._log(events.UnknownStreamCommand(name, cut, skipped))
            word = "" if skipped else word
        else:
            self._node.stats.unexpected_error_replies += 1
            self._log(events.StreamCommandFailed(name, str(error), cut))
            settings = self._node.settings
            if settings.propagation_error_behavior != "ignore" and settings.replica_read_only:
                self._log(events.StreamPanic(name, str(error), cut))
                self._owner.panic()
        return word

    def _stop_at(self, event: machine.Apply, index: int, word: str) -> None:
        """Keep the commands before `index`, which are applied, and give the link up before the command at `index`."""
        size = event.ends[index - 1] if index else 0
        if size:
            self._owner.stream_applied(event.raw[:size])
            self.link.applied(event.start + size)
        refusal = link_lines.REFUSALS[word]
        name = link_lines.command_name(event.commands[index])
        text = f"the command '{name}' at offset {event.start + size} {refusal}"
        self.link.apply_failed(word, self._clock.now(), text)

    # ------------------------------------------------------------------ failures

    def _on_lost(self, event: machine.Lost) -> None:
        self._is_catching_up = False
        if self._load is not None:
            self._load.abandon()
            self._load = self._announced = None
        self._owner.link_lost(event)

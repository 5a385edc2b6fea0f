"""The event log of a node: makes a line of each record, with a head, and hands it to the thread that writes it.

Parts of the node call the EventLog with a record, mostly by the tellers of `observability`, which defines the records.
`writer` has the queue and the thread, `file` the file. A call never waits for the disk: a line that does not fit into
the queue is dropped and counted, and a record tells the number of dropped lines as soon as there is room.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Final, final

from pyrepl.daemon.clock import Clock
from pyrepl.daemon.eventlog.file import EventFile
from pyrepl.daemon.eventlog.writer import EventWriter
from pyrepl.daemon.log_sink import Log
from pyrepl.daemon.service import Service
from pyrepl.errors import ConfigError
from pyrepl.node.node import Node
from pyrepl.observability import events
from pyrepl.observability.eventlog.record import Record, Value, encode_line
from pyrepl.observability.eventlog.records import EventsDropped, ReplidChanged
from pyrepl.observability.eventlog.schema import VERSION
from pyrepl.units import NO_REPLID

NONE: Final = "none"
_CLOSE_PATIENCE_S: Final = 2.0
_LOOK_EVERY_S: Final = 0.1


@final
class EventLog(Service):
    """Call the object with a record. It writes nothing before `open`, and nothing with `event-log none`.

    Invariants: `seq` counts every record, dropped ones too, so that a gap shows where records are missing. When the
    replid differs from the one in the line before, a ReplidChanged record comes first.
    """

    def __init__(self, node: Node, clock: Clock, log: Log) -> None:
        self._node = node
        self._clock = clock
        self._log = log
        self._loop = asyncio.get_running_loop()
        self._use = node.event_log
        self._writer: EventWriter | None = None
        self._started_at = clock.now()
        self._name = ""
        self._seq = 0
        self._replid = ""
        self._untold_drops = 0
        self._wrote = 0
        self.listeners: list[Callable[[bytes], None]] = []
        """Called with every line, its line end included, also while no file is written."""

    @property
    def is_open(self) -> bool:
        return self._writer is not None

    def open(self) -> None:
        """Begin to write, unless `event-log` is none. Raises ConfigError when the file cannot be opened."""
        settings = self._node.settings
        self._replid = self._node.replication.history.replid
        self.settings_changed(())
        if settings.event_log == NONE:
            return
        path = Path(settings.event_log).absolute()
        try:
            file = EventFile(path, settings.event_log_max_bytes, settings.event_log_keep, self._clock.unix_us)
        except OSError as error:
            raise ConfigError(f"Can't open the event log {path}: {error.strerror}") from None
        self._use.enabled = True
        self._writer = EventWriter(file, self._tell_error, self._tell_written)
        self.settings_changed(())

    def settings_changed(self, names: Collection[str]) -> None:
        """Take over the limits of the file, and the name of the node that stands in each head."""
        settings = self._node.settings
        if self._writer is not None:
            self._writer.limit(settings.event_log_max_bytes, settings.event_log_keep)
        host = settings.replica_announce_ip or socket.gethostname()
        port = settings.replica_announce_port or self._node.process.any_port
        self._name = settings.event_log_node or f"{host}:{port}"

    def __call__(self, record: Record) -> None:
        if self._writer is None and not self.listeners:
            return
        history = self._node.replication.history
        if history.replid != self._replid:
            before, self._replid = self._replid, history.replid
            shifted = history.fork is not None and history.replid2 != NO_REPLID
            self._put(ReplidChanged(before, history.replid2 if shifted else None, history.fork if shifted else None))
        if self._untold_drops and self._writer is not None:
            self._tell_drops(self._writer)
        self._put(record)

    def next_deadline(self, now: float) -> float:
        return now + _LOOK_EVERY_S

    def tick(self, now: float) -> None:
        """Bring the figures in INFO up to date."""
        writer = self._writer
        if writer is not None:
            self._use.waiting_bytes, self._use.file_bytes = writer.waiting_bytes, writer.file_bytes
            self._use.written = self._wrote

    def close(self) -> None:
        """Write the lines that wait, for two seconds at most, and close the file."""
        writer, self._writer = self._writer, None
        if writer is not None:
            self._use.dropped += writer.close(_CLOSE_PATIENCE_S)
            if self._use.dropped:
                self._log(events.EventLogIncomplete(self._use.dropped))

    # ------------------------------------------------------------------ inside

    def _put(self, record: Record) -> None:
        self._seq += 1
        line = encode_line(self._head(), record)
        for listener in self.listeners:
            listener(line)
        if self._writer is not None and not self._writer.put(line):
            if not self._untold_drops:
                self._log(events.EventLogDrops())
            self._untold_drops += 1
            self._use.dropped += 1

    def _tell_drops(self, writer: EventWriter) -> None:
        """Write how many lines are missing before this place, if the queue has room for that."""
        self._seq += 1
        if writer.put(encode_line(self._head(), EventsDropped(self._untold_drops))):
            self._untold_drops = 0
        else:
            self._seq -= 1

    def _head(self) -> dict[str, Value]:
        replication = self._node.replication
        return {
            "v": VERSION,
            "at_us": self._clock.unix_us(),
            "mono_us": int((self._clock.now() - self._started_at) * 1e6),
            "seq": self._seq,
            "node": self._name,
            "run": self._node.process.run_id,
            "role": replication.role.name,
            "replid": replication.history.replid,
            "offset": replication.backlog.end,
        }

    # ------------------------------------------------------------------ what the writer's thread tells

    def _tell_error(self, error: str) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._note_error, error)

    def _note_error(self, error: str) -> None:
        self._use.write_error = error
        self._log(events.EventLogFailed(error) if error else events.EventLogRecovered())

    def _tell_written(self, lines: int) -> None:
        # Called in the writer's thread. No lock is needed, as no other thread changes this number.
        self._wrote += lines

"""What is told of the life of a node, from the first line of its log to the last. Times are seconds.

The shell (daemon/announcing) calls these methods at each step. The order of the lines is Redis's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import final

from pyrepl.observability import events
from pyrepl.observability.event import Event
from pyrepl.observability.eventlog.records import NodeReady, NodeStarted, NodeStopped
from pyrepl.observability.telling.voice import Voice


@final
class LifeTeller:
    """Tells how far one node is."""

    def __init__(self, say: Voice, version: str, pid: int) -> None:
        """`version` is pyrepl's."""
        self._say = say
        self._version = version
        self._pid = pid

    def starting(self, notices: Sequence[Event], *, supervisor_missing: bool) -> None:
        """The process has started; the event log is not open yet. `notices` are for the operator."""
        self._say(events.Starting(self._version, self._pid), *notices)
        if supervisor_missing:
            self._say(events.SupervisorMissing())

    def listening(self, port: int) -> None:
        """The ports are open, and so is the event log, whose first record this is. `port` is the TCP port for clients,
        0 if there is none."""
        self._say(NodeStarted(self._version, self._pid, port), events.ModeRunning(port))

    def initialized(self) -> None:
        """Everything is set up, and nothing loaded yet."""
        self._say(events.ServerInitialized())

    def ready(self, keys: int, startup_s: float, listeners: Sequence[str]) -> None:
        """The data is loaded and clients are served by these listeners: tcp, unix."""
        self._say(
            NodeReady(keys, round(startup_s * 1000)),
            *[events.ReadyToAcceptConnections(listener) for listener in listeners],
        )

    def ended(self, uptime_s: float, close_event_log: Callable[[], None], *, orderly: bool) -> None:
        """The node has ended. `orderly`: it was told to end; otherwise it could not start, which is told elsewhere.
        What the event log says when it is closed comes before the last line."""
        self._say(NodeStopped(round(uptime_s, 3)))
        close_event_log()
        if orderly:
            self._say(events.ByeBye())

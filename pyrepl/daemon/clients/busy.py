"""Serves the other clients while a script runs for too long: they are told so, and may end it.

A script runs in the middle of a turn of the poller, and the event loop stands still meanwhile. Every 100000
instructions the interpreter calls `look`. After busy-reply-threshold it accepts connections and serves the sockets that
are ready, by the poller's own epoll; the gates answer -BUSY to all but few commands. The socket of the client whose
script it is rests, as its command is not over. Timers, our master and the streams to replicas wait, as in Redis
(processEventsWhileBlocked).
"""

from __future__ import annotations

import time
from typing import final

from pyrepl.daemon.clients.clients import Clients
from pyrepl.daemon.clients.ports import Ports
from pyrepl.daemon.clients.turns import Turns
from pyrepl.daemon.clock import Clock
from pyrepl.daemon.ending import Ending
from pyrepl.daemon.log_sink import Log
from pyrepl.node.node import Node
from pyrepl.node.scripts import Running
from pyrepl.observability import events
from pyrepl.observability.event import Level


@final
class BusyScripts:
    """See node.scripts.Outside. A script that others are told of is late (`Running.is_late`)."""

    def __init__(
        self, node: Node, clients: Clients, ports: Ports, turns: Turns, ending: Ending, clock: Clock, log: Log
    ) -> None:
        self._node = node
        self._clients = clients
        self._ports = ports
        self._turns = turns
        self._ending = ending
        self._clock = clock
        self._log = log

    def look(self, running: Running) -> None:
        """See Outside."""
        threshold_ms = self._node.settings.busy_reply_threshold
        elapsed_ms = (self._clock.now() - running.started_at) * 1000
        if running.limit_ms and elapsed_ms > running.limit_ms:
            running.is_killed = True
            return
        if not threshold_ms or elapsed_ms < threshold_ms:
            return
        if not running.is_late:
            self._begin(running, int(elapsed_ms))
        self._serve()
        if self._ending.ended:
            # SHUTDOWN NOSAVE: what the script did goes with the process.
            running.is_killed = running.is_discarded = True

    def _begin(self, running: Running, elapsed_ms: int) -> None:
        running.is_late = True
        command = "SCRIPT KILL" if running.is_eval else "FUNCTION KILL"
        self._log(events.SlowScript(elapsed_ms, command, running.name.decode("utf-8", "replace")))
        self._node.scripts.call_busy(True)
        conn = self._clients.conns.get(running.client_id)
        if conn is not None:
            conn.transport.pause_reading()

    def _serve(self) -> None:
        """Serve whoever is ready. The instant that the script sees stays what it is."""
        node = self._node
        now_ms, now = node.keyspace.now_ms, node.process.now
        in_turn = self._turns.in_turn
        self._ports.look()
        self._clients.poller.look()
        if in_turn:
            self._turns.begin_turn()
        node.keyspace.now_ms, node.process.now = now_ms, now

    def ended(self, running: Running) -> None:
        """See Outside."""
        self._node.scripts.call_busy(False)
        conn = self._clients.conns.get(running.client_id)
        if conn is not None:
            conn.transport.resume_reading()

    def log(self, level: int, text: bytes) -> None:
        """See Outside."""
        shown = text.decode("utf-8", "backslashreplace")
        if level == Level.DEBUG:
            self._log(events.ScriptDebug(shown))
        elif level == Level.VERBOSE:
            self._log(events.ScriptVerbose(shown))
        elif level == Level.NOTICE:
            self._log(events.ScriptNotice(shown))
        else:
            self._log(events.ScriptWarning(shown))

    def cpu_s(self) -> float:
        """See Outside."""
        return time.process_time()

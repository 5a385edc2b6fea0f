"""DEBUG REPL-PAUSE: at the points of a sync that a tester named, the process stops itself until SIGCONT comes.

Not here: where the points lie (replicas.py for a master's, master_link.py for a replica's). Source: Redis 8.2.
"""

from __future__ import annotations

import signal
from typing import final

from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.effects import ReplPause, ReplPausePoint
from pyrepl.daemon.log_sink import Log
from pyrepl.daemon.performer import Deeds
from pyrepl.observability import events
from pyrepl.resp.reply import OK, Reply


@final
class ReplPauses:
    """The points at which the process stops, each time that a sync reaches one of them. Points add up until CLEAR."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._points: set[ReplPausePoint] = set()

    @property
    def deeds(self) -> Deeds:
        """DEBUG REPL-PAUSE."""
        return {ReplPause: self._pause}

    def _pause(self, call: Call, effect: ReplPause) -> Reply:
        self.add(effect.point)
        return OK

    def add(self, point: ReplPausePoint) -> None:
        """Stop at this point too; CLEAR: at none."""
        if point is ReplPausePoint.CLEAR:
            self._points.clear()
        else:
            self._points.add(point)

    def reached(self, point: ReplPausePoint) -> None:
        """A sync is at this point: if it was named, stop, and return once somebody has sent SIGCONT."""
        if point in self._points:
            self._log(events.ProcessStops())
            signal.raise_signal(signal.SIGSTOP)
            self._log(events.ProcessContinued())

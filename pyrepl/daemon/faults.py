"""What the process does about its own defects: most are logged and survived; where the data would become wrong, the
process ends at once."""

from __future__ import annotations

import asyncio
import os
from typing import Any, NoReturn, final

from pyrepl.daemon.eventlog.event_log import EventLog
from pyrepl.daemon.log_sink import Log
from pyrepl.observability import events


@final
class Faults:
    """The two answers to a fault, for every part of a node."""

    def __init__(self, log: Log, event_log: EventLog) -> None:
        self._log = log
        self._event_log = event_log

    def survived(self, where: str, error: Exception) -> None:
        """Log a defect of ours that did not end the node."""
        self._log(events.InternalError(where, f"{type(error).__name__}: {error}"))

    def survived_callback(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """As `survived`, for what a callback of the loop raised: the loop's exception handler."""
        error = context.get("exception")
        self.survived(str(context.get("message", "a callback")), error if isinstance(error, Exception) else Exception())

    def die(self) -> NoReturn:
        """End the process at once, without saving or answering: the data on disk is right, and the data in memory must
        not be added to it."""
        self._event_log.close()
        os._exit(1)

"""What becomes of the process when it is wrong: a defect is logged and survived, data that must not be kept ends it."""

from __future__ import annotations

import asyncio
import os
from typing import Any, NoReturn, final

from pyrepl.daemon.eventlog.event_log import EventLog
from pyrepl.daemon.log_sink import Log
from pyrepl.observability import events


@final
class Faults:
    """The last resort of every part of a node."""

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
        """End at once, as it stands: what is on disk is right, and nothing may be added to it or answered."""
        self._event_log.close()
        os._exit(1)

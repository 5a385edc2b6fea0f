"""The system's log: sends each line of the text log to syslog as well, when syslog-enabled says so.

`log_sink` owns it. As with syslog(3), a line that no daemon takes is lost, without a word and without an error: the
node's own log has it.
"""

from __future__ import annotations

import os
from logging import LogRecord, makeLogRecord
from logging.handlers import SysLogHandler
from typing import Final, final

from pyrepl.observability.event import Event

_SOCKET: Final = "/dev/log"
_PRIORITIES: Final = {"DEBUG": "debug", "VERBOSE": "info", "NOTICE": "notice", "WARNING": "warning"}
"""Name of an event's level -> syslog priority, as Redis has them."""


@final
class SystemLog(SysLogHandler):
    """A connection to the syslog daemon. Call it with an event."""

    priority_map = _PRIORITIES

    def __init__(self, ident: str, facility: str, address: str = _SOCKET) -> None:
        """`ident` begins each line, with the process id; `facility` is user or local0 to local7; `address` is the path
        of the daemon's socket."""
        super().__init__(address, facility)
        self.ident = f"{ident}[{os.getpid()}]: "

    def __call__(self, event: Event) -> None:
        self.emit(makeLogRecord({"levelname": event.LEVEL.name, "msg": event.text()}))

    def handleError(self, record: LogRecord) -> None:
        """Nobody takes the line: it is lost."""

"""What a node knows of its event log, for INFO. It is written by the daemon's event_log."""

from __future__ import annotations

from typing import final


@final
class EventLogUse:
    """Counts since the start, sizes in bytes."""

    def __init__(self) -> None:
        self.enabled = False
        self.written = 0
        """Records handed to the disk."""
        self.dropped = 0
        """Records that are nowhere, as they waited for the disk in vain."""
        self.waiting_bytes = 0
        self.file_bytes = 0
        self.write_error = ""
        """Why nothing can be written now; empty while all is well."""

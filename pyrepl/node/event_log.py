"""The figures of the event log, for INFO. The daemon's EventLog writes them."""

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
        """Records that were lost, because the queue was full or the node ended while the disk took nothing."""
        self.waiting_bytes = 0
        self.file_bytes = 0
        self.write_error = ""
        """Why records cannot be written now; empty while they can."""

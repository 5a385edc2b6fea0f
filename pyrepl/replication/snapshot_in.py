"""A snapshot on its way into a replica: announced, begun, whole; and what becomes of the old data meanwhile.

Not here: its framing (transfer.py), loading it (the shell), and which connection it comes over (conversation.py).
"""

from __future__ import annotations

from typing import Final, final

from pyrepl.replication.events import FullResyncAnnounced, FullResyncBegins, LinkEvent, SnapshotBytes, SnapshotEnds
from pyrepl.replication.link_states import OldData
from pyrepl.replication.progress import TransferProgress
from pyrepl.replication.transfer import Transfer


@final
class SnapshotIn:
    """One snapshot, from the line that states its cut until it is loaded or given up.

    Invariant: `rest` is empty until `ended`; then it holds what came behind the snapshot.
    """

    __slots__ = ("_transfer", "announced", "old_data", "progress")

    def __init__(self, announced: FullResyncAnnounced, now: float) -> None:
        self.announced: Final = announced
        self.progress: Final = TransferProgress(now, None)
        self.old_data = OldData.STAYS_UNTIL_LOADED
        """As long as nobody has begun to load. See Link.keep_old_data."""
        self._transfer: Final = Transfer()

    @property
    def began(self) -> bool:
        return self._transfer.began

    @property
    def ended(self) -> bool:
        return self._transfer.ended

    @property
    def rest(self) -> bytes:
        return self._transfer.rest

    def receive(self, data: bytes, now: float) -> list[LinkEvent]:
        """What the next bytes bring. Raises PeerError for a header that is none, or the master's own error line."""
        transfer, announced = self._transfer, self.announced
        had_begun = transfer.began
        pieces = transfer.receive(data)
        events: list[LinkEvent] = []
        if transfer.began and not had_begun:
            self.old_data = OldData.GOES_AT_FIRST_BYTE
            self.progress.total_bytes = transfer.total_bytes
            events.append(FullResyncBegins(announced.replid, announced.cut, announced.reason, transfer.total_bytes))
        events.extend(SnapshotBytes(piece) for piece in pieces)
        self.progress.advance(transfer.read_bytes, now)
        if transfer.ended:
            events.append(SnapshotEnds(transfer.read_bytes))
        return events

    @property
    def old_data_is_gone(self) -> bool:
        """If it is given up now: has the data that we had before been destroyed for it?"""
        if self.old_data is OldData.GOES_AT_FIRST_BYTE:
            return True
        return self.old_data is OldData.GOES_AT_LAST_BYTE and self.ended

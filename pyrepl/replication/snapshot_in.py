"""A snapshot on its way into a replica: announced, begun, whole. Says whether the replica's old data still stands.

conversation.py makes one when the master has stated the snapshot's cut, and feeds it the bytes of the connection that
the snapshot comes on. Out come the events by which the shell loads the snapshot.

Why the old data matters: a sync that breaks while the old data stands costs nothing, as the next PSYNC can name the old
position again. Once the old data was destroyed, only another full resync helps.

Not here: where the snapshot begins and ends on the wire (transfer.py), loading (daemon/following/sync_load.py).
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
        """When the load destroys the old data: never before the first bytes have come; from then on as the shell
        says by Link.keep_old_data."""
        self._transfer: Final = Transfer()

    @property
    def began(self) -> bool:
        """Is the line before the snapshot's bytes complete?"""
        return self._transfer.began

    @property
    def ended(self) -> bool:
        """Has the snapshot's last byte come?"""
        return self._transfer.ended

    @property
    def rest(self) -> bytes:
        """The bytes that came behind the snapshot: on one connection, the beginning of the stream."""
        return self._transfer.rest

    def receive(self, data: bytes, now: float) -> list[LinkEvent]:
        """Take the next bytes of the connection; `now` in monotonic seconds.

        Returns FullResyncBegins once the header is complete, SnapshotBytes for each piece of payload, and SnapshotEnds,
        always the last, with the last byte. Raises PeerError for a broken header and for the master's error line.
        """
        transfer, announced = self._transfer, self.announced
        had_begun = transfer.began
        pieces = transfer.receive(data)
        events: list[LinkEvent] = []
        if transfer.began and not had_begun:
            # The shell says how it loads while it handles FullResyncBegins. If it says nothing, assume the worst.
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
        """If the snapshot were given up now: would the data that we had before it be lost?"""
        if self.old_data is OldData.GOES_AT_FIRST_BYTE:
            return True
        return self.old_data is OldData.GOES_AT_LAST_BYTE and self.ended

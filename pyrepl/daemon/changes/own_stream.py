"""A stream that is this node's own, filled by another part of the daemon: `sync` and `mailboxes`.

Not here: its rows and tokens (pyrepl.changes.recent_source).
"""

from __future__ import annotations

import asyncio
from typing import Final, final

from pyrepl.changes.recent_source import RecentSource
from pyrepl.changes.rows import Json, encode_row
from pyrepl.daemon.changes.hub import StreamHub


@final
class OwnStream:
    """Rows go to the live subscribers in the loop's next turn, those of one turn together; at once where more come in
    one turn than are kept.

    Invariants: a turn is planned while `_handed` is less than the source's head; the rows behind `_handed` are kept.
    """

    def __init__(self, hub: StreamHub, source: RecentSource) -> None:
        """Offers the stream at the hub from now on."""
        self._hub: Final = hub
        self._source: Final = source
        self._handed = source.current
        hub.sources.append(source)
        hub.built_in |= {source.stream}

    def append(self, row: Json) -> None:
        self.append_text(encode_row(row))

    def append_text(self, row: str) -> None:
        """A row that is JSON text already."""
        if self._handed == self._source.current:
            asyncio.get_running_loop().call_soon(self._hand_out)
        elif self._source.current - self._handed >= self._source.capacity:
            self._hand_out()
        self._source.append(row)

    def _hand_out(self) -> None:
        source = self._source
        while self._handed < source.current:
            block = source.read(source.stream, None, self._handed, 1 << 30)
            self._handed = block.upto
            self._hub.hand_out(block)

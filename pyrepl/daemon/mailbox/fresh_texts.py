"""Texts that were read a moment ago, when a Dovecot's new messages were looked at: they go out without being read
again.

Not here: what becomes of a text that is not here any more (conns.py reads it from its file).
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Final, final

from pyrepl.mailbox.outgoing import PIECE_BYTES, TextOf

MOST_BYTES: Final = 8 * 1024 * 1024
"""Of all texts together."""


@final
class FreshTexts:
    """The newest of them. Threads put what the loop takes.

    Invariant: `_bytes` is the size of all texts, at most MOST_BYTES; none is larger than one piece that is sent.
    """

    def __init__(self) -> None:
        self._lock: Final = threading.Lock()
        self._texts: Final[OrderedDict[TextOf, bytes]] = OrderedDict()
        self._bytes = 0

    def put(self, user: str, guid: str, data: bytes) -> None:
        """A text was read; one that is too large is not kept."""
        if len(data) > PIECE_BYTES:
            return
        with self._lock:
            self._bytes += len(data) - len(self._texts.pop((user, guid), b""))
            self._texts[user, guid] = data
            while self._bytes > MOST_BYTES:
                _, oldest = self._texts.popitem(last=False)
                self._bytes -= len(oldest)

    def get(self, text_of: TextOf) -> bytes | None:
        """A whole text; None if it is not here."""
        with self._lock:
            return self._texts.get(text_of)

"""A part of a stored text, read again and compared with its checksums.

Not here: which parts are read, and when (pyrepl.mailbox.scrubbing).
"""

from __future__ import annotations

import errno

from pyrepl.daemon.mailbox.files import Files
from pyrepl.mailbox.maildir.text_sums import first_difference, sums_of
from pyrepl.mailbox.scrubbing import NOT_THERE, SAME, Piece, TextRead, Verdict


def read_text(files: Files, path: bytes | None, piece: Piece) -> TextRead:
    """What was read. Bytes that the disk cannot read any more (EIO) are damaged; a file that may not be read is not."""
    try:
        found = None if path is None else files.stat(path)
        if path is None or found is None:
            return NOT_THERE
        data = files.read_part(path, piece.start, max(piece.length, 1))
    except OSError as error:
        if error.errno == errno.EIO:
            return TextRead(Verdict.DAMAGED, f"the disk cannot read it from byte {piece.start} on")
        return NOT_THERE
    if found.size != piece.size:
        return TextRead(Verdict.DAMAGED, f"it has {found.size} bytes and had {piece.size}")
    differs_at = first_difference(piece.sums, sums_of(data))
    if differs_at is not None:
        return TextRead(Verdict.DAMAGED, f"it is another one from byte {piece.start + differs_at} on")
    return SAME

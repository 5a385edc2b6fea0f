"""Keeps a subscriber's place in one small file, replaced as a whole and on disk before it counts.

A door to the file system, as client.py is one to the network; what the text means is place.py's.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final, final

from pyrepl.temporary import create

MOST_BYTES: Final = 64 * 1024


@final
class TokenFile:
    """A token store (client.TokenStore) in a file.

    After a crash the file holds a place that was saved, the newest or the one before; never a torn one.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path: Final = Path(path)

    def load(self) -> str | None:
        """The text saved last; None when there is no file yet. Raises OSError, ValueError for what is no text."""
        try:
            with self.path.open("rb") as file:
                content = file.read(MOST_BYTES + 1)
        except FileNotFoundError:
            return None
        if len(content) > MOST_BYTES:
            raise ValueError(f"{self.path}: longer than a saved token can be ({MOST_BYTES} bytes): is it another file?")
        try:
            return content.decode("utf-8").strip() or None
        except UnicodeDecodeError as error:
            raise ValueError(f"{self.path}: not a saved token: {error}") from None

    def save(self, text: str) -> None:
        """Replace it. On disk when this returns. Raises OSError; the old text is kept then."""
        assert "\n" not in text
        temporary = self.path.with_name(f".{self.path.name}.{os.getpid()}.tmp")
        try:
            with create(temporary) as file:
                file.write(text.encode("utf-8") + b"\n")
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(self.path)
        except OSError:
            temporary.unlink(missing_ok=True)
            raise
        fsync_folder(self.path.parent)


def fsync_folder(folder: Path) -> None:
    """Make new and renamed names in a folder last. Raises OSError."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

"""The first line of a script or library: `#!lua flags=no-writes,allow-stale`, `#!lua name=mylib` (Redis 7.0).

A script without such a line may do what scripts could before there were flags (`COMPATIBLE`).
"""

from __future__ import annotations

from typing import Final, NamedTuple

from pyrepl.words import split_words, to_text

NO_WRITES: Final = 1 << 0
ALLOW_OOM: Final = 1 << 1
ALLOW_STALE: Final = 1 << 2
NO_CLUSTER: Final = 1 << 3
COMPATIBLE: Final = 1 << 4
ALLOW_CROSS_SLOT: Final = 1 << 5

FLAGS: Final[dict[bytes, int]] = {
    b"no-writes": NO_WRITES,
    b"allow-oom": ALLOW_OOM,
    b"allow-stale": ALLOW_STALE,
    b"no-cluster": NO_CLUSTER,
    b"allow-cross-slot-keys": ALLOW_CROSS_SLOT,
}
"""The flags that scripts and functions may declare."""


class ShebangError(Exception):
    """Redis's text for a first line that cannot be read."""


class Script(NamedTuple):
    """A script without its first line, whose line end stays so that lines keep their numbers."""

    code: bytes
    flags: int


def read_script(text: bytes) -> Script:
    """The flags and the code of a script. Raises ShebangError."""
    if not text.startswith(b"#!"):
        return Script(text, COMPATIBLE)
    end = text.find(b"\n")
    if end < 0:
        raise ShebangError("Invalid script shebang")
    words = split_words(text[:end])
    if not words:
        raise ShebangError("Invalid engine in script shebang")
    if words[0] != b"#!lua":
        raise ShebangError(f"Unexpected engine in script shebang: {to_text(words[0])}")
    flags = 0
    for word in words[1:]:
        if not word.startswith(b"flags="):
            raise ShebangError(f"Unknown lua shebang option: {to_text(word)}")
        listed = word.removeprefix(b"flags=")
        for name in listed.split(b",") if listed else ():
            if name not in FLAGS:
                raise ShebangError(f"Unexpected flag in script shebang: {to_text(name)}")
            flags |= FLAGS[name]
    return Script(text[end:], flags)

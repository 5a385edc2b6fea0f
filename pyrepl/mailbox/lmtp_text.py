"""A mail's text as it passes the LMTP proxy: where it ends, and lines that no server reads otherwise than we do.

A text ends with a line that is a dot, between two CRLF (RFC 5321, 4.1.1.4). Some servers take a bare LF for the end of
a line as well, so whoever sends `LF . LF` could have what follows taken for commands by one server and for text by
another. Every line goes on with CRLF, and a dot that would end the text only in the eyes of such a server is doubled.

Not here: commands and replies (lmtp.py).
"""

from __future__ import annotations

from typing import Final, NamedTuple, final

MOST_HELD: Final = 65536
"""Bytes of a line that are kept until its end comes; of a longer one the beginning goes on before."""


class Passed(NamedTuple):
    """What goes on; what came behind the end of the text, None while it is not over."""

    data: bytes
    rest: bytes | None


@final
class LmtpText:
    """One text."""

    def __init__(self) -> None:
        self._held = b""
        self._is_begun = False
        """Has the beginning of this line gone on?"""
        self._after_crlf = True
        """Did the line before end with CRLF, so that a dot alone ends the text?"""

    def feed(self, data: bytes) -> Passed:
        """The next bytes of the client, in any pieces."""
        *lines, held = (self._held + data).split(b"\n")
        out: list[bytes] = []
        for place, line in enumerate(lines):
            if line == b".\r" and self._after_crlf and not self._is_begun:
                out.append(b".\r\n")
                return Passed(b"".join(out), b"\n".join([*lines[place + 1 :], held]))
            out.append(self._stuffed(line.removesuffix(b"\r"), is_alone=True) + b"\r\n")
            self._after_crlf, self._is_begun = line.endswith(b"\r"), False
        if len(held) > MOST_HELD:
            # The last byte may be the CR of its end.
            out.append(self._stuffed(held[:-1], is_alone=False))
            held, self._is_begun = held[-1:], True
        self._held = held
        return Passed(b"".join(out), None)

    def _stuffed(self, line: bytes, *, is_alone: bool) -> bytes:
        """A line, or its beginning, with the dot that it needs. The client doubled those that stand behind CRLF."""
        is_end = is_alone and line == b"."
        is_bare = line.startswith(b".") and not self._after_crlf
        return b"." + line if not self._is_begun and (is_end or is_bare) else line

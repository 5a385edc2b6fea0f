"""Lines out of pieces."""

from __future__ import annotations

import pytest

from pyrepl.errors import PeerError
from pyrepl.replication.lines import MAX_LINE_BYTES, Lines


def test_lines_come_out_whole_however_they_came_in() -> None:
    lines = Lines()
    seen = []
    for byte in b"\n+OK\r\n+CONTINUE\nrest":
        lines.feed(bytes([byte]))
        line = lines.next_line()
        if line is not None:
            seen.append(line)
    assert seen == [b"", b"+OK", b"+CONTINUE"]
    assert lines.take_rest() == b"rest" and lines.rest == b""


def test_a_line_has_a_limit() -> None:
    lines = Lines()
    lines.feed(b"x" * MAX_LINE_BYTES)
    assert lines.next_line() is None
    lines.feed(b"x")
    with pytest.raises(PeerError, match="without a line end"):
        lines.next_line()

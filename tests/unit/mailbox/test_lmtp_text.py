"""A text ends where it ends for every server, and passes unchanged otherwise."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrepl.mailbox.lmtp_text import MOST_HELD, LmtpText

pieces = st.lists(st.sampled_from([b"a", b".", b"\r\n", b"\n", b"\r", b"..", b"\r\n.\r\n", b"\n.\n"]), max_size=12)


def passed(data: bytes, cut: int = 1 << 30) -> tuple[bytes, bytes | None]:
    """What goes on, and what came behind the end, when it comes in pieces of so many bytes."""
    text, out = LmtpText(), b""
    for start in range(0, len(data), cut):
        found = text.feed(data[start : start + cut])
        out += found.data
        if found.rest is not None:
            return out, found.rest + data[start + cut :]
    return out, None


def test_a_text_passes_as_it_is() -> None:
    text = b"Subject: x\r\n\r\nline\r\n..dot\r\n.x\r\n.\r\n"
    assert passed(text + b"QUIT\r\n") == (text, b"QUIT\r\n")
    assert passed(b".\r\n") == (b".\r\n", b"")


@pytest.mark.parametrize("end", [b"\n.\n", b"\n.\r\n", b"\r\n.\n"])
def test_what_ends_a_text_for_some_servers_alone_does_not(end: bytes) -> None:
    assert passed(b"a" + end + b"MAIL FROM:<x>\r\n") == (b"a\r\n..\r\nMAIL FROM:<x>\r\n", None)


def test_a_long_line_goes_on_before_its_end_comes() -> None:
    text = LmtpText()
    line = b"x" * (MOST_HELD + 1) + b"\r"
    assert text.feed(line).data == line[:-1]
    assert text.feed(b"\n.\r\n").data == b"\r\n.\r\n"


@given(data=pieces.map(b"".join), cut=st.integers(1, 5))
def test_pieces_change_nothing_and_only_one_end_can_be_seen(data: bytes, cut: int) -> None:
    whole = passed(data)
    assert passed(data, cut) == whole
    out, rest = whole
    ends = (b"\r\n" + out).replace(b"\r\n", b"\n").count(b"\n.\n")
    assert ends == (rest is not None)
    assert b"\n" not in out.replace(b"\r\n", b"")

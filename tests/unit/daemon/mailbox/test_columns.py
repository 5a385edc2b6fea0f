"""Columns are read as they were written."""

from __future__ import annotations

import pytest

from pyrepl.daemon.mailbox import columns
from pyrepl.errors import PeerError
from pyrepl.mailbox.verbs import Expunge, Save
from pyrepl.mailbox.words import APART, Box, Dot, Register, Stamp, Token


@pytest.mark.parametrize("stamp", [Stamp(0, ""), Stamp(12, "a"), Stamp(0, "b~2")])
def test_stamps(stamp: Stamp) -> None:
    assert columns.stamp_of(columns.stamp_column(stamp)) == stamp


@pytest.mark.parametrize("token", [Token(4, 17), Token(0, APART)])
def test_tokens(token: Token) -> None:
    assert columns.token_of(columns.token_column(token)) == token


@pytest.mark.parametrize("dots", [(), (Dot("a", 1),), (Dot("a", 1), Dot("b~1", 2**63 - 1))])
def test_dots(dots: tuple[Dot, ...]) -> None:
    assert columns.dots_of(columns.dots_column(dots)) == dots


def test_flags() -> None:
    flags = (Register("\\Seen", True, Stamp(1, "a")), Register("a,b=c@d", False, Stamp(2, "b")))
    assert columns.flags_of(columns.flags_column(flags)) == flags
    assert columns.flags_of(columns.flags_column(())) == ()


def test_sums() -> None:
    assert columns.sums_of(columns.sums_column((0, 2**32 - 1, 5))) == (0, 2**32 - 1, 5)
    assert columns.sums_column(()) == b""


@pytest.mark.parametrize(
    "op",
    [
        Save(user="alice", box=Box("INBOX"), guid="G 1", size=3, received=4, at=Dot("a", 9), sum=(1, 2)),
        Expunge(user="a%b", box=Box("0" * 32, True), uids=((1, 4),), guids=("x",), at=Dot("b", 1)),
    ],
)
def test_ops(op: Save | Expunge) -> None:
    assert columns.op_of(columns.op_column(op)) == op


@pytest.mark.parametrize("line", ["", "PING", "QUIT", "SAVE alice", "NONE x"])
def test_what_is_no_op_is_refused(line: str) -> None:
    with pytest.raises(PeerError):
        columns.op_of(line)

"""What is remembered of another member."""

from __future__ import annotations

from pyrepl.mailbox.peers import MOST_ORIGINS, Peer
from pyrepl.mailbox.words import Dot


def test_what_it_told_never_goes_back() -> None:
    peer = Peer("b")
    peer.tells((Dot("a", 3), Dot("b", 7)), {})
    peer.tells((Dot("a", 2), Dot("b", 8)), {})
    assert peer.held == {"a": 3, "b": 8}


def test_it_makes_nobody_remember_more_than_so_many_origins() -> None:
    peer, known = Peer("b"), {"a": 1, "b": 1}
    peer.tells((Dot("a", 1), *(Dot(f"x{number}", 1) for number in range(MOST_ORIGINS - 1))), known)
    assert len(peer.held) == MOST_ORIGINS
    peer.tells((Dot("b", 1),), known)
    assert peer.held == {"a": 1, "b": 1}

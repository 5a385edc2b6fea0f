"""Works are values that say whose mailbox they are about."""

from __future__ import annotations

import pytest

from pyrepl.mailbox.store import AddMessage, MakeBox, RemoveMessage
from pyrepl.mailbox.words import Dot


def test_works_are_compared_by_what_they_say() -> None:
    work = AddMessage("alice", "b1", "G1", 57, ("\\Seen",), 1795333408, 1204, "a.901.G1", Dot("a", 901))
    assert work == AddMessage("alice", "b1", "G1", 57, ("\\Seen",), 1795333408, 1204, "a.901.G1", Dot("a", 901))
    assert work != RemoveMessage("alice", "b1", "G1")
    with pytest.raises(TypeError, match="MakeBox takes user, box, name, uidvalidity, uidnext"):
        MakeBox("alice", "b1")  # type: ignore[call-arg]

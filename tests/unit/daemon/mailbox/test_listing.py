"""What a mailbox holds."""

from __future__ import annotations

from pyrepl.daemon.mailbox.listing import Listing, Message


def test_messages_are_by_uid() -> None:
    one, two = Message(1, b"a", frozenset(), b"/cur/a:2,"), Message(2, b"b", frozenset(), b"/cur/b:2,")
    listing = Listing(7, 3, (one, two), frozenset(), frozenset())
    assert sorted(listing.messages) == [one, two] and listing.next_uid == 3

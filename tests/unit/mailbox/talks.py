"""Both ends of a link in the tests of connections."""

from __future__ import annotations

from typing import Final

from pyrepl.mailbox.members import Member, Members
from pyrepl.mailbox.peer_link import Introduction, PeerLink
from pyrepl.mailbox.talk import Talk, TalkOptions

OPTIONS: Final = TalkOptions()
MEMBERS: Final = Members((Member("a"), Member("b"), Member("w", True)))


def introduction(node: str, secret: bytes = b"s3", members: Members = MEMBERS) -> Introduction:
    return Introduction(node, members, secret, node[0] * 32)


def exchange(one: Talk, other: Talk) -> None:
    """Let each hear what the other says, until both are silent."""
    while True:
        said = [b"".join(end.data_to_send()) for end in (one, other)]
        if not any(said):
            return
        other.receive(said[0], 0.0)
        one.receive(said[1], 0.0)


def opened(options: TalkOptions = OPTIONS) -> tuple[PeerLink, PeerLink]:
    """a has called b, and nothing was said since the greeting; the options are a's."""
    a, b = PeerLink(introduction("a"), "b", options, 0.0), PeerLink(introduction("b"), "", TalkOptions(), 0.0)
    exchange(a, b)
    a.events(), b.events()
    return a, b

"""A link between two nodes, one end of it: the machine of a connection to or from a member.

Not here: who connects to whom and when (the daemon), and what the members say to each other (node.py). What was lost
with a link is no matter of the link: when it is up again, both ends begin with SYNC and their vectors.

    calls                    is called
    HELLO node= nonce= ..    ->
                             <-  HELLO node= nonce= ..
    AUTH mac=                ->
                             <-  AUTH mac=
"""

from __future__ import annotations

from typing import Final, NamedTuple, final

from pyrepl.errors import PeerError
from pyrepl.mailbox.answers import Bad
from pyrepl.mailbox.codec import UNTAGGED, BadLine, Line
from pyrepl.mailbox.greeting import PROTO, Greeting
from pyrepl.mailbox.members import Members
from pyrepl.mailbox.modseqs import Implied
from pyrepl.mailbox.talk import Opened, Talk, TalkOptions, why_size_differs
from pyrepl.mailbox.talk_states import TalkTrigger
from pyrepl.mailbox.verbs import Auth, Hello, Op, Side


class Introduction(NamedTuple):
    """Who this node is. `nonce`: 32 or more hexadecimal digits that were never used before. `is_fresh`: it has no data
    yet. `epoch`: the highest one that it knows."""

    node: str
    members: Members
    secret: bytes
    nonce: str
    is_fresh: bool = False
    epoch: int = 0

    def hello(self) -> Hello:
        digest = self.members.digest()
        return Hello(
            node=self.node,
            proto=PROTO,
            members=digest,
            nonce=self.nonce,
            epoch=self.epoch,
            fresh=self.is_fresh,
        )


@final
class PeerLink(Talk):
    """One end of a link. `peer` is the member at the other end, "" while it is not known."""

    def __init__(self, mine: Introduction, calls: str, options: TalkOptions, now: float) -> None:
        """`calls`: the member that this end connected to; "" if it was called."""
        super().__init__(Side.NODE, options, now)
        self.peer = calls
        self._mine: Final = mine
        self._calls: Final = bool(calls)
        self._implied: Final = Implied()
        self._greeting: Final = Greeting(mine.hello(), mine.secret, calls=self._calls)
        if self._calls:
            self.say(self._greeting.mine, UNTAGGED, now)

    def _hello(self, tag: str, hello: Hello, now: float) -> None:
        self._move(TalkTrigger.HELLO)
        self._check(hello)
        self._greeting.hear(hello)
        self.peer = hello.node
        self.say(self._greeting.proof() if self._calls else self._greeting.mine, UNTAGGED, now)

    def _check(self, hello: Hello) -> None:
        """Raises PeerError for a node that cannot be at the other end."""
        if self._calls and hello.node != self.peer:
            raise PeerError(f"expected the node {self.peer}, got {hello.node or 'none'}: look at mailbox-members")
        if hello.node == self._mine.node:
            raise PeerError(f"two nodes are called {hello.node}: mailbox-node must differ")
        if hello.node not in self._mine.members:
            raise PeerError(f"{hello.node or 'who gives no name'} is no member: add it to mailbox-members, everywhere")
        if hello.members != self._mine.members.digest():
            raise PeerError(
                f"{hello.node} has another list of members: mailbox-members must name the same everywhere,"
                " and mailbox-gap and mailbox-lease be the same"
            )

    def _auth(self, tag: str, auth: Auth, now: float) -> None:
        self._move(TalkTrigger.AUTH)
        self._greeting.check(auth)
        if not self._calls:
            self.say(self._greeting.proof(), UNTAGGED, now)
        theirs = self._greeting.theirs
        assert theirs is not None
        self._tell(Opened(node=self.peer, is_fresh=theirs.fresh, epoch=theirs.epoch))

    def _bad(self, bad: BadLine, now: float) -> None:
        raise PeerError(bad.why)

    def _line(self, line: Line, now: float) -> None:
        why = why_size_differs(line)
        if why is not None:
            raise PeerError(why)
        if isinstance(line.command, Bad) and line.tag == UNTAGGED:
            raise PeerError(f"the other end refused: {line.command.why}")
        self._pass_on(self._numbered(line))

    def _numbered(self, line: Line) -> Line:
        """The line with the modseq that is meant, if an op states none. Raises PeerError if nobody can say which."""
        op = line.command
        if not isinstance(op, Op) or op.at is None:
            return line
        modseq = self._implied.resolve(op.user, op.counted_in, op.modseq)
        if modseq is None:
            raise PeerError(f"{op.VERB}: expected modseq=, as no op on this mailbox came before it on this connection")
        return line if op.modseq is not None else line._replace(command=op.replaced(modseq=modseq))

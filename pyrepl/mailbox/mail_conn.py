"""A connection of a mail process, as its node has it: greeting, rights, and what is answered at once.

A mail process says `HELLO name=..`; on TCP both ends prove that they know the secret, on the socket of this machine
nobody has to. One that states `user=` is not trusted with more: it may only touch this user's mailboxes, it gives out
no UIDs (`uid=*` alone), and so has no use for LOCK. It is how a server lets a user's own program in.

Not here: what commands do (mail_side.py, saving.py).

Source: requirement S1, V9.
"""

from __future__ import annotations

from typing import Final, final

from pyrepl.errors import PeerError
from pyrepl.mailbox.answers import Bad, No, Ok, Reason
from pyrepl.mailbox.codec import BadLine, Line
from pyrepl.mailbox.greeting import Greeting
from pyrepl.mailbox.peer_link import Introduction
from pyrepl.mailbox.talk import SILENCE_S, Opened, Talk, TalkOptions, why_size_differs
from pyrepl.mailbox.talk_states import TalkTrigger
from pyrepl.mailbox.verbs import Auth, Command, Hello, Lock, Save, Side


@final
class MailConn(Talk):
    """The node's end."""

    def __init__(self, mine: Introduction, options: TalkOptions, now: float, *, is_local: bool) -> None:
        """`is_local`: it came by the socket of this machine, whose file's rights say who may."""
        super().__init__(Side.MAIL, options, now, None if is_local else SILENCE_S)
        self.name = ""
        self.user = ""
        """The only user whose mailboxes it may touch; "" for any."""
        self._greeting: Final = Greeting(mine.hello(), mine.secret, calls=False)
        self._is_local: Final = is_local

    def _hello(self, tag: str, hello: Hello, now: float) -> None:
        self._move(TalkTrigger.TRUSTED_HELLO if self._is_local else TalkTrigger.HELLO)
        if not self._is_local:
            self._greeting.hear(hello)
        self.name, self.user = hello.name, hello.user
        self.say(self._greeting.mine, tag, now)
        if self._is_local:
            self._tell(Opened(name=self.name, user=self.user))

    def _auth(self, tag: str, auth: Auth, now: float) -> None:
        self._move(TalkTrigger.AUTH)
        self._greeting.check(auth)
        self.say(self._greeting.proof(), tag, now)
        self._tell(Opened(name=self.name, user=self.user))

    def _bad(self, bad: BadLine, now: float) -> None:
        self._move(TalkTrigger.LINE)
        self.say(Bad(why=bad.why), bad.tag, now)

    def _line(self, line: Line, now: float) -> None:
        if isinstance(line.command, Ok | No | Bad):
            raise PeerError(f"{line.command.VERB} answers nothing: a mail process is asked no questions")
        refusal = self._refusal(line)
        if refusal is None:
            self._pass_on(line)
        else:
            self.say(refusal, line.tag, now)

    def _refusal(self, line: Line) -> No | Bad | None:
        """What a command is answered that goes no further."""
        why = why_size_differs(line)
        if why is not None:
            return Bad(why=why)
        if self.user and not self._may(line.command):
            why = f"this connection is the user {self.user}'s: no other user, no LOCK, and SAVE with uid=* alone"
            return No(reason=Reason.DENIED, why=why)
        return None

    def _may(self, command: Command) -> bool:
        user = command.__dict__.get("user", "")
        is_own = user == self.user
        return is_own and not isinstance(command, Lock) and not (isinstance(command, Save) and command.uid)

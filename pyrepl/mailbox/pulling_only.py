"""What an operator asks for by MAILBOX RESYNC, and what came of it. Not here: how it is done (pulling.py)."""

from __future__ import annotations

from typing import NamedTuple

from pyrepl.mailbox.verbs import State


class Only(NamedTuple):
    """What an operator asks for: a user's mailboxes, or the one of this name. `client` is answered by `tag`."""

    user: str
    box: str
    client: str
    tag: str

    def has(self, state: State) -> bool:
        return state.user == self.user and self.box in ("", state.box.text)


class Resynced(NamedTuple):
    """What was compared for an operator, and with whom. `messages` were not the same; of these `texts` are new."""

    member: str
    boxes: int = 0
    messages: int = 0
    texts: int = 0


def shown(result: Resynced) -> str:
    """For the log."""
    return f"{result.boxes} mailboxes, {result.messages} messages were not the same, {result.texts} texts are new"

"""What a node needs of its store besides works: what gates and folders ask, texts that go out, and the drop folder.

A store is used by one worker for all of a user's works. Not here: the stores (maildir_store.py, doveadm_store.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Protocol

from pyrepl.daemon.mailbox.drop_folder import DropFolder
from pyrepl.daemon.mailbox.fresh_texts import FreshTexts
from pyrepl.mailbox.folders import FolderOrder, FolderResult
from pyrepl.mailbox.gate_states import GateOrder, GateResult
from pyrepl.mailbox.store import MessageStore, Result, Work


class NodeStore(MessageStore, Protocol):
    """Its methods wait for the disk. `fresh`: texts that were read a moment ago."""

    @property
    def fresh(self) -> FreshTexts: ...

    @property
    def drop(self) -> DropFolder: ...

    def clear(self, held: Mapping[str, int], owed: Set[str], own: str = "", uncompared: Set[str] | None = None) -> None:
        """What a crash left is dealt with, and its rows are committed. `held`: the vector; `owed`: texts that works
        need which are not done yet; `own` and `uncompared`: as DropFolder has them."""

    def expect(self, inboxes: Mapping[str, str]) -> None:
        """Users who have mailboxes, each with the GUID of INBOX, "" for none."""

    def check(self, *, writes: bool) -> None:
        """The disk of all Maildirs is there, and if `writes` it takes something. Raises NotThere, OSError."""

    def keep(self, works: Sequence[Work]) -> None:
        """The texts that came for these works are on disk when this returns. Raises NotThere, OSError."""

    def try_again(self, works: Sequence[Work]) -> list[Result]:
        """As `perform`, but no lock is waited for: others have works to do."""

    def gate(self, order: GateOrder) -> GateResult:
        """Do what a gate needs, and tell what is there."""

    def folders(self, order: FolderOrder) -> FolderResult:
        """Which mailboxes a user has, and what is subscribed."""

    def users(self) -> list[str]:
        """Who has mail here. Raises NotThere, OSError."""

    def remember(self, user: str, names: Mapping[str, str]) -> None:
        """Mailboxes that the user has, by GUID, and what clients see them as. Raises OSError, PyreplError."""

    def check_missing(self, user: str, boxes: Iterable[str]) -> None:
        """Of mailboxes that `stored` told now, or did not. Raises OSError, PyreplError where one was not told and may
        be there, as something cannot be read, or something of it is there."""

    def readable_text(self, user: str, guid: str, box: str) -> bytes | None:
        """The path of a message's text, from whatever has it; None if it is nowhere. `box`: the mailbox that probably
        has it, "" if nobody knows. Raises OSError, PyreplError: it cannot be told now."""

"""A store that asks a program which answers as doveadm does."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from pyrepl.daemon.mailbox.doveadm_program import DoveadmProgram
from pyrepl.daemon.mailbox.doveadm_store import DoveadmStore
from pyrepl.daemon.mailbox.files import DiskFiles
from pyrepl.mailbox.maildir.layout import LAYOUTS
from pyrepl.mailbox.store import AddMessage, Outcome, Result, Work
from pyrepl.mailbox.words import Dot
from tests.unit.daemon.mailbox.fake_doveadm import USER, FakeDoveadm

BOX: Final = "f" * 32
"""INBOX's GUID."""
DATE: Final = 1_700_000_000
Shown = dict[int, tuple[str, list[str], bytes]]


class DoveadmRig:
    """Both, in one folder."""

    def __init__(self, folder: Path) -> None:
        self.fake = FakeDoveadm(folder)
        self.followed: list[str] = []
        self._root = os.fsencode(folder)
        self._seq = 0
        self.restart()

    def restart(self) -> None:
        program = DoveadmProgram(self.fake.command)
        self.store = DoveadmStore(DiskFiles(), self._root, program, LAYOUTS["fs"], self.followed.append)
        self.store.prepare()

    def add(self, guid: str, uid: int, *flags: str, text: bytes = b"hello\n", box: str = BOX) -> AddMessage:
        """The work that puts a message there; its text is dropped."""
        self._seq += 1
        at = Dot("b", self._seq)
        coming = self.store.drop.begin(at, guid)
        coming.write(text)
        coming.finish(DATE, len(text), ())
        return AddMessage(USER, box, guid, uid, flags, DATE, len(text), coming.name, at)

    def tell(self, *works: Work) -> None:
        """Works that have to be done."""
        results = self.store.perform(works)
        assert {result.outcome for result in results} == {Outcome.DONE}, results

    def outcome(self, *works: Work) -> Result:
        """How the last one ended."""
        return self.store.perform(works)[-1]

    def shown(self, name: str = "INBOX") -> Shown:
        return self.fake.shown(name)

    def aside(self, box: str = BOX) -> list[str]:
        aside = self.store.drop.aside(box.encode())
        aside.load()
        return aside.guids()

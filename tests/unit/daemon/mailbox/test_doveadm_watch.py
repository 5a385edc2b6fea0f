"""What mail programs change is noticed, for all users by one question."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from pyrepl.daemon.mailbox.doveadm_program import DoveadmProgram
from pyrepl.daemon.mailbox.doveadm_watch import USERS, DoveadmWatch
from pyrepl.mailbox.gate_states import Seen
from pyrepl.mailbox.maildir.layout import LAYOUTS
from tests.unit.daemon.mailbox.fake_doveadm import USER, FakeDoveadm
from tests.unit.daemon.rig import in_loop, until

BOX = "f" * 32
CHANGED = Seen(brought=True)


class Rig:
    def __init__(self, folder: Path) -> None:
        self.fake = FakeDoveadm(folder)
        self.woken = 0
        self.failed: list[Exception] = []
        self.watch = DoveadmWatch(
            DoveadmProgram(self.fake.command), LAYOUTS["fs"], folder, 0.02, self._wake, self.failed.append
        )

    def _wake(self) -> None:
        self.woken += 1

    async def seen(self) -> tuple[dict[str, Seen], list[str]]:
        """What the next question that finds something found."""
        woken = self.woken
        await until(lambda: self.woken > woken, "it wakes")
        return dict(self.watch.take([])), self.watch.take_users()

    async def asked_again(self) -> None:
        asked = len(self.fake.asked())
        await until(lambda: len(self.fake.asked()) > asked + 3, "it asks again")


@asynccontextmanager
async def rig_in(folder: Path) -> AsyncIterator[Rig]:
    rig = Rig(folder)
    try:
        rig.watch.follow(USER)
        assert await rig.seen() == ({BOX: CHANGED}, [USER]), "nobody knows what was before"
        yield rig
    finally:
        rig.watch.close()


@in_loop
async def test_new_mail_flags_folders_and_subscriptions(tmp_path: Path) -> None:
    async with rig_in(tmp_path) as rig:
        await rig.asked_again()
        assert rig.watch.take([]) == [] and rig.watch.take_users() == []
        with rig.fake as mail:
            mail.save("INBOX", b"x")
        assert await rig.seen() == ({BOX: CHANGED}, [])
        with rig.fake as mail:
            mail.boxes["INBOX"]["highest"] += 1
        assert await rig.seen() == ({BOX: CHANGED}, [])
        with rig.fake as mail:
            mail.create("Work", "2" * 32)
        assert await rig.seen() == ({"2" * 32: CHANGED}, [USER])
        with rig.fake as mail:
            mail.boxes["Play"] = mail.boxes.pop("Work")
        assert await rig.seen() == ({}, [USER])
        with rig.fake as mail:
            mail.subscriptions.append("Play")
        assert await rig.seen() == ({}, [USER])


@in_loop
async def test_a_user_of_whom_nothing_can_be_told_counts_as_changed(tmp_path: Path) -> None:
    async with rig_in(tmp_path) as rig:
        rig.fake.refuse("Error: no")
        assert await rig.seen() == ({}, [USER])
        rig.fake.refuse("")
        while not (seen := await rig.seen())[0]:
            pass
        assert seen == ({BOX: CHANGED}, [USER])


@in_loop
async def test_all_users_are_asked_for_by_one_call(tmp_path: Path) -> None:
    async with rig_in(tmp_path) as rig:
        rig.watch.follow("bob")
        rig.watch.follow("bob")
        assert await rig.seen() == ({}, ["bob"])
        assert (tmp_path / ".pyrepl-users").read_text() == "alice\nbob\n"
        assert all(" -F " in line for line in rig.fake.asked())


@in_loop
async def test_what_nobody_expected_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with rig_in(tmp_path) as rig:

        def broken(self: DoveadmProgram, *words: str) -> list[dict[str, str]]:
            raise LookupError("a defect")

        monkeypatch.setattr(DoveadmProgram, "rows", broken)
        await until(lambda: rig.failed != [], "it is told")
        assert str(rig.failed[0]) == "a defect"


@in_loop
async def test_names_of_users_are_utf_8_whatever_the_machine_speaks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, said = Path.write_text, list[object]()

    def write_text(self: Path, data: str, encoding: str | None = None) -> int:
        if self.name == USERS:
            said.append(encoding)
        return real(self, data, encoding)

    monkeypatch.setattr(Path, "write_text", write_text)
    async with rig_in(tmp_path) as rig:
        rig.watch.follow("j\u00f6rg")
        await until(lambda: (tmp_path / USERS).read_bytes().endswith("j\u00f6rg\n".encode()), "he is asked for")
    assert set(said) == {"utf-8"}

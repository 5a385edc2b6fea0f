"""What is kept is opened from its files, and begins again from them."""

from __future__ import annotations

import asyncio
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pyrepl.config.settings import Settings
from pyrepl.daemon.clock import Clock
from pyrepl.daemon.mailbox.configured import configured
from pyrepl.daemon.mailbox.database import DatabaseError
from pyrepl.daemon.mailbox.doveadm_program import DoveadmError, DoveadmProgram
from pyrepl.daemon.mailbox.keeper import NAME
from pyrepl.daemon.mailbox.keeping import Keeping
from pyrepl.daemon.mailbox.maildir_store import MaildirStore
from pyrepl.daemon.mailbox.maildirs_place import NotThere
from pyrepl.daemon.mailbox.sqlite_rows import SqliteRows
from pyrepl.daemon.mailbox.uidlist_lock import LocksHere
from pyrepl.mailbox.verbs import Create
from pyrepl.mailbox.words import Box
from tests.unit.daemon.mailbox.fake_doveadm import FakeDoveadm
from tests.unit.daemon.mailbox.mail_rig import MailProcess, links, members, settings_of
from tests.unit.daemon.mailbox.test_driver import Heard
from tests.unit.daemon.rig import in_loop, running, until


def opened(folder: Path, name: str = "a", **more: Any) -> Keeping:
    settings = Settings(dir=str(folder), **settings_of(folder, name, members("aw"), **more))
    return Keeping(configured(settings, 0.0), settings, Clock(), Heard(folder), LocksHere())


@in_loop
async def test_rows_outlive_it_and_texts_of_before_go(tmp_path: Path) -> None:
    keeping = opened(tmp_path)
    with pytest.raises(DatabaseError, match="another process has it open"):
        opened(tmp_path)
    await keeping.settle()
    node = keeping.driver.node
    node.core.do([Create(user="alice", box=Box("INBOX"), id="1" * 32, uidvalidity=7)])
    await keeping.driver.round()
    origin = node.core.origin
    for number in (1, 99):
        (tmp_path / "mail" / ".pyrepl-drop" / f"{origin}.{number}.text").write_bytes(b"left")
    keeping.stop()
    again = opened(tmp_path)
    await again.settle()
    assert again.driver.node.core.causal.held == {origin: 1}
    assert list((tmp_path / "mail" / ".pyrepl-drop").iterdir()) == []
    assert (tmp_path / "mail" / "alice" / "dovecot-uidlist").exists()
    again.stop()


@in_loop
async def test_every_store_knows_a_mailbox_from_a_copy_of_its_folder_after_a_start(tmp_path: Path) -> None:
    """The mail that the copy does not have would be expunged on all nodes."""
    keeping = opened(tmp_path)
    await keeping.settle()
    for number, name in (("1", "INBOX"), ("2", "Work")):
        keeping.driver.node.core.do([Create(user="alice", box=Box(name), id=number * 32, uidvalidity=7)])
    await keeping.driver.round()
    keeping.stop()
    work = tmp_path / "mail" / "alice" / ".Work"
    shutil.copytree(work, work.with_name(".Work-old"))
    (work / "cur" / "G1,S=4:2,").write_bytes(b"text")
    again = opened(tmp_path)
    await again.settle()
    assert again.workers is not None and len(again.workers.stores) > 1
    for store in again.workers.stores:
        assert isinstance(store, MaildirStore)
        assert store.listing("alice", "2" * 32).unlisted == {b"G1,S=4"}
    again.stop()


@in_loop
async def test_maildirs_that_are_not_there_stop_it(tmp_path: Path) -> None:
    opened(tmp_path).stop()
    keeping = opened(tmp_path)
    await keeping.settle()
    keeping.stop()
    (tmp_path / "mail" / ".pyrepl-mailboxes").unlink()
    with pytest.raises(NotThere, match="is the disk of the Maildirs mounted"):
        opened(tmp_path)


@in_loop
async def test_a_witness_keeps_rows_alone(tmp_path: Path) -> None:
    keeping = opened(tmp_path, "w", mailbox_maildir="")
    await keeping.settle()
    assert keeping.workers is None and keeping.texts is None
    keeping.stop()
    assert list((tmp_path / "mail").iterdir()) == []


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Where a keeper may have its socket; it ends when that is removed."""
    yield tmp_path
    (tmp_path / NAME).unlink(missing_ok=True)


@in_loop
@pytest.mark.parametrize("is_begun", [False, True], ids=["before the start", "beside a gate"])
async def test_flags_that_a_mail_program_changed_outlive_a_crash_before_the_commit(
    folder: Path, monkeypatch: pytest.MonkeyPatch, is_begun: bool
) -> None:
    first = opened(folder, mailbox_gate="on")
    await first.settle()
    first.driver.node.core.do([Create(user="alice", box=Box("INBOX"), id="1" * 32, uidvalidity=7)])
    await first.driver.round()
    first.stop()
    cur, uidlist = folder / "mail/alice/cur", folder / "mail/alice/dovecot-uidlist"
    plain, flagged = cur / "G1,S=4:2,", cur / "G1,S=4:2,F"
    plain.write_bytes(b"text")
    uidlist.write_bytes(uidlist.read_bytes() + b"1 :G1,S=4\n")
    second = opened(folder, mailbox_gate="on")
    await second.settle()
    await _until_known(second, set())
    second.stop()
    if not is_begun:
        plain.rename(flagged)
    third = opened(folder, mailbox_gate="on")
    if is_begun:
        await third.settle()
        plain.rename(flagged)
    monkeypatch.setattr(SqliteRows, "commit", _crash)
    with pytest.raises(Crash):
        await (third.driver.round() if is_begun else third.settle())
    third.stop()
    monkeypatch.undo()
    fourth = opened(folder, mailbox_gate="on")
    await fourth.settle()
    await _until_known(fourth, {"\\Flagged"})
    assert list(cur.iterdir()) == [flagged]
    fourth.stop()


class Crash(Exception):
    """The process ends here."""


def _crash(rows: SqliteRows) -> None:
    raise Crash


async def _until_known(keeping: Keeping, flags: set[str]) -> None:
    """Rounds, until the rows have the message with these flags."""
    for _ in range(100):
        row = keeping.driver.node.core.rows.message("1" * 32, "G1,S=4")
        if row is not None and set(row.set_flags()) == flags:
            return
        await keeping.driver.round()
        await asyncio.sleep(0.01)
    raise AssertionError(f"never {flags}: {row}")


@in_loop
async def test_flags_that_a_mail_program_changed_meanwhile_are_changed_everywhere(tmp_path: Path) -> None:
    nodes = members("ab")
    async with running(tmp_path / "b", **settings_of(tmp_path / "b", "b", nodes)):
        async with running(tmp_path / "a", **settings_of(tmp_path / "a", "a", nodes)) as one:
            process = await MailProcess.of(tmp_path / "a")
            await until(lambda: links(one) == 1)
            await process.ask("CREATE alice INBOX")
            assert (await process.save("G1")).endswith("acks=1")
            assert (await process.ask("STORE alice INBOX uids=1 add=\\Flagged")).endswith("acks=1")
            await until(lambda: not list((tmp_path / "a" / "mail" / ".pyrepl-drop").iterdir()))
        [path] = (tmp_path / "a" / "mail" / "alice" / "cur").iterdir()
        assert path.name.endswith(":2,F")
        path.rename(path.with_name(path.name.removesuffix("F") + "S"))
        async with running(tmp_path / "a", **settings_of(tmp_path / "a", "a", nodes)):
            folder = tmp_path / "b" / "mail" / "alice" / "cur"
            await until(lambda: [each.name[-2:] for each in folder.iterdir()] == [",S"])
            assert [each.name[-2:] for each in path.parent.iterdir()] == [",S"]


async def messages(asking: Any, box: str) -> list[bytes]:
    """The GUIDs of what a node knows in a mailbox; none of a mailbox that it does not know."""
    said = await asking.call(*f"MAILBOX MESSAGES alice {box} 0 9".split())
    return [message[message.index(b"guid") + 1] for message in said] if isinstance(said, list) else []


@in_loop
async def test_mail_that_is_kept_by_doveadm(tmp_path: Path) -> None:
    fake = FakeDoveadm(tmp_path)
    by_doveadm = {"mailbox_store": "doveadm", "mailbox_doveadm": shlex.join(fake.command), "mailbox_poll": 50}
    async with running(tmp_path, **settings_of(tmp_path, "a", members("a"), mailbox_layout="fs", **by_doveadm)) as node:
        process = await MailProcess.of(tmp_path)
        await process.ask("CREATE alice INBOX")
        assert (await process.save("G1", b"hello")).startswith("OK uid=1 ")
        await until(lambda: fake.shown() == {1: ("G1", [], b"hello")}, "Dovecot has it, some moments later")
        with fake as mail:
            mail.save("INBOX", b"own", guid="OWN", flags="\\Seen")
            mail.create("Work")
            mail.save("Work", b"own", guid="OWN2")
        asking = await node.peer()

        for box, guid in (("INBOX", b"OWN"), ("Work", b"OWN2")):
            while guid not in await messages(asking, box):
                await asyncio.sleep(0.05)
        assert (await process.ask("STORE alice INBOX uids=2 add=kw")).startswith("OK")
        await until(lambda: fake.shown()[2][1] == ["\\Seen", "kw"], "Dovecot has the flag")
        with fake as mail:
            mail.boxes["INBOX"]["messages"].pop(0)
        while b"G1" in await messages(asking, "INBOX"):
            await asyncio.sleep(0.05)
        assert "cannot be mended" in await asking.error("MAILBOX SCRUB")


@in_loop
async def test_a_doveadm_of_before_that_cannot_be_ended_leaves_the_gates_to_whoever_has_them(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hold(program: DoveadmProgram, where: Path) -> None:
        raise DoveadmError("still at work")

    monkeypatch.setattr(DoveadmProgram, "hold", hold)
    with pytest.raises(DoveadmError, match="still at work"):
        opened(folder, mailbox_gate="on", mailbox_doveadm="true")
    assert not (folder / NAME).exists(), "no keeper was asked"

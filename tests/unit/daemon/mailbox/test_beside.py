"""A store that is slow keeps nobody waiting, and is compared with the rows as they were when it was looked at."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from pyrepl.daemon.mailbox.beside import MOST_AT_ONCE, Beside, Matters
from pyrepl.daemon.mailbox.disk_watch import DiskRefuses
from pyrepl.daemon.mailbox.keeping import Keeping
from pyrepl.daemon.mailbox.sqlite_rows import SqliteRows
from pyrepl.daemon.mailbox.standing import MOST_PAUSE_S, RETRY_S, StandingUsers
from pyrepl.mailbox.compare import Found, FoundBox
from pyrepl.mailbox.folders import FolderOrder, FolderResult, FoundFolders
from pyrepl.mailbox.gate_states import GateOrder, GateResult, GateWork
from pyrepl.mailbox.store import (
    DONE,
    Ended,
    MakeBox,
    Outcome,
    RaiseNext,
    RemoveMessage,
    Result,
    SetFlags,
    Stored,
    StoredBox,
    Work,
)
from tests.unit.daemon.mailbox.fake_doveadm import FakeDoveadm
from tests.unit.daemon.mailbox.mail_rig import MailProcess, members, settings_of
from tests.unit.daemon.mailbox.test_deeds import pairs
from tests.unit.daemon.mailbox.test_driver import Heard
from tests.unit.daemon.mailbox.test_keeping import messages
from tests.unit.daemon.rig import RunningNode, in_loop, running, until

if TYPE_CHECKING:
    from pyrepl.daemon.mailbox.workers import Workers

USER = "alice"
BOX = "1" * 32
LOOK = GateOrder(GateWork.SHUT, USER, BOX)
LIST = FolderOrder(USER, frozenset())


def flag(guid: str, box: str = BOX) -> SetFlags:
    return SetFlags(USER, box, guid, ("\\Seen",))


class SlowWorkers:
    """Whatever is asked of them waits until it may go on. `result`: how works end."""

    def __init__(self) -> None:
        self.done: list[Work] = []
        self.result = DONE
        self.is_broken = False
        self.why_not = ""
        self.may_go = asyncio.Event()

    async def keep(self, works: Sequence[Work]) -> str:
        return self.why_not

    async def try_again(self, user: str, works: Sequence[Work]) -> list[Result]:
        await self.may_go.wait()
        if self.is_broken:
            raise ZeroDivisionError
        self.done += works if self.result is DONE else []
        return [self.result] * len(works)

    async def stored(self, user: str, names: Mapping[str, str]) -> dict[str, StoredBox]:
        await self.may_go.wait()
        return {BOX: StoredBox("INBOX", False, {"G1": Stored(1, ()), "G2": Stored(2, ())})}

    async def do_gates(self, orders: Sequence[GateOrder]) -> list[GateResult]:
        await self.may_go.wait()
        return [GateResult(FoundBox(tuple(Found(uid, f"G{uid}", frozenset()) for uid in (1, 2))))]

    async def list_folders(self, orders: Sequence[FolderOrder]) -> list[FolderResult]:
        await self.may_go.wait()
        return [FolderResult(FoundFolders((), frozenset()))]


class Rig:
    """Its works beside the rounds."""

    def __init__(self, folder: Path) -> None:
        self.now = 0.0
        self.workers = SlowWorkers()
        self.rows = SqliteRows(folder / "mailbox.db", 1 << 20, lambda: 1000.0)
        self.heard = Heard(folder)
        self.standing = StandingUsers(self.rows, self.heard, lambda: self.now)
        self.woken = 0
        self.begin()

    def begin(self) -> None:
        self.behind: set[str] = set()
        workers = cast("Workers", self.workers)
        self.beside = Beside(self.rows, workers, self.standing, self.behind, self._wake)

    def _wake(self) -> None:
        self.woken += 1

    async def round(self, *works: Work) -> list[Ended]:
        """As the driver's."""
        ended = await self.beside.pay()
        assert await self.beside.perform(works) == [], "nothing is done in the round"
        self.rows.commit()
        self.beside.committed()
        return ended

    async def go(self) -> None:
        """What is under way ends."""
        self.workers.may_go.set()
        for _ in range(5):
            await asyncio.sleep(0)
        self.workers.may_go.clear()

    async def looked(self) -> GateResult:
        [(_, result)] = (await self.beside.look([], [])).gates
        return result

    async def listed(self) -> FolderResult:
        [(_, result)] = (await self.beside.look([], [])).folders
        return result

    def close(self) -> None:
        self.beside.stop()
        self.rows.close()


def untold(result: GateResult) -> set[str]:
    assert result.found is not None
    assert {each.guid for each in result.found.messages} == {"G1", "G2"} - result.found.untold
    return set(result.found.untold)


@in_loop
async def test_works_are_owed_and_done_in_their_order_by_portions(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    works = [flag(f"G{number}") for number in range(MOST_AT_ONCE + 1)]
    assert await rig.round(*works) == [] and rig.rows.owing() == {USER: len(works)}
    last = RemoveMessage(USER, BOX, "G0")
    assert await rig.round(last) == [] and rig.workers.done == []
    await rig.go()
    assert [each.work for each in await rig.round()] == works[:MOST_AT_ONCE] and rig.woken == 1
    await rig.go()
    assert rig.behind == {USER}
    assert [each.work for each in await rig.round()] == [works[-1], last] and rig.rows.owing() == {}
    assert rig.behind == set() and rig.woken == 3, "whoever waits for her is told"
    assert rig.workers.done == [*works, last]
    rig.close()


@in_loop
async def test_of_what_works_are_about_a_look_tells_nothing(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    await rig.round(flag("G1"))
    await rig.beside.look([LOOK], [])
    await rig.round(flag("G2", "2" * 32), RaiseNext(USER, BOX, 9))
    await rig.go()
    await rig.round()
    # The first work was done when it was looked, but nobody knows whether before that.
    assert untold(await rig.looked()) == {"G1"}
    await rig.beside.look([LOOK], [])
    await rig.round(flag("G2"))
    await rig.go()
    await rig.round()
    assert untold(await rig.looked()) == {"G2"}
    await rig.go()
    await rig.round()
    await rig.beside.look([LOOK], [])
    await rig.go()
    assert untold(await rig.looked()) == set()
    rig.close()


@in_loop
async def test_a_listing_counts_only_where_no_mailbox_was_changed(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    await rig.beside.look([], [LIST])
    await rig.round(MakeBox(USER, BOX, "Work", 7, 1))
    await rig.go()
    assert (await rig.listed()).is_busy
    await rig.round()
    await rig.beside.look([], [LIST])
    await rig.round(flag("G1"))
    await rig.go()
    assert (await rig.listed()).found is not None
    rig.close()


@in_loop
async def test_a_disk_that_takes_no_texts_ends_the_round_and_nothing_is_owed(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    rig.workers.why_not = "no room"
    with pytest.raises(DiskRefuses, match="no room"):
        await rig.round(flag("G1"))
    assert rig.rows.owing() == {} and rig.behind == set()
    rig.close()


@in_loop
async def test_a_user_whose_store_refuses_stands_still(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    rig.workers.result = Result(Outcome.FAILED, "no")
    await rig.round(flag("G1"))
    await rig.go()
    assert await rig.round() == [] and rig.heard.refusals == ["alice: no"] and rig.behind == set()
    await rig.round(flag("G2"))
    assert rig.beside.next_deadline() == RETRY_S and rig.rows.owing() == {USER: 2}
    rig.now = RETRY_S
    await rig.round()
    assert rig.beside.next_deadline() == float("inf"), "it is tried at this moment"
    await rig.go()
    rig.workers.result = DONE
    await rig.round()
    rig.now += MOST_PAUSE_S
    await rig.round()
    await rig.go()
    assert len(await rig.round()) == 2 and rig.heard.refusals == ["alice: no", "alice goes on"]
    rig.close()


@in_loop
async def test_who_could_not_be_compared_is_when_all_is_done_that_is_owed(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    rig.rows.put_owed(flag("G9"))
    rig.begin()
    rig.standing.begin({USER: "owed"})
    await rig.round()
    await rig.go()
    assert [each.work for each in await rig.round()] == [flag("G9")] and await rig.beside.compared() == {}
    # What comes meanwhile is owed, and of its messages nothing is concluded.
    await rig.round(flag("G2"))
    await rig.go()
    [(user, stored)] = (await rig.beside.compared()).items()
    assert user == USER and stored[BOX].messages.keys() == {"G1"} and rig.standing.users == {}
    rig.close()


@in_loop
async def test_a_defect_ends_the_round(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    rig.workers.is_broken = True
    await rig.round(flag("G1"))
    await rig.go()
    with pytest.raises(ZeroDivisionError):
        await rig.round()
    rig.close()


def test_what_nobody_asks_for_is_forgotten() -> None:
    matters = Matters()
    matters.put(flag("G1"), 5)
    matters.put(flag("G2"), 6)
    assert matters.messages(BOX, 4) == {"G1", "G2"} and matters.messages(BOX, 5) == {"G2"}
    assert matters.messages("2" * 32, 0) == frozenset() and not matters.has_boxes(0)
    matters.forget(5)
    assert matters.messages(BOX, 0) == {"G2"}


@asynccontextmanager
async def by_doveadm(folder: Path, fake: FakeDoveadm) -> AsyncIterator[RunningNode]:
    """A node alone, with a doveadm that may hang."""
    more = {"mailbox_store": "doveadm", "mailbox_doveadm": shlex.join(fake.command), "mailbox_poll": 50}
    async with running(folder, **settings_of(folder, "a", members("a"), mailbox_layout="fs", **more)) as node:
        yield node


def keeping(node: RunningNode) -> Keeping:
    assert node.app.mailboxes is not None and node.app.mailboxes.conns.keeping is not None
    return node.app.mailboxes.conns.keeping


@in_loop
async def test_a_doveadm_that_hangs_keeps_no_node_from_answering(tmp_path: Path) -> None:
    fake = FakeDoveadm(tmp_path)
    async with by_doveadm(tmp_path, fake) as node:
        process = await MailProcess.of(tmp_path)
        await process.ask("CREATE alice INBOX")
        assert (await process.save("G1")).startswith("OK uid=1 ")
        await until(lambda: 1 in fake.shown(), "Dovecot has it")
        fake.hold()
        with fake as mail:
            mail.save("INBOX", b"own", guid="OWN")
        for number in range(2, 5):
            assert (await process.save(f"G{number}")).startswith("OK")
        assert (await process.ask("STORE alice INBOX uids=1 add=\\Seen")).startswith("OK")
        assert (await process.ask("EXPUNGE alice INBOX uids=2")).startswith("OK")
        driver = keeping(node).driver
        rounds = driver.rounds
        await until(lambda: driver.rounds > rounds + 3, "rounds go on")
        assert list(fake.shown()) == [1, 2] and fake.shown()[1][1] == []
        owed = pairs(await node.say("MAILBOX STATUS"))[b"works-owed"]
        assert owed >= 5 and "works-owed" in await (await node.peer()).error("MAILBOX LEAVE")
        fake.let_go()
        asking = await node.peer()
        while sorted(await messages(asking, "INBOX")) != [b"G1", b"G3", b"G4", b"OWN"]:
            await asyncio.sleep(0.05)
        await until(lambda: {each[0] for each in fake.shown().values()} == {"G1", "G3", "G4", "OWN"}, "so has Dovecot")
        await until(lambda: fake.shown()[1] == ("G1", ["\\Seen"], b"hello"), "and its flag")
        assert not any(node.logged(f"Mailboxes: {word}") for word in ("folders_", "gate_", "uid_burned"))

"""Rounds of the machine: nothing is told before it is on disk, and a disk that refuses ends them. Requirement R4."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import pytest

from pyrepl.daemon.mailbox.database import DatabaseError
from pyrepl.daemon.mailbox.disk_watch import DiskRefuses
from pyrepl.daemon.mailbox.driver import Driver, Watch
from pyrepl.daemon.mailbox.sqlite_rows import SqliteRows
from pyrepl.daemon.mailbox.workers import Workers
from pyrepl.errors import PyreplError
from pyrepl.mailbox.answers import Ok
from pyrepl.mailbox.boxes import view
from pyrepl.mailbox.compare import Found, FoundBox
from pyrepl.mailbox.folders import FolderOrder, FolderResult, FoundFolder, FoundFolders
from pyrepl.mailbox.gate_states import Blind, GateOrder, GateResult, GateWork, Seen
from pyrepl.mailbox.members import Member, Members
from pyrepl.mailbox.node import Node, NodeOptions
from pyrepl.mailbox.sending import Counted, Notice, Reply, Send
from pyrepl.mailbox.store import Ended
from pyrepl.mailbox.told import Row
from pyrepl.mailbox.verbs import Create, Expunge, Op, Save, Store
from pyrepl.mailbox.words import Box, Dot, Stamp, Token
from tests.unit.daemon.mailbox.store_rig import dropped, new_disk, new_store
from tests.unit.daemon.rig import in_loop, until


class Heard:
    """What the node said, and what was on disk then."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.replies: list[Reply] = []
        self.refusals: list[str] = []
        self.unneeded_texts: list[str] = []
        self.counted: Counter[Counted] = Counter()
        self.rows: list[Row] = []

    def send(self, send: Send) -> None:
        raise AssertionError(f"nobody is there for {send}")

    def reply(self, reply: Reply) -> None:
        self.replies.append(reply)

    def note(self, notice: Notice) -> None: ...

    def count(self, counted: Counter[Counted]) -> None:
        self.counted.update(counted)

    listens = True

    def told(self, row: Row) -> None:
        self.rows.append(row)

    def unneeded(self, texts: Sequence[str]) -> None:
        self.unneeded_texts += texts

    def stopped(self, user: str, reason: str) -> None:
        self.refusals.append(f"{user}: {reason}")

    def resumed(self, user: str) -> None:
        self.refusals.append(f"{user} goes on")


class Rig:
    """A node on a disk in memory."""

    def __init__(self, folder: Path, watch: Watch | None = None, members: str = "a") -> None:
        """`members`: one letter each; the others are not there but in what a test says for them."""
        self.folder = folder
        self.disk = new_disk()
        self.store = new_store(self.disk, is_new=True)
        self.now = 0.0
        self.rows = SqliteRows(folder / "mailbox.db", 1 << 20, lambda: 1000.0)
        options = NodeOptions(unix_s=1_795_000_000.0, expunge_guard=None if watch is None else 100)
        node = Node("a", Members(tuple(map(Member, members))), self.rows, 0.0, options)
        self.heard = Heard(folder)
        self.workers = Workers([self.store])
        self.driver = Driver(node, self.rows, self.workers, self.heard, lambda: self.now, 3600, watch)
        self.driver.is_settled = True

    async def elected(self) -> None:
        """Let time pass until this node is the root."""
        for _ in range(80):
            self.now += 0.1
            await self.driver.round()
        assert self.driver.node.mastering.root.is_root

    def create(self, user: str = "alice") -> None:
        self.driver.tell(lambda node, now: node.hear_mail("m", "1", Create(user=user, box=Box("INBOX")), "", now))

    def save(self, guid: str, user: str = "alice") -> None:
        name = dropped(self.store, guid, b"hello")
        save = Save(user=user, box=Box("INBOX"), guid=guid, size=5, received=1)
        self.driver.tell(lambda node, now: node.hear_mail("m", "2", save, name, now))

    def hear_of_b(self, seq: int, op: Op) -> None:
        """What the member b did, with the tag o1, o2, .."""
        text = dropped(self.store, op.guid, b"hello", seq) if isinstance(op, Save) else ""
        made = op.replaced(at=Dot("b", seq), modseq=seq)
        self.driver.tell(lambda node, now: node.hear("b", f"o{seq}", made, text, now))

    def after_a_power_cut(self) -> dict[str, int]:
        """What the database would say it has if the power were cut now: what is in its files."""
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        for path in self.folder.glob("mailbox.db*"):
            shutil.copy(path, folder)
        rows = SqliteRows(folder / "mailbox.db", 1 << 20, lambda: 1000.0)
        held = rows.held()
        rows.close()
        return held

    def close(self) -> None:
        self.workers.stop()
        self.rows.close()


@in_loop
async def test_what_is_told_first_is_heard_first_and_who_watches_looks_until_it_has_seen(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    heard: list[str] = []
    rig.driver.tell(lambda node, now: heard.append("late"))
    rig.driver.tell(lambda node, now: heard.append("first"), first=True)

    def watcher() -> bool:
        heard.append(f"rows {rig.rows.is_dirty}")
        return heard.count("rows False") == 2

    rig.driver.watch(watcher)
    for _ in range(3):
        await rig.driver.round()
    assert heard == ["first", "late", "rows False", "rows False"]
    rig.close()


@in_loop
async def test_one_commit_serves_all_that_came(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    await rig.elected()
    rig.create()
    for number in range(5):
        rig.save(f"G{number}")
    before = rig.driver.rounds
    await rig.driver.round()
    assert rig.driver.rounds == before + 1 and not rig.rows.is_dirty
    assert [type(reply.answer) for reply in rig.heard.replies] == [Ok] * 6
    assert len(rig.disk.names(b"/mail/alice/cur")) == 5
    assert rig.driver.node.core.causal.held == {"a": 6}
    await until(lambda: rig.disk.names(b"/mail/.pyrepl-drop") == [])
    rig.close()


class FakeWatch:
    """Tells what it was given; `asked`: whose lock files it was asked to pass over, each time."""

    unwatched = Blind()

    def __init__(self) -> None:
        self.seen: list[tuple[str, Seen]] = []
        self.users: list[str] = []
        self.asked: list[list[str]] = []

    def take(self, ours: Sequence[str]) -> list[tuple[str, Seen]]:
        self.asked.append(list(ours))
        seen, self.seen = self.seen, []
        return seen

    def take_users(self) -> list[str]:
        users, self.users = self.users, []
        return users


@in_loop
async def test_a_round_looks_at_what_it_hears_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    watch, orders = FakeWatch(), list[GateWork]()
    rig = Rig(tmp_path, watch)
    meanwhile: list[Callable[[], None]] = []

    def gate(order: GateOrder) -> GateResult:
        orders.append(order.work)
        while meanwhile:
            meanwhile.pop()()
        return GateResult(None if order.work is GateWork.OPEN else FoundBox(()))

    monkeypatch.setattr(rig.store, "gate", gate)
    monkeypatch.setattr(rig.store, "folders", lambda order: FolderResult(why="not now"))
    await rig.elected()
    rig.create()
    await rig.driver.round()
    guid = rig.driver.node.core.rows.boxes("alice")[0].guid
    for _ in range(2):
        await rig.driver.round()
    assert orders == [GateWork.SHUT] and watch.asked[-2:] == [[], [guid]], "who read that lock file was this node"
    watch.seen = [(guid, Seen(reads=True))]
    await rig.driver.round()
    assert orders == [GateWork.SHUT], "a LOCK is on disk before the gate is opened"
    await rig.driver.round()
    assert orders == [GateWork.SHUT, GateWork.OPEN]
    watch.seen = [(guid, Seen(released=True))]
    watch.asked.clear()
    await rig.driver.round()
    assert orders[2:] == [GateWork.GLANCE] and watch.asked == [[]], "what comes meanwhile is left to the watch"
    gates = rig.driver.node.gates
    assert gates is not None
    news, heard = gates.news, list[int]()

    def deliver() -> None:
        watch.seen = [(guid, Seen(brought=True))]
        rig.driver.tell(lambda node, now: heard.append(gates.news))

    meanwhile.append(deliver)
    watch.seen = [(guid, Seen(released=True))]
    await rig.driver.round()
    assert heard == [news + 2], "who tells of a delivery is heard behind its mail"
    rig.close()


@in_loop
async def test_a_mailbox_with_an_open_gate_is_renewed_and_keeps_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = FakeWatch()
    rig = Rig(tmp_path, watch)
    node, looked = rig.driver.node, list[GateWork]()

    def gate(order: GateOrder) -> GateResult:
        looked.append(order.work)
        found = (Found(1, "G1", frozenset()),) if rig.rows.message(order.box, "G1") else ()
        return GateResult(None if order.work is GateWork.OPEN else FoundBox(found))

    def folders(order: FolderOrder) -> FolderResult:
        places = (FoundFolder(place.name, place.guid.decode()) for place in rig.store.boxes(order.user))
        return FolderResult(FoundFolders(tuple(places), frozenset()))

    async def rounds(count: int) -> None:
        for _ in range(count):
            rig.now += 0.1
            watch.users = ["alice"]
            await rig.driver.round()

    monkeypatch.setattr(rig.store, "gate", gate)
    monkeypatch.setattr(rig.store, "folders", folders)
    await rig.elected()
    rig.create()
    rig.save("G1")
    await rounds(3)
    [old] = rig.rows.boxes("alice")
    watch.seen = [(old.guid, Seen(reads=True))]
    await rounds(5)
    assert looked[-1] is GateWork.OPEN
    rig.driver.tell(lambda node, now: node.renew("m", "3", old, now))
    await rounds(20)
    [(guid, (name, _))] = view(rig.rows, "alice").items()
    assert guid != old.guid and name == "INBOX" and [row.guid for row in rig.rows.messages(guid)] == ["G1"]
    assert [place.name for place in rig.store.boxes("alice")] == ["INBOX"] and rig.heard.refusals == []
    assert node.core.notices() == []
    rig.close()


@in_loop
async def test_what_follows_from_works_that_were_done_is_on_disk_before_anybody_hears_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when a mailbox is gone, and its mastership is given away."""
    rig = Rig(tmp_path, FakeWatch())
    monkeypatch.setattr(rig.store, "folders", lambda order: FolderResult(why="not now"))
    await rig.elected()
    were_dirty: list[bool] = []

    def worked(ended: Sequence[Ended], now: float) -> None:
        for each in ended:
            [box] = rig.rows.boxes(each.work.user)
            rig.rows.put_box(box._replace(uidnext=50))

    monkeypatch.setattr(rig.driver.node.gates, "worked", worked)
    monkeypatch.setattr(rig.heard, "reply", lambda reply: were_dirty.append(rig.rows.is_dirty))
    rig.create()
    await rig.driver.round()
    assert were_dirty == [False] and rig.rows.boxes("alice")[0].uidnext == 50
    rig.close()


BOX_ID: Final = "1" * 32
OF_B: Final[list[Op]] = [
    Create(user="alice", box=Box("INBOX"), id=BOX_ID, uidvalidity=5, stamp=Stamp(1, "b")),
    Save(user="alice", box=Box(BOX_ID, True), uid=1, guid="G1", size=5, received=1, token=Token(1, 0)),
    Store(user="alice", box=Box(BOX_ID, True), guids=("G1",), add=("\\Seen",)),
    Expunge(user="alice", box=Box(BOX_ID, True), guids=("G1",), kills=(Dot("b", 2),)),
]


@in_loop
async def test_r4_a_tagged_command_of_a_member_is_answered_after_the_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When an answer leaves, a power cut would leave the op that it is about, and the message in the Maildir."""
    rig = Rig(tmp_path, members="ab")
    answered: list[tuple[str, dict[str, int], int]] = []

    def send(send: Send) -> None:
        if isinstance(send.command, Ok):
            answered.append((send.tag, rig.after_a_power_cut(), len(rig.disk.names(b"/mail/alice/cur"))))

    monkeypatch.setattr(rig.heard, "send", send)
    rig.driver.tell(lambda node, now: node.link_up("b", now))
    for seq, op in enumerate(OF_B, 1):
        rig.hear_of_b(seq, op)
        await rig.driver.round()
    assert answered == [(f"o{seq}", {"b": seq}, seq in (2, 3)) for seq in (1, 2, 3, 4)]
    rig.close()


@in_loop
async def test_what_takes_away_is_done_after_the_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A power cut before that would leave the message's row, and no message."""
    rig = Rig(tmp_path, members="ab")
    monkeypatch.setattr(rig.heard, "send", lambda send: None)
    held: list[dict[str, int]] = []

    def before_call(number: int, what: str, path: bytes) -> None:
        if what == "unlink" and path.startswith(b"/mail/alice/cur/"):
            held.append(rig.after_a_power_cut())

    rig.disk.before_call = before_call
    for seq, op in enumerate(OF_B, 1):
        rig.hear_of_b(seq, op)
        await rig.driver.round()
    assert held == [{"b": 4}] and rig.disk.names(b"/mail/alice/cur") == []
    rig.close()


@in_loop
async def test_r4_a_command_whose_commit_fails_is_not_answered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the member whose op it was hears OK nor a mail process: both learn by the end of their connections that
    they have to ask again."""
    rig = Rig(tmp_path, members="ab")
    said: list[Send] = []
    monkeypatch.setattr(rig.heard, "send", said.append)
    rig.driver.tell(lambda node, now: node.link_up("b", now))
    await rig.driver.round()

    def commit() -> None:
        raise DatabaseError("disk full")

    monkeypatch.setattr(rig.rows, "commit", commit)
    rig.hear_of_b(1, OF_B[0])
    rig.create("bob")
    before = len(said)
    with pytest.raises(DatabaseError):
        await rig.driver.round()
    assert said[before:] == [] == rig.heard.replies
    rig.close()


@in_loop
async def test_a_disk_of_all_maildirs_that_refuses_ends_the_round_and_nobody_is_told(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    await rig.elected()
    rig.create()
    rig.disk.unlink(b"/mail/.pyrepl-mailboxes")
    with pytest.raises(DiskRefuses, match=r"is missing: is the disk of the Maildirs mounted\?"):
        await rig.driver.round()
    assert rig.heard.replies == [] and rig.heard.refusals == [] and rig.driver.standing == {}
    rig.close()
    rows = SqliteRows(tmp_path / "mailbox.db", 1 << 20, lambda: 1000.0)
    assert rows.users() == [], "nothing of it was committed"
    rows.close()


@in_loop
async def test_it_waits_for_what_happens_and_for_time(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    await rig.elected()
    running = asyncio.create_task(rig.driver.run())
    rig.create()
    await until(lambda: rig.heard.replies)
    rounds = rig.driver.rounds
    rig.now += 5.0
    await until(lambda: rig.driver.rounds > rounds + 1)
    running.cancel()
    rig.close()


@in_loop
async def test_what_a_round_left_is_done_at_once_but_not_again_and_again(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    # Due at any time: a round that never comes cannot do it.
    rig.driver.node._settle_at = 0.0
    waits: list[bool] = []
    for _ in range(4):
        waiting = asyncio.create_task(rig.driver._wait())
        await asyncio.sleep(0)
        waits.append(not waiting.done())
        await waiting
    assert waits == [False, True, False, True]
    rig.close()


@in_loop
async def test_what_fails_in_the_machine_ends_the_rounds(tmp_path: Path) -> None:
    rig = Rig(tmp_path)

    def fails(node: Node, now: float) -> None:
        raise PyreplError("a defect")

    rig.driver.tell(fails)
    with pytest.raises(PyreplError, match="a defect"):
        await rig.driver.run()
    rig.close()

"""The shell of a connection: commands in order behind their texts, texts out in pieces, bounds on what waits."""

from __future__ import annotations

import asyncio
import socket

from pyrepl.daemon.mailbox.drop_folder import DropFolder
from pyrepl.daemon.mailbox.sockets import Sockets
from pyrepl.daemon.mailbox.talk_conn import LINGER_S, MOST_WAITING, TalkConn
from pyrepl.daemon.mailbox.text_writer import ComingText, TextWriter
from pyrepl.daemon.wires.plain_wire import PlainWire
from pyrepl.mailbox.answers import Ok, Reason
from pyrepl.mailbox.mail_conn import MailConn
from pyrepl.mailbox.outgoing import TextWanted
from pyrepl.mailbox.talk import Came, Lost, Opened, TalkOptions, TextCame
from pyrepl.mailbox.verbs import Command, RootPing, Save
from pyrepl.mailbox.words import Box, Dot
from tests.unit.daemon.mailbox.store_rig import new_disk
from tests.unit.daemon.rig import in_loop, soon, until
from tests.unit.mailbox.talks import introduction


class Owner:
    """Keeps what it is told; texts go to a disk in memory."""

    def __init__(self) -> None:
        self.disk = new_disk()
        drop = DropFolder(self.disk, b"/mail")
        drop.prepare()
        self.texts = TextWriter(drop)
        self.told: list[str] = []
        self.fetched = b"t" * 600_000
        self.time = 0.0
        self.has_ended = False

    def now(self) -> float:
        return self.time

    def opened(self, conn: TalkConn, opened: Opened) -> None:
        self.told.append(f"opened {opened.name}")

    def coming(self, conn: TalkConn, came: Came) -> ComingText:
        size = came.command.__dict__["size"]
        sums = came.command.__dict__["sum"]
        coming: ComingText
        coming = self.texts.begin(Dot("a", 1), "G", 1, size, sums, lambda kept: conn.text_done(coming, kept))
        return coming

    def heard(self, conn: TalkConn, tag: str, command: Command, text: str) -> None:
        self.told.append(" ".join([tag, command.VERB, *([text] if text else [])]))

    def wrong_text(self, conn: TalkConn, why: str) -> None:
        self.told.append("wrong text")

    def wants_text(self, conn: TalkConn, wanted: TextWanted) -> None:
        conn.text_is(len(self.fetched) or Reason.NOUID)

    def wants_piece(self, conn: TalkConn, wanted: TextWanted, start: int, size: int) -> None:
        asyncio.get_running_loop().call_soon(conn.add_piece, self.fetched[start : start + size])

    def lost(self, conn: TalkConn, lost: Lost) -> None:
        self.told.append(f"lost {lost.reason}")

    def ended(self, conn: TalkConn) -> None:
        self.has_ended = True


class Rig:
    def __init__(self) -> None:
        self.owner = Owner()
        self.sockets = Sockets()
        ours, self.theirs = socket.socketpair()
        self.theirs.setblocking(False)
        self.conn = TalkConn(self.owner, MailConn(introduction("a"), TalkOptions(), 0.0, is_local=True), "here")
        self.conn.enter(self.sockets.add(PlainWire(ours), self.conn))
        self.theirs.send(b"* HELLO name=x\n")

    async def heard(self, count: int) -> list[str]:
        await until(lambda: len(self.owner.told) >= count, f"{count}, not {self.owner.told}")
        return self.owner.told

    def close(self) -> None:
        self.sockets.close()
        self.owner.texts.stop()


SAVE = b"1 SAVE alice INBOX guid=G size=5 received=1 {5}\n"


@in_loop
async def test_r1_a_command_waits_for_its_text_and_those_behind_it_wait_too() -> None:
    rig = Rig()
    rig.theirs.send(SAVE + b"hel")
    rig.theirs.send(b"lo2 CHECK\n")
    assert await rig.heard(3) == ["opened x", "1 SAVE a.1.G", "2 CHECK"]
    assert rig.owner.disk.read(b"/mail/.pyrepl-drop/a.1.G") == b"hello"
    rig.close()


@in_loop
async def test_nothing_is_heard_of_who_is_held_and_all_when_it_is_let_go() -> None:
    rig = Rig()
    rig.theirs.send(b"1 CHECK\n")
    await rig.heard(2)
    rig.conn.hold(True)
    rig.theirs.send(SAVE + b"hello2 CHECK\n")
    rig.owner.time = 1000.0
    rig.conn.tick(1000.0)
    await asyncio.sleep(0.05)
    assert len(rig.owner.told) == 2 and not rig.conn.talk.is_over, "nor does it have to say anything"
    rig.conn.hold(False)
    assert (await rig.heard(4))[2:] == ["1 SAVE a.1.G", "2 CHECK"]
    rig.close()


@in_loop
async def test_what_is_whole_of_who_is_held_is_heard_when_it_is_gone() -> None:
    rig = Rig()
    await rig.heard(1)
    rig.conn.hold(True)
    rig.theirs.send(b"1 CHECK\n2 CHECK\n")
    rig.theirs.close()
    rig.conn.hold(False)
    assert (await rig.heard(4))[1:3] == ["1 CHECK", "2 CHECK"] and rig.owner.told[3].startswith("lost ")
    rig.close()


@in_loop
async def test_what_leases_are_about_waits_for_no_text() -> None:
    rig = Rig()
    rig.theirs.send(SAVE + b"hel")
    await rig.heard(1)
    ping = RootPing(epoch=1, node="b", root="b")
    rig.conn._on(Came("r1", ping, False))
    rig.theirs.send(b"lo")
    assert await rig.heard(3) == ["opened x", "r1 ROOT-PING", "1 SAVE a.1.G"]
    rig.close()


@in_loop
async def test_what_was_whole_is_heard_though_the_other_end_is_gone() -> None:
    rig = Rig()
    rig.theirs.send(SAVE + b"hello" + SAVE + b"he")
    rig.theirs.close()
    assert await rig.heard(3) == ["opened x", "1 SAVE a.1.G", "lost the other end closed it"]
    rig.close()


@in_loop
async def test_a_text_that_cannot_be_kept_is_refused() -> None:
    rig = Rig()
    rig.owner.disk.remove_folder(b"/mail/.pyrepl-drop")
    rig.theirs.send(SAVE + b"hello2 CHECK\n")
    assert (await rig.heard(2))[1] == "2 CHECK"
    said = await soon(asyncio.get_running_loop().sock_recv(rig.theirs, 1000))
    assert said.splitlines()[-1].startswith(b"1 NO FAILED why=")
    rig.close()


@in_loop
async def test_a_text_that_is_another_is_refused() -> None:
    rig = Rig()
    rig.theirs.send(SAVE.replace(b" {5}", b" sum=00000001 {5}") + b"hello2 CHECK\n")
    assert (await rig.heard(2))[1] == "2 CHECK"
    said = await soon(asyncio.get_running_loop().sock_recv(rig.theirs, 1000))
    assert b"1 NO FAILED why=" in said
    rig.close()


@in_loop
async def test_l8_an_op_of_a_node_with_another_text_is_heard_without_it_and_an_answer_as_refused() -> None:
    rig = Rig()
    await rig.heard(1)
    save = Save(user="alice", box=Box("INBOX"), guid="G", size=5, received=1, sum=(1,), at=Dot("b", 1))
    for tag, command in (("1", save), ("2", Ok(size=5, sum=(1,)))):
        rig.conn._on(Came(tag, command, True))
        rig.conn._on(TextCame(b"hello", True))
    assert await rig.heard(5) == ["opened x", "wrong text", "1 SAVE", "wrong text", "2 NO"]
    rig.close()


@in_loop
async def test_a_large_text_goes_out_in_pieces() -> None:
    rig = Rig()
    await rig.heard(1)
    rig.conn.say(Ok(size=600_000), "7", ("alice", "G"))
    found = b""
    while not found.endswith(b"ttt") or len(found) < 600_000:
        found += await soon(asyncio.get_running_loop().sock_recv(rig.theirs, 1 << 20))
    assert found.endswith(b"\n7 OK size=600000 {600000}\n" + rig.owner.fetched)
    rig.close()


@in_loop
async def test_texts_that_are_at_hand_go_out_at_once() -> None:
    rig = Rig()
    await rig.heard(1)
    rig.owner.fetched = b"text"
    rig.owner.wants_piece = lambda conn, wanted, start, size: conn.add_piece(b"text")  # type: ignore[method-assign]
    for number in range(2000):
        rig.conn.talk.say(Ok(size=4), f"{number}", 0.0, ("alice", "G"))
    rig.conn.work()
    found = b""
    while b"1999 OK" not in found or not found.endswith(b"text"):
        found += await soon(asyncio.get_running_loop().sock_recv(rig.theirs, 1 << 20))
    assert found.count(b" OK size=4 {4}\ntext") == 2000
    rig.close()


@in_loop
async def test_a_text_that_is_gone_or_ends_too_early() -> None:
    rig = Rig()
    await rig.heard(1)
    fetched, rig.owner.fetched = rig.owner.fetched, b""
    rig.conn.say(Ok(size=600_000), "7", ("alice", "G"))
    found = await soon(asyncio.get_running_loop().sock_recv(rig.theirs, 1 << 20))
    assert found.endswith(b"7 NO NOUID\n")
    rig.owner.fetched = fetched
    rig.conn.say(Ok(size=600_000), "8", ("alice", "G"))
    rig.owner.fetched = b""
    assert (await rig.heard(2))[1] == "lost a text became shorter while it was sent"
    rig.close()


@in_loop
async def test_nothing_is_read_while_much_waits_for_the_node() -> None:
    rig = Rig()
    rig.theirs.send(b"1 CHECK\n" * MOST_WAITING)
    told = await rig.heard(1 + MOST_WAITING)
    rig.theirs.send(b"2 CHECK\n")
    await asyncio.sleep(0.02)
    assert told[-1] == "1 CHECK"
    for _ in range(MOST_WAITING):
        rig.conn.taken()
    assert (await rig.heard(2 + MOST_WAITING))[-1] == "2 CHECK"
    rig.close()


@in_loop
async def test_who_does_not_take_the_last_line_is_cut() -> None:
    rig = Rig()
    await rig.heard(1)
    rig.conn.transport.write([b"x" * 5_000_000])
    rig.conn.refuse("BUSY")
    assert await rig.heard(2) == ["opened x", "lost BUSY"]
    assert rig.conn.transport.unsent
    rig.owner.time = 3.0
    rig.conn.tick(3.0)
    assert not rig.conn.transport.unsent
    rig.close()


@in_loop
async def test_who_does_not_read_its_last_bytes_is_cut() -> None:
    rig = Rig()
    await rig.heard(1)
    while not rig.conn.transport.unsent:
        rig.conn.say(Ok(why="x" * 60_000), "1")
    rig.conn.close("enough")
    assert (await rig.heard(2))[1] == "lost enough" and not rig.owner.has_ended
    rig.conn.tick(LINGER_S - 0.1)
    await asyncio.sleep(0)
    assert not rig.owner.has_ended
    rig.conn.tick(LINGER_S)
    await until(lambda: rig.owner.has_ended)
    rig.close()

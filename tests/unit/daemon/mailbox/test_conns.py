"""What passes between connections and the machine: nodes, mail processes, texts, and what is refused.
Requirements S2, V6, R4."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import psutil
import pytest

from pyrepl.daemon.mailbox import dialer, server
from pyrepl.daemon.mailbox.conns import Shunned
from pyrepl.daemon.mailbox.talk_conn import TalkConn
from pyrepl.mailbox.codec import encode
from pyrepl.mailbox.greeting import PROTO
from pyrepl.mailbox.verbs import FlagsOf, Hello, Renumber, Side
from pyrepl.mailbox.words import Box, Dot
from tests.unit.daemon.mailbox.mail_rig import MailProcess, cluster, links, texts
from tests.unit.daemon.rig import Peer, in_loop, soon, until


@in_loop
async def test_mail_saved_at_one_is_at_the_other(tmp_path: Path) -> None:
    async with cluster(tmp_path, "ab"):
        one, two = await MailProcess.of(tmp_path / "a"), await MailProcess.of(tmp_path / "b")
        assert await one.ask("CREATE alice INBOX") == "OK at=a:1 acks=1"
        large = bytes(range(256)) * 3000
        assert await one.save("G1", large) == "OK uid=1 at=a:2 acks=1"
        assert await two.save("G2") == "OK uid=2 at=b:1 acks=1"
        assert await one.ask("CHECK alice") == "OK"
        assert texts(tmp_path / "a") == texts(tmp_path / "b") == sorted([large, b"hello"])
        two.say("1 FETCH alice guid=G1")
        head = await two.line()
        assert head.startswith("1 OK size=768000") and head.endswith(" {768000}") and " sum=" in head
        assert await soon(two.reader.readexactly(768_000)) == large
        assert await two.ask("FETCH alice guid=G9") == "NO NOUID"


@in_loop
async def test_a_text_that_cannot_be_read_is_not_said_to_be_gone(tmp_path: Path) -> None:
    async with cluster(tmp_path, "a"):
        one = await MailProcess.of(tmp_path / "a")
        await one.ask("CREATE alice INBOX")
        for guid in ("G1", "G2"):
            assert (await one.save(guid)).startswith("OK")
    async with cluster(tmp_path, "a"):
        one, home = await MailProcess.of(tmp_path / "a"), tmp_path / "a" / "mail" / "alice"
        (found,) = (home / "cur").glob("G1*")
        found.unlink()
        assert await one.ask("FETCH alice guid=G1") == "NO NOUID"
        home.rename(home.with_name("away"))
        assert await one.ask("FETCH alice guid=G2") == "NO FAILED"


@in_loop
async def test_what_a_mail_process_saved_and_did_not_wait_for_stands(tmp_path: Path) -> None:
    async with cluster(tmp_path, "ab"):
        one = await MailProcess.of(tmp_path / "a")
        await one.ask("CREATE alice INBOX")
        one.say("* LOCK alice INBOX")
        one.say("* SAVE alice INBOX guid=G1 size=5 received=1 {5}", b"hello")
        one.say("* SAVE alice INBOX guid=G2 size=5 received=1 {5}", b"hel")
        one.close()
        await until(lambda: texts(tmp_path / "b") == [b"hello"])
        two = await MailProcess.of(tmp_path / "b")
        assert (await two.ask("LOCK alice INBOX")).startswith("OK uid=2")


@in_loop
async def test_v6_of_those_that_send_in_order_who_is_ahead_waits(tmp_path: Path) -> None:
    async with cluster(tmp_path, "ab"):
        one, two = await MailProcess.of(tmp_path / "a"), await MailProcess.of(tmp_path / "a")
        await one.ask("CREATE alice INBOX")
        for each in (one, two):
            assert (await each.ask("LOCK alice INBOX ascending=1")).startswith("OK uid=1")
        text = b"x" * 10_000
        for uid in range(2, 402):
            one.say(f"* SAVE alice INBOX uid={uid} guid=G{uid} size=10000 received=1 {{10000}}", text)
        await until(lambda: len(dropped(tmp_path / "a")) > 0)
        for _ in range(20):
            assert (await two.ask("FETCH alice guid=none")) == "NO NOUID"
        assert len(dropped(tmp_path / "a")) < 200, "what was read before is on disk, and no more is read"
        assert (await two.ask("SAVE alice INBOX uid=1 guid=G1 size=5 received=1 {5}", b"hello")).startswith("OK uid=1")
        two.say("* UNLOCK alice INBOX")
        await until(lambda: len(texts(tmp_path / "b")) == 401)


@in_loop
async def test_r4_who_asked_is_told_that_another_node_could_not_keep_its_mail(tmp_path: Path) -> None:
    """b has no place for the text: a's mail process hears that no other node has it, and not that one has. b gets it as
    soon as it has a place."""
    async with cluster(tmp_path, "ab"):
        one = await MailProcess.of(tmp_path / "a")
        assert (await one.ask("CREATE alice INBOX")).endswith("acks=1")
        drop = tmp_path / "b" / "mail" / ".pyrepl-drop"
        drop.rename(tmp_path / "away")
        assert (await one.save("G1")).endswith("acks=0")
        assert texts(tmp_path / "b") == []
        (tmp_path / "away").rename(drop)
        await until(lambda: texts(tmp_path / "b") == [b"hello"])
        assert (await one.save("G2")).endswith("acks=1")


@in_loop
async def test_s2_two_nodes_say_and_hear_all_by_one_connection(tmp_path: Path) -> None:
    """Whoever has said HELLO first. Both ends are this process's, so each connection is there twice."""
    async with cluster(tmp_path, "abc") as nodes:
        ports = {node.app.node.settings.mailbox_port for node in nodes.values()}
        processes = {name: await MailProcess.of(tmp_path / name) for name in nodes}
        await processes["a"].ask("CREATE alice INBOX")
        await processes["a"].ask("CHECK")
        for guid, mail in processes.items():
            assert (await mail.save(guid)).startswith("OK")
        await until(lambda: all(len(texts(tmp_path / name)) == 3 for name in nodes))
        found = [conn for conn in psutil.Process().net_connections("tcp") if conn.status == psutil.CONN_ESTABLISHED]
        called = [conn for conn in found if conn.laddr[1] in ports]
        calls = [conn for conn in found if conn.raddr[1] in ports]
        assert len(called) == len(calls) == 3, "one for each two of three nodes"


@in_loop
async def test_why_a_link_does_not_come_about_is_told_once_until_it_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dialer, "SOON_S", 0.01)
    async with cluster(tmp_path, "ab") as nodes:
        one, two = (nodes[name].app.mailboxes for name in "ab")
        assert one is not None and two is not None
        # At the start it may have been told already, as b came before a was ready.
        before = len(nodes["b"].lines)
        keeping, one.conns.keeping = one.conns.keeping, None
        refused = 0
        become = one._become

        def count(addr: str, side: Side) -> TalkConn:
            nonlocal refused
            refused += 1
            return become(addr, side)

        monkeypatch.setattr(one, "_become", count)
        for conn in list(one.conns.all):
            conn.refuse("so that it is tried again")
        await until(lambda: refused > 3)
        one.conns.keeping = keeping
        await until(lambda: links(nodes["b"]) == 1)
        assert sum("the other end refused: this node is not ready" in line for line in nodes["b"].lines[before:]) == 1


@in_loop
async def test_strangers_are_turned_away(tmp_path: Path) -> None:
    async with cluster(tmp_path, "ab", mailbox_maxclients=1) as nodes:
        mailboxes = nodes["a"].app.mailboxes
        assert mailboxes is not None
        port = nodes["a"].app.node.settings.mailbox_port
        for said, why in (
            (b"* HELLO node=b nonce=%b\n" % (b"x" * 32), b"another%20list%20of%20members"),
            (b"* HELLO name=x nonce=%b\n* AUTH mac=00\n" % (b"x" * 32), b"mailbox-secret"),
            (b"* PING\n", b"not%20expected"),
        ):
            peer = await soon(Peer.to(port))
            peer.write(said)
            assert why in await soon(peer.reader.read())
            peer.close()
        await until(lambda: len(mailboxes.conns.all) == 1)
        first = await MailProcess.of(tmp_path / "a")
        second = MailProcess(*await asyncio.open_unix_connection(str(tmp_path / "a" / "socket")))
        assert "BAD why=too%20many%20mail%20processes" in await second.line()
        assert (await first.ask("CREATE alice INBOX")).startswith("OK")
        silent = socket.create_connection(("127.0.0.1", port))
        silent.close()


@in_loop
async def test_what_a_stranger_says_is_not_told_of_a_member(tmp_path: Path) -> None:
    """Neither now, nor in place of what becomes of the member later."""
    async with cluster(tmp_path, "ab") as nodes:
        mailboxes = nodes["a"].app.mailboxes
        assert mailboxes is not None
        await until(lambda: links(nodes["a"]) == 1)
        hello = Hello(node="b", proto=PROTO, members=mailboxes.conf.members.digest(), nonce="0" * 32)
        for _ in range(2):
            peer = await soon(Peer.to(nodes["a"].app.node.settings.mailbox_port))
            peer.write(encode(hello) + b"* BAD why=the%20node%20ends\n")
            await soon(peer.reader.read())
            peer.close()
        await until(lambda: nodes["a"].logged("to mailbox-port or mailbox-socket was closed: "))
        assert sum("was closed: " in line for line in nodes["a"].lines) == 1
        keeping, mailboxes.conns.keeping = mailboxes.conns.keeping, None
        peer = await soon(Peer.to(nodes["a"].app.node.settings.mailbox_port))
        peer.write(encode(hello))
        await soon(peer.reader.read())
        mailboxes.conns.keeping = keeping
        assert sum("was closed: " in line for line in nodes["a"].lines) == 1, "members come each second meanwhile"
        assert links(nodes["a"]) == 1 and not nodes["a"].logged("is over")
        mailboxes.conns.links["b"].close("the other end refused: the node ends")
        await until(lambda: nodes["a"].logged("is over: the other end refused: the node ends"))


@in_loop
async def test_a_link_that_breaks_is_made_again(tmp_path: Path) -> None:
    async with cluster(tmp_path, "ab") as nodes:
        one = await MailProcess.of(tmp_path / "a")
        await one.ask("CREATE alice INBOX")
        mailboxes = nodes["a"].app.mailboxes
        assert mailboxes is not None
        mailboxes.conns.links["b"].refuse("a test")
        await until(lambda: nodes["b"].logged("is over: the other end refused: a test"))
        assert (await one.save("G1")).startswith("OK uid=1")
        await until(lambda: links(nodes["a"]) == links(nodes["b"]) == 1)
        await until(lambda: texts(tmp_path / "b") == [b"hello"])


def dropped(folder: Path) -> list[str]:
    return [path.name for path in (folder / "mail" / ".pyrepl-drop").iterdir()]


@in_loop
async def test_texts_that_nobody_needs_do_not_stay(tmp_path: Path) -> None:
    async with cluster(tmp_path, "ab"):
        one, two = await MailProcess.of(tmp_path / "a"), await MailProcess.of(tmp_path / "b")
        await one.ask("CREATE alice INBOX")
        assert await one.save("G0", user="bob") == "NO NOBOX"
        assert (await one.save("G1")).startswith("OK")
        assert (await one.save("G1")).startswith("OK")
        assert (await one.ask("SAVE alice INBOX guid=G7 size=5 received=1")).startswith("NO NOUID")
        assert (await one.ask("EXPUNGE alice INBOX uids=1")).startswith("OK")
        await two.ask("CHECK alice")
        one.say("* SAVE bob INBOX guid=G8 size=5 received=1 {5}", b"hello")
        one.say("* SAVE alice INBOX guid=G9 size=5 received=1 tx=t {5}", b"hello")
        await one.ask("CHECK alice")
        await until(lambda: not dropped(tmp_path / "a") and not dropped(tmp_path / "b"))


@in_loop
async def test_a_member_that_says_what_cannot_be_loses_its_link_and_nothing_else(tmp_path: Path) -> None:
    async with cluster(tmp_path, "ab") as nodes:
        one, two = await MailProcess.of(tmp_path / "a"), await MailProcess.of(tmp_path / "b")
        await one.ask("CREATE alice INBOX")
        assert (await one.save("G1")).endswith("acks=1")
        a, b = nodes["a"].app.mailboxes, nodes["b"].app.mailboxes
        assert a is not None and b is not None
        before = b.conns.keeping
        assert before is not None
        held = dict(before.driver.node.core.causal.held)
        guid = next(iter(before.driver.node.core.rows.boxes("alice"))).guid
        lie = Renumber(user="alice", box=Box(guid, True), to=((1, 5),), guids=("G1",), at=Dot("a", 3), modseq=9)
        a.conns.links["b"].say(lie, "*")
        await until(lambda: nodes["a"].logged("RENUMBER: expected a UID for each of 1 messages, got 5"))
        assert before.driver.node.core.causal.held == held and b.conns.keeping is before
        assert (await two.ask("STORE alice INBOX uids=1 add=x")).startswith("OK"), "who is served by it, is served on"
        await until(lambda: links(nodes["a"]) == links(nodes["b"]) == 1)
        assert not nodes["b"].logged("it begins again")


@in_loop
async def test_a_member_at_whose_command_the_machine_fails_is_not_heard_for_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "AGAIN_S", 0.01)
    async with cluster(tmp_path, "ab") as nodes:
        one = await MailProcess.of(tmp_path / "a")
        a, b = nodes["a"].app.mailboxes, nodes["b"].app.mailboxes
        assert a is not None and b is not None and b.conns.keeping is not None
        rows = b.conns.keeping.driver.node.core.rows
        message = rows.message
        monkeypatch.setattr(rows, "message", lambda box, guid: 1 // 0 if guid == "G" else message(box, guid))
        a.conns.links["b"].say(FlagsOf(user="alice", box=Box("1" * 32, True), guid="G", stamps=(), modseq=1), "*")
        await until(lambda: nodes["b"].logged("Keeping mailboxes failed (FLAGS of a: ZeroDivisionError"))
        await until(lambda: nodes["a"].logged("made the other begin again: it is not heard for a while"))
        assert (await one.ask("CREATE alice INBOX")).startswith("OK at=a:1")
        two = await MailProcess.of(tmp_path / "b")
        assert (await two.ask("CREATE bob INBOX")).startswith("OK at=b:1 acks=0"), "it goes on without it"


def test_a_pause_grows() -> None:
    shunned = Shunned()
    assert shunned.until("a") < 0
    pauses = []
    for _ in range(12):
        shunned.add("a", 100.0)
        pauses.append(shunned.until("a") - 100.0)
    assert pauses[:3] == [10.0, 20.0, 40.0] and pauses[-1] == 3600.0


@in_loop
async def test_a_witness_says_that_it_keeps_no_mail(tmp_path: Path) -> None:
    async with cluster(tmp_path, "aw"):
        process = await MailProcess.of(tmp_path / "w")
        for text in (b"hello", b"x" * 500_000):
            answer = await process.save("G", text)
            assert answer.startswith("NO FAILED why=this%20node%20is%20a%20witness")
        answer = await process.ask("FETCH nobody guid=none")
        assert answer.startswith("NO FAILED why=a%20witness%20keeps%20no%20mail"), "it goes on"

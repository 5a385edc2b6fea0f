"""The mailbox service: it begins, it is restarted, and it begins again when its files fail."""

from __future__ import annotations

import asyncio
import errno
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from pyrepl.config.settings import Settings
from pyrepl.daemon.app import App
from pyrepl.daemon.mailbox import server as room
from pyrepl.daemon.mailbox import trouble
from pyrepl.daemon.mailbox.database import DatabaseError
from pyrepl.daemon.mailbox.files import DiskFiles
from pyrepl.daemon.mailbox.keeper import NAME
from pyrepl.daemon.mailbox.keeping import Keeping
from pyrepl.daemon.mailbox.server import MailboxServer
from pyrepl.errors import ConfigError, PyreplError
from pyrepl.mailbox.node import Node
from pyrepl.mailbox.verbs import Side
from tests.peers.ports import free_port
from tests.unit.daemon.mailbox.mail_rig import MailProcess, cluster, links, members, settings_of, texts
from tests.unit.daemon.rig import Peer, RunningNode, in_loop, running, soon, until


@in_loop
async def test_a_node_that_was_away_gets_what_it_missed(tmp_path: Path) -> None:
    nodes = members("ab")
    async with running(tmp_path / "a", **settings_of(tmp_path / "a", "a", nodes)) as one:
        async with running(tmp_path / "b", **settings_of(tmp_path / "b", "b", nodes)):
            process = await MailProcess.of(tmp_path / "a")
            await until(lambda: links(one) == 1)
            assert (await process.ask("CREATE alice INBOX")).startswith("OK")
        await until(lambda: links(one) == 0)
        assert (await process.save("G1")).endswith("at=a:2 acks=0")
        assert one.logged("Mailboxes: single_copy a~")
        async with running(tmp_path / "b", **settings_of(tmp_path / "b", "b", nodes)):
            await until(lambda: texts(tmp_path / "b") == [b"hello"])


@in_loop
async def test_a_link_that_begins_before_the_node_is_ready_is_refused_whatever_comes_later(tmp_path: Path) -> None:
    async with cluster(tmp_path, "ab") as nodes:
        mailboxes = nodes["a"].app.mailboxes
        assert mailboxes is not None
        keeping, mailboxes.conns.keeping = mailboxes.conns.keeping, None
        early, mail = (mailboxes._become("here", side) for side in (Side.NODE, Side.MAIL))
        mailboxes.conns.keeping = keeping
        late = mailboxes._become("here", Side.NODE)
        assert early.talk.is_over and not mail.talk.is_over and not late.talk.is_over
        for conn in (early, mail, late):
            mailboxes.conns.ended(conn)


@in_loop
async def test_a_failure_within_begins_again_from_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "AGAIN_S", 0.01)
    async with cluster(tmp_path, "ab") as nodes:
        process = await MailProcess.of(tmp_path / "a")
        await process.ask("CREATE alice INBOX")
        mailboxes = nodes["a"].app.mailboxes
        assert mailboxes is not None and mailboxes.conns.keeping is not None

        def fails(node: Node, now: float) -> None:
            raise PyreplError("a defect")

        mailboxes.conns.keeping.driver.tell(fails)
        assert "begins%20again" in await process.line()
        await until(lambda: nodes["a"].logged("Keeping mailboxes failed (PyreplError: a defect)"))
        await until(lambda: mailboxes.conns.keeping is not None and links(nodes["a"]) == 1)
        process = await MailProcess.of(tmp_path / "a")
        assert (await process.save("G1")).startswith("OK uid=1")


def marker_of(folder: Path, name: str) -> Path:
    return folder / name / "mail" / ".pyrepl-mailboxes"


async def closed(node: RunningNode) -> MailboxServer:
    """As soon as it is so."""
    mailboxes = node.app.mailboxes
    assert mailboxes is not None
    await until(lambda: mailboxes.conns.keeping is None and mailboxes.conns.trouble.why)
    return mailboxes


@in_loop
async def test_a_node_whose_disk_is_gone_is_closed_until_it_is_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "AGAIN_S", 0.01)
    monkeypatch.setattr(trouble, "TOLD_EVERY_S", float("inf"))
    async with cluster(tmp_path, "ab") as nodes:
        one, two = await MailProcess.of(tmp_path / "a"), await MailProcess.of(tmp_path / "b")
        await one.ask("CREATE alice INBOX")
        assert (await two.save("G1")).startswith("OK uid=1")
        marker = marker_of(tmp_path, "b")
        said = marker.read_bytes()
        marker.unlink()
        mailboxes = await closed(nodes["b"])
        await until(lambda: links(nodes["a"]) == links(nodes["b"]) == 0)
        assert "does%20nothing%20to%20its%20mailboxes" in await two.line()
        early = mailboxes._become("here", Side.NODE)
        assert early.talk.is_over
        mailboxes.conns.ended(early)
        assert (await one.save("G2", b"meanwhile")).endswith("acks=0")
        await until(lambda: nodes["b"].logged("The disk of all Maildirs refuses: "))
        marker.write_bytes(said)
        await until(lambda: nodes["b"].logged("Mailboxes are kept again"))
        await until(lambda: texts(tmp_path / "b") == [b"hello", b"meanwhile"])
        assert mailboxes.conns.trouble.why == ""
        assert sum("The disk of all Maildirs refuses" in line for line in nodes["b"].lines) == 1


@in_loop
async def test_a_text_that_finds_no_room_makes_it_look_whether_there_is_any(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "AGAIN_S", 0.01)
    is_full = False
    append, write_new = DiskFiles.append, DiskFiles.write_new

    def full(call: Callable[[DiskFiles, bytes, bytes], None]) -> Callable[[DiskFiles, bytes, bytes], None]:
        def write(files: DiskFiles, path: bytes, data: bytes) -> None:
            if is_full and b"/b/mail/" in path:
                raise OSError(errno.ENOSPC, "No space left on device")
            call(files, path, data)

        return write

    monkeypatch.setattr(DiskFiles, "append", full(append))
    monkeypatch.setattr(DiskFiles, "write_new", full(write_new))
    async with cluster(tmp_path, "ab") as nodes:
        one = await MailProcess.of(tmp_path / "a")
        await one.ask("CREATE alice INBOX")
        await one.ask("CHECK")
        is_full = True
        assert (await one.save("G1")).startswith("OK uid=1")
        mailboxes = await closed(nodes["b"])
        assert mailboxes.conns.trouble.why.endswith("/b/mail/.pyrepl-drop: No space left on device")
        is_full = False
        await until(lambda: texts(tmp_path / "b") == [b"hello"])


@in_loop
async def test_the_keeper_of_the_gates_learns_nothing_of_a_disk_that_refuses_but_when_the_node_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "AGAIN_S", 0.01)
    async with cluster(tmp_path, "a", mailbox_gate="on", mailbox_orphan=0) as nodes:
        mail = await MailProcess.of(tmp_path / "a")
        await mail.ask("CREATE alice INBOX")
        mailboxes = nodes["a"].app.mailboxes
        assert mailboxes is not None
        before = mailboxes._keeping
        assert before is not None and before._gates is not None
        pid, marker = before._gates.keeper.pid, marker_of(tmp_path, "a")
        said = marker.read_bytes()
        marker.unlink()
        await closed(nodes["a"])
        await until(lambda: mailboxes._held is not None)
        marker.write_bytes(said)
        await until(lambda: mailboxes.conns.keeping is not None)
        again = mailboxes._keeping
        assert again is not None and again._gates is not None and again._gates.keeper.pid == pid
        assert mailboxes._held is None
        marker.unlink()
        await closed(nodes["a"])
        assert (tmp_path / "a" / NAME).exists()
    await until(lambda: not (tmp_path / "a" / NAME).exists(), "the keeper's end")


@in_loop
async def test_what_cannot_be_opened_again_is_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "AGAIN_S", 0.01)
    monkeypatch.setattr(trouble, "TOLD_EVERY_S", float("inf"))
    async with cluster(tmp_path, "ab") as nodes:
        mailboxes = nodes["a"].app.mailboxes
        assert mailboxes is not None and mailboxes.conns.keeping is not None
        tries = 0

        def fails(*args: object) -> None:
            nonlocal tries
            tries += 1
            raise DatabaseError("it cannot be read")

        def stop(node: Node, now: float) -> None:
            raise DatabaseError("it cannot be written")

        with monkeypatch.context() as patched:
            patched.setattr(room, "Keeping", fails)
            mailboxes.conns.keeping.driver.tell(stop)
            await until(lambda: tries > 3)
            assert mailboxes.conns.trouble.why == "it cannot be read"
        await until(lambda: mailboxes.conns.keeping is not None)
        assert sum("(it cannot be read)" in line for line in nodes["a"].lines) == 1


@in_loop
async def test_a_witness_takes_part(tmp_path: Path) -> None:
    async with cluster(tmp_path, "aw") as nodes:
        process = await MailProcess.of(tmp_path / "a")
        assert await process.ask("CREATE alice INBOX") == "OK at=a:1 acks=0"
        assert (await process.ask("LOCK alice INBOX")).startswith("OK uid=1")
        assert nodes["w"].logged("Mailboxes are kept as the node w, one of 2")


@in_loop
async def test_what_cannot_begin_ends_the_node(tmp_path: Path) -> None:
    more = settings_of(tmp_path, "a", members("ab"))
    node = RunningNode(tmp_path, **(more | {"mailbox_maildir": str(tmp_path / "none" / "%u")}))
    with pytest.raises(ConfigError, match=r"Mailboxes cannot be kept: .*none is not there: make it, or mount it"):
        await node.start()
    with suppress(ConfigError):
        await node.stop()


@in_loop
async def test_what_the_store_cannot_do_is_refused_at_run_time_too(tmp_path: Path) -> None:
    stated = settings_of(tmp_path, "a", members("ab"), mailbox_store="doveadm", mailbox_doveadm="sh")
    made = App(Settings(dir=str(tmp_path), port=free_port(), **stated), None)
    [server] = [service for service in made.services if isinstance(service, room.MailboxServer)]
    server.settings_changed(())
    made.node.settings.mailbox_scrub = 1
    with pytest.raises(ConfigError, match="mailbox-store doveadm cannot mend texts"):
        server.settings_changed(("mailbox-scrub",))


def fails(node: Node, now: float) -> None:
    raise PyreplError("a defect")


def service_of(node: RunningNode) -> room.MailboxServer:
    assert node.app.mailboxes is not None
    return node.app.mailboxes


def kept_by(service: room.MailboxServer) -> Keeping:
    assert service.conns.keeping is not None
    return service.conns.keeping


class Busy:
    """A thread of a node's that goes on until it may end."""

    def __init__(self, service: room.MailboxServer) -> None:
        self.begun, self.may_end = threading.Event(), threading.Event()
        workers = kept_by(service).workers
        assert workers is not None
        self.done = workers.run("alice", lambda store: self._work())

    def _work(self) -> None:
        self.begun.set()
        self.may_end.wait()


@in_loop
async def test_whatever_fails_is_told_and_it_begins_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "AGAIN_S", 0.01)
    async with cluster(tmp_path, "ab") as nodes:
        process = await MailProcess.of(tmp_path / "a")
        assert (await process.ask("CREATE alice INBOX")).startswith("OK")
        service, tries = service_of(nodes["a"]), list[str]()
        keeping, real_end, real_drop = kept_by(service), Keeping.ended, service.conns.drop_all

        def broken(*args: object) -> Keeping:
            tries.append("opened")
            if len(tries) < 4:
                raise AssertionError(f"a defect in the files, {len(tries)}")
            return Keeping(*args)  # type: ignore[arg-type]

        async def broken_end(self: Keeping, *, farewell: bool = False) -> None:
            await real_end(self, farewell=farewell)
            raise AssertionError("a defect at the end")

        def broken_drop(reason: str) -> None:
            monkeypatch.setattr(service.conns, "drop_all", real_drop)
            service.conns.keeping = None
            raise AssertionError("a defect in a connection")

        monkeypatch.setattr(room, "Keeping", broken)
        monkeypatch.setattr(Keeping, "ended", broken_end)
        monkeypatch.setattr(service.conns, "drop_all", broken_drop)
        keeping.driver.tell(fails)
        await until(lambda: len(tries) == 4 and service.conns.keeping is not None and links(nodes["a"]) == 1)
        for told in ("in the files, 1", "in the files, 3", "at the end", "in a connection"):
            assert nodes["a"].logged(f"Keeping mailboxes failed (AssertionError: a defect {told}")
        assert await process.line() == "", "its connection has ended"
        process = await MailProcess.of(tmp_path / "a")
        assert (await process.save("G1")).startswith("OK uid=1")


@in_loop
async def test_a_service_that_ends_by_itself_is_a_fault_of_the_node(tmp_path: Path) -> None:
    loop, faults = asyncio.get_running_loop(), list[dict[str, Any]]()
    async with cluster(tmp_path, "a") as nodes:
        loop.set_exception_handler(lambda loop, context: faults.append(context))
        task: asyncio.Task[None] = loop.create_task(broken_task())
        task.add_done_callback(service_of(nodes["a"])._run_ended)
        await until(lambda: faults != [])
        assert str(faults[0]["exception"]) == "a defect"


async def broken_task() -> None:
    raise LookupError("a defect")


@in_loop
async def test_it_begins_again_when_all_threads_of_before_have_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "AGAIN_S", 0.01)
    monkeypatch.setattr(room, "STUCK_S", 0.01)
    async with cluster(tmp_path, "a") as nodes:
        await MailProcess.of(tmp_path / "a")
        service, opened = service_of(nodes["a"]), list[bool]()
        busy = Busy(service)
        await until(busy.begun.is_set)

        def again(*args: object) -> Keeping:
            opened.append(busy.done.done())
            return Keeping(*args)  # type: ignore[arg-type]

        monkeypatch.setattr(room, "Keeping", again)
        kept_by(service).driver.tell(fails)
        await until(lambda: nodes["a"].logged("store_stuck"))
        await asyncio.sleep(0.1)
        assert opened == []
        busy.may_end.set()
        await until(lambda: service.conns.keeping is not None)
        assert opened == [True]


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Where keepers may have their sockets; they end when these are removed."""
    yield tmp_path
    for name in "ab":
        (tmp_path / name / NAME).unlink(missing_ok=True)


@in_loop
@pytest.mark.parametrize("leaves", [False, True], ids=["ends", "leaves"])
async def test_gates_go_when_no_thread_writes_behind_them_any_more(folder: Path, leaves: bool) -> None:
    async with cluster(folder, "ab", mailbox_gate="on") as nodes:
        process = await MailProcess.of(folder / "a")
        assert (await process.ask("CREATE alice INBOX")).startswith("OK")
        lock = folder / "b" / "mail" / "alice" / "dovecot-uidlist.lock"
        await until(lock.exists)
        service, left = service_of(nodes["b"]), list[bool]()
        busy = Busy(service)
        await until(busy.begun.is_set)
        service.leave(lambda: left.append(True)) if leaves else service._end("the node ends")
        await asyncio.sleep(0.1)
        assert lock.exists() and left == []
        busy.may_end.set()
        await service.finish()
        await until(lambda: not lock.exists())
        assert left == [True] * leaves


@in_loop
async def test_gates_go_too_when_it_ends_while_it_cannot_begin_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: object) -> Keeping:
        raise DatabaseError("the disk is full")

    async with cluster(folder, "ab", mailbox_gate="on", mailbox_apart="refuse") as nodes:
        process = await MailProcess.of(folder / "a")
        assert (await process.ask("CREATE alice INBOX")).startswith("OK")
        lock = folder / "b" / "mail" / "alice" / "dovecot-uidlist.lock"
        await until(lock.exists)
        service = service_of(nodes["b"])
        monkeypatch.setattr(room, "Keeping", broken)
        kept_by(service).driver.tell(fails)
        await until(lambda: service._keeping is None)
        assert lock.exists()
    await until(lambda: not lock.exists())


@in_loop
async def test_strangers_keep_neither_others_nor_mail_processes_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "MOST_MAILBOX_STRANGERS", 3)
    async with cluster(tmp_path, "ab", mailbox_maxclients=1) as nodes:
        port = nodes["a"].app.node.settings.mailbox_port
        strangers = [await soon(Peer.to(port)) for _ in range(3)]
        for each in strangers[:2]:
            each.write(b"* HELLO name=x nonce=%b\n" % (b"x" * 32))
            assert b"HELLO" in await soon(each.reader.readline())
        local = await MailProcess.of(tmp_path / "a")
        assert (await local.ask("CREATE alice INBOX")).startswith("OK"), "they are no mail processes"
        late = await soon(Peer.to(port))
        assert await soon(strangers[0].reader.read()) == b"", "the oldest has made room"
        late.write(b"* HELLO name=x nonce=%b\n" % (b"x" * 32))
        assert b"too%20many%20mail%20processes" in await soon(late.reader.read())
        assert links(nodes["a"]) == 1 and (await local.save("G1")).startswith("OK")
        for each in (*strangers, late):
            each.close()


@in_loop
async def test_of_two_who_prove_at_once_what_they_are_one_is_too_many(tmp_path: Path) -> None:
    async with cluster(tmp_path, "ab", mailbox_maxclients=1):
        both = [MailProcess(*await asyncio.open_unix_connection(str(tmp_path / "a" / "socket"))) for _ in range(2)]
        await asyncio.sleep(0.05)
        for each in both:
            each.say("* HELLO name=test")
        assert (await both[0].line()).startswith("* HELLO ")
        told = [await both[1].line() for _ in range(2)]
        assert any("too%20many%20mail%20processes" in line for line in told)

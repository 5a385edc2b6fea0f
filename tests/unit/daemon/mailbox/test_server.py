"""The mailbox service: it begins, it is restarted, and it begins again when its files fail."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from pyrepl.config.settings import Settings
from pyrepl.daemon.app import App
from pyrepl.daemon.mailbox import server as room
from pyrepl.errors import ConfigError, PyreplError
from pyrepl.mailbox.node import Node
from pyrepl.mailbox.verbs import Side
from tests.peers.ports import free_port
from tests.unit.daemon.mailbox.mail_rig import MailProcess, cluster, links, members, settings_of, texts
from tests.unit.daemon.rig import RunningNode, in_loop, running, until


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
    stated = settings_of(tmp_path, "a", members("ab"), mailbox_store="doveadm", mailbox_doveadm="doveadm")
    made = App(Settings(dir=str(tmp_path), port=free_port(), **stated), None)
    [server] = [service for service in made.services if isinstance(service, room.MailboxServer)]
    server.settings_changed(())
    made.node.settings.mailbox_scrub = 1
    with pytest.raises(ConfigError, match="mailbox-store doveadm cannot mend texts"):
        server.settings_changed(("mailbox-scrub",))

"""MAILBOX answers what the machine knows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pyrepl.daemon.mailbox import server as room
from pyrepl.errors import PyreplError
from pyrepl.mailbox.node import Node
from tests.peers.wire import ErrorReply
from tests.unit.daemon.mailbox.mail_rig import MailProcess, cluster
from tests.unit.daemon.rig import in_loop, until


def pairs(flat: list[Any]) -> dict[bytes, Any]:
    return dict(zip(flat[::2], flat[1::2], strict=True))


@in_loop
async def test_what_an_operator_asks(tmp_path: Path) -> None:
    async with cluster(tmp_path, "ab") as nodes:
        process = await MailProcess.of(tmp_path / "a")
        await process.ask("CREATE alice INBOX")
        await process.save("G1")
        asking = await nodes["a"].peer()
        assert await asking.say("MAILBOX CHECK alice") == "OK"
        status = pairs(await asking.say("MAILBOX STATUS"))
        assert status[b"node"] == b"a" and status[b"ops"] == 2 and status[b"apart"] == status[b"apart-seconds"] == 0
        assert status[b"root"] in (b"a", b"b") and status[b"mail-processes"] == 1
        one, two = map(pairs, status[b"members"])
        assert (one[b"name"], one[b"link"]) == (b"a", b"self") and b"lag-ops" not in one
        assert (two[b"name"], two[b"link"], two[b"lag-ops"], two[b"lag-ms"]) == (b"b", b"up", 0, 0)
        [box] = map(pairs, await asking.say("MAILBOX INFO alice"))
        assert box[b"name"] == b"INBOX" and box[b"uidnext"] == 2 and box[b"highest-modseq"] == 1
        assert [box] == list(map(pairs, await asking.say("MAILBOX INFO alice inbox")))
        assert await asking.say("MAILBOX MASTER alice INBOX") == box[b"master"] == b"a"
        assert await asking.error("MAILBOX MASTER alice Work") == "ERR alice has no mailbox Work"
        assert "without empty parts" in await asking.error("MAILBOX INFO alice a//b")
        assert await asking.say("MAILBOX ROOT FORCE") == "OK"
        assert pairs(await asking.say("MAILBOX STATUS"))[b"epoch"] > 1000


@in_loop
async def test_who_waits_while_it_begins_again_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "AGAIN_S", 0.2)
    async with cluster(tmp_path, "ab") as nodes:
        asking = await nodes["a"].peer()
        mailboxes = nodes["a"].app.mailboxes
        assert mailboxes is not None and mailboxes.conns.keeping is not None

        def fails(node: Node, now: float) -> None:
            raise PyreplError("a defect")

        mailboxes.conns.in_round(fails, lambda answer: None)
        assert (await asking.error("MAILBOX STATUS")).startswith("ERR mailboxes are not ready: ask again, ")
        assert (await asking.error("MAILBOX CHECK")).startswith("ERR mailboxes are not ready: ask again, ")


@in_loop
async def test_while_the_disk_refuses_status_says_why_and_all_else_is_refused(tmp_path: Path) -> None:
    async with cluster(tmp_path, "ab") as nodes:
        asking = await nodes["a"].peer()
        mailboxes = nodes["a"].app.mailboxes
        assert mailboxes is not None
        conns = mailboxes.conns
        whole = pairs(await asking.say("MAILBOX STATUS"))
        assert pairs(whole[b"closed"]) == {b"why": b"", b"seconds": 0}
        (tmp_path / "a" / "mail" / ".pyrepl-mailboxes").unlink()
        await until(lambda: conns.keeping is None and conns.trouble.why)
        shown = pairs(await asking.say("MAILBOX STATUS"))
        assert shown.keys() == whole.keys(), "programs find all that they look for"
        assert shown[b"state"] == b"closed" and shown[b"stopped"] == [] and shown[b"root"] == b""
        assert b".pyrepl-mailboxes is missing: is the disk" in pairs(shown[b"closed"])[b"why"]
        one, two = map(pairs, shown[b"members"])
        assert (one[b"link"], two[b"link"]) == (b"self", b"down")
        error = await asking.error("MAILBOX INFO alice")
        assert error.startswith("ERR nothing is done to mailboxes here at the moment: ") and "is missing" in error
        assert b"mailbox_ready:0" in await asking.say("INFO mailboxes")


@in_loop
async def test_users_and_their_messages(tmp_path: Path) -> None:
    async with cluster(tmp_path, "a") as nodes:
        process = await MailProcess.of(tmp_path / "a")
        asking = await nodes["a"].peer()
        assert await asking.say("MAILBOX USERS") == []
        await process.ask("CREATE alice INBOX")
        await process.ask("CREATE bob INBOX")
        await process.ask("DELETE bob INBOX")
        for number in range(1, 5):
            await process.save(f"G{number}")
        await process.ask("STORE alice INBOX uids=2 add=\\Seen,work")
        assert await asking.say("MAILBOX USERS") == [b"alice"]
        found = list(map(pairs, await asking.say("MAILBOX MESSAGES alice INBOX 1 2")))
        assert [(each[b"uid"], each[b"guid"], each[b"flags"]) for each in found] == [
            (2, b"G2", [b"\\Seen", b"work"]),
            (3, b"G3", []),
        ]
        assert found[1][b"size"] == 5 and found[0][b"modseq"] > found[1][b"modseq"]
        assert await asking.say("MAILBOX MESSAGES alice INBOX 4 10") == []
        assert await asking.error("MAILBOX MESSAGES alice Work 0 10") == "ERR alice has no mailbox Work"


@in_loop
async def test_a_name_that_is_none_harms_nobody(tmp_path: Path) -> None:
    async with cluster(tmp_path, "ab") as nodes:
        process = await MailProcess.of(tmp_path / "a")
        for name in ("INBOX", "Work"):
            await process.ask(f"CREATE alice {name}")
        begun = {name: len(node.lines) for name, node in nodes.items()}
        asking = await nodes["a"].peer()
        for words in (["MASTER"], ["MESSAGES"], ["RENEW"], ["ALLOW"], ["DENY"]):
            more = ["0", "10"] if words == ["MESSAGES"] else []
            reply = await asking.call("MAILBOX", *words, "alice", "", *more)
            assert isinstance(reply, ErrorReply) and "no mailbox is named" in str(reply)
        for name in ("x/y", "..", "a\nb"):
            reply = await asking.call("MAILBOX", "CHECK", name)
            assert isinstance(reply, ErrorReply) and str(reply).startswith("ERR no user can be called ")
        assert await asking.say("MAILBOX CHECK") == "OK"
        lines = [line for name in "ab" for line in nodes[name].lines[begun[name] :]]
        assert [line for line in lines if "begun_again" in line or "is over" in line] == []


@in_loop
async def test_a_name_is_not_read_as_an_escaped_one(tmp_path: Path) -> None:
    async with cluster(tmp_path, "ab") as nodes:
        process = await MailProcess.of(tmp_path / "a")
        assert (await process.ask("CREATE 50%25 INBOX")).startswith("NO DENIED why="), "its folder has another meaning"
        asking = await nodes["a"].peer()
        for words in ("CHECK 50%", "RESYNC 50%"):
            assert "can be called" not in str(await asking.call("MAILBOX", *words.split(" ")))
        assert "JOIN needs mailbox-gate on" in await asking.error("MAILBOX JOIN 60%")
        for verb in ("JOIN", "RESYNC", "CHECK"):
            assert isinstance(await asking.call("MAILBOX", verb, b"\xff"), ErrorReply), verb
        assert not nodes["a"].logged("begun_again")


@in_loop
async def test_a_witness_says_that_it_keeps_no_mail(tmp_path: Path) -> None:
    async with cluster(tmp_path, "abw") as nodes:
        asking = await nodes["w"].peer()
        for words in ("JOIN *", "CHECK", "CHECK alice"):
            assert "a witness keeps no mail" in await asking.error(f"MAILBOX {words}")
        assert await asking.say("PING") == "PONG"


@in_loop
async def test_what_cannot_be_done_says_what_to_do(tmp_path: Path) -> None:
    async with cluster(tmp_path, "ab") as nodes:
        process = await MailProcess.of(tmp_path / "a")
        await process.ask("CREATE alice INBOX")
        asking = await nodes["a"].peer()
        assert "put its file back" in await asking.error("MAILBOX ALLOW alice INBOX")
        assert "no flags are in doubt there" in await asking.error("MAILBOX DENY alice INBOX")
        assert "JOIN needs mailbox-gate on" in await asking.error("MAILBOX JOIN bob")
        assert await asking.error("MAILBOX RENEW alice Work") == "ERR alice has no mailbox Work"
        assert await asking.say("MAILBOX RENEW alice INBOX") == "OK"
        await asking.say("MAILBOX CHECK")
        assert await asking.say("MAILBOX LEAVE") == "OK"
        await until(lambda: nodes["a"].logged("a has left, and its Maildirs are ordinary ones"))
        assert (await asking.error("MAILBOX STATUS")).startswith("ERR this node has left")
        assert b"mailbox_ready:0" in await asking.say("INFO mailboxes")


@in_loop
async def test_check_says_who_was_not_asked_and_leave_what_to_wait_for(tmp_path: Path) -> None:
    async with cluster(tmp_path, "abw") as nodes:
        process = await MailProcess.of(tmp_path / "a")
        await process.ask("CREATE alice INBOX")
        asking = await nodes["a"].peer()
        assert await asking.say("MAILBOX CHECK") == "OK"
        await nodes["b"].stop()
        await until(lambda: nodes["a"].logged("The connection with the mailbox node b at"))
        await process.save("G1")
        assert await asking.say("MAILBOX CHECK alice") == "OK without b: not linked, so not asked"
        assert await process.ask("CHECK alice") == "OK", "programs are answered as ever"
        said = await asking.error("MAILBOX LEAVE")
        assert said.startswith("ERR of the changes that were made here ")
        assert " not at b yet: start b and wait until it is linked; MAILBOX LEAVE FORCE leaves all the same" in said


@in_loop
async def test_join_is_answered_when_the_folders_are_listed(tmp_path: Path) -> None:
    async with cluster(tmp_path, "a", mailbox_gate="on") as nodes:
        await MailProcess.of(tmp_path / "a")
        mail = tmp_path / "a" / "mail"
        for user in ("alice", "bob"):
            (mail / user / "cur").mkdir(parents=True)
            (mail / user / "new").mkdir()
        (mail / "alice" / "dovecot-uidlist").write_text(f"3 V7 N1 G{'a1' * 16}\n")
        asking = await nodes["a"].peer()
        said = await asking.error("MAILBOX JOIN alcie")
        assert said.startswith("ERR no Maildir of alcie can be joined here: ") and f"{mail}/alcie" in said
        assert nodes["a"].logged("Mailboxes: join_failed alcie: ")
        assert "bob can be joined here: no Dovecot has opened INBOX yet" in await asking.error("MAILBOX JOIN bob")
        assert await asking.say("MAILBOX JOIN alice") == "OK"
        [box] = map(pairs, await asking.say("MAILBOX INFO alice"))
        assert (box[b"name"], box[b"uidvalidity"]) == (b"INBOX", 7)


@in_loop
async def test_a_user_whose_folders_cannot_be_listed_is_shown_until_they_can(tmp_path: Path) -> None:
    async with cluster(tmp_path, "a", mailbox_gate="on") as nodes:
        process = await MailProcess.of(tmp_path / "a")
        assert (await process.ask("CREATE alice INBOX")).startswith("OK")
        asking, mailboxes, mail = await nodes["a"].peer(), nodes["a"].app.mailboxes, tmp_path / "a" / "mail"
        assert mailboxes is not None and pairs(await asking.say("MAILBOX STATUS"))[b"troubled"] == []
        (mail / "alice").rename(tmp_path / "away")
        await until(lambda: mailboxes.figures.troubled)
        shown = [pairs(each) for each in pairs(await asking.say("MAILBOX STATUS"))[b"troubled"]]
        assert {each[b"user"] for each in shown} == {b"alice"}
        assert {each[b"why"].split()[0] for each in shown} <= {b"folders_failed", b"gate_failed"}
        (tmp_path / "away").rename(mail / "alice")
        await until(lambda: not mailboxes.figures.troubled)

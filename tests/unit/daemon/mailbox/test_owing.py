"""A user whose disk refuses stands still, and the others go on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import cast

import pytest

from pyrepl.daemon.mailbox import standing as room
from pyrepl.daemon.mailbox.owing import Owing
from pyrepl.daemon.mailbox.sqlite_rows import SqliteRows
from pyrepl.daemon.mailbox.workers import Workers
from pyrepl.mailbox.answers import Ok
from pyrepl.mailbox.gate_states import GateOrder, GateResult, GateWork
from pyrepl.mailbox.store import AddMessage, RaiseNext, RemoveMessage
from pyrepl.mailbox.verbs import Create, Expunge, Save, Store
from pyrepl.mailbox.words import Box, Stamp, Token
from tests.unit.daemon.mailbox.mail_rig import MailProcess, cluster, texts
from tests.unit.daemon.mailbox.test_deeds import pairs
from tests.unit.daemon.mailbox.test_driver import Heard, Rig
from tests.unit.daemon.rig import in_loop, until
from tests.unit.mailbox.gate_rig import GUID, mail

LIST = b"/mail/alice/dovecot-uidlist"


async def damaged(folder: Path) -> tuple[Rig, bytes]:
    """alice's and bob's mailboxes; alice's list is none any more."""
    rig = Rig(folder)
    await rig.elected()
    rig.create()
    rig.create("bob")
    await rig.driver.round()
    text = rig.disk.read(LIST)
    rig.disk.unlink(LIST)
    rig.disk.write_new(LIST, b"3 what")
    return rig, text


def mend(rig: Rig, text: bytes) -> None:
    rig.disk.unlink(LIST)
    rig.disk.write_new(LIST, text)


@in_loop
async def test_one_user_stands_still_and_the_others_go_on(tmp_path: Path) -> None:
    rig, text = await damaged(tmp_path)
    rig.save("G1")
    rig.save("G2", "bob")
    await rig.driver.round()
    assert len(rig.disk.names(b"/mail/bob/cur")) == 1 and rig.disk.names(b"/mail/alice/cur") == []
    assert [type(reply.answer) for reply in rig.heard.replies] == [Ok] * 4, "both are on disk"
    assert rig.driver.node.core.causal.held == {"a": 4} and rig.driver.owed() == {"alice": 1}
    [told] = rig.heard.refusals
    assert told.startswith("alice: ") and list(rig.driver.standing) == ["alice"]
    # What follows for her is owed as well, in order.
    rig.save("G3")
    store = Store(user="alice", box=Box("INBOX"), uids=((1, 1),), add=("\\Seen",))
    expunge = Expunge(user="alice", box=Box("INBOX"), uids=((2, 2),))
    rig.driver.tell(lambda node, now: node.hear_mail("m", "*", store, "", now))
    rig.driver.tell(lambda node, now: node.hear_mail("m", "*", expunge, "", now))
    await rig.driver.round()
    assert rig.driver.owed() == {"alice": 4}
    rig.now += 2 * room.RETRY_S
    await rig.driver.round()
    assert rig.driver.owed() == {"alice": 4} and rig.heard.refusals == [told], "a reason is told once"
    mend(rig, text)
    rig.now += room.MOST_PAUSE_S
    await rig.driver.round()
    assert rig.heard.refusals == [told, "alice goes on"] and rig.driver.owed() == {} == rig.driver.standing
    assert [name.endswith(b":2,S") for name in rig.disk.names(b"/mail/alice/cur")] == [True]
    await until(lambda: rig.disk.names(b"/mail/.pyrepl-drop") == [])
    rig.close()


@in_loop
async def test_what_is_owed_outlives_a_crash(tmp_path: Path) -> None:
    rig, _ = await damaged(tmp_path)
    rig.save("G1")
    await rig.driver.round()
    rig.close()
    rows = SqliteRows(tmp_path / "mailbox.db", 1 << 20, lambda: 1000.0)
    [owed] = rows.owed("alice", 10)
    assert isinstance(owed.work, AddMessage) and (owed.work.guid, owed.work.uid) == ("G1", 1)
    assert rows.owed_texts() == {owed.work.text} and rows.owing() == {"alice": 1}
    rig.store.clear({"a": 9, "b": 9}, rows.owed_texts())
    assert rig.disk.names(b"/mail/.pyrepl-drop") == [owed.work.text.encode()]
    rows.close()


@in_loop
async def test_a_whole_node_begins_beside_a_damaged_maildir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "RETRY_S", 0.02)
    monkeypatch.setattr(room, "MOST_PAUSE_S", 0.05)
    async with cluster(tmp_path, "ab") as nodes:
        one, two = await MailProcess.of(tmp_path / "a"), await MailProcess.of(tmp_path / "b")
        for user in ("alice", "bob"):
            assert (await one.ask(f"CREATE {user} INBOX")).startswith("OK")
        assert (await one.save("G1")).startswith("OK")
        await one.ask("CHECK")
        path = tmp_path / "b" / "mail" / "alice" / "dovecot-uidlist"
        text = path.read_bytes()
        path.write_bytes(text + b"0 :no line\n")
        assert (await one.save("G2", b"more")).endswith("acks=1")
        assert (await one.save("G3", user="bob")).endswith("acks=1")
        assert texts(tmp_path / "b", "bob") == [b"hello"] and texts(tmp_path / "b") == [b"hello"]
        assert nodes["b"].logged("The mailboxes of alice stand still here: ")
        asking = await nodes["b"].peer()
        [stopped] = map(pairs, pairs(await asking.say("MAILBOX STATUS"))[b"stopped"])
        assert stopped[b"user"] == b"alice" and stopped[b"works-owed"] == 1 and b"uidlist" in stopped[b"why"]
        assert (await two.save("G4")).startswith("NO FAILED why=the%20mailboxes%20of%20alice%20stand%20still")
        assert (await two.save("G5", user="bob")).startswith("OK")
        # Begun anew, as after a crash, it compares the others and leaves this one for later.
        mailboxes = nodes["b"].app.mailboxes
        assert mailboxes is not None
        before = mailboxes.conns.keeping
        assert before is not None
        before.driver.tell(lambda node, now: json.loads("a defect"))
        await until(lambda: mailboxes.conns.keeping not in (None, before))
        two = await MailProcess.of(tmp_path / "b")
        assert (await two.save("G6", user="bob")).startswith("OK")
        path.write_bytes(text)
        await until(lambda: nodes["b"].logged("The mailboxes of alice go on"))
        await until(lambda: texts(tmp_path / "b") == [b"hello", b"more"])
        assert (await two.save("G7")).startswith("OK uid=3")


class Looks:
    """Workers who tell of three messages in whatever mailbox."""

    async def do_gates(self, orders: list[GateOrder]) -> list[GateResult]:
        return [GateResult(mail(1, 2, 3), was_open=True) for _ in orders]


@in_loop
async def test_of_messages_that_works_are_owed_about_nothing_is_told(tmp_path: Path) -> None:
    rows = SqliteRows(tmp_path / "mailbox.db", 1 << 20, lambda: 1000.0)
    hearers, workers = Heard(tmp_path), cast(Workers, Looks())
    standing = room.StandingUsers(rows, hearers, lambda: 0.0)
    owing, orders = Owing(rows, workers, standing), [GateOrder(GateWork.SHUT, "alice", GUID)]
    rows.put_owed(RemoveMessage("alice", GUID, "G2"))
    rows.put_owed(RemoveMessage("alice", "2" * 32, "G3"))
    rows.put_owed(RaiseNext("alice", GUID, 9))
    [(_, result)] = (await owing.look(orders, [])).gates
    assert result.found == mail(1, 2, 3), "all works are done of those who do not stand still"
    standing.stop("alice", "the quota is full", is_compared=True)
    [(order, result)] = (await owing.look(orders, [])).gates
    assert order is orders[0] and result.was_open and result.found is not None
    assert [each.guid for each in result.found.messages] == ["G1", "G3"] and result.found.untold == {"G2"}
    rows.close()


@in_loop
async def test_who_is_compared_late_is_so_before_a_round_brings_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else what another node has done since counts as undone by a mail program: the rows have it, the files not yet."""
    monkeypatch.setattr(Heard, "send", lambda self, send: None)
    rig = Rig(tmp_path, members="ab")
    rig.hear_of_b(1, Create(user="alice", box=Box("INBOX"), id=GUID, uidvalidity=5, stamp=Stamp(1, "b")))
    place = Box(GUID, True)
    rig.hear_of_b(2, Save(user="alice", box=place, uid=1, guid="G1", size=5, received=1, token=Token(1, 1)))
    await rig.driver.round()
    rig.driver.begin({"alice": "the disk is away"})
    rig.hear_of_b(3, Store(user="alice", box=place, guids=("G1",), add=("\\Seen",)))
    await rig.driver.round()
    await rig.driver.round()
    row = rig.rows.message(GUID, "G1")
    assert row is not None and row.set_flags() == ("\\Seen",) and not rig.driver.standing
    assert [name.endswith(b":2,S") for name in rig.disk.names(b"/mail/alice/cur")] == [True]
    rig.close()


@in_loop
async def test_of_those_who_are_compared_late_a_round_waits_for_one_and_who_lacks_something_stands_on(
    tmp_path: Path,
) -> None:
    rig, _ = await damaged(tmp_path)
    rig.create("carol")
    await rig.driver.round()
    rig.driver.begin(dict.fromkeys(("bob", "alice", "carol"), "the disk is away"))
    await rig.driver.round()
    assert set(rig.driver.standing) == {"alice", "carol"}
    await rig.driver.round()
    assert set(rig.driver.standing) == {"alice"} and "dovecot-uidlist" in rig.driver.standing["alice"].reason
    rig.close()

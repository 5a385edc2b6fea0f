"""A Dovecot waits until the gates were shut once, and not for ever."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from pyrepl.daemon.mailbox.first_look import PATIENCE_S, FirstLook
from pyrepl.daemon.mailbox.maildir_store import MaildirStore
from pyrepl.daemon.mailbox.workers import Workers
from pyrepl.mailbox.gate_states import GateOrder, GateResult
from tests.unit.daemon.mailbox.mail_rig import MailProcess, members, settings_of
from tests.unit.daemon.rig import in_loop, running, until


class Rig:
    def __init__(self) -> None:
        self.told: list[str] = []
        self.look = FirstLook(lambda seconds, why: self.told.append(why))


def test_it_is_over_when_all_gates_were_shut() -> None:
    rig = Rig()
    assert rig.look.why_not(None, 10 * PATIENCE_S).startswith("Maildirs are compared")
    assert rig.look.why_not(2, 10 * PATIENCE_S).startswith("2 gates are being shut")
    assert rig.look.why_not(0, 10 * PATIENCE_S) == "" and rig.look.why_not(5, 10 * PATIENCE_S) == ""
    assert rig.told == []


def test_as_long_as_gates_are_shut_it_goes_on() -> None:
    rig = Rig()
    for left in range(100, 1, -1):
        assert rig.look.why_not(left, (100 - left) * (PATIENCE_S - 1)) != ""
    at = 98 * (PATIENCE_S - 1)
    assert rig.look.why_not(2, at + PATIENCE_S - 1) != "" and rig.look.why_not(3, at + PATIENCE_S - 1) != ""
    assert rig.look.why_not(2, at + PATIENCE_S) == "" and rig.look.why_not(2, at + PATIENCE_S) == ""
    assert rig.told == ["2 gates are being shut"]


def test_what_cannot_be_opened_is_not_waited_for_for_ever() -> None:
    rig = Rig()
    rig.look.failed(1.0)
    rig.look.failed(2.0)
    assert rig.look.why_not(None, PATIENCE_S) != "" and rig.look.why_not(None, 1.0 + PATIENCE_S) == ""
    assert rig.told == ["Maildirs are compared"]


@in_loop
async def test_of_a_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = members("a")
    settings = settings_of(tmp_path, "a", nodes, mailbox_gate="on")
    async with running(tmp_path, **settings):
        process = await MailProcess.of(tmp_path)
        await process.ask("CREATE alice INBOX")
    compared, may_compare = Workers.in_first, asyncio.Event()
    may_look = threading.Event()
    gate = MaildirStore.gate

    async def compare(workers: Workers, what: object) -> object:
        await may_compare.wait()
        return await compared(workers, what)  # type: ignore[arg-type]

    def look(store: MaildirStore, order: GateOrder) -> GateResult:
        may_look.wait()
        return gate(store, order)

    monkeypatch.setattr(Workers, "in_first", compare)
    monkeypatch.setattr(MaildirStore, "gate", look)
    async with running(tmp_path, **settings) as node:
        try:
            mailboxes = node.app.mailboxes
            assert mailboxes is not None and mailboxes.why_dovecot_waits(0.0).startswith("Maildirs are compared")
            may_compare.set()
            await until(lambda: mailboxes.why_dovecot_waits(0.0).startswith("1 gates"))
            assert await node.say("PING") == "PONG"
            may_look.set()
            await until(lambda: mailboxes.why_dovecot_waits(0.0) == "")
            assert (tmp_path / "mail" / "alice" / "dovecot-uidlist.lock").exists()
        finally:
            may_compare.set()
            may_look.set()

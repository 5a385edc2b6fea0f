"""A user who is about to log in: doveadm is asked beside the rounds, and what came of it is told."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from pyrepl.daemon.mailbox import server
from tests.unit.daemon.mailbox.mail_rig import MailProcess, cluster
from tests.unit.daemon.mailbox.test_doveadm import asked, program
from tests.unit.daemon.rig import RunningNode, in_loop, until


@asynccontextmanager
async def with_a_mail(tmp_path: Path) -> AsyncIterator[tuple[MailProcess, RunningNode]]:
    """A mail process, and its node, where alice has one message in INBOX."""
    async with cluster(tmp_path, "a", mailbox_gate="on", mailbox_doveadm=f"{tmp_path}/doveadm -c conf") as nodes:
        process = await MailProcess.of(tmp_path / "a")
        await process.ask("CREATE alice INBOX")
        await process.save("G1")
        yield process, nodes["a"]


@in_loop
async def test_m5_a_mailbox_is_aligned_and_then_the_user_may_log_in(tmp_path: Path) -> None:
    program(tmp_path)
    async with with_a_mail(tmp_path) as (process, _):
        assert await process.ask("CHECK alice login=1") == "OK"
        assert [line.split()[0] for line in asked(tmp_path)] == ["mailbox", "flags", "flags"]
        assert await process.ask("CHECK alice login=1") == "OK" and len(asked(tmp_path)) == 3, "nothing has changed"


@in_loop
async def test_why_it_failed_is_told(tmp_path: Path) -> None:
    program(tmp_path, "echo it is broken >&2; exit 75")
    async with with_a_mail(tmp_path) as (process, node):
        assert "it%20is%20broken" in await process.ask("CHECK alice login=1")
        assert node.logged("not_aligned alice INBOX: doveadm ended with 75: it is broken")


@in_loop
async def test_a_disk_that_refuses_is_told(tmp_path: Path) -> None:
    program(tmp_path)
    async with with_a_mail(tmp_path) as (process, _):
        drop = tmp_path / "a" / "mail" / ".pyrepl-drop"
        drop.rename(tmp_path / "gone")
        assert "No%20such%20file" in await process.ask("CHECK alice login=1")
        (tmp_path / "gone").rename(drop)


@in_loop
async def test_an_empty_mailbox_needs_nothing(tmp_path: Path) -> None:
    program(tmp_path)
    async with with_a_mail(tmp_path) as (process, _):
        assert (await process.ask("EXPUNGE alice INBOX uids=1")).startswith("OK")
        assert await process.ask("CHECK alice login=1") == "OK" and not (tmp_path / "asked").exists()


@in_loop
async def test_a_doveadm_that_does_not_end_is_ended_with_the_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "STUCK_S", 0.01)
    monkeypatch.setattr(server, "END_S", 60.0)
    ends = f"trap 'echo > {tmp_path}/ended; exit 1' TERM"
    program(tmp_path, f"{ends}; echo > {tmp_path}/begun; while :; do sleep 0.02; done")
    async with with_a_mail(tmp_path) as (process, _):
        process.say("1 CHECK alice login=1")
        await until((tmp_path / "begun").exists)
    assert (tmp_path / "ended").exists()

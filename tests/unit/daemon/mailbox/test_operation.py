"""What docs/mailboxes.md and docs/mailboxes-operation.md tell operators to do does what they say."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

from pyrepl.config.mailbox_kinds import MailboxMember
from tests.unit.daemon.mailbox.mail_rig import MailProcess, links, members, settings_of, texts
from tests.unit.daemon.rig import RunningNode, in_loop, running, until

PAGE = Path(__file__).resolve().parents[4] / "docs" / "mailboxes.md"


def member(
    folder: Path, name: str, nodes: tuple[MailboxMember, ...], **more: Any
) -> AbstractAsyncContextManager[RunningNode]:
    return running(folder / name, **settings_of(folder / name, name, nodes, **more))


def is_apart(node: RunningNode) -> bool:
    assert node.app.mailboxes is not None
    return node.app.mailboxes.figures.is_apart


@in_loop
async def test_a_witness_comes_and_a_dead_node_goes_while_all_are_off(tmp_path: Path) -> None:
    everybody = members("abw")
    two, left = everybody[:2], (everybody[0], everybody[2])
    async with member(tmp_path, "a", two) as one, member(tmp_path, "b", two):
        await until(lambda: links(one) == 1)
        process = await MailProcess.of(tmp_path / "a")
        await process.ask("CREATE alice INBOX")
        await process.save("G1")
    async with member(tmp_path, "a", everybody) as one, member(tmp_path, "b", everybody):
        async with member(tmp_path, "w", everybody):
            await until(lambda: links(one) == 2)
            process = await MailProcess.of(tmp_path / "b")
            assert (await process.save("G2")).endswith("acks=1")
        await until(lambda: len(texts(tmp_path / "a")) == 2)
    async with member(tmp_path, "a", left) as one, member(tmp_path, "w", left):
        await until(lambda: links(one) == 1 and not is_apart(one))
        process = await MailProcess.of(tmp_path / "a")
        assert (await process.save("G3")).startswith("OK uid=")
        assert len(texts(tmp_path / "a")) == 3


@in_loop
async def test_nodes_with_different_lists_do_not_link(tmp_path: Path) -> None:
    everybody = members("abw")
    async with member(tmp_path, "a", everybody[:2]), member(tmp_path, "b", everybody) as later:
        await until(lambda: later.logged("has another list of members: mailbox-members must name the same everywhere"))


@in_loop
async def test_root_force_lets_a_node_that_refuses_go_on_until_the_others_live_after_all(tmp_path: Path) -> None:
    nodes = members("ab")
    async with member(tmp_path, "a", nodes, mailbox_apart="refuse") as one:
        async with member(tmp_path, "b", nodes, mailbox_apart="refuse"):
            await until(lambda: links(one) == 1)
            process = await MailProcess.of(tmp_path / "a")
            await process.ask("CREATE alice INBOX")
            await process.save("G1")
            await until(lambda: len(texts(tmp_path / "b")) == 1)
        await until(lambda: is_apart(one))
        asking = await one.peer()
        assert await asking.say("MAILBOX ROOT FORCE") == "OK"
        await until(lambda: not is_apart(one))
        assert one.logged("root_forced a: ")
        assert (await process.save("G2", b"alone")).startswith("OK uid=2")
    async with member(tmp_path, "a", nodes, mailbox_apart="refuse") as one:
        await until(lambda: is_apart(one))
        asking = await one.peer()
        assert await asking.say("MAILBOX ROOT FORCE") == "OK", "it has to be said again"
        await until(lambda: not is_apart(one))
        async with member(tmp_path, "b", nodes, mailbox_apart="refuse"):
            await until(lambda: texts(tmp_path / "b") == [b"alone", b"hello"])
            assert not is_apart(one)


@in_loop
async def test_the_mail_process_of_the_page_runs_as_it_stands_there(tmp_path: Path) -> None:
    [text] = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    async with member(tmp_path, "a", members("a")):
        await MailProcess.of(tmp_path / "a")
        program = text.replace("/run/pyrepl/mailbox", str(tmp_path / "a" / "socket"))
        done = await asyncio.to_thread(
            subprocess.run, [sys.executable, "-c", program], capture_output=True, text=True, timeout=60
        )
        assert (done.returncode, done.stderr) == (0, "")
    [moved] = (tmp_path / "a" / "mail" / "alice" / ".Archive.2026" / "cur").iterdir()
    assert moved.name.endswith(":2,S")

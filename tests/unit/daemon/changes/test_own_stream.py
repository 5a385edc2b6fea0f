"""The stream `mailboxes`: what becomes of mailboxes, followed live and from a token."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyrepl.changes.recent_source import RecentSource
from pyrepl.daemon.changes.own_stream import OwnStream
from pyrepl.daemon.mailbox.conns import RESYNCED
from pyrepl.mailbox.sending import Notice
from pyrepl.observability.telling.mailboxes import NOTICES
from tests.unit.daemon.mailbox.mail_rig import MailProcess, members, settings_of
from tests.unit.daemon.rig import in_loop
from tests.unit.daemon.stream_rig import follow, streaming


def settings(folder: Path) -> dict[str, Any]:
    return settings_of(folder, "a", members("a"))


@in_loop
async def test_what_becomes_of_mailboxes(tmp_path: Path) -> None:
    async with streaming(tmp_path, **settings(tmp_path)) as (_, port):
        one = await follow(port, "REPLICATE mailboxes NOW")
        assert (await one.line()).startswith("POSITION mailboxes ")
        mail = await MailProcess.of(tmp_path)
        await mail.ask("CREATE alice INBOX")
        await mail.save("G1")
        created, saved = await one.rows(2)
        assert created[:3] == ["create", "alice", "INBOX"] and saved == ["save", "alice", "INBOX", 1, "G1"]
        await mail.ask("STORE alice INBOX uids=1 add=\\Seen")
        token = (await one.line()).split(" ")[2]
        await mail.ask("EXPUNGE alice INBOX uids=1")
        assert await one.rows(1) == [["expunge", "alice", "INBOX", [1], ["G1"]]]
        again = await follow(port, f"REPLICATE mailboxes {token}")
        assert await again.rows(1) == [["expunge", "alice", "INBOX", [1], ["G1"]]]
        late = await follow(port, "REPLICATE mailboxes 5")
        assert (await late.end()).startswith("ERROR")


@in_loop
async def test_a_resync_by_state_has_a_row_as_its_changes_have_none(tmp_path: Path) -> None:
    async with streaming(tmp_path, **settings(tmp_path)) as (node, port):
        one = await follow(port, "REPLICATE mailboxes NOW")
        assert (await one.line()).startswith("POSITION mailboxes ")
        assert node.app.mailboxes is not None
        node.app.mailboxes.conns.note(Notice(RESYNCED, "b"))
        assert await one.rows(1) == [["resync", "b"]]
        assert RESYNCED in NOTICES, "the machine's word"


@in_loop
async def test_there_is_none_without_mailboxes(tmp_path: Path) -> None:
    async with streaming(tmp_path) as (_, port):
        one = await follow(port, "REPLICATE mailboxes NOW")
        assert "unknown stream mailboxes" in await one.end()


@in_loop
async def test_more_rows_in_one_turn_than_are_kept(tmp_path: Path) -> None:
    async with streaming(tmp_path) as (node, port):
        assert node.app.streams is not None
        own = OwnStream(node.app.streams.hub, RecentSource("mailboxes", "node-a", 5, 3))
        one = await follow(port, "REPLICATE mailboxes NOW")
        await one.line()
        for number in range(5):
            own.append([number])
        own.append_text("[9]")
        assert await one.rows(6) == [[0], [1], [2], [3], [4], [9]]

"""What the machine wants read is read by the user's worker, and told in a round."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyrepl.daemon.mailbox import scrubber as room
from pyrepl.daemon.mailbox.maildir_store import MaildirStore
from tests.unit.daemon.mailbox.mail_rig import MailProcess, cluster, texts
from tests.unit.daemon.mailbox.test_deeds import pairs
from tests.unit.daemon.mailbox.test_figures import info
from tests.unit.daemon.rig import in_loop, until


def stored(folder: Path) -> Path:
    [found] = (folder / "mail" / "alice" / "cur").iterdir()
    return found


@in_loop
async def test_l8_a_damaged_text_is_mended_under_its_name(tmp_path: Path) -> None:
    async with cluster(tmp_path, "ab") as nodes:
        process = await MailProcess.of(tmp_path / "a")
        await process.ask("CREATE alice INBOX")
        assert (await process.save("G1", b"hello")).endswith("acks=1")
        path = stored(tmp_path / "b")
        before = path.stat()
        path.write_bytes(b"hullo")
        asking = await nodes["b"].peer()
        assert await asking.say("MAILBOX SCRUB") == "OK"
        await until(lambda: nodes["b"].logged("scrub_done 1 texts, 5 bytes, 1 damaged"))
        await until(lambda: nodes["b"].logged("text_mended alice G1"))
        assert stored(tmp_path / "b") == path and texts(tmp_path / "b") == [b"hello"]
        assert path.stat().st_mtime == before.st_mtime and path.stat().st_ino != before.st_ino
        assert nodes["b"].logged("text_damaged alice G1: it is another one from byte 0 on")
        scrub = pairs(pairs(await asking.say("MAILBOX STATUS"))[b"scrub"])
        assert scrub == {b"under-way": 0, b"texts": 1, b"bytes": 5, b"damaged": 1, b"not-mended": 0}
        shown = await info(asking)
        assert (shown["mailbox_texts_damaged"], shown["mailbox_texts_mended"]) == ("1", "1")
        assert shown["mailbox_scrubbed_bytes"] == "5"


@in_loop
async def test_l8_with_a_pace_it_begins_by_itself_and_nothing_is_written_where_all_is_well(tmp_path: Path) -> None:
    async with cluster(tmp_path, "a", mailbox_scrub=1 << 20) as nodes:
        process = await MailProcess.of(tmp_path / "a")
        await process.ask("CREATE alice INBOX")
        await until(lambda: nodes["a"].logged("scrub_done 0 texts"))
        assert not nodes["a"].logged("text_damaged")


@in_loop
async def test_a_defect_in_the_reading_is_not_hidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with cluster(tmp_path, "a") as nodes:
        process = await MailProcess.of(tmp_path / "a")
        await process.ask("CREATE alice INBOX")
        await process.save("G1")

        def fails(store: MaildirStore, order: object) -> None:
            raise RuntimeError("a defect")

        monkeypatch.setattr(room, "_read", fails)
        assert await (await nodes["a"].peer()).say("MAILBOX SCRUB") == "OK"
        await until(lambda: nodes["a"].logged("Keeping mailboxes failed (RuntimeError: a defect)"))


@in_loop
async def test_a_witness_has_nothing_to_read(tmp_path: Path) -> None:
    async with cluster(tmp_path, "aw") as nodes:
        assert await (await nodes["w"].peer()).error("MAILBOX SCRUB") == "ERR a witness keeps no mail"

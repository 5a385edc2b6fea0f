"""What is kept is opened from its files, and begins again from them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pyrepl.config.settings import Settings
from pyrepl.daemon.clock import Clock
from pyrepl.daemon.mailbox.configured import configured
from pyrepl.daemon.mailbox.database import DatabaseError
from pyrepl.daemon.mailbox.keeping import Keeping
from pyrepl.daemon.mailbox.maildirs_place import NotThere
from pyrepl.mailbox.verbs import Create
from pyrepl.mailbox.words import Box
from tests.unit.daemon.mailbox.mail_rig import members, settings_of
from tests.unit.daemon.mailbox.test_driver import Heard
from tests.unit.daemon.rig import in_loop


def opened(folder: Path, name: str = "a", **more: Any) -> Keeping:
    settings = Settings(dir=str(folder), **settings_of(folder, name, members("aw"), **more))
    return Keeping(configured(settings, 0.0), settings, Clock(), Heard(folder))


@in_loop
async def test_rows_outlive_it_and_texts_of_before_go(tmp_path: Path) -> None:
    keeping = opened(tmp_path)
    with pytest.raises(DatabaseError, match="another process has it open"):
        opened(tmp_path)
    await keeping.settle()
    node = keeping.driver.node
    node.core.do([Create(user="alice", box=Box("INBOX"), id="1" * 32, uidvalidity=7)])
    await keeping.driver.round()
    (tmp_path / "mail" / ".pyrepl-drop" / "a.1.G").write_bytes(b"left")
    keeping.stop()
    again = opened(tmp_path)
    await again.settle()
    assert again.driver.node.core.causal.held == {"a": 1}
    assert list((tmp_path / "mail" / ".pyrepl-drop").iterdir()) == []
    assert (tmp_path / "mail" / "alice" / "dovecot-uidlist").exists()
    again.stop()


@in_loop
async def test_maildirs_that_are_not_there_stop_it(tmp_path: Path) -> None:
    opened(tmp_path).stop()
    keeping = opened(tmp_path)
    await keeping.settle()
    keeping.stop()
    (tmp_path / "mail" / ".pyrepl-mailboxes").unlink()
    with pytest.raises(NotThere, match="is the disk of the Maildirs mounted"):
        opened(tmp_path)


@in_loop
async def test_a_witness_keeps_rows_alone(tmp_path: Path) -> None:
    keeping = opened(tmp_path, "w", mailbox_maildir="")
    await keeping.settle()
    assert keeping.workers is None and keeping.texts is None
    keeping.stop()
    assert list((tmp_path / "mail").iterdir()) == []

"""Parts that are off are not made."""

from __future__ import annotations

from pathlib import Path

from pyrepl.config.settings import Settings
from pyrepl.daemon.app import App
from tests.peers.ports import free_port
from tests.unit.daemon.mailbox.mail_rig import members, settings_of
from tests.unit.daemon.rig import in_loop


@in_loop
async def test_they_are_made_if_a_directive_asks_for_them(tmp_path: Path) -> None:
    without = App(Settings(dir=str(tmp_path), port=free_port()), None)
    assert without.streams is None and without.mailboxes is None
    asked = settings_of(tmp_path, "a", members("ab"))
    made = App(Settings(dir=str(tmp_path), port=free_port(), stream_port=free_port(), **asked), None)
    assert made.streams is not None and made.mailboxes is not None

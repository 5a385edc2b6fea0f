"""A node without `mailbox-port` that serves loads nothing of mailboxes, whatever it is asked."""

from __future__ import annotations

import sys
from typing import Final

import pytest

from tests.peers.lab import Lab
from tests.peers.wire import ErrorReply

IMPORT: Final = "import time:"
"""How Python begins a line about each module that it loads, with -X importtime."""
OFF: Final = {"pyrepl.daemon.mailbox", "pyrepl.daemon.mailbox.off"}
"""What answers MAILBOX there."""


def test_it_loads_nothing_of_mailboxes(lab: Lab) -> None:
    node = lab.start("pyrepl", program=[sys.executable, "-X", "importtime", "-m", "pyrepl_cli.main"])
    with pytest.raises(ErrorReply, match="set mailbox-port"):
        node.call("MAILBOX", "STATUS")
    node.info()
    loaded = {line.rpartition("|")[2].strip() for line in node.log().splitlines() if line.startswith(IMPORT)}
    assert "pyrepl.daemon.app" in loaded
    rooms = ("pyrepl.mailbox", "pyrepl.daemon.mailbox", "sqlite3", "inotify_simple")
    assert {module for module in loaded if module.startswith(rooms)} <= OFF

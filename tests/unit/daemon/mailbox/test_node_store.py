"""Every store does all that a node needs."""

from __future__ import annotations

import inspect

import pytest

from pyrepl.daemon.mailbox.doveadm_store import DoveadmStore
from pyrepl.daemon.mailbox.maildir_store import MaildirStore
from pyrepl.daemon.mailbox.node_store import NodeStore


@pytest.mark.parametrize("store", [MaildirStore, DoveadmStore])
def test_it_has_every_method_with_the_same_words(store: type) -> None:
    wanted = [name for name, _ in inspect.getmembers(NodeStore, inspect.isfunction) if not name.startswith("_")]
    assert {"perform", "gate", "folders", "readable_text", "clear"} <= set(wanted)
    for name in wanted:
        own, theirs = inspect.signature(getattr(store, name)), inspect.signature(getattr(NodeStore, name))
        assert list(own.parameters)[: len(theirs.parameters)] == list(theirs.parameters), name

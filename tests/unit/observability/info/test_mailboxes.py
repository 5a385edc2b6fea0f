"""INFO mailboxes: one line where none are kept, and all of them where they are."""

from __future__ import annotations

from pyrepl.node.mailboxes import MailboxMember
from pyrepl.observability.info.field import Field
from pyrepl.observability.info.mailboxes import MAILBOXES
from tests.unit.commands.rig import Rig
from tests.unit.observability.info.reading import info


class Figures:
    """Of a node, as tests want them."""

    port = 7390
    name = "a"
    is_ready = True
    root = "b"
    epoch = 3
    is_apart = False
    apart_s = 1.5
    boxes, messages, journal_bytes, mail_processes, users_stopped = 1, 2, 3, 4, 5
    troubled = 18
    ops_waiting, ops_sent, ops_applied, moves, renumbered = 6, 7, 8, 9, 10
    burned, single_copy, gate_waits, gate_wait_ms = 11, 12, 13, 14
    scrubbed_bytes, texts_damaged, texts_mended = 15, 16, 17

    @property
    def members(self) -> list[MailboxMember]:
        return [MailboxMember("a", "h:1", "self", 0, 0), MailboxMember("b", "h:2", "down", 3, 250)]


def test_where_none_are_kept() -> None:
    assert info(Rig(), "mailboxes") == {"mailbox_port": "0"}


def test_each_figure_has_its_line() -> None:
    rig = Rig()
    rig.node.mailboxes = Figures()
    shown = info(rig, "mailboxes")
    fields = [entry.name for entry in MAILBOXES.entries if isinstance(entry, Field)]
    assert list(shown) == [*fields, "mailbox_member0", "mailbox_member1"]
    head = "7390 a 1 b 3 0 1.50 1 2 3 4 5 18 7 8 6 250 9 10 11 12 13 14 15 16 17"
    assert " ".join(shown[name] for name in fields) == head
    assert shown["mailbox_member1"] == "name=b,address=h:2,link=down,lag_ops=3,lag_ms=250"

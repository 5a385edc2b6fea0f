"""The rows about mailboxes."""

from __future__ import annotations

from pyrepl.config.directive import Directive
from pyrepl.config.directives import GROUPS
from pyrepl.config.mailboxes import Mailboxes
from pyrepl.config.settings import Settings


def rows() -> set[Directive[object]]:
    return {row for row in vars(Mailboxes).values() if isinstance(row, Directive)}


def test_the_rows_are_a_group_of_their_own() -> None:
    assert [set(group) for title, group in GROUPS if title == Mailboxes.__doc__] == [rows()]
    assert all(row.name.startswith("mailbox-") for row in rows())


def test_it_is_off_and_only_what_can_change_may() -> None:
    assert not Settings().mailbox_port
    assert {row.name for row in rows() if row.mutable} == {"mailbox-maxclients", "mailbox-scrub"}
    assert {row.name for row in rows() if row.secret} == {"mailbox-secret"}

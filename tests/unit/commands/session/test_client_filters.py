"""Which clients a filter means; the texts of its errors are tested with CLIENT KILL."""

from __future__ import annotations

import pytest

from pyrepl.commands.session.client_filters import ClientFilter, client_kind
from pyrepl.errors import CommandError
from pyrepl.node.client import MASTER, NORMAL, PUBSUB, REPLICA
from tests.unit.commands.rig import Rig


@pytest.mark.parametrize(
    ("word", "kind"),
    [(b"normal", NORMAL), (b"SLAVE", REPLICA), (b"Replica", REPLICA), (b"pubsub", PUBSUB), (b"master", MASTER)],
)
def test_kinds(word: bytes, kind: str) -> None:
    assert client_kind(word) == kind


def test_no_kind() -> None:
    with pytest.raises(CommandError, match="Unknown client type 'x'"):
        client_kind(b"x")


def test_the_last_of_a_repeated_option_counts() -> None:
    assert ClientFilter.parse((b"ID", b"1", b"id", b"2")).client_id == 2


def test_nothing_set_means_all_others() -> None:
    rig = Rig()
    other = rig.connect()
    assert ClientFilter().choose(rig.call()) == [other]
    assert ClientFilter(skip_self=False).choose(rig.call()) == [rig.client, other]


def test_the_link_to_the_master_has_no_user() -> None:
    rig = Rig()
    link = rig.connect()
    link.become_master_link()
    assert ClientFilter.parse((b"USER", b"default")).choose(rig.call()) == []
    assert ClientFilter.parse((b"TYPE", b"master")).choose(rig.call()) == [link]

"""Options that are directives: they follow them, each in its own type."""

from __future__ import annotations

import pytest

from pyrepl.changes.subscription import SubscriptionOptions
from pyrepl.config.settings import Settings
from pyrepl.daemon import options_by_name
from pyrepl.daemon.options_by_name import INTRODUCTION, LINK, ROSTER, SESSION, SUBSCRIPTION, set_by_name
from pyrepl.replication.handshake import Introduction
from pyrepl.replication.limits import SessionOptions
from pyrepl.replication.link_options import LinkOptions
from pyrepl.replication.roster import RosterOptions

KINDS = (
    (RosterOptions, ROSTER),
    (SessionOptions, SESSION),
    (LinkOptions, LINK),
    (Introduction, INTRODUCTION),
    (SubscriptionOptions, SUBSCRIPTION),
)


@pytest.mark.parametrize("kind, names", KINDS)
def test_an_option_keeps_its_type(kind: type[object], names: dict[str, str]) -> None:
    options = kind()
    set_by_name(options, Settings(), names)
    for option in names:
        assert type(getattr(options, option)) is type(getattr(kind(), option)), option


def test_every_table_is_listed() -> None:
    assert [names for _, names in KINDS] == list(options_by_name.BY_NAME)


def test_a_directive_becomes_the_option() -> None:
    options = RosterOptions()
    set_by_name(options, Settings(repl_ping_replica_period=3, repl_diskless_sync_max_replicas=2), ROSTER)
    assert (options.ping_period_s, options.diskless_max_replicas) == (3.0, 2)


def test_a_word_becomes_a_text() -> None:
    told = Introduction()
    set_by_name(told, Settings(masteruser=b"u", masterauth=b"\xff"), INTRODUCTION)
    assert (told.user, told.password) == ("u", "\udcff")

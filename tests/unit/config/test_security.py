"""The rows about users."""

from __future__ import annotations

import pytest

from pyrepl.config.directive import Directive
from pyrepl.config.directives import GROUPS
from pyrepl.config.security import Security
from pyrepl.config.settings import Settings
from pyrepl.errors import ConfigError


def test_the_rows_are_a_group_of_their_own() -> None:
    rows = {row for row in vars(Security).values() if isinstance(row, Directive)}
    assert [set(group) for title, group in GROUPS if title == Security.__doc__] == [rows]


def test_users_are_shown_to_nobody() -> None:
    settings = Settings(user=((b"bob", b">secret"),))
    assert not any(b"secret" in value for value in settings.matching(b"*").values())
    assert b"user" not in settings.matching(b"user")


def test_channels_are_closed_or_open() -> None:
    settings = Settings()
    settings.set("acl-pubsub-default", b"AllChannels")
    assert settings.acl_pubsub_default == "allchannels"
    with pytest.raises(ConfigError, match="argument"):
        settings.set("acl-pubsub-default", b"some")

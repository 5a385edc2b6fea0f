"""The rows about TLS."""

from __future__ import annotations

import pytest

from pyrepl.config.directive import Directive
from pyrepl.config.directives import GROUPS
from pyrepl.config.settings import Settings
from pyrepl.config.tls import Tls
from pyrepl.errors import ConfigError


def test_the_rows_are_a_group_of_their_own() -> None:
    rows = {row for row in vars(Tls).values() if isinstance(row, Directive)}
    assert [set(group) for title, group in GROUPS if title == Tls.__doc__] == [rows]


def test_passwords_of_keys_are_secrets() -> None:
    rows = [row for row in vars(Tls).values() if isinstance(row, Directive)]
    assert {row.name for row in rows if row.secret} == {"tls-key-file-pass", "tls-client-key-file-pass"}


def test_off_unless_asked_for() -> None:
    settings = Settings()
    assert not (settings.tls_port or settings.tls_replication or settings.tls_cluster or settings.tls_stream)
    assert settings.tls_auth_clients == "yes", "who asks for it gets the safe form"


def test_the_stream_port_keeps_its_form() -> None:
    with pytest.raises(ConfigError, match="immutable"):
        Settings().set("tls-stream", b"yes")

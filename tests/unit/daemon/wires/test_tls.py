"""The contexts in force: made when they are needed, renewed when settings or files change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pyrepl.config.settings import Settings
from pyrepl.daemon.wires.tls import Tls
from pyrepl.errors import ConfigError
from pyrepl.observability.event import Event
from pyrepl.observability.events import TlsFilesRenewed, TlsFilesUnusable
from tests.peers.certificates import Authority
from tests.unit.daemon.wires.tls_rig import settings_of


def begun(settings: Settings) -> tuple[Tls, list[Event]]:
    said: list[Event] = []
    tls = Tls(settings, said.append)
    tls.settings_changed(())
    return tls, said


def test_nothing_is_made_unless_asked_for(tmp_path: Path) -> None:
    tls, said = begun(Settings(tls_cert_file="/no/such"))
    assert tls.server is tls.client is tls.for_master is tls.for_migrate is None
    tls.tick(1.0)
    tls.tick(3.0)
    assert said == [] and tls.server is None
    assert tls.next_deadline(3.0) == 4.0, "a CONFIG SET may ask for it at any time"


@pytest.mark.parametrize(
    ("wanted", "server", "client"),
    [
        ({"tls_port": 1}, True, False),
        ({"tls_stream": True, "stream_port": 1}, True, False),
        ({"tls_stream": True}, False, False),
        ({"tls_mailbox": True, "mailbox_port": 1}, True, True),
        ({"tls_replication": True}, False, True),
        ({"tls_cluster": True}, False, True),
    ],
)
def test_what_is_made(authority: Authority, wanted: dict[str, Any], server: bool, client: bool) -> None:
    off: dict[str, Any] = {"tls_port": 0, "tls_replication": False}
    tls, _ = begun(settings_of(authority, **{**off, **wanted}))
    assert (tls.server is not None, tls.client is not None) == (server, client)
    assert (tls.for_master is not None) is bool(wanted.get("tls_replication"))
    assert (tls.for_migrate is not None) is bool(wanted.get("tls_cluster"))


def test_a_setting_that_cannot_be_used(authority: Authority) -> None:
    settings = settings_of(authority)
    tls, _ = begun(settings)
    before = tls.server
    settings.tls_cert_file = "/no/such"
    tls.settings_changed(("port",))
    assert tls.server is before, "nobody asked for it"
    with pytest.raises(ConfigError, match="cannot read tls-cert-file"):
        tls.settings_changed(("tls-cert-file",))
    assert tls.server is before


def test_changed_files(authority: Authority) -> None:
    settings = settings_of(authority)
    tls, said = begun(settings)
    before = tls.server
    assert tls.next_deadline(5.0) <= 5.0
    tls.tick(5.0)
    assert tls.server is before and said == [] and tls.next_deadline(5.0) == 6.0
    Path(settings.tls_cert_file).write_text("half")
    tls.tick(5.9)
    assert said == [], "it is not time yet"
    tls.tick(6.0)
    tls.tick(7.0)
    (told,) = said
    assert isinstance(told, TlsFilesUnusable) and "holds no certificate" in told.error and tls.server is before
    authority.issue()
    tls.tick(8.0)
    tls.tick(9.0)
    assert [type(event) for event in said[1:]] == [TlsFilesRenewed]
    assert tls.server is not None and tls.server is not before


def test_only_by_config_set(authority: Authority) -> None:
    settings = settings_of(authority, tls_auto_reload_interval=0)
    tls, said = begun(settings)
    before = tls.server
    authority.issue()
    tls.tick(5.0)
    assert tls.server is before and said == []
    tls.settings_changed(("tls-cert-file",))
    assert tls.server is not before


@pytest.mark.parametrize("interval", [0, 1])
def test_after_a_config_set_that_another_part_refused(authority: Authority, interval: int) -> None:
    """The settings go back without a word, and the contexts follow them at the next look."""
    settings = settings_of(authority, tls_auto_reload_interval=interval)
    tls, _ = begun(settings)
    settings.tls_auth_clients = "no"
    tls.settings_changed(("tls-auth-clients",))
    changed = tls.server
    settings.tls_auth_clients = "yes"
    tls.tick(100.0)
    assert tls.server is not changed


def test_nothing_goes_out_plain_instead(authority: Authority) -> None:
    settings = settings_of(authority, tls_port=0, tls_cluster=True)
    tls, _ = begun(settings)
    settings.tls_replication = settings.tls_cluster = False
    tls.settings_changed(("tls-replication",))
    assert tls.client is None
    # Another part did not take the CONFIG SET.
    settings.tls_replication = settings.tls_cluster = True
    assert tls.for_master is not None and tls.for_migrate is not None
    tls.client, settings.tls_ca_cert_file = None, "/no/such"
    with pytest.raises(ConnectionError, match="cannot read tls-ca-cert-file"):
        assert tls.for_master
    with pytest.raises(ConnectionError, match="cannot read tls-ca-cert-file"):
        assert tls.for_migrate

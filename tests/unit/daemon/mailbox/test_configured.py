"""Directives become options, or an error that says what to set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pyrepl.config.settings import Settings
from pyrepl.daemon.mailbox.configured import configured
from pyrepl.errors import ConfigError
from tests.unit.daemon.mailbox.mail_rig import members, settings_of

BY_DOVEADM = {"mailbox_store": "doveadm", "mailbox_doveadm": "sh"}
"""What it does is not asked here."""


def made(folder: Path, name: str = "b", **more: Any) -> Settings:
    return Settings(**settings_of(folder, name, members("abw"), **more))


def test_a_member(tmp_path: Path) -> None:
    conf = configured(made(tmp_path, mailbox_tenure=30, mailbox_apart="refuse", mailbox_dir=str(tmp_path)), 0.5)
    assert conf.name == "b" and conf.to_call == ("a",) and conf.database == tmp_path / "mailbox.db"
    assert conf.mastering.root.lease_s == 1.0 and conf.mastering.root.jitter_s == 0.1
    assert conf.mastering.tracker.tenure_s == 0.03 and not conf.mastering.tracker.accept
    assert conf.members.witnesses == {"w"} and conf.place is not None


def test_members_must_agree_on_gaps_and_leases(tmp_path: Path) -> None:
    mine = configured(made(tmp_path), 0.0).members.digest()
    assert configured(made(tmp_path, mailbox_tenure=30), 0.0).members.digest() == mine
    assert configured(made(tmp_path, mailbox_gap=1000), 0.0).members.digest() != mine
    assert configured(made(tmp_path, mailbox_lease=2000), 0.0).members.digest() != mine


def test_a_witness_has_no_maildirs(tmp_path: Path) -> None:
    conf = configured(made(tmp_path, "w", mailbox_maildir=""), 0.0)
    assert conf.place is None and conf.to_call == ("a", "b")


def test_a_witness_takes_no_mail(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="mailbox-lmtp-port: a witness takes no mail"):
        configured(made(tmp_path, "w", mailbox_gate="on", mailbox_lmtp_port=24, mailbox_lmtp_backend="/x"), 0.0)


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"mailbox_node": "x"}, "mailbox-node x is none of mailbox-members"),
        ({"mailbox_node": ""}, r"mailbox-node \(none\)"),
        ({"mailbox_secret": b"short"}, "mailbox-secret must have 16 bytes"),
        ({"mailbox_maildir": "mail/%u"}, "mailbox-maildir: 'mail/%u' is no absolute path"),
        ({"mailbox_maildir": "/var/mail"}, "mailbox-maildir"),
        ({"mailbox_doveadm": "doveadm"}, "mailbox-doveadm needs mailbox-gate on"),
        ({"mailbox_doveadm": "'doveadm", "mailbox_gate": "on"}, "mailbox-doveadm: No closing quotation"),
        ({"mailbox_doveadm": "/nonexistent -c x", "mailbox_gate": "on"}, "mailbox-doveadm /nonexistent: there is no"),
        ({"mailbox_store": "doveadm"}, "mailbox-store doveadm needs mailbox-doveadm"),
        ({**BY_DOVEADM, "mailbox_gate": "on"}, "mailbox-store doveadm has no gates"),
        ({**BY_DOVEADM, "mailbox_apart": "refuse"}, "mailbox-store doveadm cannot keep a Dovecot from taking mail"),
        ({**BY_DOVEADM, "mailbox_lmtp_port": 24}, "mailbox-store doveadm sees new mail too late"),
        ({**BY_DOVEADM, "mailbox_scrub": 1}, "mailbox-store doveadm cannot mend texts"),
        ({"mailbox_lmtp_backend": "/x", "mailbox_gate": "on"}, "mailbox-lmtp-backend needs mailbox-lmtp-port"),
        ({"mailbox_lmtp_port": 24}, "mailbox-lmtp-port needs mailbox-gate on"),
        ({"mailbox_lmtp_port": 24, "mailbox_gate": "on"}, r"mailbox-lmtp-backend \(none\) is neither a path nor host"),
        ({"mailbox_lmtp_port": 24, "mailbox_gate": "on", "mailbox_lmtp_backend": "x:0"}, "mailbox-lmtp-backend x:0"),
    ],
)
def test_what_cannot_be(tmp_path: Path, wrong: dict[str, Any], why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        configured(made(tmp_path, **wrong), 0.0)


@pytest.mark.parametrize(
    ("stated", "backend"),
    [
        ("/run/dovecot/lmtp", "/run/dovecot/lmtp"),
        ("127.0.0.1:24", ("127.0.0.1", 24)),
        ("[::1]:24", ("::1", 24)),
    ],
)
def test_where_a_dovecot_takes_mail(tmp_path: Path, stated: str, backend: str | tuple[str, int]) -> None:
    settings = made(tmp_path, mailbox_gate="on", mailbox_lmtp_port=2424, mailbox_lmtp_backend=stated)
    assert configured(settings, 0.0).lmtp == backend
    assert configured(made(tmp_path), 0.0).lmtp is None


def test_doveadm_and_its_options(tmp_path: Path) -> None:
    settings = made(tmp_path, mailbox_gate="on", mailbox_doveadm="/bin/sh -c '/etc/my conf'")
    assert configured(settings, 0.0).doveadm == ("/bin/sh", "-c", "/etc/my conf")


def test_mail_that_is_kept_by_doveadm(tmp_path: Path) -> None:
    conf = configured(made(tmp_path, mailbox_maildir="", **BY_DOVEADM), 0.0)
    assert conf.is_kept_by_doveadm and conf.place is None and conf.gates is None
    assert conf.doveadm == ("sh",) and conf.expunge_guard == 100
    assert conf.why_no_user("alice@example.org") == "" and "al*: to doveadm" in conf.why_no_user("al*")
    assert configured(made(tmp_path), 0.0).why_no_user("al*") == "", "a Maildir can be called so"
    witness = configured(made(tmp_path, "w", **BY_DOVEADM), 0.0)
    assert not witness.is_kept_by_doveadm and witness.doveadm == () and witness.expunge_guard is None
    assert not configured(made(tmp_path), 0.0).is_kept_by_doveadm

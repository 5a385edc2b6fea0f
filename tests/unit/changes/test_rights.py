"""Who a subscriber is, and what its user may do."""

from __future__ import annotations

import pytest

from pyrepl.acl.denial import Refused
from pyrepl.changes.replicated import CACHES_CHANNEL
from pyrepl.changes.rights import ONLY_AS_A_REPLICA, Rights, channel_of, channel_said_by
from tests.unit.changes.rig import users_of


def rights_of(rules: str) -> Rights:
    """Those of a user `alice` who has logged in."""
    users = users_of(alice=f"on >a {rules}")
    rights = Rights(users, users.newcomer())
    assert rights.log_in(b"alice", b"a")
    return rights


def test_channels() -> None:
    assert channel_of("caches") == CACHES_CHANNEL == channel_said_by("INVALIDATE_CACHE")
    assert channel_said_by("USER_SYNC") == b"pyrepl:user_sync"


def test_without_rules_everything() -> None:
    users = users_of()
    rights = Rights(users, users.newcomer())
    assert not rights.wants_password and rights.identity.is_authenticated
    assert rights.why_not_follow("keys") is None and rights.why_not_say("USER_SYNC") is None


@pytest.mark.parametrize(
    ("rules", "of_data", "of_applications"),
    [
        ("", False, False),
        ("+psync", True, True),
        ("+subscribe &pyrepl:orders", False, True),
        ("+subscribe &pyrepl:*", False, True),
        ("+subscribe &*", False, True),
        ("+subscribe &orders", False, False),
        ("&pyrepl:orders", False, False),
        ("(+subscribe &pyrepl:orders)", False, True),
        ("+subscribe (&pyrepl:orders)", False, False),
    ],
)
def test_what_may_be_followed(rules: str, of_data: bool, of_applications: bool) -> None:
    rights = rights_of(rules)
    assert {rights.why_not_follow(stream) is None for stream in ONLY_AS_A_REPLICA} == {of_data}
    assert (rights.why_not_follow("orders") is None) is of_applications


def test_what_is_lacking() -> None:
    lack = rights_of("+subscribe").why_not_follow("caches")
    assert lack is not None and (lack.reason, lack.object) == (Refused.CHANNEL, b"pyrepl:caches")
    assert lack.text == (
        "NOPERM User alice has no permissions to access the 'pyrepl:caches' channel: to follow caches it needs +psync,"
        " or +subscribe &pyrepl:caches"
    )
    lack = rights_of("").why_not_say("INVALIDATE_CACHE")
    assert lack is not None and (lack.reason, lack.object) == (Refused.COMMAND, b"publish")
    assert lack.text == (
        "NOPERM User alice has no permissions to run the 'publish' command: to say INVALIDATE_CACHE it needs +publish"
        " &pyrepl:caches"
    )
    assert rights_of("+publish &pyrepl:caches").why_not_say("INVALIDATE_CACHE") is None


def test_a_login() -> None:
    users = users_of(b"secret", alice="on >a")
    rights = Rights(users, users.newcomer())
    assert rights.wants_password and not rights.identity.is_authenticated
    assert not rights.log_in(b"alice", b"secret") and not rights.log_in(b"", b"a")
    assert rights.log_in(b"", b"secret") and rights.user.name == b"default"
    assert rights.is_own_password(b"secret") and not rights.is_own_password(b"a")
    assert rights.log_in(b"alice", b"a") and rights.user.name == b"alice"
    assert not rights.is_own_password(b"secret") and not rights.is_gone
    users.delete([b"alice"])
    assert rights.is_gone

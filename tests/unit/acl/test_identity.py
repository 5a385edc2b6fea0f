"""Who a connection is."""

from __future__ import annotations

import pytest

from pyrepl.acl.identity import OURS, UNASKED, Identity, Proof, turns_away
from pyrepl.acl.user import User


class TestIdentity:
    @pytest.mark.parametrize(
        ("identity", "is_let_in"), [(Identity(None, Proof.MISSING), False), (UNASKED, True), (OURS, True)]
    )
    def test_who_is_let_in(self, identity: Identity, is_let_in: bool) -> None:
        assert identity.is_authenticated is is_let_in

    def test_who_has_a_user_has_its_name_and_limits(self) -> None:
        user = User(b"alice")
        assert Identity(user, Proof.PASSWORD).name == b"alice"
        assert Identity(user, Proof.PASSWORD).is_limited
        assert OURS.name == b"(superuser)" and not OURS.is_limited


@pytest.mark.parametrize(
    ("addr", "protected_mode", "is_open", "expected"),
    [
        ("10.0.0.1:1", True, True, True),
        ("10.0.0.1:1", False, True, False),
        ("127.0.0.2:1", True, True, False),
        ("10.0.0.1:1", True, False, False),
    ],
)
def test_protected_mode(addr: str, protected_mode: bool, is_open: bool, expected: bool) -> None:
    assert turns_away(addr, protected_mode=protected_mode, is_open=is_open) is expected

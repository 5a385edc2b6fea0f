"""Who a connection is."""

from __future__ import annotations

import pytest

from pyrepl.acl.identity import OURS, STRANGER, UNASKED, Access, Identity, Proof, turns_away
from pyrepl.acl.user import User


class TestIdentity:
    @pytest.mark.parametrize(("identity", "is_let_in"), [(STRANGER, False), (UNASKED, True), (OURS, True)])
    def test_who_is_let_in(self, identity: Identity, is_let_in: bool) -> None:
        assert identity.is_authenticated is is_let_in

    def test_how_it_came_to_be_so_is_kept(self) -> None:
        assert Access(b"secret").log_in(b"secret") == Identity(None, Proof.PASSWORD)
        assert Access().log_in(b"anything") == UNASKED

    def test_who_has_a_user_has_its_name_and_limits(self) -> None:
        user = User(b"alice")
        assert Identity(user, Proof.PASSWORD).name == b"alice"
        assert Identity(user, Proof.PASSWORD).is_limited
        assert OURS.name == b"(superuser)" and not OURS.is_limited


class TestAccess:
    def test_without_a_password_nobody_is_a_stranger(self) -> None:
        assert Access().is_open and Access().newcomer() == UNASKED

    def test_with_one_everybody_is(self) -> None:
        assert not Access(b"secret").is_open and Access(b"secret").newcomer() == STRANGER

    @pytest.mark.parametrize("password", [b"", b"secre", b"secret ", b"SECRET", b"\xff"])
    def test_another_password(self, password: bytes) -> None:
        assert Access(b"secret").log_in(password) is None


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

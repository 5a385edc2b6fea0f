"""Where a connection comes from, and who it is."""

from __future__ import annotations

import pytest

from pyrepl.identity import DEFAULT_USER, OURS, STRANGER, UNASKED, Access, Identity, Proof, is_local, is_unix


@pytest.mark.parametrize(
    ("addr", "local"),
    [
        ("127.0.0.1:1", True),
        ("127.9.9.9:1", True),
        ("[::1]:1", True),
        ("/run/x.sock:0", True),
        ("10.0.0.1:1", False),
        ("[fe80::1%eth0]:1", False),
        ("[::ffff:10.0.0.1]:1", False),
        ("master.example:6379", False),
        ("", False),
    ],
)
def test_what_is_local(addr: str, local: bool) -> None:
    assert is_local(addr) is local
    assert is_unix(addr) is (addr == "/run/x.sock:0")


class TestIdentity:
    @pytest.mark.parametrize(("identity", "is_let_in"), [(STRANGER, False), (UNASKED, True), (OURS, True)])
    def test_who_is_let_in(self, identity: Identity, is_let_in: bool) -> None:
        assert identity.is_authenticated is is_let_in

    def test_how_it_came_to_be_so_is_kept(self) -> None:
        assert Access(b"secret").log_in(DEFAULT_USER, b"secret") == Identity(DEFAULT_USER, Proof.PASSWORD)
        assert Access().log_in(DEFAULT_USER, b"anything") == UNASKED


class TestAccess:
    def test_without_a_password_nobody_is_a_stranger(self) -> None:
        assert Access().is_open and Access().newcomer() == UNASKED

    def test_with_one_everybody_is(self) -> None:
        assert not Access(b"secret").is_open and Access(b"secret").newcomer() == STRANGER

    @pytest.mark.parametrize("password", [b"", b"secre", b"secret ", b"SECRET", b"\xff"])
    def test_another_password(self, password: bytes) -> None:
        assert Access(b"secret").log_in(DEFAULT_USER, password) is None

    @pytest.mark.parametrize("access", [Access(), Access(b"secret")])
    def test_another_user(self, access: Access) -> None:
        assert access.log_in(b"alice", b"secret") is None

    @pytest.mark.parametrize(
        ("access", "addr", "protected_mode", "expected"),
        [
            (Access(), "10.0.0.1:1", True, True),
            (Access(), "10.0.0.1:1", False, False),
            (Access(), "127.0.0.2:1", True, False),
            (Access(b"secret"), "10.0.0.1:1", True, False),
        ],
    )
    def test_protected_mode(self, access: Access, addr: str, protected_mode: bool, expected: bool) -> None:
        assert access.turns_away(addr, protected_mode=protected_mode) is expected

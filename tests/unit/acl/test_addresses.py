"""Where a connection comes from."""

from __future__ import annotations

import pytest

from pyrepl.acl.addresses import is_local, is_public, is_unix


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


@pytest.mark.parametrize(
    ("addr", "public"),
    [
        ("127.0.0.1:1", False),
        ("10.0.0.1:1", False),
        ("192.168.3.4:1", False),
        ("100.64.0.1:1", False),
        ("[fd00::1]:1", False),
        ("[::ffff:10.0.0.1]:1", False),
        ("/run/x.sock:0", False),
        ("", False),
        ("9.9.9.9:1", True),
        ("[2a00::1]:1", True),
        ("[::ffff:9.9.9.9]:1", True),
    ],
)
def test_what_comes_by_the_internet(addr: str, public: bool) -> None:
    assert is_public(addr) is public

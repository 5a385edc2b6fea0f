"""Where a node is: `host:port` and URLs."""

from __future__ import annotations

import pytest

from cli.addresses import Target, parse_target


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("127.0.0.1:6379", Target("127.0.0.1", 6379)),
        ("host.example:1", Target("host.example", 1)),
        ("[::1]:65535", Target("::1", 65535)),
        ("::1:6379", Target("::1", 6379)),
        ("redis://h:7000", Target("h", 7000)),
        ("redis://h", Target("h", 6379)),
        ("rediss://h:7000/", Target("h", 7000, tls=True)),
        ("rediss://[::1]:7000", Target("::1", 7000, tls=True)),
        ("redis://alice:p%40ss@h:1", Target("h", 1, user="alice", password="p@ss")),
        ("rediss://:secret@h", Target("h", 6379, tls=True, password="secret")),
    ],
)
def test_good(text: str, target: Target) -> None:
    assert parse_target(text) == target


@pytest.mark.parametrize(
    "text",
    (
        *("", "host", ":6379", "host:", "host:x", "host:0", "host:65536", "host:-1", "[]:1", "host:²"),
        *("http://h:1", "redis://", "redis://:1", "redis://h:0", "redis://h:65536", "redis://h:x", "redis://h:1/3"),
    ),
)
def test_bad(text: str) -> None:
    assert parse_target(text) is None


def test_the_password_is_not_shown() -> None:
    assert "secret" not in repr(parse_target("redis://:secret@h"))

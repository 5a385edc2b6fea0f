"""The version that clients are told."""

from __future__ import annotations

from pyrepl.observability.version import REDIS_VERSION


def test_client_libraries_can_read_it() -> None:
    """They split at dots and compare numbers, to choose commands."""
    major, minor, patch = (int(part) for part in REDIS_VERSION.split("."))
    assert (major, minor) == (8, 2)
    assert patch >= 0

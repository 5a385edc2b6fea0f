"""Where things are kept for later runs."""

from __future__ import annotations

from pathlib import Path

from pyrepl.analysis.cache import cache_folder


def test_below_the_users_own_folder() -> None:
    assert cache_folder({"XDG_CACHE_HOME": "/var/cache/me", "HOME": "/me"}) == Path("/var/cache/me/pyrepl")
    assert cache_folder({"HOME": "/me"}) == Path("/me/.cache/pyrepl")


def test_nowhere_without_a_home() -> None:
    assert cache_folder({}) is cache_folder({"XDG_CACHE_HOME": "relative"}) is None

"""The rows about limits on clients."""

from __future__ import annotations

from pyrepl.config.directive import Directive
from pyrepl.config.directives import GROUPS
from pyrepl.config.limits import Limits
from pyrepl.config.settings import Settings


def test_the_rows_are_a_group_of_their_own() -> None:
    rows = {row for row in vars(Limits).values() if isinstance(row, Directive)}
    assert [set(group) for title, group in GROUPS if title == Limits.__doc__] == [rows]


def test_a_part_of_maxmemory() -> None:
    settings = Settings()
    settings.set("maxmemory-clients", b"5%")
    assert settings.maxmemory_clients == -5 and settings.get("maxmemory-clients") == b"5%"

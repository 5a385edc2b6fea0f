"""Facts of a machine: unknown is the default, so that what the system does not tell is not judged."""

from __future__ import annotations

from pyrepl.host.facts import Folder, Host


def test_what_is_not_told_is_unknown() -> None:
    host = Host()
    assert host.overcommit is None and host.is_clock_set is None and host.memory_bytes is None
    assert host.namesake is None and host.is_compiled


def test_a_folder_is_fine_unless_said_otherwise() -> None:
    assert Folder("/data") == Folder("/data", None, 0, 0)

"""Each module of pyrepl/ has a unit test file of its own: pyrepl/ROOM/NAME.py has tests/unit/ROOM/test_NAME.py.

Except some shells around sockets, files and processes in daemon/: a test of those with stand-ins for the outside would
test the stand-ins. They are covered by tests/interop and tests/fault, with real processes, and each says here by what.
"""

from __future__ import annotations

import re

from tests.house.source import ROOT, python, shown

SHELLS = {
    "cron": "interop/test_matrix.py (expiry), interop/test_data.py (save points)",
    "files": "interop/test_data.py, fault/test_start.py, fault/test_full_disk.py",
    "loop": "fault/test_start.py, fault/test_end.py",
    "master_link": "interop/test_matrix.py, fault/test_link.py, fault/test_bad_master.py",
    "performer": "interop/test_clients.py, interop/test_data.py",
    "progress_bar": "only seen on a terminal; its figures come from replication/progress.py",
    "replica_conn": "interop/test_matrix.py, fault/test_slow_replica.py",
    "replicas": "interop/test_matrix.py, fault/test_killed.py, fault/test_full_disk.py",
    "roles": "interop/test_chain.py",
    "sync_load": "interop/test_matrix.py, fault/test_killed.py, fault/test_bad_master.py",
}
"""Module of pyrepl/daemon/ -> the tests that cover it instead."""

WITHOUT = {f"pyrepl/daemon/{name}.py": tests for name, tests in SHELLS.items()}


def _wanted(module: str) -> str:
    folder, _, name = module.removeprefix("pyrepl/").rpartition("/")
    return "/".join(part for part in ("tests/unit", folder, f"test_{name.replace('__', '')}") if part)


def test_each_module_has_its_tests() -> None:
    modules = [shown(path) for path in python("pyrepl") if path.name != "__init__.py"]
    missing = [name for name in modules if name not in WITHOUT and not (ROOT / _wanted(name)).exists()]
    assert missing == []


def test_no_exception_is_stale() -> None:
    stale = [name for name in WITHOUT if not (ROOT / name).exists()]
    assert stale == []


def test_what_covers_a_shell_is_there() -> None:
    named = {match for tests in SHELLS.values() for match in re.findall(r"\w+/test_\w+\.py", tests)}
    assert [name for name in sorted(named) if not (ROOT / "tests" / name).exists()] == []

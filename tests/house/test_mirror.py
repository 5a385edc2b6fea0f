"""Each module of pyrepl/ has a unit test file of its own: pyrepl/ROOM/NAME.py has tests/unit/ROOM/test_NAME.py.

Except the shells around sockets, files and processes in daemon/: a test of those with stand-ins for the outside would
test the stand-ins. They are covered by tests/interop and tests/fault, with real processes, and each says here by what.
"""

from __future__ import annotations

import re

from tests.house.source import ROOT, python, shown

SHELLS = {
    "client_conn": "interop/test_clients.py, fault/test_bad_requests.py",
    "clients": "interop/test_clients.py, fault/test_bad_requests.py, fault/test_slow_replica.py",
    "clock": "the other shells' tests: it is the machine's clock and randomness, five lines each",
    "config_files": "fault/test_start.py",
    "cron": "interop/test_matrix.py (expiry), interop/test_data.py (save points)",
    "ending": "fault/test_end.py, fault/test_full_disk.py",
    "files": "interop/test_data.py, fault/test_start.py, fault/test_full_disk.py",
    "listener": "fault/test_start.py, interop/test_clients.py",
    "log_sink": "every test that waits for a line of the log",
    "loop": "fault/test_start.py, fault/test_end.py",
    "master_link": "interop/test_matrix.py, fault/test_link.py, fault/test_bad_master.py",
    "outbox": "interop/test_clients.py, fault/test_slow_replica.py",
    "performer": "interop/test_clients.py, interop/test_data.py",
    "progress_bar": "only seen on a terminal; its figures come from replication/progress.py",
    "replica_conn": "interop/test_matrix.py, fault/test_slow_replica.py",
    "replicas": "interop/test_matrix.py, fault/test_killed.py, fault/test_full_disk.py",
    "roles": "interop/test_chain.py",
    "saver": "interop/test_data.py, fault/test_killed.py, fault/test_full_disk.py",
    "snapshot": "interop/test_matrix.py, fault/test_killed.py",
    "snapshot_sinks": "interop/test_matrix.py, fault/test_killed.py, fault/test_full_disk.py",
    "sync_load": "interop/test_matrix.py, fault/test_killed.py, fault/test_bad_master.py",
    "waiters": "interop/test_clients.py (WAIT)",
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
    stale = [name for name in WITHOUT if not (ROOT / name).exists() or (ROOT / _wanted(name)).exists()]
    assert stale == []


def test_what_covers_a_shell_is_there() -> None:
    named = {match for tests in SHELLS.values() for match in re.findall(r"\w+/test_\w+\.py", tests)}
    assert [name for name in sorted(named) if not (ROOT / "tests" / name).exists()] == []

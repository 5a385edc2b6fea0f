"""Each module of pyrepl/ has a unit test file of its own: pyrepl/ROOM/NAME.py has tests/unit/ROOM/test_NAME.py.

Except the shells around sockets, files and processes in daemon/: a test of those with stand-ins for the outside would
test the stand-ins. They are covered by tests/interop and tests/fault, with real processes, and each says here by what.
"""

from __future__ import annotations

from tests.house.source import ROOT, python, shown

WITHOUT: dict[str, str] = {}
"""Module -> which tests cover it instead."""


def _wanted(module: str) -> str:
    folder, _, name = module.removeprefix("pyrepl/").rpartition("/")
    return "/".join(part for part in ("tests/unit", folder, f"test_{name}") if part)


def test_each_module_has_its_tests() -> None:
    modules = [shown(path) for path in python("pyrepl") if path.name != "__init__.py"]
    missing = [name for name in modules if name not in WITHOUT and not (ROOT / _wanted(name)).exists()]
    assert missing == []


def test_no_exception_is_stale() -> None:
    stale = [name for name in WITHOUT if not (ROOT / name).exists() or (ROOT / _wanted(name)).exists()]
    assert stale == []

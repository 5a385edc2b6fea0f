"""Each module of pyrepl/ has a unit test file of its own: pyrepl/ROOM/NAME.py has tests/unit/ROOM/test_NAME.py."""

from __future__ import annotations

from tests.house.source import ROOT, python, shown


def _wanted(module: str) -> str:
    folder, _, name = module.removeprefix("pyrepl/").rpartition("/")
    return "/".join(part for part in ("tests/unit", folder, f"test_{name.replace('__', '')}") if part)


def test_each_module_has_its_tests() -> None:
    modules = [shown(path) for path in python("pyrepl") if path.name != "__init__.py"]
    assert [name for name in modules if not (ROOT / _wanted(name)).exists()] == []
    assert len(modules) > 100

"""What must not stand in any file, and how long a file may be."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.house.source import python, shown, texts

MOST_LINES = 550
"""A file that passes this is where several jobs met; split it."""

TABLES = {"pyrepl/observability/events.py": "one record per event"}
"""File -> why it may be longer: a table of facts, one row each."""

NOT_IN_ANY_FILE = {
    r"/(work|home|root|Users)/\w": "a path of somebody's machine",
    r"/tmp/\w": "a path of somebody's machine",
    r"\w\.(debian\.org|pypi\.org|pythonhosted\.org|npmjs\.(org|com))": "the host of a package registry",
    r"(?i)remember to (also )?update": "a rule for people where a derived value is wanted",
    r"<<<<<<< |>>>>>>> ": "a merge left undone",
    r"\b(FIXME|XXX)\b": "a defect known and left",
}

NOT_IN_PYTHON = {
    r"^\s*(import|from) (pickle|marshal|shelve|dill)\b": "a format that runs what it reads",
    r"(?<![\w.])(eval|exec)\(": "a call that runs data",
    r"\bif\b.*\brole (==|!=|is) ": "a branch on the role; replication/role.py is its only place",
    r"def \w+\(.*\bserver\b\s*[:,)]": "a parameter called server: say which",
}


def _found(paths: list[Path], rules: dict[str, str]) -> list[str]:
    result = []
    for path in paths:
        if path == Path(__file__):
            continue
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            result += [
                f"{shown(path)}:{number}: {why}: {line.strip():.80}"
                for rule, why in rules.items()
                if re.search(rule, line)
            ]
    return result


def test_no_forbidden_text() -> None:
    assert _found(texts(), NOT_IN_ANY_FILE) == []


def test_no_forbidden_python() -> None:
    paths = [path for path in python("pyrepl", "cli", "bench") if shown(path) != "pyrepl/replication/role.py"]
    assert _found(paths, NOT_IN_PYTHON) == []


@pytest.mark.parametrize("text", ["/work/" + "x", "if self." + "role == 1:", "import " + "pickle", "x = ev" + "al(y)"])
def test_the_rules_find_what_they_forbid(tmp_path: Path, text: str) -> None:
    planted = tmp_path / "planted.py"
    planted.write_text("first\n" + text)
    found = _found([planted], NOT_IN_ANY_FILE | NOT_IN_PYTHON)
    assert len(found) == 1
    assert "planted.py:2: " in found[0]


def test_files_are_short() -> None:
    long = {
        shown(path): count
        for path in python("pyrepl", "cli", "bench", "tests")
        if (count := len(path.read_text().splitlines())) > MOST_LINES and shown(path) not in TABLES
    }
    assert long == {}


def test_no_module_is_called_utils() -> None:
    vague = ("utils.py", "util.py", "helpers.py", "helper.py", "misc.py", "common.py")
    assert [shown(path) for path in python("pyrepl", "cli", "bench", "tests") if path.name in vague] == []


def test_every_module_says_what_it_does() -> None:
    silent = [shown(path) for path in python("pyrepl", "cli", "bench", "tests") if not _begins_with_docstring(path)]
    assert silent == []


def _begins_with_docstring(path: Path) -> bool:
    text = re.sub(r"\A(# cython: .*\n)*", "", path.read_text())
    return not text or text.lstrip().startswith(('"""', 'r"""'))

"""Settings reach the options of machines by name (`daemon/options_by_name`), not by lines that copy them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.house.source import python, shown


def test_nobody_copies_a_setting_into_options() -> None:
    assert [f"{shown(path)}:{line}" for path in python("pyrepl") for line in copies(path.read_text())] == []


def copies(source: str) -> Iterator[int]:
    """Lines that set an option to a setting as it is, or to a float or a text of it."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Assign) and _is_setting(node.value) and any(map(_is_option, node.targets)):
            yield node.lineno


def _is_option(target: ast.expr) -> bool:
    return isinstance(target, ast.Attribute) and _last_name(target.value).lstrip("_") in ("options", "session")


def _is_setting(value: ast.expr) -> bool:
    if isinstance(value, ast.Call) and len(value.args) == 1 and _last_name(value.func) in ("float", "int", "to_text"):
        value = value.args[0]
    while isinstance(value, ast.Attribute):
        value = value.value
        if _last_name(value).lstrip("_") == "settings":
            return True
    return False


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def test_the_test_sees_a_copy() -> None:
    assert list(copies("self._options.timeout_s = float(settings.repl_timeout)")) == [1]
    assert list(copies("\nsession.hard = self._node.settings.client_output_buffer_limit.replica.hard_bytes")) == [2]
    assert list(copies("options.dialects = dialects_of(settings)")) == []
    assert list(copies("options.backlog_ttl_s = 0 if kept else settings.repl_backlog_ttl")) == []

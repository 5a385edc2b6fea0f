"""No directive promises what nobody does.

Each is read by code outside the configuration room, or its row says that it is without effect (`inert`, and whoever
sets it is told). Nobody reads what says so of itself.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

from pyrepl.config.accepted import ACCEPTED, REFUSED
from pyrepl.config.directives import ROWS
from pyrepl.daemon.options_by_name import BY_NAME
from pyrepl.rdb.settings import PackingSettings

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = {"settings", "_settings"}
"""What the objects are called whose attributes are the directives."""

BY_OTHER_WAYS = {
    "enable-protected-configs": "Settings.why_not_settable acts on it",
    **{name.replace("_", "-"): "snapshots take all of PackingSettings together" for name in PackingSettings._fields},
    **{
        name.partition(".")[0].replace("_", "-"): "options_by_name hands it to a machine"
        for names in BY_NAME
        for name in names.values()
    },
}


@cache
def readers() -> dict[str, list[str]]:
    """Attribute of Settings -> places that read it, by the syntax tree: comments and texts do not count."""
    found: dict[str, list[str]] = {}
    files = [*(ROOT / "pyrepl").rglob("*.py"), *(ROOT / "cli").rglob("*.py")]
    for path in files:
        if path.parent == ROOT / "pyrepl" / "config":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) and _name(node.value) in SETTINGS:
                found.setdefault(node.attr, []).append(f"{path.name}:{node.lineno}")
    return found


def _name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


@pytest.mark.parametrize("name", [name for name, row in ROWS.items() if not row.inert])
def test_somebody_acts_on_it(name: str) -> None:
    assert ROWS[name].attribute in readers() or name in BY_OTHER_WAYS, (
        f"nobody reads settings.{ROWS[name].attribute}: act on it or say so"
    )


@pytest.mark.parametrize("name", [name for name, row in ROWS.items() if row.inert])
def test_nobody_acts_on_what_is_said_to_be_without_effect(name: str) -> None:
    assert ROWS[name].attribute not in readers()


def test_names_without_a_row_have_a_reason_and_no_reader() -> None:
    for name, why in (ACCEPTED | REFUSED).items():
        assert why
        assert name.replace("-", "_") not in readers()

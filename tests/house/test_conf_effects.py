"""No directive promises what nobody does: each is read outside the configuration room, or says that it is inert."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pyrepl.config.directives import ROWS
from pyrepl.rdb.settings import PackingSettings

ROOT = Path(__file__).resolve().parents[2]
BY_OTHER_WAYS = {"enable-protected-configs", *(field.replace("_", "-") for field in PackingSettings._fields)}
"""Settings.why_not_settable acts on the one; the snapshot takes the others together, under the same names."""


@pytest.fixture(scope="module")
def source() -> str:
    files = [*(ROOT / "pyrepl").rglob("*.py"), *(ROOT / "cli").rglob("*.py")]
    return "\n".join(path.read_text() for path in files if path.parent != ROOT / "pyrepl" / "config")


@pytest.mark.parametrize("name", [name for name, row in ROWS.items() if not row.inert])
def test_somebody_acts_on_it(name: str, source: str) -> None:
    found = re.search(rf"settings\.{ROWS[name].attribute}\b|\"{name}\"", source)
    assert found or name in BY_OTHER_WAYS, f"nobody reads settings.{ROWS[name].attribute}: act on it or say inert="

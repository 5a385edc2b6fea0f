"""Statements about result tables: those that are answered, those that cannot be, and those of the documentation."""

from __future__ import annotations

import re

from tests.house.source import ROOT

GOOD = (
    "SELECT mode, count(*) AS n, min(at_us) AS first FROM syncs GROUP BY mode ORDER BY mode",
    "SELECT ok, ok, 1.5 AS half, array(at_us) AS several, struct(mode AS m) AS one, DATE'2026-11-21' AS d,"
    " NULL AS nothing FROM syncs WHERE day = '2026-11-21' ORDER BY at_us LIMIT 1",
    "SELECT count(*) FROM syncs JOIN nodes USING (node)",
    "DESCRIBE syncs",
    "SHOW TABLES",
)
WRONG = {
    "SELECT mods FROM modes": "no column mods; modes has mode, count",
    "SELECT mode FROM sincs": "no table sincs; there are totals, costs, syncs, modes,",
    "SELECT mode\nFRM syncs x": "Syntax error at or near 'syncs'",
    "SELECT 1/0 FROM syncs": "Division by zero.",
    "SELECT nosuch(mode) FROM syncs": "Cannot resolve routine `nosuch`",
}
"""And what is said of them."""


def documented() -> list[str]:
    """The statements of docs/metrics.md."""
    return re.findall(r'--sql "([^"]+)"', (ROOT / "docs" / "metrics.md").read_text())

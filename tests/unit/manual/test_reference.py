"""The reference has every row of its table, and no row that people are not to see."""

from __future__ import annotations

import re

import pytest

from manual import reference
from pyrepl.commands.describe.introspection import FAMILIES
from pyrepl.commands.engine.table import Table
from pyrepl.config.directives import ROWS
from pyrepl.metrics.results import RESULTS
from pyrepl.observability.info.report import SECTIONS


def first_cells(page: str) -> list[str]:
    return re.findall(r"^\| `([^`]*)` \|", page, re.MULTILINE)


def test_commands() -> None:
    names = {row.name.replace("|", " ") for row in Table(FAMILIES)}
    page = reference.commands().replace("\\|", "|")
    assert [name for name in names if f"| `{name}" not in page] == []
    assert "| `CLIENT KILL (ip:port" in page, "subcommands too"


def test_directives() -> None:
    cells = first_cells(reference.directives())
    assert sorted(cells) == sorted(name for name, row in ROWS.items() if not row.hidden)
    assert "| `port` | `6379` | TCP port; 0 opens none. |" in reference.directives()


def test_info() -> None:
    assert first_cells(reference.info()) == [entry.name for section in SECTIONS for entry in section.entries]


def test_lines_of_the_log() -> None:
    page = reference.log_lines()
    assert "| `Server initialized` | notice |" in page
    assert "| `Replica {replica} asks for synchronization` | notice |" in page


def test_tables_of_the_metrics() -> None:
    assert first_cells(reference.metrics()) == [column.name for table in RESULTS for column in table.columns]


@pytest.mark.parametrize("name", reference.PAGES)
def test_each_page_has_a_title_and_no_broken_table(name: str) -> None:
    lines = reference.PAGES[name]().splitlines()
    assert lines[0].startswith("# ")
    columns = [len(re.findall(r"(?<!\\)\|", line)) for line in lines if line.startswith("|")]
    assert columns
    assert [line for line in lines if line.startswith("|") and not line.endswith("|")] == []

"""One analysis of the real logs for all tests of this folder: Spark starts once in a test run, however many workers."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.peers import finder

LOGS = Path(__file__).resolve().parents[2] / "data" / "logs"

Row = dict[str, Any]


@dataclass(frozen=True)
class Analysed:
    """All result tables of a corpus as rows, and which scenario each node belongs to."""

    tables: Mapping[str, list[Row]]
    scenario_of: Mapping[str, str]

    def rows(self, table: str, scenario: str) -> list[Row]:
        """The rows of a table that concern a scenario's nodes."""
        return [row for row in self.tables[table] if self._scenario(row) == scenario]

    def _scenario(self, row: Row) -> str | None:
        names = [str(row.get("node")), str(row.get("replica"))]
        return next((self.scenario_of[name] for name in names if name in self.scenario_of), None)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Who asks Spark is marked as such."""
    for item in items:
        if "told_by_spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.spark)


@pytest.fixture(scope="session")
def corpora(told_by_spark: dict[str, Any]) -> dict[str, Analysed]:
    """The corpora `text` and `events`, and the one that grew."""
    return {name: Analysed(**one) for name, one in told_by_spark["corpora"].items()}


@pytest.fixture(scope="session")
def seen(told_by_spark: dict[str, Any]) -> dict[str, list[Row]]:
    """What met.py has seen."""
    return dict(told_by_spark["met"])


@pytest.fixture(scope="session")
def told_by_spark(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """All that Spark is asked for, by whichever worker comes first."""
    folder = tmp_path_factory.getbasetemp()
    if folder.name.startswith("popen-"):
        folder = folder.parent
    path = folder / "metrics.json"
    with (folder / "metrics.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            path.write_text(json.dumps(_analyse(folder)))
    return dict(json.loads(path.read_text()))


def _analyse(folder: Path) -> dict[str, Any]:
    finder.java()
    from pyrepl.metrics.ingest import ingest
    from pyrepl.metrics.reading import by_tasks
    from pyrepl.metrics.session import session
    from tests.unit.metrics import corpus, far, growth, met

    found = {}
    # For a process of a minute the best of Java's compilers costs more than it brings.
    os.environ.setdefault("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1")
    with session("local[2]", memory="1g", quick=True, interpreted=True) as spark:
        for name, logs in corpus.make(LOGS, folder / "corpora").items():
            # Brackets are what Spark takes for a pattern if it is let.
            tables = folder / "tables [1]" / name
            first = ingest(by_tasks(spark), [logs], tables)
            found[name] = corpus.collected(spark, tables) | {"scenario_of": corpus.scenarios(logs)}
            again = ingest(by_tasks(spark), [logs], tables)
            found[name]["tables"]["runs"] = [vars_of(first), vars_of(again)]
        grown = growth.Growth(spark, LOGS / "events" / "pyrepl-output-buffer", folder / "growth")
        found |= {name: one | {"scenario_of": {}} for name, one in grown.run().items()}
        seen = met.told(spark, folder / "met")
        fetched = far.told(spark, folder / "far")
    return {"corpora": found, "met": seen, "far": fetched}


def vars_of(read: Any) -> Row:
    """A run of ingest as a row."""
    return {name: getattr(read, name) for name in ("files", "lines", "bytes", "unparsed")}

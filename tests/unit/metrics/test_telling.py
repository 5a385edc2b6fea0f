"""Text logs are told on from where a run before has left them, and anew where that does not hold."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

from pyrepl.metrics.arrow import schema
from pyrepl.metrics.base import merged
from pyrepl.metrics.rollup import merged_marks
from pyrepl.metrics.tables import EVENTS
from pyrepl.metrics.telling import MOST, Logs, Telling, tell_on
from pyrepl.metrics.textlines import parse

LOG = (Path(__file__).resolve().parents[2] / "data" / "logs" / "text" / "redis7-failover").rglob("*.log")
WHOLE = {path.stem: path.read_text().splitlines() for path in LOG}


def events(node: str, lines: list[str]) -> pl.DataFrame:
    rows = [{**row, "node": node, "file": node} for row in parse(pa.array(lines, pa.string())).events.to_pylist()]
    return pl.DataFrame(pa.Table.from_pylist(rows, schema(EVENTS))).sort("at_us", maintain_order=True)


def shown(mark: Mapping[str, object]) -> str:
    """The same text for equal marks: equal sets may stand in another order."""
    return str(sorted((name, sorted(value) if isinstance(value, set) else value) for name, value in mark.items()))


class Files:
    """What is in each file, and which of them were read."""

    def __init__(self) -> None:
        self.rows: dict[str, pl.DataFrame] = {}
        self.seen: list[str] = []
        self._names = itertools.count()

    def add(self, node: str, rows: pl.DataFrame) -> None:
        self.rows[f"{node}/{next(self._names):02}"] = rows

    def drop(self, node: str) -> pl.DataFrame:
        """Its one file."""
        (path,) = [path for path in self.rows if path.startswith(f"{node}/")]
        return self.rows.pop(path)

    def read(self, _node: str, paths: Iterable[str]) -> pl.DataFrame:
        wanted = sorted(paths)
        self.seen += wanted
        return pl.concat([self.rows[path] for path in wanted])

    def logs(self, *passing: str) -> Logs:
        nodes = sorted({path.partition("/")[0] for path in self.rows})
        files = {node: tuple(path for path in self.rows if path.startswith(f"{node}/")) for node in nodes}
        return Logs(files, {}, dict.fromkeys(nodes, passing))

    def told(self, before: Telling | None = None, logs: Logs | None = None) -> tuple[dict[str, list[str]], Telling]:
        """What all comes to."""
        self.seen.clear()
        rollups, after = tell_on(self.read, logs or self.logs(), before or Telling())
        names = {name for one in rollups for name in one.tables}
        tables = merged({name: [one.tables[name] for one in rollups if name in one.tables] for name in names})
        marks = merged_marks(mark for one in rollups for mark in one.marks)
        rows = {
            name: sorted(str(sorted(row.items(), key=str)) for row in found.to_dicts())
            for name, found in tables.items()
        }
        return rows | {"marks": sorted(shown(mark) for mark in marks.values())}, after


@pytest.fixture
def files() -> Files:
    """Of each node the first two thirds of its lines."""
    found = Files()
    for node, lines in WHOLE.items():
        found.add(node, events(node, lines)[: len(events(node, lines)) * 2 // 3])
    return found


def grow(files: Files, node: str) -> str:
    """The rest of its lines, in a file of their own."""
    rows = events(node, WHOLE[node])
    files.add(node, rows[len(rows) * 2 // 3 :])
    return list(files.rows)[-1]


def test_only_what_is_new_is_read(files: Files) -> None:
    _, kept = files.told()
    assert set(kept.places) == set(WHOLE)
    node = min(WHOLE)
    new = grow(files, node)
    found, after = files.told(kept)
    assert files.seen == [new]
    assert found == files.told()[0]
    assert new in after.places[node].made_of and after.marks != kept.marks
    assert files.told(after)[0] == found


def test_of_nothing_new_nothing_is_read_or_kept_anew(files: Files) -> None:
    whole, kept = files.told()
    found, after = files.told(kept)
    assert (found, files.seen) == (whole, []) and after is kept


def test_lines_that_come_late_have_all_told_anew(files: Files) -> None:
    node = min(WHOLE)
    late = files.drop(node)
    files.add(node, late[1:])
    _, kept = files.told()
    files.add(node, late[:1])
    found, _ = files.told(kept)
    assert found == files.told()[0]


def test_a_file_that_was_given_up_has_all_told_anew(files: Files) -> None:
    node = min(WHOLE)
    _, kept = files.told()
    files.drop(node)
    files.add(node, events(node, WHOLE[node])[5:])
    found, after = files.told(kept)
    assert found == files.told()[0]
    assert not after.places[node].made_of & kept.places[node].made_of


def test_what_may_be_given_up_is_told_for_now(files: Files) -> None:
    node = min(WHOLE)
    new = grow(files, node)
    found, kept = files.told(logs=files.logs(new))
    assert found == files.told()[0] and new not in kept.places[node].made_of
    again, after = files.told(kept, files.logs(new))
    assert again == found and files.seen == [new] and after is kept


def test_a_run_that_is_told_elsewhere_by_now_is_taken_out(files: Files) -> None:
    node = min(WHOLE)
    _, kept = files.told()
    logs = replace(files.logs(), left_out={node: ("7",)})
    _, after = files.told(kept, logs)
    assert [path.partition("/")[0] for path in files.seen] == [node]
    assert after.places[node].left_out == ("7",)


def test_a_node_that_is_gone_is_forgotten(files: Files) -> None:
    node = min(WHOLE)
    _, kept = files.told()
    files.drop(node)
    found, after = files.told(kept)
    assert found == files.told()[0] and node not in after.places


def test_a_stand_that_is_too_large_is_not_kept() -> None:
    lines = [f"7:M 21 Nov 2026 11:09:41.000 * Replica h:{port} asks for synchronization" for port in range(1, MOST + 2)]
    files = Files()
    files.add("m", events("m", lines[:-1]))
    assert set(files.told()[1].places) == {"m"}
    files.add("m", events("m", lines[-1:]))
    assert not files.told()[1].places

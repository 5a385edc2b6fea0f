"""Rollups answer as the rows do: bounds cut through parts, lines are there twice or come late."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from pyrepl.metrics import manifest as manifests
from pyrepl.metrics.parts import Piece, pieces, sources, told_elsewhere
from tests.unit.metrics.conftest import LOGS
from tests.unit.metrics.inline import plain, read, told

SOURCE = LOGS / "events" / "pyrepl-output-buffer" / "master.jsonl"
LINES = SOURCE.read_bytes().splitlines(keepends=True)
TIMES = sorted(json.loads(line)["at_us"] for line in LINES)


def made(folder: Path, *files: list[bytes]) -> Path:
    """Tables of these files, each read by itself."""
    logs, tables = folder / "logs", folder / "tables"
    logs.mkdir(parents=True)
    for number, lines in enumerate(files):
        (logs / f"{number}.jsonl").write_bytes(b"".join(lines))
        read(logs, tables)
    return tables


@pytest.mark.parametrize("cut", [1, len(LINES) // 3, len(LINES) - 1])
def test_parts_are_as_the_whole(tmp_path: Path, cut: int) -> None:
    whole = plain(told(made(tmp_path / "whole", LINES)))
    assert plain(told(made(tmp_path / "parts", LINES[cut:], LINES[:cut]))) == whole


def test_lines_that_come_late_and_twice(tmp_path: Path) -> None:
    whole = plain(told(made(tmp_path / "whole", LINES)))
    lines = LINES + LINES[::3]
    random.Random(1).shuffle(lines)
    assert plain(told(made(tmp_path / "mangled", lines[::2], lines[1::2]))) == whole


def test_doubles_are_read_again_a_day_at_a_time(tmp_path: Path) -> None:
    tables = made(tmp_path, LINES, [*LINES[: len(LINES) // 2], b"\n"])
    (tables.parent / "logs" / "1.jsonl").write_bytes(b"{}\n" + b"".join(LINES[:9]))
    read(tables.parent / "logs", tables)
    every = pieces(manifests.load(tables))
    found = sources(every, (None, None), told_elsewhere(every))
    assert found.again and all(one.once for one in found.again)
    assert len({(one.table, one.rows[0].split("/")[1]) for one in found.again}) == len(found.again)


@pytest.mark.parametrize("part", [(0.0, 0.5), (0.3, 0.7), (0.9, 1.0), (0.4, 0.4), (1.0, 1.1)])
def test_bounds_are_as_if_nothing_else_was_logged(tmp_path: Path, part: tuple[float, float]) -> None:
    since, until = (round(TIMES[0] + share * (TIMES[-1] - TIMES[0])) for share in part)
    within = [line for line in LINES if since <= json.loads(line)["at_us"] < until]
    tables = made(tmp_path / "parts", LINES[:50], LINES[50:])
    expected = plain(told(made(tmp_path / "cut", within))) if within else {name: [] for name in plain(told(tables))}
    found = plain(told(tables, since, until))
    if not within:
        del found["totals"], expected["totals"]
    assert found == expected


def test_bounds_that_cut_samples_alone_count_them_once(tmp_path: Path) -> None:
    """A part has files of the same name for its events and for its samples."""
    last = max(place for place, line in enumerate(LINES) if b"sample" not in line)
    lines = LINES[: last + 2]
    since, until = TIMES[0], json.loads(LINES[last])["at_us"] + 1
    within = [line for line in lines if since <= json.loads(line)["at_us"] < until]
    assert len(within) == len(lines) - 1 and any(b"replica_sample" in line for line in within)
    expected = plain(told(made(tmp_path / "cut", within)))
    assert plain(told(made(tmp_path / "whole", lines), since, until)) == expected


def test_a_part_within_the_bounds_is_not_read_again(tmp_path: Path) -> None:
    every = pieces(manifests.load(made(tmp_path, LINES[:50], LINES[50:])))
    first, second = ({path for piece in every[place::2] for path in piece.rows} for place in (0, 1))
    found = sources(every, (TIMES[0] + 1, None), frozenset())
    again = {path for one in found.again for path in one.rows}
    assert again and len(again) < len(first | second)
    whole = {piece.mark["part"] for piece in every if not set(piece.rows) & again}
    assert whole and {path.rpartition("/")[2] for _, paths, _ in found.kept for path in paths} >= whole


def test_a_text_log_of_a_process_that_has_an_event_log() -> None:
    def piece(node: str, form: str, at_us: int, run: str) -> Piece:
        mark = {"table": "events", "form": form, "node": node, "starts": [[7, at_us, run]]}
        return Piece(node, json.dumps(mark), {}, ())

    every = [
        piece("a", "json", 10_000_000, "x"),
        piece("b", "text", 11_999_999, "7"),
        piece("c", "text", 12_000_000, "7"),
    ]
    assert told_elsewhere(every) == {("b", "7")}

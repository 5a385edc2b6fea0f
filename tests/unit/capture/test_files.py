"""A stream in files: each row once, whatever happens between two of them."""

from __future__ import annotations

import asyncio
import json
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pyrepl.capture.files import Capture, Folder, Rolling
from pyrepl.capture.matching import Matching
from pyrepl.capture.names import FolderError, finished
from pyrepl.changes.batches import Batch
from pyrepl.changes.client import ClientOptions, subscribe
from pyrepl.changes.place import NOW, Place
from pyrepl.changes.roundabout import Pace
from pyrepl.changes.rows import Json
from tests.unit.changes.fake_node import REPLID, FakeNode

LARGE = Rolling(1 << 30, 3600.0)
QUICK = ClientOptions(pace=Pace(0.01, 0.02))


def batch(token: int, *rows: Json) -> Batch:
    return Batch("keys", "", token, rows, 20 * len(rows), REPLID)


def capture_into(path: Path, *batches: Batch, rolling: Rolling = LARGE, pattern: str = "") -> Folder:
    """All of them, and finish."""
    with Folder(path, "keys", "jsonl") as folder:
        capture = Capture(folder, rolling, Matching(pattern))
        for one in batches:
            capture.take(one)
        capture.finish()
    return folder


def rows_in(path: Path) -> list[tuple[int, int, Any]]:
    found = []
    for name in sorted(os.listdir(path)):
        if not name.startswith("."):
            records = [json.loads(line) for line in (path / name).read_text().splitlines()]
            found += [(record["token"], record["part"], record["key"]) for record in records]
    return found


def place_in(path: Path) -> Place | None:
    with Folder(path, "keys", "jsonl") as folder:
        return folder.place


def files_in(path: Path) -> list[tuple[int, int]]:
    return [(span.after, span.last) for span in finished(os.listdir(path), "keys")]


def test_rows_and_names(tmp_path: Path) -> None:
    folder = capture_into(tmp_path, batch(5), batch(10, [0, "a", "set"]), batch(25, [0, "b", "set"], [0, "c", "del"]))
    assert rows_in(tmp_path) == [(10, 0, "a"), (25, 0, "b"), (25, 1, "c")]
    assert files_in(tmp_path) == [(5, 25)]
    assert folder.place == Place(25, REPLID)
    assert place_in(tmp_path) == Place(25, REPLID)


def test_files_tile_and_moves_are_kept(tmp_path: Path) -> None:
    capture_into(tmp_path, batch(5), batch(10, [0, "a", "set"]), batch(12))
    capture_into(tmp_path, batch(20))
    assert place_in(tmp_path) == Place(20, REPLID)
    capture_into(tmp_path, batch(30, [0, "b", "set"]))
    assert files_in(tmp_path) == [(5, 12), (12, 30)]


def test_a_file_is_finished_by_size_and_by_time(tmp_path: Path) -> None:
    many = [batch(n, [0, f"key:{n}", "set"]) for n in range(1, 101)]
    capture_into(tmp_path / "size", *many, rolling=Rolling(1000, 3600.0))
    assert 5 < len(files_in(tmp_path / "size")) < 12
    assert len(rows_in(tmp_path / "size")) == 100
    capture_into(tmp_path / "time", *many, rolling=Rolling(1 << 30, 0.0))
    assert len(files_in(tmp_path / "time")) == 100


def test_what_was_not_finished_is_dropped(tmp_path: Path) -> None:
    capture_into(tmp_path, batch(5), batch(10, [0, "a", "set"]))
    with Folder(tmp_path, "keys", "jsonl") as folder:
        capture = Capture(folder, LARGE, Matching())
        capture.take(batch(20, [0, "b", "set"]))
        assert folder.part().exists()
    capture_into(tmp_path, batch(20, [0, "b", "set"]))
    assert rows_in(tmp_path) == [(10, 0, "a"), (20, 0, "b")]
    assert not [name for name in os.listdir(tmp_path) if name.endswith(".part")]


def test_rows_that_do_not_match_move_the_place(tmp_path: Path) -> None:
    folder = capture_into(
        tmp_path,
        batch(5),
        batch(6, [0, "x", "set"]),
        batch(7, [0, "user:1", "set"]),
        batch(8, [0, "y", "set"]),
        pattern="user:*",
    )
    assert rows_in(tmp_path) == [(7, 0, "user:1")]
    assert folder.place == Place(8, REPLID)
    assert files_in(tmp_path) == [(5, 8)]


def test_one_process_at_a_time_and_other_streams_beside(tmp_path: Path) -> None:
    with Folder(tmp_path, "keys", "jsonl"):
        with pytest.raises(FolderError, match="another process captures this stream there"):
            Folder(tmp_path, "keys", "parquet")
        Folder(tmp_path, "caches", "jsonl").close()
    Folder(tmp_path, "keys", "jsonl").close()


def test_where_it_begins(tmp_path: Path) -> None:
    with Folder(tmp_path, "keys", "jsonl") as folder:
        folder.begin(NOW)
        assert folder.place is None
        folder.begin(Place(50))
    with Folder(tmp_path, "keys", "jsonl") as folder:
        folder.begin(Place(10))
        assert folder.place == Place(50), "a folder knows better"


def test_a_full_disk_leaves_no_half_token(tmp_path: Path) -> None:
    class Full:
        """Takes one record of two."""

        def write(self, records: list[dict[str, Json]], size_bytes: int) -> None:
            raise OSError(28, "No space left on device")

        def size_bytes(self) -> int:
            return 0

        def finish(self) -> None:
            raise AssertionError("never finished")

    with Folder(tmp_path, "keys", "jsonl") as folder:
        capture = Capture(folder, LARGE, Matching())
        capture.take(batch(5))
        capture.take(batch(6, [0, "a", "set"]))
        capture._format = Full()  # type: ignore[assignment]
        with pytest.raises(OSError, match="No space left"):
            capture.take(batch(7, [0, "b", "set"], [0, "c", "set"]))
        capture.finish()
    assert rows_in(tmp_path) == []
    capture_into(tmp_path, batch(6, [0, "a", "set"]), batch(7, [0, "b", "set"], [0, "c", "set"]))
    assert rows_in(tmp_path) == [(6, 0, "a"), (7, 0, "b"), (7, 1, "c")]


class Killed(BaseException):
    """The end of a process, between two of its steps."""


@pytest.mark.parametrize("seed", range(6))
def test_killed_between_any_two_steps(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each system call that changes the folder may be the last."""
    chance = random.Random(seed)
    steps: Iterator[int]

    def maybe_killed(real: Any) -> Any:
        def step(*args: Any, **keywords: Any) -> Any:
            if next(steps) == 0:
                raise Killed
            done = real(*args, **keywords)
            if next(steps) == 0:
                raise Killed
            return done

        return step

    monkeypatch.setattr(os, "fsync", maybe_killed(os.fsync))
    monkeypatch.setattr(Path, "rename", maybe_killed(Path.rename))
    monkeypatch.setattr(Path, "replace", maybe_killed(Path.replace))
    facts: list[tuple[int, list[Json]]] = []
    token = 0
    for n in range(200):
        token += chance.randrange(1, 40)
        facts.append((token, [[0, f"{n}.{part}", "set"] for part in range(chance.choice([0, 1, 1, 3]))]))
    kills = 0
    while True:
        steps = iter(range(chance.randrange(1, 40), -1, -1))
        try:
            steps = iter(range(1000, -1, -1)) if kills == 60 else steps
            with Folder(tmp_path, "keys", "jsonl") as folder:
                folder.begin(Place(0))
                held = folder.place.token if folder.place is not None and folder.place.token is not None else 0
                capture = Capture(folder, Rolling(chance.randrange(50, 400), 3600.0), Matching())
                for at, rows in facts:
                    if at > held:
                        capture.take(batch(at, *rows))
                capture.finish()
                break
        except Killed:
            kills += 1
    expected = [(at, part, row[1]) for at, rows in facts for part, row in enumerate(rows)]  # type: ignore[index]
    assert rows_in(tmp_path) == expected
    assert kills > 5


def test_live_it_finishes_by_time_and_at_the_end(tmp_path: Path) -> None:
    async def conversation() -> None:
        async with FakeNode([(5, [[0, "old", "set"]])]) as node:
            with Folder(tmp_path, "keys", "jsonl") as folder:
                capture = Capture(folder, Rolling(1 << 30, 0.05), Matching())
                async with subscribe([node.address], "keys", options=QUICK) as changes:
                    running = asyncio.create_task(capture.run(changes))
                    while changes.place.token != 5:
                        await asyncio.sleep(0.01)
                    node.append(10, [0, "a", "set"])
                    async with asyncio.timeout(120):
                        while files_in(tmp_path) != [(5, 10)]:
                            await asyncio.sleep(0.01)
                    node.append(20, [0, "b", "set"])
                    while capture.rows < 2:
                        await asyncio.sleep(0.001)
                    running.cancel()
                    await asyncio.gather(running, return_exceptions=True)

    asyncio.run(conversation())
    assert rows_in(tmp_path) == [(10, 0, "a"), (20, 0, "b")]

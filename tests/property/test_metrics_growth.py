"""Batch equals streaming: logs read piece by piece, however they grew and whenever a batch died, are as if read whole.

What a batch reads is planned, read and counted in here without Spark, so that many histories are cheap; the analysis
knows only the rows that are compared here, and tests/unit/metrics/test_follow.py runs it on the real stream.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from hypothesis import given, settings
from hypothesis import strategies as st

from bench import fleet
from pyrepl.metrics import manifest as manifests
from pyrepl.metrics.ingest import count_in, planned
from pyrepl.metrics.manifest import MERGE_BYTES
from pyrepl.metrics.parts import pieces
from pyrepl.metrics.plan import find
from pyrepl.metrics.rows import Rows
from pyrepl.metrics.tables import EVENTS, SAMPLES, UNPARSED
from tests.unit.metrics.inline import plain, read_by_tasks, told

LOGS = Path(__file__).parents[1] / "data" / "logs"
PAIR = LOGS / "events" / "pyrepl-output-buffer"
TEXT = [LOGS / "text" / name for name in ("redis7-output-buffer", "redis7-failover", "valkey8-dual-channel")]
TABLES = {EVENTS.name: EVENTS, SAMPLES.name: SAMPLES}
Row = dict[str, Any]

# What happens, one after another: a log grows by so many bytes, it is rotated, a batch runs to its end or dies before
# the manifest is replaced; each batch as of --follow, or of a run without it.
GROWS = st.tuples(st.sampled_from(["master.jsonl", "replica.log", "junk.log"]), st.integers(1, 4000))
ROTATES = st.tuples(st.just("rotate"), st.sampled_from(["master.jsonl", "replica.log"]))
BATCH = st.tuples(st.sampled_from(["batch", "dies"]), st.sampled_from([0, 300, MERGE_BYTES]))
HISTORIES = st.lists(st.one_of(GROWS, GROWS, BATCH, BATCH, ROTATES), min_size=4, max_size=30)


class Growing:
    """Logs in a folder, each a prefix of its whole in `source`."""

    def __init__(self, folder: Path, source: Path = PAIR) -> None:
        self.folder = folder
        self.whole = {path.name: path.read_bytes() for path in sorted(source.iterdir()) if path.is_file()}
        self.whole["junk.log"] = b"nobody understands this\n{nor this\n" * 40
        self.grown = dict.fromkeys(self.whole, 0)
        self.rotated = 0
        folder.mkdir()

    def grow(self, name: str, size: int) -> None:
        at = self.grown[name]
        with (self.folder / name).open("ab") as file:
            file.write(self.whole[name][at : at + size])
        self.grown[name] = min(len(self.whole[name]), at + size)

    def rotate(self, name: str) -> None:
        """As logrotate does, behind a whole line."""
        path = self.folder / name
        data = path.read_bytes() if path.exists() else b""
        if not data.endswith(b"\n"):
            return
        self.rotated += 1
        path.rename(path.with_name(f"{name}.{self.rotated}"))


def read(logs: Path, tables: Path, merge_bytes: int, *, dies: bool = False) -> None:
    """A batch, by the parts that a run with Spark is made of."""
    known = manifests.load(tables)
    ranges, tails = planned(known, find([logs], tables), tables, merge_bytes)
    told = read_by_tasks([*ranges, *tails], tables)
    if not dies:
        count_in(known, told, tails, tables)


def rows(tables: Path) -> tuple[list[str], list[Row]]:
    """All rows that count, and lines and bytes of each file."""
    known = manifests.load(tables)
    stored = Rows(tables)
    parts = {(piece.mark["table"], piece.node, path) for piece in pieces(known) for path in piece.rows}
    found = [row for table, node, path in parts for row in stored.of(TABLES[table], node, [path]).to_dicts()]
    found += [row for part in known.parts(UNPARSED.name) for row in pq.ParquetFile(tables / part).read().to_pylist()]
    plain = [repr(sorted((name, value) for name, value in row.items() if name != "file")) for row in found]
    return sorted(plain), known.file_rows()


@given(HISTORIES, st.sampled_from([0, MERGE_BYTES]))
@settings(max_examples=25, deadline=None)
def test_batch_equals_streaming(history: list[tuple[str, Any]], last: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        logs = Growing(Path(folder) / "logs")
        streamed, whole = Path(folder) / "streamed", Path(folder) / "whole"
        for what, how in history:
            if what in ("batch", "dies"):
                read(logs.folder, streamed, how, dies=what == "dies")
            elif what == "rotate":
                logs.rotate(how)
            else:
                logs.grow(what, how)
        read(logs.folder, streamed, last)
        read(logs.folder, whole, 0)
        assert rows(streamed) == rows(whole)


@given(st.lists(st.one_of(GROWS, GROWS, ROTATES), min_size=2, max_size=5), st.sampled_from([0, MERGE_BYTES]))
@settings(max_examples=6, deadline=None)
def test_answers_that_go_on_from_those_before_are_those_of_the_whole(
    history: list[tuple[str, Any]], merge_bytes: int
) -> None:
    go_on(PAIR, history, merge_bytes)


@given(st.data(), st.sampled_from(TEXT), st.sampled_from([0, MERGE_BYTES]))
@settings(max_examples=6, deadline=None)
def test_so_are_those_of_text_logs_whose_stories_go_on(data: st.DataObject, source: Path, merge_bytes: int) -> None:
    names = st.sampled_from(sorted(path.name for path in source.iterdir()))
    grows, rotates = st.tuples(names, st.integers(1, 9000)), st.tuples(st.just("rotate"), names)
    go_on(source, data.draw(st.lists(st.one_of(grows, grows, rotates), min_size=2, max_size=6)), merge_bytes)


@given(st.data(), st.sampled_from([0, MERGE_BYTES]))
@settings(max_examples=6, deadline=None)
def test_so_are_those_of_a_fleet_whose_small_ranges_are_read_together(data: st.DataObject, merge_bytes: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        source, logs = Path(folder) / "source", Path(folder) / "logs"
        fleet.make(source, 8, 60)
        whole = {path.relative_to(source): path.read_bytes() for path in sorted(source.rglob("*")) if path.is_file()}
        # How much of each log there is at each run; of some nothing is new.
        runs = st.lists(st.floats(0, 1), min_size=len(whole), max_size=len(whole))
        done = [0.0] * len(whole)
        for shares in [*data.draw(st.lists(runs, min_size=1, max_size=3)), [1.0] * len(whole)]:
            done = [max(before, share) for before, share in zip(done, shares, strict=True)]
            for (name, content), share in zip(whole.items(), done, strict=True):
                (logs / name).parent.mkdir(parents=True, exist_ok=True)
                (logs / name).write_bytes(content[: int(len(content) * share)])
            read(logs, Path(folder) / "grown", merge_bytes)
            found = told(Path(folder) / "grown")
        read(logs, Path(folder) / "whole", 0)
        assert plain(found) == plain(told(Path(folder) / "whole"))
        assert rows(Path(folder) / "grown") == rows(Path(folder) / "whole")


def go_on(source: Path, history: list[tuple[str, Any]], merge_bytes: int) -> None:
    """A run after each step of the history, and behind all that was logged."""
    with tempfile.TemporaryDirectory() as folder:
        logs = Growing(Path(folder) / "logs", source)
        grown, whole = Path(folder) / "grown", Path(folder) / "whole"
        for what, how in [*history, *((name, 1 << 20) for name in logs.whole)]:
            if what == "rotate":
                logs.rotate(how)
            else:
                logs.grow(what, how)
            read(logs.folder, grown, merge_bytes)
            found = told(grown)
        read(logs.folder, whole, 0)
        assert plain(found) == plain(told(whole))

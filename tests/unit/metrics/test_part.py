"""A range of a file becomes Parquet parts, the same ones each time; what is damaged is told."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyrepl.metrics.packed import digest
from pyrepl.metrics.part import WriteError, read_split
from pyrepl.metrics.ranges import Split, Told

LOGS = Path(__file__).resolve().parents[2] / "data" / "logs"
EVENT_LOG = LOGS / "events" / "pyrepl-pair" / "master.jsonl"
TEXT_LOG = LOGS / "text" / "redis8-rdb-channel" / "master.log"


def split(path: Path, start: int = 0, end: int = -1, packed: bool = False) -> Split:
    return Split(str(path), "id", start, end, "n", packed)


def stored(folder: Path, told: Told) -> list[dict[str, Any]]:
    """All rows of its parts, without where they stand."""
    rows = [row for part in told.parts for row in pq.ParquetFile(folder / part).read().to_pylist()]
    return sorted(({k: v for k, v in row.items() if k != "file"} for row in rows), key=str)


def test_an_event_log(tmp_path: Path) -> None:
    told = read_split(split(EVENT_LOG), str(tmp_path), "UTC")
    lines = EVENT_LOG.read_bytes().count(b"\n")
    assert (told.lines, told.events, told.ignored, told.unparsed, told.json_lines) == (lines, lines, 0, 0, lines)
    assert told.read == EVENT_LOG.stat().st_size
    assert {seq[0] for seq in told.seqs} == {"events", "samples"}
    assert all(seq[4] for seq in told.seqs)
    assert {part.split("/")[0] for part in told.parts} == {"events", "samples"}
    assert all("/day=2026-11-21/node=vm%3A" in part for part in told.parts)


def test_twice_is_once(tmp_path: Path) -> None:
    first = read_split(split(TEXT_LOG), str(tmp_path), "UTC")
    files = {path: path.read_bytes() for path in tmp_path.rglob("*.parquet")}
    assert read_split(split(TEXT_LOG), str(tmp_path), "UTC") == first
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.parquet")} == files
    assert not list(tmp_path.rglob("*.tmp"))


@pytest.mark.parametrize("packed", [False, True])
def test_nothing_is_read_of_another_file_that_has_the_name_by_now(tmp_path: Path, packed: bool) -> None:
    """The log was rotated after the range was planned."""
    pack = gzip.compress if packed else bytes
    path, data = tmp_path / "log", TEXT_LOG.read_bytes()
    wanted = split(path, packed=packed)._replace(head_bytes=512, head=digest(data[:512]))
    path.write_bytes(pack(data))
    assert read_split(wanted, str(tmp_path / "a"), "UTC").read == len(data)
    path.write_bytes(pack(EVENT_LOG.read_bytes()))
    told = read_split(wanted, str(tmp_path / "b"), "UTC")
    assert (told.read, told.lines, told.error) == (0, 0, "another file has this name by now, after 0 bytes")
    assert not list((tmp_path / "b").rglob("*.parquet"))


def test_a_longer_range_leaves_the_shorter_ones_parts_alone(tmp_path: Path) -> None:
    """Until the manifest is replaced, it names those."""
    lines = EVENT_LOG.read_bytes().splitlines(keepends=True)
    short = read_split(split(EVENT_LOG, end=len(b"".join(lines[:9]))), str(tmp_path), "UTC")
    before = stored(tmp_path, short)
    longer = read_split(split(EVENT_LOG, end=len(b"".join(lines[:20]))), str(tmp_path), "UTC")
    assert (len(before), len(stored(tmp_path, longer))) == (9, 20)
    assert stored(tmp_path, short) == before


@given(st.integers(0, EVENT_LOG.stat().st_size), st.booleans())
@settings(max_examples=12, deadline=None)
def test_a_file_cut_short_gives_what_was_before_the_cut(tmp_path_factory: Any, size: int, of_text: bool) -> None:
    folder = tmp_path_factory.mktemp("cut")
    data = (TEXT_LOG if of_text else EVENT_LOG).read_bytes()[:size]
    (folder / "log").write_bytes(data)
    told = read_split(split(folder / "log"), str(folder / "a"), "UTC")
    (folder / "log").write_bytes(data[: data.rfind(b"\n") + 1])
    whole = read_split(split(folder / "log"), str(folder / "b"), "UTC")
    assert told.lines - whole.lines <= 1
    assert told.lines == told.events + told.ignored + told.unparsed
    before = [row for row in stored(folder / "b", whole) if "why" not in row]
    after = [row for row in stored(folder / "a", told) if "why" not in row]
    assert all(row in after for row in before)
    assert len(after) - len(before) <= 1


@given(
    st.lists(st.sampled_from([*range(30)]) | st.sampled_from([b"{", b"text", b"", b'{"v":1}', b"\xff"]), max_size=60)
)
@settings(max_examples=30, deadline=None)
def test_read_by_the_scan_or_by_the_json_reader(tmp_path_factory: Any, drawn: list[int | bytes]) -> None:
    """Damaged lines among good ones, few and many."""
    folder = tmp_path_factory.mktemp("both")
    good = EVENT_LOG.read_bytes().splitlines()
    (folder / "log").write_bytes(b"\n".join(good[one] if isinstance(one, int) else one for one in [0, *drawn]))
    told = [
        read_split(split(folder / "log"), str(folder / name), "UTC", quick=quick)
        for name, quick in (("scan", True), ("json", False))
    ]
    assert told[0] == told[1]
    assert stored(folder / "scan", told[0]) == stored(folder / "json", told[1])


@pytest.mark.parametrize("quick", [True, False])
def test_what_cannot_be_written_is_no_fault_of_the_log(tmp_path: Path, quick: bool) -> None:
    (tmp_path / "samples").write_bytes(b"in the way")
    with pytest.raises(WriteError, match=r"/samples/day=.*\.parquet \("):
        read_split(split(EVENT_LOG), str(tmp_path), "UTC", quick=quick)


def test_packed_is_as_unpacked(tmp_path: Path) -> None:
    (tmp_path / "log.gz").write_bytes(gzip.compress(TEXT_LOG.read_bytes()))
    plain = read_split(split(TEXT_LOG), str(tmp_path / "a"), "UTC")
    packed = read_split(split(tmp_path / "log.gz", packed=True), str(tmp_path / "b"), "UTC")
    assert stored(tmp_path / "a", plain) == stored(tmp_path / "b", packed)
    assert packed.read == TEXT_LOG.stat().st_size


def test_a_damaged_gz_gives_what_comes_before_the_damage(tmp_path: Path) -> None:
    data = b"".join(b"no log at all %d\n" % number for number in range(50_000))
    whole = gzip.compress(data)
    (tmp_path / "log.gz").write_bytes(whole[: len(whole) // 2])
    told = read_split(split(tmp_path / "log.gz", packed=True), str(tmp_path), "UTC")
    assert 1000 < told.unparsed < 50_000
    assert "end-of-stream" in told.error


def test_a_text_log_in_json_is_no_event_log(tmp_path: Path) -> None:
    """Also where a collector has put both into one file."""
    asks = "Replica 127.0.0.1:7001 asks for synchronization"
    line = f'{{"pid":7,"role":"primary","timestamp":"1795246809041","level":"notice","message":"{asks}"}}\n'
    path = tmp_path / "log"
    path.write_text(line * 40 + EVENT_LOG.read_text() + line)
    told = read_split(split(path), str(tmp_path), "UTC")
    lines = EVENT_LOG.read_bytes().count(b"\n")
    assert (told.lines, told.json_lines, told.unparsed, told.ignored) == (lines + 41, lines, 0, 0)
    forms = [row["form"] for row in stored(tmp_path, told) if row.get("event") == "psync_asked" and row["run"] == "7"]
    assert forms == ["text_json"] * 41


def test_what_is_no_line_of_a_log_is_kept(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"first\n\xff\x00\n{\nx" + b"y" * (1 << 20) + b"\n")
    told = read_split(split(tmp_path / "log"), str(tmp_path), "UTC")
    rows = sorted(stored(tmp_path, told), key=lambda row: row["position"])
    assert [(row["position"], row["size"], row["why"]) for row in rows] == [
        (0, 5, "text"), (6, 2, "text"), (9, 1, "json"), (11, (1 << 20) + 1, "too_long"),
    ]  # fmt: skip
    assert [row["line"][:10] for row in rows] == ["first", "\\xff\\x00", "{", "xyyyyyyyyy"]


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    told = read_split(split(tmp_path / "gone"), str(tmp_path), "UTC")
    assert (told.error, told.parts) == ("No such file or directory, after 0 bytes", [])

"""The corpora that are analysed once for all tests: the real logs, the same mangled, and damaged files among them."""

from __future__ import annotations

import gzip
import json
import random
import shutil
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from pyrepl.metrics import manifest
from pyrepl.metrics.jobs import analyse
from pyrepl.metrics.parts import pieces
from pyrepl.metrics.report.as_json import as_json
from pyrepl.metrics.report.model import Report
from pyrepl.metrics.rows import Rows
from pyrepl.metrics.shown import shown
from pyrepl.metrics.tables import SAMPLES

Row = dict[str, Any]

MANGLED = (
    "redis7-disk",
    "redis8-rdb-channel",
    "valkey8-dual-channel",
    "redis7-failover",
    "redis7-output-buffer",
    "redis8-to-redis7-loop",
    "redis7-two-at-once",
)
"""Scenarios without pyrepl that are analysed once more, shuffled, doubled and split, beside the event logs."""


def make(logs: Path, folder: Path) -> dict[str, Path]:
    """Name -> folder of logs."""
    events = folder / "events"
    shutil.copytree(logs / "events", events)
    for name in MANGLED:
        shutil.copytree(logs / "text" / name, events / name)
        for path in sorted((events / name).glob("*.log")):
            mangle(path)
    shutil.copytree(logs / "text" / "pyrepl-pair", events / "twice")
    (events / "damaged").mkdir()
    damage(events / "damaged", events / "pyrepl-pair" / "master.jsonl")
    return {"text": logs / "text", "events": events}


def mangle(path: Path) -> None:
    """Shuffle the lines, double every fifth, put the one half into a rotated and packed file."""
    rng = random.Random(f"{path.parent.name}/{path.name}")
    lines = path.read_bytes().splitlines(keepends=True)
    lines += rng.sample(lines, len(lines) // 5)
    rng.shuffle(lines)
    half = len(lines) // 2
    path.write_bytes(b"".join(lines[:half]))
    with gzip.open(path.with_name(path.name + ".1.gz"), "wb") as packed:
        packed.write(b"".join(lines[half:]))


def damage(folder: Path, good_log: Path) -> None:
    """Files that are none, or not whole: the rest must be read all the same."""
    (folder / "empty.log").touch()
    (folder / "binary.log").write_bytes(bytes(range(256)) * 64)
    (folder / "huge.log").write_bytes(b"x" * (3 << 20) + b"\nfirst\n" + b"\xff\xfe not UTF-8\n")
    whole = gzip.compress(b"".join(b"no log at all %d\n" % i for i in range(20_000)))
    (folder / "cut.log.gz").write_bytes(whole[: len(whole) // 2])
    good = good_log.read_bytes().splitlines()
    wrong = [b"{", b'{"v":1}', good[0].replace(b'"pid":', b'"pid":"x'), b'{"at_us":"now"}', b'{"a":"\xff"}', b"[1]"]
    (folder / "wrong.jsonl").write_bytes(b"\n".join([*wrong, good[0]]))


def scenarios(logs: Path) -> dict[str, str]:
    """Node -> the scenario it was part of: the first folder of its log's path."""
    found = {}
    for path in sorted(logs.rglob("*")):
        if path.is_file():
            name = path.relative_to(logs).parts[0]
            node = path.relative_to(logs).as_posix().partition(".")[0]
            if path.suffix == ".jsonl" and path.name != "wrong.jsonl":
                node = json.loads(path.read_bytes().splitlines()[0])["node"]
            found[node] = name
    return found


def collected(spark: SparkSession, tables: Path) -> Row:
    """All tables as rows, and the JSON's top level as a table of one row."""
    most = 1 << 20
    analysed = analyse(spark, tables, spans=5, most=most)
    found, _ = shown(spark, analysed.sizes, most, analysed.few)
    rows: dict[str, list[Any]] = {name: own.table.to_pylist() for name, own in found.items()}
    about = json.loads("".join(as_json(Report(found, (), 0, ""))))
    rows["summary"] = [{name: value for name, value in about.items() if name != "tables"}]
    rows["samples"] = [row for piece in pieces(manifest.load(tables)) if piece.mark["table"] == "samples"
                       for row in Rows(tables).of(SAMPLES, piece.node, piece.rows).to_dicts()]  # fmt: skip
    return {"tables": rows}

"""examples/changes_in_spark.py counts what `pyrepl tail --to` captured: each change once, over two runs of Spark."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.interop import tailing
from tests.peers.lab import Lab
from tests.peers.ports import free_port
from tests.peers.stream_judge import token_at

ROOT = Path(__file__).parents[2]


@pytest.mark.matrix
@pytest.mark.timeout(900)
@pytest.mark.parametrize("form", ["json", "parquet"])
def test_counts_each_change_once(form: str, lab: Lab, tmp_path: Path) -> None:
    port = free_port()
    master = lab.start("pyrepl", directives={"stream-port": str(port)})
    folder, out = tmp_path / "changes", tmp_path / "out"
    command = [sys.executable, str(ROOT / "examples" / "changes_in_spark.py"), str(folder), "--once", "--format", form]
    command += ["--checkpoint", str(tmp_path / "state"), "--out", str(out)]
    start: list[object] = ["--from", master.offset()]
    with master.connect() as wire:
        for n in range(2):
            tail = tailing.start(
                *(tailing.address(port), "--to", folder, "--format", form, "--roll-bytes", "2kb"),
                *("--roll-seconds", 0.2, *start),
                log=tmp_path / "tail.log",
            )
            for k in range(100):
                wire.pipeline([["SET", f"k:{k}", n], ["HSET", b"\xff%d" % k, "f", k], ["DEL", f"k:{k - 50}"]])
            replid = master.info("replication")["master_replid"]
            tailing.wait_for(folder, token_at(master.offset(), replid), tail)
            assert tailing.end(tail) == 0
            subprocess.run(command, check=True, timeout=400)
    found = {}
    for path in out.glob("*.json"):
        for line in path.read_text().splitlines():
            row = json.loads(line)
            found[row["command"]] = row["changes"], row["token"]
    rows = tailing.records(folder)
    counts = Counter(row["command"] for row in rows)
    assert {command: changes for command, (changes, _) in found.items()} == counts
    assert max(token for _, token in found.values()) == rows[-1]["token"]
    assert counts["set"] == counts["hset"] == 200

"""The metrics of logs that the newest servers write here and now, against what those servers counted themselves.

The recorded logs (tests/data/logs) are of Redis 7.0 and 8.2 and Valkey 8.0; these are of the ones that word their lines
anew.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

import pytest

from pyrepl.metrics.phases import PHASES
from tests.interop.channels import directives
from tests.peers.kinds import REDIS, VALKEY
from tests.peers.lab import Lab
from tests.peers.recorder import partial_and_out
from tests.unit.metrics import inline

LEGACY: Final[dict[str, str]] = {}
JSON: Final = {"log-format": "json", "log-timestamp-format": "iso8601"}
LOGFMT: Final = {"log-format": "logfmt", "log-timestamp-format": "milliseconds"}
CASES: Final = [
    ("redis86", "redis86", REDIS, "rdb_channel", LEGACY),
    ("redis86", "pyrepl", "", "full_diskless", LEGACY),
    ("valkey91", "valkey91", VALKEY, "dual_channel", JSON),
    ("valkey91", "valkey91", "", "full_diskless", LEGACY),
    ("pyrepl", "valkey91", VALKEY, "dual_channel", JSON),
    ("pyrepl", "pyrepl", "", "full_diskless", LOGFMT),
]


@pytest.mark.parametrize(("kind", "other", "dialect", "mode", "form"), CASES)
def test_what_the_logs_tell_is_what_happened(
    lab: Lab, tmp_path: Path, kind: str, other: str, dialect: str, mode: str, form: dict[str, str]
) -> None:
    """A first sync, a cut that the backlog covers, and one that it does not."""
    settings = {"repl-diskless-sync": "yes", "repl-diskless-sync-delay": "0", "loglevel": "notice"} | form
    both = directives(kind, dialect).items() & directives(other, dialect).items()
    nodes = partial_and_out(lab, kind, other, settings | dict(both))
    counted = {name: int(value) for name, value in nodes["master"].info("stats").items() if name.startswith("sync_")}
    logs = tmp_path / "logs"
    logs.mkdir()
    for name, node in nodes.items():
        shutil.copyfile(node.log_path, logs / f"{name}.log")
    inline.read(logs, tmp_path / "tables")
    found = inline.told(tmp_path / "tables")
    totals = found["totals"][0]
    assert [row["line"] for row in found["unparsed"]] == []
    assert totals["unknown_lines"] == 0
    assert (totals["syncs"], totals["full_ok"], totals["partial_ok"], totals["partial_refused"]) == (3, 2, 1, 1)
    assert [row["mode"] for row in found["syncs"]] == [mode, "continue", mode]
    assert [row["cause"] for row in found["syncs"]] == ["first", None, "out_of_backlog"]
    assert (counted["sync_full"], counted["sync_partial_err"]) == (2, 1)
    # A Valkey's full sync on two channels asks by PSYNC too.
    assert counted["sync_partial_ok"] == (3 if mode == "dual_channel" and kind != "pyrepl" else 1)
    if kind != "redis86":
        assert 0 < found["syncs"][2]["gap_bytes"] < found["syncs"][2]["behind_bytes"], "these masters say how much"
    for row in found["syncs"]:
        assert (row["node"], row["replica"], row["ends"], row["ok"]) == ("master", "replica", "both", True)
        assert sum(row[name] or 0 for name in PHASES) <= row["total_ms"] + 0.001
    (pair,) = found["availability"]
    assert pair["cuts"] == 2 and pair["open_outage_s"] is None and 0 < pair["longest_outage_s"] < 30

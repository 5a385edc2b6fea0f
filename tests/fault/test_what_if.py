"""What-if is checked: what the tables say that another setting would have done, and what it does.

Each scenario is logged once with settings that are too small, and its tables are asked what others would do; then it
runs again with those, and the servers' own counters tell. `python -m tests.fault.test_what_if` prints the two side by
side, as docs/metrics.md has them.
"""

from __future__ import annotations

import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.fault.advised import Row, start, tables
from tests.fault.test_advice import ONE, disconnections, herd, snapshots
from tests.peers.lab import Lab, Node, wait_until
from tests.peers.recorder import fill, up

Nodes = dict[str, Node]
Settings = dict[str, str]
MB = 1 << 20
AWAY = (300, 1500, 6000)
"""Keys of 100 bytes that are written while the replica is away: about 40, 200 and 800 kB of stream."""
BURSTS = (10, 26)
"""MB that are written while the replica does not read."""


def away(lab: Lab, kind: str, settings: Settings) -> Nodes:
    """A replica that is away three times, for more and more."""
    one = ONE.get(kind, {})
    master = start(lab, kind, directives={"repl-backlog-size": "16kb", **one, **settings})
    fill(master, 100)
    replica = start(lab, kind, master, one)
    for turn, keys in enumerate(AWAY, 2):
        up(master, replica)
        replica.process.send_signal(signal.SIGSTOP)
        master.call("CLIENT", "KILL", "TYPE", "replica")
        fill(master, keys, prefix=f"turn{turn}")
        replica.process.send_signal(signal.SIGCONT)
        back = lambda turn=turn: master.stat("sync_full") + master.stat("sync_partial_ok") >= turn  # noqa: E731
        wait_until("it came back", back)
    up(master, replica)
    return {"master": master, "replica": replica}


def bursts(lab: Lab, kind: str, settings: Settings) -> Nodes:
    """A replica that does not read for a moment, twice, for more and more."""
    limits = {"client-output-buffer-limit": "replica 3mb 0 0", "repl-backlog-size": "1mb"}
    one = ONE.get(kind, {})
    master = start(lab, kind, directives={**limits, **one, **settings})
    fill(master, 100)
    replica = start(lab, kind, master, one)
    for turn, mb in enumerate(BURSTS):
        up(master, replica)
        replica.process.send_signal(signal.SIGSTOP)
        fill(master, mb * 100, size=10_000, prefix=f"turn{turn}")
        time.sleep(0.3)
        replica.process.send_signal(signal.SIGCONT)
    up(master, replica)
    return {"master": master, "replica": replica}


def partial(master: Node) -> int:
    return master.stat("sync_partial_ok")


def backlog_says(found: dict[str, list[Row]], size: float) -> int:
    """Of those that came back, how many would be continued."""
    return max((row["avoided"] for row in found["backlog_what_if"] if row["backlog_size"] <= size), default=0)


def limit_says(found: dict[str, list[Row]], size: float) -> int:
    """How many cuts would be left."""
    rows = found["buffer_what_if"]
    return int(rows[0]["avoidable"]) - max((row["avoided"] for row in rows if row["limit_bytes"] <= size), default=0)


def delay_says(found: dict[str, list[Row]], delay: float) -> int:
    """How many children would be forked."""
    rows = found["delay_what_if"]
    return int(rows[0]["forks"]) - max((row["saved"] for row in rows if row["delay_s"] <= delay), default=0)


class Scenario(NamedTuple):
    """What happens, and what is counted of it; `says` is what the tables say of the values tried."""

    name: str
    story: Callable[[Lab, str, Settings], Nodes]
    directive: str
    setting: str
    tried: tuple[float, ...]
    says: Callable[[dict[str, list[Row]], float], int]
    counted: Callable[[Node], int]
    what: str


BACKLOG = Scenario(
    "away", away, "repl-backlog-size", "{}", (100_000, 450_000, 2_000_000), backlog_says, partial, "partial resyncs"
)
LIMIT = Scenario(
    "bursts", bursts, "client-output-buffer-limit", "replica {} 0 0", (16 * MB, 48 * MB), limit_says, disconnections,
    "cuts",
)  # fmt: skip
DELAY = Scenario("herd", herd, "repl-diskless-sync-delay", "{}", (4,), delay_says, snapshots, "snapshots")
CASES = [
    *((BACKLOG, kind) for kind in ("redis7", "redis8", "valkey8", "pyrepl")),
    *((LIMIT, kind) for kind in ("redis7", "valkey8")),
    *((DELAY, kind) for kind in ("redis7", "valkey8")),
]
IN_CI = [(BACKLOG, "redis7"), (BACKLOG, "pyrepl"), (LIMIT, "valkey8"), (DELAY, "redis7")]
"""The others are run by `make matrix`."""


def side_by_side(folder: Path, case: Scenario, kind: str) -> list[tuple[float, int, int]]:
    """Value, what the tables say of it, and what is counted with it."""
    with Lab(folder / "before") as lab:
        found = tables(case.story(lab, kind, {}), folder / "report")
    rows = []
    for number, value in enumerate(case.tried):
        with Lab(folder / f"with{number}") as lab:
            nodes = case.story(lab, kind, {case.directive: case.setting.format(int(value))})
            rows.append((value, case.says(found, value), case.counted(nodes["master"])))
    return rows


@pytest.mark.parametrize(
    ("case", "kind"),
    [pytest.param(*one, marks=() if one in IN_CI else pytest.mark.matrix) for one in CASES],
    ids=lambda one: one if isinstance(one, str) else one.name,
)
def test_predicted_is_what_is_measured(tmp_path: Path, case: Scenario, kind: str) -> None:
    rows = side_by_side(tmp_path, case, kind)
    assert [said for _, said, _ in rows] == [counted for _, _, counted in rows], rows


def main() -> None:
    """The table, as docs/metrics.md has it."""
    sys.stdout.write("| scenario | servers | setting | counted | predicted | measured |\n|---|---|---|---|---|---|\n")
    for case, kind in CASES:
        with tempfile.TemporaryDirectory() as folder:
            for value, said, counted in side_by_side(Path(folder), case, kind):
                setting = f"{case.directive} {case.setting.format(int(value))}"
                sys.stdout.write(f"| {case.name} | {kind} | `{setting}` | {case.what} | {said} | {counted} |\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main()

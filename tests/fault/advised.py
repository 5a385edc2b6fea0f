"""Advice from what real servers log: the logs are analysed here and now, and the advice is read from the result."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.peers.lab import Lab, Node
from tests.unit.metrics import inline

Row = dict[str, Any]
Nodes = Mapping[str, Node]
EVENT_LOG = "events.jsonl"


def start(lab: Lab, kind: str, master: Node | int | None = None, directives: Mapping[str, str] | None = None) -> Node:
    """A node that logs what the analysis reads: pyrepl's with an event log."""
    own = {"event-log": EVENT_LOG, "event-log-sample-period": "1"} if kind == "pyrepl" else {}
    return lab.start(kind, master, {"loglevel": "notice", **own, **(directives or {})})


def tables(nodes: Nodes, folder: Path) -> dict[str, list[Row]]:
    """All result tables of the logs of these nodes, which go by their names here. `folder` is made anew."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "logs").mkdir(parents=True)
    for name, node in nodes.items():
        events = node.folder / EVENT_LOG
        if events.exists():
            # An event log tells its node's own name, host and port; whoever wants that of `nodes` takes the text.
            shutil.copyfile(events, folder / "logs" / f"{name}.jsonl")
        else:
            shutil.copyfile(node.log_path, folder / "logs" / f"{name}.log")
    inline.read(folder / "logs", folder / "tables")
    return inline.told(folder / "tables")


def advised(nodes: Nodes, folder: Path, kind: str) -> Row:
    """The one piece of advice of that kind."""
    found = tables(nodes, folder)["advice"]
    mine = [row for row in found if row["kind"] == kind]
    assert len(mine) == 1, [(row["kind"], row["text"]) for row in found]
    return mine[0]


def setting(piece: Row) -> dict[str, str]:
    """What it says to set, as directives."""
    assert piece["directive"] and piece["value"], piece
    return {piece["directive"]: piece["value"]}

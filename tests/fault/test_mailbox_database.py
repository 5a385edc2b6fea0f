"""The mailboxes' database and a kill -9 at any moment: what was committed is there, and nothing is there by halves."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

from pyrepl.daemon.mailbox.sqlite_rows import SqliteRows
from tests.fault.mailbox_writer import BOX, JOURNAL_BYTES
from tests.house.source import ROOT
from tests.peers.lab import die_with_parent

KILLS = 12


def _write_until_killed(path: Path, lines: int) -> int:
    """Let it print so many lines, kill it, and give the last seq that it said was committed."""
    command = [sys.executable, "-m", "tests.fault.mailbox_writer", str(path)]
    writer = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, preexec_fn=die_with_parent)
    assert writer.stdout is not None
    for _ in range(lines):
        assert writer.stdout.readline().strip().isdigit()
    writer.kill()
    rest = writer.stdout.read().splitlines(keepends=True)
    writer.stdout.close()
    assert writer.wait() == -9
    whole = [line for line in rest if line.endswith("\n")]
    return int(whole[-1]) if whole else 0


def test_killed_at_any_moment(tmp_path: Path) -> None:
    chance = random.Random(7)
    said = 0
    for _ in range(KILLS):
        said = max(said, _write_until_killed(tmp_path / "db", chance.randrange(1, 60)))
        rows = SqliteRows(tmp_path / "db", JOURNAL_BYTES, lambda: 0.0)
        seq = rows.held()["a"]
        assert seq >= said, "what was said to be committed is there"
        box = rows.box(BOX)
        assert box is not None and (box.highest, box.uidnext) == (seq, seq + 1)
        newest = max(rows.messages(BOX), key=lambda row: row.uid)
        assert newest.uid == newest.modseq == seq
        kept = rows.ops("a", 0, 10_000)
        assert [op.at.seq for op in kept if op.at] == list(range(rows.oldest("a"), seq + 1))
        assert rows.kept_bytes <= JOURNAL_BYTES
        rows.close()
        said = seq

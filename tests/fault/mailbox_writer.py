"""A process that puts rows and commits until it is killed: `python -m tests.fault.mailbox_writer FILE`.

It prints the seq of each op after the commit that held it. Each op raises the vector, one message and the mailbox's
highest modseq, so that a torn transaction shows.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pyrepl.daemon.mailbox.sqlite_rows import SqliteRows
from pyrepl.mailbox.rows import BoxRow, MessageRow
from pyrepl.mailbox.verbs import Save
from pyrepl.mailbox.words import Box, Dot, Stamp, Token

BOX = "0" * 32
JOURNAL_BYTES = 20_000


def main(path: Path) -> None:
    rows = SqliteRows(path, JOURNAL_BYTES, lambda: 0.0)
    seq = rows.held().get("a", 0)
    while True:
        for _ in range(1 + seq % 5):
            seq += 1
            guid = f"G{seq % 50}"
            rows.put_op(Save(user="alice", box=Box(BOX, True), guid=guid, size=seq, received=1, at=Dot("a", seq)))
            rows.put_message(MessageRow(BOX, guid, seq, Token(1, 1), (Dot("a", seq),), seq, 1, modseq=seq))
            rows.put_box(BoxRow(BOX, "alice", "INBOX", Stamp(1, "a"), 1, seq + 1, seq))
            rows.put_held(Dot("a", seq))
        rows.commit()
        print(seq, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))

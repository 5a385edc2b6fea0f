"""The journal: what is kept of it, and what it says of what is not."""

from __future__ import annotations

from pathlib import Path

from pyrepl.daemon.mailbox.columns import op_column
from pyrepl.daemon.mailbox.journal import ROW_BYTES
from pyrepl.daemon.mailbox.sqlite_rows import SqliteRows
from pyrepl.mailbox.verbs import Op, Save, Unsubscribe
from pyrepl.mailbox.words import Box, Dot


def op(origin: str, seq: int) -> Op:
    return Unsubscribe(user="alice", box=Box("INBOX"), at=Dot(origin, seq))


BYTES = len(op_column(op("a", 1))) + ROW_BYTES


def _seqs(rows: SqliteRows, origin: str = "a") -> list[int]:
    return [each.at.seq for each in rows.ops(origin, 0, 1000) if each.at]


def test_ops_come_as_they_were_put(rows: SqliteRows) -> None:
    save = Save(user="alice", box=Box("0" * 32, True), guid="G", size=1, received=2, uid=7, at=Dot("a", 2))
    for each in (op("a", 1), op("b", 1), save, op("a", 3)):
        rows.put_op(each)
    assert rows.ops("a", 0, 10) == [op("a", 1), save, op("a", 3)]
    assert rows.ops("a", 1, 1) == [save]
    assert rows.ops("c", 0, 10) == rows.ops("a", 3, 10) == []
    assert (rows.oldest("a"), rows.oldest("b"), rows.oldest("c")) == (1, 1, 0)


def test_the_oldest_go_when_it_is_full(tmp_path: Path) -> None:
    rows = SqliteRows(tmp_path / "db", 5 * BYTES, lambda: 0.0)
    for seq in range(1, 10):
        rows.put_op(op("a", seq))
    assert _seqs(rows) == [5, 6, 7, 8, 9]
    assert (rows.oldest("a"), rows.kept_bytes) == (5, 5 * BYTES)


def test_what_an_origin_had_is_known_when_all_of_it_went(tmp_path: Path) -> None:
    rows = SqliteRows(tmp_path / "db", 3 * BYTES, lambda: 0.0)
    for seq in (1, 2):
        rows.put_op(op("b", seq))
    for seq in range(1, 6):
        rows.put_op(op("a", seq))
    assert (_seqs(rows, "b"), rows.oldest("b"), rows.oldest("a")) == ([], 3, 3)


def test_one_op_is_always_kept(tmp_path: Path) -> None:
    rows = SqliteRows(tmp_path / "db", 1, lambda: 0.0)
    for seq in (1, 2, 3):
        rows.put_op(op("a", seq))
    assert _seqs(rows) == [3]


def test_an_op_that_is_put_twice_is_there_once(rows: SqliteRows) -> None:
    rows.put_op(op("a", 1))
    rows.put_op(op("a", 1))
    assert (_seqs(rows), rows.kept_bytes) == ([1], BYTES)


def test_the_bytes_are_known_after_a_restart(tmp_path: Path) -> None:
    rows = SqliteRows(tmp_path / "db", 3 * BYTES, lambda: 0.0)
    for seq in (1, 2, 3):
        rows.put_op(op("a", seq))
    rows.commit()
    rows.close()
    rows = SqliteRows(tmp_path / "db", 3 * BYTES, lambda: 0.0)
    assert rows.kept_bytes == 3 * BYTES
    rows.put_op(op("a", 4))
    assert (_seqs(rows), rows.oldest("a")) == ([2, 3, 4], 2)


def test_a_smaller_limit_takes_effect_with_the_next_op(rows: SqliteRows) -> None:
    for seq in range(1, 3000):
        rows.put_op(op("a", seq))
    rows.most_bytes = 2 * BYTES
    rows.put_op(op("a", 3000))
    assert _seqs(rows)[-1] == 3000 and rows.kept_bytes <= 2 * BYTES


def test_a_jump_leaves_no_hole(tmp_path: Path) -> None:
    rows = SqliteRows(tmp_path / "db", 100 * BYTES, lambda: 0.0)
    for seq in (1, 2):
        rows.put_op(op("a", seq))
        rows.put_held(Dot("a", seq))
    rows.put_op(op("b", 1))
    rows.skip_to(Dot("a", 40))
    assert (_seqs(rows), rows.oldest("a"), rows.kept_bytes) == ([], 41, BYTES)
    rows.put_op(op("a", 41))
    assert (_seqs(rows), rows.oldest("a"), _seqs(rows, "b")) == ([41], 41, [1])
    assert rows.held() == {"a": 40}

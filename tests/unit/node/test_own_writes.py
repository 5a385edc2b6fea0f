"""What clients wrote to a writable replica, on its way into the append-only file."""

from __future__ import annotations

from pyrepl.node.own_writes import OwnWrites
from pyrepl.resp.encoder import encode_command

SET = encode_command([b"SET", b"k", b"v"])


def select(db: int) -> bytes:
    return encode_command([b"SELECT", b"%d" % db])


def test_nothing_is_kept_without_a_file() -> None:
    own = OwnWrites()
    own.add(5, 0, [(0, SET)])
    assert not own.blocks and not own.waiting_bytes


def test_a_block_leaves_the_database_as_it_was() -> None:
    own = OwnWrites()
    own.keep(True)
    own.add(5, 3, [(3, SET)])
    own.add(5, 3, [(1, SET)])
    own.add(5, 3, [])
    own.add(9, 1, [(1, SET), (1, SET)])
    first, second = own.blocks
    assert first.cut == 5 and first.commands() == SET + select(1) + SET + select(3)
    multi, execute = encode_command([b"MULTI"]), encode_command([b"EXEC"])
    assert second.cut == 9 and second.commands() == multi + SET + SET + execute
    assert own.waiting_bytes > 4 * len(SET)
    own.take(first)
    own.take(second)
    assert not own.blocks and not own.waiting_bytes


def test_a_new_file_has_what_was_written_before() -> None:
    own = OwnWrites()
    own.keep(True)
    own.add(5, 0, [(0, SET)])
    own.keep(True)
    assert not own.blocks

"""Whole units: nothing ends inside MULTI ... EXEC, and no byte is lost or counted twice."""

from __future__ import annotations

from pyrepl.replication.events import Apply
from pyrepl.replication.spans import Spans
from pyrepl.resp.encoder import encode_command
from pyrepl.resp.parser import Parser

SET = encode_command([b"SET", b"k", b"v"])
MULTI, EXEC = encode_command([b"MULTI"]), encode_command([b"EXEC"])
GETACK = encode_command([b"REPLCONF", b"GETACK", b"*"])


def run(*pieces: bytes, start: int = 0) -> tuple[Spans, list[Apply]]:
    parser, spans = Parser(inline_allowed=False), Spans(start)
    applies = [apply for piece in pieces if (apply := spans.add(parser.feed(piece))) is not None]
    return spans, applies


def test_plain_commands_pass_as_they_came() -> None:
    _, applies = run(SET + SET, SET, start=100)
    assert [(a.start, a.end, len(a.commands)) for a in applies] == [(100, 154, 2), (154, 181, 1)]
    assert applies[0].raw == SET + SET and applies[0].ends == [27, 54]


def test_an_open_transaction_waits() -> None:
    spans, applies = run(SET + MULTI + SET, SET)
    assert [(a.start, a.raw) for a in applies] == [(0, SET)]
    assert spans.held_bytes == len(MULTI + SET + SET)
    spans2, applies2 = run(SET + MULTI + SET, SET, EXEC + SET)
    assert b"".join(a.raw for a in applies2) == SET + MULTI + SET + SET + EXEC + SET
    assert [c[0] for c in applies2[1].commands] == [b"MULTI", b"SET", b"SET", b"EXEC", b"SET"]
    assert applies2[1].ends[-1] == len(applies2[1].raw)
    assert spans2.held_bytes == 0


def test_what_follows_a_transaction_may_open_the_next() -> None:
    spans, applies = run(MULTI + SET, EXEC + MULTI, SET + EXEC)
    assert [a.raw for a in applies] == [MULTI + SET + EXEC, MULTI + SET + EXEC]
    assert [a.start for a in applies] == [0, len(MULTI + SET + EXEC)]
    assert spans.start == 2 * len(MULTI + SET + EXEC)


def test_getack_counts_but_is_not_applied() -> None:
    spans, applies = run(SET + GETACK + SET)
    assert [c[0] for c in applies[0].commands] == [b"SET", b"SET"]
    assert applies[0].raw == SET + GETACK + SET
    assert applies[0].ends == [len(SET), len(SET + GETACK + SET)]
    assert spans.acks_wanted == [len(SET + GETACK)]


def test_getack_alone_is_an_apply_without_commands() -> None:
    _, applies = run(GETACK)
    assert applies[0].commands == [] and applies[0].raw == GETACK


def test_bytes_that_mean_nothing_count() -> None:
    _, applies = run(b"\r\n" + SET + b"\r\n", SET)
    assert b"".join(a.raw for a in applies) == b"\r\n" + SET + b"\r\n" + SET
    assert applies[-1].end == 2 * len(SET) + 4


def test_half_a_command_is_nothing_yet() -> None:
    _, applies = run(SET[:10])
    assert applies == []

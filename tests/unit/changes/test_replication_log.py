"""Units from a real backlog, from any token it holds."""

from __future__ import annotations

import random

import pytest

from pyrepl.changes.replication_log import ReplicationLog
from pyrepl.changes.unavailable import Unavailable
from pyrepl.changes.units import Unit
from pyrepl.replication.backlog import Backlog
from pyrepl.resp.encoder import encode_command


class Stream:
    """A backlog written in whole units, its log, and what was written."""

    def __init__(self, capacity: int) -> None:
        self.backlog = Backlog(capacity)
        self.backlog.create()
        self.log = ReplicationLog(self.backlog)
        self.log.restart(0, -1)
        self.db = -1
        self.units: list[Unit] = []
        self.boundaries = [0]

    def write(self, db: int, *argvs: list[bytes]) -> None:
        data = b"" if db == self.db else encode_command([b"SELECT", b"%d" % db])
        self.db = db
        if len(argvs) > 1:
            data += encode_command([b"MULTI"])
        data += b"".join(map(encode_command, argvs))
        if len(argvs) > 1:
            data += encode_command([b"EXEC"])
        self.backlog.append(data)
        self.units.append((self.backlog.end, [(db, argv) for argv in argvs]))
        self.boundaries.append(self.backlog.end)
        self.log.note(self.backlog.end, db)

    def read_all(self, after: int, want_bytes: int) -> list[Unit]:
        found: list[Unit] = []
        while after < self.backlog.end:
            units, end = self.log.read(after, self.backlog.end, want_bytes)
            assert end > after
            found += units
            after = end
        return found


@pytest.fixture
def stream() -> Stream:
    """About 200 KB written, 64 KB of them held, with databases that change seldom and values of all sizes."""
    stream = Stream(64 * 1024)
    chance = random.Random(5)
    for number in range(1500):
        db = 3 if 400 < number < 1300 else 0
        value = b"v" * chance.choice([1, 10, 100, 400])
        commands = [[b"SET", b"k%d" % number, value]] * chance.choice([1, 1, 1, 3])
        stream.write(db, *commands)
    return stream


@pytest.mark.parametrize("want_bytes", [1, 100, 5000, 1 << 20])
def test_from_every_token_the_rest_comes_whole(stream: Stream, want_bytes: int) -> None:
    oldest = stream.log.oldest
    assert stream.backlog.start <= oldest <= stream.backlog.start + 20 * 1024
    tokens = [token for token, _ in stream.units if token >= oldest]
    for token in (*tokens[:3], *tokens[:: len(tokens) // 5], tokens[-1]):
        assert stream.read_all(token, want_bytes) == [unit for unit in stream.units if unit[0] > token]
    assert {db for _, commands in stream.read_all(oldest, want_bytes) for db, _ in commands} == {0, 3}


def test_the_oldest_token_is_named(stream: Stream) -> None:
    oldest = stream.log.oldest
    for token in (0, oldest - 1):
        with pytest.raises(Unavailable, match=f"TOOOLD {oldest} token {token} is too old"):
            stream.log.read(token, stream.backlog.end, 100)
    assert stream.log.why_not(oldest) is None


def test_a_token_that_is_none(stream: Stream) -> None:
    with pytest.raises(Unavailable, match="lies within a command"):
        stream.log.read(stream.units[-1][0] - 1, stream.backlog.end, 100)
    with pytest.raises(Unavailable, match="AHEAD"):
        stream.log.read(stream.backlog.end + 1, stream.backlog.end, 100)


def test_a_command_larger_than_a_piece_is_read_whole() -> None:
    stream = Stream(4 << 20)
    stream.write(0, [b"SET", b"a", b"x" * (1 << 20)])
    stream.write(0, [b"SET", b"b", b"y"])
    assert stream.read_all(0, 100) == stream.units


def test_at_the_head_there_is_nothing(stream: Stream) -> None:
    end = stream.backlog.end
    assert stream.log.read(end, end, 100) == ([], end)


def test_checkpoints_stay_few_and_fill_up_where_one_batch_was_large() -> None:
    stream = Stream(1 << 20)
    stream.backlog.append(b"".join(encode_command([b"SET", b"k", b"v" * 100]) for _ in range(4000)))
    assert stream.log.places == 1
    stream.read_all(0, 10_000)
    assert 15 < stream.log.places < 40


def test_another_stream_knows_no_old_token(stream: Stream) -> None:
    stream.backlog.restart(10**9)  # type: ignore[arg-type]
    stream.log.restart(10**9, 4)
    assert stream.log.oldest == 10**9
    stream.db = 4
    stream.write(4, [b"SET", b"a", b"1"])
    assert stream.read_all(10**9, 100) == stream.units[-1:]

"""A master's bytes through the replica's machine and into a backlog, cut anywhere: the same commands and offsets.

Whole connections go through `Link` (answers, snapshot, stream, some bytes wrong); streams alone through `StreamIn`, and
what came through is applied. The backlog, whose readers come and go, gives back what was written.
"""

from __future__ import annotations

from contextlib import suppress
from random import Random
from typing import Final

from pyrepl.errors import PeerError
from pyrepl.replication.backlog import Backlog, Cursor
from pyrepl.replication.stream_in import StreamIn
from pyrepl.resp.encoder import encode_command
from pyrepl.resp.scan import whole_bytes
from pyrepl.units import Offset
from tests.fuzz.hostile import Hostile
from tests.fuzz.targets.edits import check_tables, new_side
from tests.fuzz.targets.loading import chunks_of, loaded, saved
from tests.fuzz.targets.requests import ODD, argv_of
from tests.property.test_link import ANSWERS, FULL, MARK, events_of

CONTROL: Final = (
    [b"SELECT", b"0"], [b"SELECT", b"1"], [b"MULTI"], [b"EXEC"], [b"PING"], [b"REPLCONF", b"GETACK", b"*"],
    [b"SET", b"k", b"\r\n$5\r\n*1\r\n"],
)  # fmt: skip
APPLIED: Final = frozenset(
    b"SET APPEND INCRBY LPUSH RPUSH LPOP RPOP LSET LREM LTRIM LINSERT LMOVE HSET HDEL HINCRBY HPEXPIREAT HPERSIST SADD "
    b"SREM SPOP ZADD ZREM ZINCRBY XADD XDEL XTRIM XGROUP XSETID XCLAIM RESTORE DEL UNLINK RENAME COPY PEXPIREAT "
    b"PERSIST GETEX MULTI EXEC DISCARD SELECT FLUSHALL SWAPDB PING".split()
)
"""What a master sends on."""


def case(rng: Random) -> None:
    rng.choice((stream, stream, connection, backlog))(rng)


def wire(rng: Random) -> bytes:
    parts = []
    for _ in range(rng.randrange(1, 12)):
        form = rng.random()
        if form < 0.1:
            parts.append(rng.choice(ODD))
        else:
            parts.append(encode_command(rng.choice(CONTROL) if form < 0.4 else argv_of(rng)))
    data = b"".join(parts)
    return Hostile(rng).bruised(data) if rng.random() < 0.4 else data


def stream(rng: Random) -> None:
    data = wire(rng)
    start = rng.choice((0, 1, 1 << 40))
    whole = received([data], start, False)
    by_parts = received(chunks_of(rng, data), start, rng.random() < 0.5)
    assert whole[2] == by_parts[2], (whole[2], by_parts[2])
    if not whole[2]:
        assert (whole[0], whole[4]) == (by_parts[0], by_parts[4]), "another cut gives other units"
        # What means nothing (`*0`) belongs to the unit behind it, if that is here already.
        short, long = sorted((whole[1], by_parts[1]), key=len)
        assert long.startswith(short) and not received([long[len(short) :]], 0, False)[0]
    assert data.startswith(whole[1])
    ours = new_side(2)
    for argv in whole[0]:
        if argv[0].upper() in APPLIED:
            ours.run(argv)
    ours.run([b"DISCARD"])
    check_tables(ours.node.keyspace)
    data = saved(rng, ours.node.keyspace)
    assert loaded(data, [data]) is not None, "what was applied and saved is refused"


def received(chunks: list[bytes], start: int, cuts: bool) -> tuple[list[list[bytes]], bytes, str, int, int]:
    """(commands, their bytes, the error, the end of the last unit, of the last byte); `cuts` as a node reads."""
    machine = StreamIn(start)
    commands: list[list[bytes]] = []
    raw = b""
    for chunk in chunks:
        beginning = b""
        if cuts:
            chunk = (machine.take_back() or b"") + chunk
            place = whole_bytes(chunk)
            chunk, beginning = chunk[:place], chunk[place:]
        apply = machine.receive(chunk, beginning)
        if apply is not None:
            commands += apply.commands
            raw += apply.raw
            assert apply.end == start + len(raw)
        if machine.error:
            break
        machine.wants_ack(machine.end)
    return commands, raw, machine.error, machine.end, machine.read_offset


def connection(rng: Random) -> None:
    hostile = Hostile(rng)
    snapshot = hostile.snapshot()
    head = rng.choice(
        (FULL, FULL, b"+CONTINUE\r\n", b"+CONTINUE " + b"b" * 40 + b"\r\n", b"+FULLRESYNC x 1\r\n", b"-ERR no\r\n")
    )
    if head is FULL:
        size = len(snapshot) + rng.choice((0, 0, 0, 1, -1, 1 << 40))
        body = rng.choice((b"$%d\r\n" % size + snapshot, b"$EOF:" + MARK + b"\r\n" + snapshot + MARK))
    else:
        body = b""
    data = ANSWERS + head + body + wire(rng)
    if rng.random() < 0.3:
        data = hostile.bruised(data)
    for chunks in ([data], chunks_of(rng, data)):
        with suppress(PeerError):
            events_of(chunks)


def backlog(rng: Random) -> None:
    """Against plain bytes."""
    kept = Backlog(rng.choice((1, 100, 5000, 100_000)))
    kept.create()
    begin = rng.choice((0, 7, 1 << 40))
    kept.restart(Offset(begin))
    written = b""
    readers: list[Cursor] = []
    for _ in range(rng.choice((10, 100))):
        act = rng.randrange(5)
        if act < 2:
            data = rng.randbytes(rng.choice((0, 1, 20, 3000, 40_000)))
            kept.append(data)
            written += data
        elif act == 2 and kept.end >= kept.start:
            at = rng.randint(kept.start, kept.end)
            readers.append(kept.attach(Offset(at)))
        elif act == 3 and readers:
            kept.detach(readers.pop(rng.randrange(len(readers))))
        for cursor in readers:
            pieces = b"".join(bytes(piece) for piece in kept.read(cursor.at, rng.choice((1, 100, 1 << 20))))
            assert pieces == written[cursor.at - begin : cursor.at - begin + len(pieces)], (
                "another byte than was written"
            )
            if rng.random() < 0.5:
                cursor.advance(len(pieces))
        assert kept.start <= min([kept.end, *(cursor.at for cursor in readers)])
        assert kept.end == begin + len(written)

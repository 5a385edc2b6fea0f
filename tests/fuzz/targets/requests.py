"""What clients send: any bytes to the parser, cut anywhere; commands with hostile words and payloads to the dispatcher.

The parser must make the same of the same bytes however they are cut. Of a command any answer is right that is one.
"""

from __future__ import annotations

import io
from random import Random
from typing import Final

from pyrepl.resp.encoder import encode_command
from pyrepl.resp.parser import Parser
from pyrepl.resp.scan import whole_bytes
from tests.fuzz.hostile import Hostile
from tests.fuzz.targets.edits import check_tables, new_side
from tests.fuzz.targets.loading import chunks_of, loaded, saved
from tests.property.differential import Ours, command_table, read_tree, show

NUMBERS: Final = (
    b"0 1 -1 2 3 7 8 100 -100 65535 65536 1.5 -0 inf -inf nan 1e308 9223372036854775807 -9223372036854775808 "
    b"9223372036854775808 99999999999999999999".split()
)
WORDS: Final = (
    b"* ? $ + - > ( [a (5 0-0 5-1 18446744073709551615-18446744073709551615 COUNT LIMIT MATCH WITHSCORES BYSCORE BYLEX "
    b"REV NX XX GT LT CH INCR EX PX KEEPTTL GET FIELDS FNX FXX LEFT RIGHT BEFORE AFTER RANK MAXLEN MINID STREAMS GROUP "
    b"STORE ALPHA BY DESC AGGREGATE SUM WEIGHTS BIT BYTE AND NOT u8 i64 #3 OVERFLOW FAIL REPLACE ABSTTL IDLETIME FREQ "
    b"DB ENCODING DOCTOR".split()
)
KEYS: Final = (b"a", b"b", b"c", b"d", b"e")
ODD: Final = (
    b"\r\n", b"\n", b"\x00", b"*0\r\n", b"*-1\r\n", b"*1\r\n", b"*2\r\n$1", b"*x\r\n", b"$-1\r\n", b"PING\r\n",
    b"*1\r\n$-1\r\n", b"*1\r\n:1\r\n", b"*1\rx$4\rxPINGyy", b"*1\r\n$4\r\nPING", b"*01\r\n$4\r\nPING\r\n",
    b"*1\r\n$04\r\nPING\r\n", b'"\n', b'echo "a b"\n', b"*1\r\n$536870913\r\n", b"*2147483647\r\n", b"*2147483648",
    b"*99999999999\r\n",
)  # fmt: skip
LEFT_OUT: Final = frozenset(b"DEBUG SETRANGE SETBIT BITFIELD KEYS".split())
"""DEBUG ends and stops nodes on purpose; one number makes the next three take half a gigabyte, as in Redis."""

_table = command_table()
_names = sorted(
    [row.name.encode(), *child] for row in _table for child in ([[name] for name in row.subcommands] or [[]])
)


def case(rng: Random) -> None:
    if rng.random() < 0.5:
        parse(rng)
    else:
        execute(rng)


def parse(rng: Random) -> None:
    data = wire(rng)
    limits = {"max_inline_bytes": rng.choice((16, 65536)), "max_args": rng.choice((3, 1 << 20))}
    whole = parsed([data], limits)
    assert parsed(chunks_of(rng, data), limits) == whole, "another cut gives other commands"
    cut = whole_bytes(data)
    assert 0 <= cut <= len(data)
    assert data.startswith(whole[1])


def wire(rng: Random) -> bytes:
    parts = []
    for _ in range(rng.randrange(1, 12)):
        if rng.random() < 0.2:
            parts.append(rng.choice(ODD))
        else:
            parts.append(encode_command(argv_of(rng)))
    data = b"".join(parts)
    return Hostile(rng).bruised(data) if rng.random() < 0.4 else data


def parsed(chunks: list[bytes], limits: dict[str, int]) -> tuple[list[list[bytes]], bytes, bytes | None]:
    """(commands, the bytes taken, the error)"""
    parser = Parser(**limits)  # type: ignore[arg-type]
    commands: list[list[bytes]] = []
    raw = b""
    for chunk in chunks:
        batch = parser.feed(chunk)
        commands += batch.commands
        raw += batch.raw
        if batch.commands:
            assert batch.wires(0, len(batch.commands))
        if batch.error is not None:
            return commands, raw, batch.error
    return commands, raw, None


def argv_of(rng: Random) -> list[bytes]:
    return [*rng.choice(_names), *(word(rng) for _ in range(rng.choice((0, 1, 1, 2, 2, 3, 3, 4, 5, 8, 40))))]


def word(rng: Random) -> bytes:
    form = rng.random()
    if form < 0.35:
        return rng.choice(KEYS)
    if form < 0.6:
        return rng.choice(NUMBERS)
    if form < 0.85:
        return rng.choice(WORDS)
    if form < 0.97:
        return Hostile(rng, 0.0).text()
    return Hostile(rng).payload()


def execute(rng: Random) -> None:
    ours = new_side(rng.choice((2, 3)))
    hostile = Hostile(rng)
    for name in KEYS:
        run(ours, [b"RESTORE", name, b"0", hostile.payload(), b"REPLACE"])
    for _ in range(rng.choice((5, 30))):
        argv = argv_of(rng)
        if argv[0].upper() not in LEFT_OUT:
            run(ours, argv)
    ours.run([b"DISCARD"])
    ours.take_stream()
    check_tables(ours.node.keyspace)
    data = saved(rng, ours.node.keyspace)
    assert loaded(data, [data]) is not None, "what was saved is refused"


def run(ours: Ours, argv: list[bytes]) -> None:
    reply = io.BytesIO(ours.run(argv))
    read_tree(reply)
    while reply.tell() < len(reply.getbuffer()):
        # SUBSCRIBE and its like answer once for each channel.
        assert argv[0].upper().endswith(b"SUBSCRIBE"), show(argv)
        read_tree(reply)

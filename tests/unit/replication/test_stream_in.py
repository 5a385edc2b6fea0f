"""The stream into units, how far it was read, and the ACKs it asks for."""

from __future__ import annotations

from pyrepl.replication.stream_in import StreamIn
from pyrepl.resp.encoder import encode_command

SET = encode_command([b"SET", b"k", b"v"])
GETACK = encode_command([b"REPLCONF", b"GETACK", b"*"])


def test_units_and_offsets() -> None:
    stream = StreamIn(100)
    assert stream.receive(SET[:5]) is None
    assert (stream.end, stream.read_offset) == (100, 105)
    apply = stream.receive(SET[5:] + encode_command([b"MULTI"]) + SET)
    assert apply is not None and apply.start == 100 and apply.raw == SET and apply.commands == [[b"SET", b"k", b"v"]]
    assert stream.end == 100 + len(SET) and stream.read_offset == 100 + 2 * len(SET) + 15
    assert not stream.error


def test_acks_are_wanted_once() -> None:
    stream = StreamIn(0)
    stream.receive(SET + GETACK + GETACK)
    one, two = len(SET) + len(GETACK), len(SET) + 2 * len(GETACK)
    assert not stream.wants_ack(one - 1)
    assert stream.wants_ack(one) and not stream.wants_ack(one)
    assert stream.wants_ack(two + 50) and not stream.wants_ack(two + 50)


def test_a_broken_stream_gives_what_was_whole() -> None:
    stream = StreamIn(7)
    apply = stream.receive(SET + b"*2\r\n:1\r\n")
    assert apply is not None and apply.raw == SET
    assert stream.error.startswith(f"broken replication stream at offset {7 + len(SET)}")


def test_the_offset_named_is_where_the_broken_command_begins_however_the_bytes_came() -> None:
    nothing, opened, broken = b"*-1\r\n", encode_command([b"MULTI"]) + SET, b"*2\r\n:1\r\n"
    errors = set()
    for chunks in ([nothing + opened + broken], [nothing, opened, broken], [nothing + opened, broken]):
        stream = StreamIn(7)
        for chunk in chunks:
            stream.receive(chunk)
        errors.add(stream.error.partition(":")[0])
    assert errors == {f"broken replication stream at offset {7 + len(nothing + opened)}"}


def test_a_beginning_counts_as_read_and_is_received_again() -> None:
    stream = StreamIn(100)
    apply = stream.receive(SET, SET[:5])
    assert apply is not None and apply.raw == SET
    assert (stream.end, stream.read_offset) == (100 + len(SET), 105 + len(SET))
    kept = stream.take_back()
    apply = stream.receive((kept or b"") + SET[5:])
    assert apply is not None and apply.raw == SET and apply.start == 100 + len(SET)

"""Bytes by TLS: whole records, taken in part when there is no room, names, and the end."""

from __future__ import annotations

import os
import random
import select
import tempfile
from collections.abc import Iterator

import pytest

from pyrepl.daemon.wires.tls_wire import TlsWire
from tests.peers.certificates import Authority
from tests.unit.daemon.wires.tls_rig import pair, settings_of

MANY = 20_000_000


@pytest.fixture
def both(authority: Authority) -> Iterator[tuple[TlsWire, TlsWire]]:
    """The end of the server, and that of the client."""
    settings = settings_of(authority)
    ours, theirs = pair(settings, settings)
    assert theirs.receive(10) is None, "the sessions of TLS 1.3 come first"
    yield ours, theirs
    ours.close()
    theirs.close()


def received(wire: TlsWire, size: int) -> bytes:
    """So many bytes, however many reads it takes."""
    data = b""
    while len(data) < size:
        assert select.select([wire.fd], [], [], 10)[0], f"only {len(data)} of {size} bytes came"
        data += wire.receive(65536) or b""
    return data


def test_there_and_back(both: tuple[TlsWire, TlsWire]) -> None:
    ours, theirs = both
    assert not ours.is_plain
    assert ours.receive(10) is None and ours.receive_whole(b"rest", 10, len) is None
    assert theirs.send(b"abcdef") == 6 and theirs.send(memoryview(b"xgh")[1:]) == 2
    assert received(ours, 8) == b"abcdefgh"
    assert ours.send_pieces([b"e", memoryview(b"fg"), b""]) == 3 and ours.send_pieces([b"one"]) == 3
    assert received(theirs, 6) == b"efgone"
    assert theirs.send(b"abcdef") == 6
    select.select([ours.fd], [], [], 10)
    assert ours.receive_whole(b"12", 10, lambda data: data.index(b"e")) == (b"12abcd", b"ef")
    assert not ours.receives_when_writable and not ours.sends_when_readable
    assert ours.send(b"") == 0 and ours.send_pieces([]) == 0


def test_nothing_stays_behind_a_read(both: tuple[TlsWire, TlsWire]) -> None:
    ours, theirs = both
    data = bytes(16_384)
    assert theirs.send(data) == len(data)
    select.select([ours.fd], [], [], 10)
    got = ours.receive(1)
    assert got == data, "the record comes whole, though one byte was asked for"
    assert not select.select([ours.fd], [], [], 0)[0]


def test_a_large_read_takes_many_records(both: tuple[TlsWire, TlsWire]) -> None:
    ours, theirs = both
    data = random.Random(1).randbytes(100_000)
    assert theirs.send(data) == len(data)
    got = ours.receive(65_536) or b""
    assert len(got) == 65_536 and received(ours, 100_000 - 65_536) == data[65_536:]


def test_what_is_not_taken_comes_again(both: tuple[TlsWire, TlsWire]) -> None:
    ours, theirs = both
    data = random.Random(2).randbytes(MANY)
    at = 0
    while (size := ours.send(data[at:])) > 0:
        at += size
    assert 0 < at < MANY and ours.send(memoryview(data)[at:]) == 0
    heard = b""
    while len(heard) < MANY:
        heard += theirs.receive(1 << 18) or b""
        at += ours.send_pieces([data[at : at + 10], data[at + 10 :]]) if at < MANY else 0
    assert heard == data and at == MANY


def test_files(both: tuple[TlsWire, TlsWire]) -> None:
    ours, theirs = both
    data = random.Random(3).randbytes(MANY)
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.flush()
        at, heard = 0, b""
        while len(heard) < MANY:
            at += ours.send_file(file.fileno(), at, min(1 << 20, MANY - at)) if at < MANY else 0
            heard += theirs.receive(1 << 18) or b""
        assert heard == data
        with pytest.raises(OSError, match="the file ends too early"):
            ours.send_file(file.fileno(), MANY, 1)


def test_names(both: tuple[TlsWire, TlsWire]) -> None:
    ours, theirs = both
    assert ours.peer_name() == theirs.own_name() != ours.own_name() == theirs.peer_name()
    ours.set_no_delay(True)
    ours.keep_alive(300)
    assert ours.certified("CN") == [b"node"] and theirs.certified("CN") == [b"node"]
    assert ours.certified("DNS") == [b"localhost"] and ours.certified("URI") == []


def test_nobody_without_a_certificate(authority: Authority) -> None:
    server = settings_of(authority, tls_auth_clients="optional")
    ours, theirs = pair(server, settings_of(authority, tls_cert_file="", tls_key_file=""))
    assert ours.certified("CN") == [] and ours.certified("URI") == []
    ours.close()
    theirs.close()


def test_the_end(both: tuple[TlsWire, TlsWire]) -> None:
    ours, theirs = both
    assert theirs.send(b"last") == 4
    theirs.close()
    theirs.close()
    assert theirs.fd == -1
    assert received(ours, 4) == b"last"
    assert ours.receive(10) == b"" and ours.receive_whole(b"rest", 10, len) == (b"", b"")


def test_an_end_without_a_word(both: tuple[TlsWire, TlsWire]) -> None:
    ours, theirs = both
    theirs.shut_down()
    theirs.shut_down()
    assert ours.receive(10) == b""
    with pytest.raises(OSError, match=r"Broken pipe|reset|closed"):
        while True:
            ours.send(bytes(100_000))
            ours.receive(10)


def test_a_changed_byte_ends_it(both: tuple[TlsWire, TlsWire]) -> None:
    ours, theirs = both
    os.write(theirs.fd, b"\x17\x03\x03\x00\x20" + bytes(32))
    select.select([ours.fd], [], [], 10)
    with pytest.raises(ConnectionError, match="OpenSSL says: "):
        ours.receive(100)

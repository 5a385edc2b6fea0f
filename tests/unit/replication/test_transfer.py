"""Snapshot framing: both kinds, any cut of the input, and what is no header."""

from __future__ import annotations

import pytest

from pyrepl.errors import PeerError
from pyrepl.replication.transfer import MARK_BYTES, Transfer, encode_mark_header, encode_size_header

MARK = bytes(range(65, 65 + MARK_BYTES))


def run(data: bytes, step: int) -> tuple[Transfer, bytes]:
    """Feed `data` in pieces of `step` bytes until the transfer ends; the payload, with what is left in `rest`."""
    transfer = Transfer()
    payload = b""
    for at in range(0, len(data), step):
        payload += b"".join(transfer.receive(data[at : at + step]))
        if transfer.ended:
            transfer.rest += data[at + step :]
            break
    return transfer, payload


@pytest.mark.parametrize("step", [1, 2, 7, 39, 40, 41, 1000])
def test_a_sized_payload(step: int) -> None:
    transfer, payload = run(encode_size_header(100) + b"x" * 100 + b"stream", step)
    assert payload == b"x" * 100
    assert transfer.ended and transfer.rest == b"stream"
    assert (transfer.total_bytes, transfer.read_bytes) == (100, 100)


@pytest.mark.parametrize("step", [1, 2, 7, 39, 40, 41, 1000])
def test_a_marked_payload(step: int) -> None:
    body = b"y" * 50 + MARK[:-1] + b"!" + MARK[:20]
    transfer, payload = run(encode_mark_header(MARK) + body + MARK + b"stream", step)
    assert payload == body
    assert transfer.ended and transfer.rest == b"stream"
    assert (transfer.total_bytes, transfer.read_bytes) == (None, len(body))


@pytest.mark.parametrize("step", [1, 1000])
def test_newlines_before_the_header_are_keep_alives(step: int) -> None:
    _, payload = run(b"\n\n\n" + encode_size_header(3) + b"\n\n\n", step)
    assert payload == b"\n\n\n", "in the payload they are data"


def test_an_empty_payload_ends_at_once() -> None:
    transfer, payload = run(b"$0\r\nrest", 100)
    assert transfer.ended and payload == b"" and transfer.rest == b"rest"


def test_fewer_bytes_than_a_mark_are_held_back() -> None:
    transfer = Transfer()
    pieces = transfer.receive(encode_mark_header(MARK) + b"z" * 1000)
    assert sum(map(len, pieces)) == 1000 - MARK_BYTES + 1


@pytest.mark.parametrize(
    "header",
    [b"+OK\r\n", b"$abc\r\n", b"$-1\r\n", b"$EOF:short\r\n", b"*3\r\n", b"$\r\n", b"x", b"$" + b"1" * 2000],
)
def test_what_is_no_header(header: bytes) -> None:
    with pytest.raises(PeerError, match=r"expected \$<size> or \$EOF:<mark>"):
        Transfer().receive(header)


def test_the_master_gives_up() -> None:
    with pytest.raises(PeerError, match="the master gave the sync up: ERR BGSAVE failed"):
        Transfer().receive(b"-ERR BGSAVE failed, replication can't continue\r\n")

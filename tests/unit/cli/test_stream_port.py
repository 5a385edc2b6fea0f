"""Which port is the stream port, as INFO says."""

from __future__ import annotations

import pytest

from cli.stream_port import STREAM_PORT, advice, where_it_is
from pyrepl.address import Address
from tests.peers.ports import free_port


@pytest.mark.parametrize(
    ("info", "words"),
    [
        (
            {"pyrepl_version": "1", "stream_port": "7379"},
            "The stream port of this node is 7379: pyrepl tail [::1]:7379",
        ),
        ({"pyrepl_version": "1"}, "This node has none yet: start it with --stream-port 7379"),
        ({"pyrepl_version": "1", "stream_port": "0"}, "This node has none yet"),
        ({"redis_version": "8.2.3"}, "An ordinary Redis or Valkey has none: a pyrepl that follows it has"),
    ],
)
def test_advice(info: dict[str, str], words: str) -> None:
    assert advice(Address("::1", 6379), info).startswith(words)


def test_nobody_answers() -> None:
    assert where_it_is([f"127.0.0.1:{free_port()}", f"[::1]:{free_port()}"], "", "") == STREAM_PORT

"""`pyrepl mailbox compare`: what it prints of two nodes, and the status that it ends with."""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from click.testing import CliRunner, Result

from cli import mailbox_compare as room
from cli.commands import cli
from pyrepl.resp.encoder import encode_reply
from tests.peers.ports import free_port

Mail = dict[str, dict[str, list[dict[bytes, Any]]]]
"""User -> mailbox -> messages."""


def message(uid: int, guid: str, *flags: str) -> dict[bytes, Any]:
    return {b"uid": uid, b"guid": guid.encode(), b"flags": [flag.encode() for flag in flags]}


def box(name: str, uidnext: int) -> dict[bytes, Any]:
    return {b"name": name.encode(), b"guid": b"1" * 32, b"uidvalidity": 5, b"uidnext": uidnext, b"subscribed": 0}


def answer(mail: Mail, words: list[str]) -> Any:
    if words[1] == "USERS":
        return [user.encode() for user in mail]
    if words[1] == "INFO":
        return [box(name, len(found) + 1) for name, found in mail[words[2]].items()]
    after, count = int(words[4]), int(words[5])
    return [each for each in mail[words[2]][words[3]] if each[b"uid"] > after][:count]


@contextmanager
def node(mail: Mail) -> Iterator[str]:
    """One that answers MAILBOX; its address."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            words = self.request.recv(4096).decode().split("\r\n")[2::2]
            self.request.sendall(encode_reply(answer(mail, words), 2))

    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def compared(one: Mail, other: Mail, *options: str) -> Result:
    with node(one) as here, node(other) as there:
        result = CliRunner().invoke(cli, ["mailbox", "compare", here, there, *options])
        result.lines = result.output.replace(here, "A").replace(there, "B").splitlines()  # type: ignore[attr-defined]
    return result


def test_nothing_is_printed_where_nothing_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "PAGE", 2)
    mail: Mail = {"alice": {"INBOX": [message(number, f"G{number}") for number in range(1, 6)], "Work": []}, "bob": {}}
    result = compared(mail, mail)
    assert (result.exit_code, result.output) == (0, "")


def test_what_differs_has_a_line_each() -> None:
    one: Mail = {
        "alice": {"INBOX": [message(1, "G1"), message(2, "G2", "\\Seen"), message(4, "G4")], "Work": []},
        "bob": {"INBOX": []},
    }
    other: Mail = {"alice": {"INBOX": [message(2, "G2", "work"), message(3, "G4")], "Old": []}}
    result = compared(one, other)
    assert result.exit_code == 1
    assert result.lines == [  # type: ignore[attr-defined]
        "alice INBOX: uidnext 4 at A, 3 at B",
        "alice INBOX: UID 1 G1: only at A",
        "alice INBOX: UID 2 G2: \\Seen at A, work at B",
        "alice INBOX: G4: UID 4 at A, 3 at B",
        "alice Old: only at B",
        "alice Work: only at A",
        "bob INBOX: only at A",
    ]
    assert compared(one, other, "--only", "bob").exit_code == 1


def test_a_node_that_cannot_be_asked() -> None:
    with node({}) as here:
        gone = f"127.0.0.1:{free_port()}"
        result = CliRunner().invoke(cli, ["mailbox", "compare", here, gone])
    assert result.exit_code == 2 and f"cannot be compared: {gone}: Connection refused" in result.stderr
    assert CliRunner().invoke(cli, ["mailbox", "compare", "nothing", "h:1"]).exit_code == 2

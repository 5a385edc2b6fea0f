"""`pyrepl mailbox`: what it prints, and the status that it ends with."""

from __future__ import annotations

import json
import socket
import threading
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from cli.commands import cli
from pyrepl.resp.encoder import encode_reply
from tests.peers.ports import free_port
from tests.unit.mailbox.test_client import node

STATUS: Any = {
    b"node": b"a",
    b"root": b"b",
    b"epoch": 7,
    b"state": b"following",
    b"apart": 0,
    b"apart-seconds": 0,
    b"ops": 12,
    b"ops-waiting": 0,
    b"mail-processes": 2,
    b"stopped": [],
    b"members": [
        {b"name": b"a", b"address": b"10.0.0.1:7390", b"link": b"self", b"witness": 0},
        {b"name": b"b", b"address": b"10.0.0.2:7390", b"link": b"up", b"witness": 0, b"lag-ops": 0, b"lag-ms": 0},
        {b"name": b"w", b"address": b"10.0.0.3:7390", b"link": b"up", b"witness": 1},
    ],
}


def ran(*words: str) -> Result:
    return CliRunner().invoke(cli, ["mailbox", *words])


def asked(status: Any, *options: str, scheme: str = "") -> Result:
    """What is said about a node with this status."""
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        conn, _ = listening.accept()
        with conn:
            conn.recv(1000)
            conn.sendall(encode_reply(status, 2))

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    result = ran("status", f"{scheme}127.0.0.1:{listening.getsockname()[1]}", *options)
    thread.join(10)
    listening.close()
    return result


def test_a_user_whose_mail_stands_still() -> None:
    stopped = {b"user": b"alice", b"why": b"no space", b"works-owed": 3}
    result = asked(STATUS | {b"stopped": [stopped]})
    assert result.exit_code == 1
    assert "alice stands still, 3 works are owed: no space" in result.output


def test_what_lasts_after_it_was_told_is_trouble() -> None:
    result = asked(STATUS | {b"troubled": [{b"user": b"bob", b"why": b"gate_failed INBOX: no disk"}]})
    assert result.exit_code == 1 and "bob: gate_failed INBOX: no disk" in result.output
    assert asked(STATUS | {b"troubled": []}).exit_code == 0


@pytest.mark.parametrize("users", [["alice"], ["alice", "bob"], []])
def test_users_who_could_not_join_are_named(users: list[str]) -> None:
    status = STATUS | {b"join": {b"left": 0, b"done": 3, b"failed": [user.encode() for user in users]}}
    assert json.loads(asked(status, "--json").output)["join"] == {"left": 0, "done": 3, "failed": users}
    assert (f"JOIN failed for {' '.join(users)}: " in asked(status).output) is bool(users)


def test_a_node_that_does_nothing_to_its_mailboxes() -> None:
    closed = {b"why": b"the disk is full", b"seconds": 75}
    result = asked(STATUS | {b"closed": closed})
    assert result.exit_code == 1
    assert "CLOSED for 75 s, nothing is done to mailboxes here: the disk is full" in result.output
    assert asked(STATUS | {b"closed": {b"why": b"", b"seconds": 0}}).exit_code == 0


def test_all_is_in_order() -> None:
    result = asked(STATUS)
    assert result.exit_code == 0
    assert result.output.splitlines() == [
        "node a, root b of epoch 7; 12 ops, 0 wait, 2 mail processes",
        "member       address        link  lag in ops  in ms",
        "a            10.0.0.1:7390  self  -           -",
        "b            10.0.0.2:7390  up    0           0",
        "w (witness)  10.0.0.3:7390  up    -           -",
    ]


@pytest.mark.parametrize("change", [{b"apart": 1}, {b"link": b"down"}, {b"lag-ops": 3, b"lag-ms": 10_001}])
def test_something_is_wrong(change: dict[bytes, Any]) -> None:
    members = [STATUS[b"members"][0], STATUS[b"members"][1] | change, STATUS[b"members"][2]]
    result = asked(STATUS | change | {b"members": members}, "--json")
    assert result.exit_code == 1
    assert json.loads(result.output)["members"][1]["name"] == "b"


def test_changes_that_are_on_their_way_are_no_trouble() -> None:
    members = [STATUS[b"members"][0], STATUS[b"members"][1] | {b"lag-ops": 9, b"lag-ms": 2500}]
    assert asked(STATUS | {b"members": members}).exit_code == 0
    assert asked(STATUS | {b"members": members}, "--max-lag", "2").exit_code == 1


def test_a_node_that_cannot_be_asked() -> None:
    assert ran("status", f"127.0.0.1:{free_port()}").exit_code == 2
    assert ran("status", "nothing").exit_code == 2


def test_a_url_that_says_tls_is_asked_by_tls() -> None:
    result = asked(STATUS, scheme="rediss://")
    assert result.exit_code == 2 and "does not speak TLS on this port" in result.stderr
    assert asked(STATUS, scheme="redis://").exit_code == 0


@pytest.mark.parametrize(("answer", "status"), [(b"TAG OK\n", 0), (b"TAG NO TIMEOUT\n", 1), (b"", 2)])
def test_a_check(tmp_path: Path, answer: bytes, status: int) -> None:
    path = tmp_path / "socket"
    with node(path, *([answer] if answer else [])) as heard:
        assert ran("check", "alice", "--socket", str(path), "--timeout", "5").exit_code == status
    assert heard[1] == b"1 CHECK alice"


def test_a_check_of_what_is_no_user(tmp_path: Path) -> None:
    result = ran("check", "\udcff", "--socket", str(tmp_path / "socket"))
    assert result.exit_code == 2 and "no UTF-8" in result.stderr


def test_a_node_that_takes_nobody_says_why(tmp_path: Path) -> None:
    """It may have gone before it was told anything."""
    path = tmp_path / "socket"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        listening.listen()

        def refuse() -> None:
            with listening.accept()[0] as conn:
                conn.sendall(b"* BAD why=come%20again\n")

        thread = threading.Thread(target=refuse)
        thread.start()
        result = ran("check", "alice", "--socket", str(path), "--timeout", "5")
        thread.join()
    assert result.exit_code == 1 and "come again" in result.stderr


def test_a_check_before_a_login(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    with node(path, b"TAG NO FAILED why=no\n") as heard:
        result = ran("check", "alice", "--login", "--socket", str(path), "--timeout", "5")
    assert result.exit_code == 1 and "the mailboxes of alice cannot be checked" in result.output
    assert heard[1] == b"1 CHECK alice login=1"


def test_a_check_without_a_node(tmp_path: Path) -> None:
    result = ran("check", "alice", "--socket", str(tmp_path / "none"))
    assert result.exit_code == 2 and "No such file" in result.output

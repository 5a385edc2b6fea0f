"""A client's line in CLIENT LIST."""

from __future__ import annotations

import pytest

from pyrepl.acl.users import Users
from pyrepl.node.client import Client
from pyrepl.observability.client_line import client_flags, client_line, memory_bytes

FIELDS_OF_REDIS_8_2 = (
    "id addr laddr fd name age idle flags db sub psub ssub multi watch qbuf qbuf-free argv-mem multi-mem rbs rbp obl "
    "oll omem tot-mem events cmd user redir resp lib-name lib-ver io-thread tot-net-in tot-net-out tot-cmds"
)


def client(addr: str = "127.0.0.1:5001", laddr: str = "127.0.0.1:6379") -> Client:
    return Client(7, addr, laddr, 100.0, Users().newcomer())


def fields(subject: Client, now: float = 100.0) -> dict[str, str]:
    pairs = [pair.partition("=") for pair in client_line(subject, now).decode().split(" ")]
    return {name: value for name, _, value in pairs}


def test_fields_and_order() -> None:
    assert " ".join(fields(client())) == FIELDS_OF_REDIS_8_2


def test_values() -> None:
    subject = client()
    subject.name, subject.lib_name, subject.lib_ver = b"app", b"redis-py", b"5.0"
    subject.db_index, subject.fd, subject.last_command = 3, 12, "client|list"
    subject.speak(3)
    subject.subscribe(b"a")
    subject.subscribe(b"b")
    subject.psubscribe(b"c*")
    subject.watching = {(0, b"k")}
    subject.last_seen_at = 110.0
    subject.total_in_bytes, subject.total_out_bytes, subject.total_commands = 10, 20, 3
    shown = fields(subject, 115.9)
    expected = {
        "id": "7",
        "addr": "127.0.0.1:5001",
        "laddr": "127.0.0.1:6379",
        "fd": "12",
        "name": "app",
        "age": "15",
        "idle": "5",
        "db": "3",
        "sub": "2",
        "psub": "1",
        "multi": "-1",
        "watch": "1",
        "cmd": "client|list",
        "user": "default",
        "resp": "3",
        "lib-name": "redis-py",
        "lib-ver": "5.0",
        "tot-net-in": "10",
        "tot-net-out": "20",
        "tot-cmds": "3",
    }
    assert {name: shown[name] for name in expected} == expected


def test_a_transaction_and_its_memory() -> None:
    subject = client()
    subject.begin_multi()
    assert subject.queue is not None
    subject.queue.extend([([b"SET"], b"x" * 30), ([b"GET"], b"x" * 12)])
    shown = fields(subject)
    assert (shown["multi"], shown["multi-mem"], shown["flags"]) == ("2", "42", "x")


def test_waiting_output() -> None:
    subject = client()
    assert fields(subject)["events"] == "r"
    before = memory_bytes(subject)
    subject.output_bytes = 5000
    shown = fields(subject)
    assert (shown["oll"], shown["omem"], shown["events"]) == ("1", "5000", "rw")
    assert int(shown["tot-mem"]) == memory_bytes(subject) == before + 5000


def test_the_link_to_the_master_has_no_user() -> None:
    subject = client()
    subject.become_master_link()
    shown = fields(subject)
    assert (shown["user"], shown["flags"]) == ("(superuser)", "M")


@pytest.mark.parametrize(
    ("attributes", "flags"),
    [
        ({}, b"N"),
        ({"is_replica": True}, b"S"),
        ({"is_monitor": True}, b"O"),
        ({"subscribed": True}, b"P"),
        ({"subscribed": True, "queue": []}, b"Px"),
        ({"is_blocked": True}, b"b"),
        ({"dirty_cas": True, "closing": True}, b"dc"),
        ({"no_evict": True, "no_touch": True}, b"eT"),
    ],
)
def test_flags(attributes: dict[str, object], flags: bytes) -> None:
    subject = client()
    for name, value in attributes.items():
        setattr(subject, name, value)
    assert client_flags(subject) == flags


def test_by_which_socket_it_came() -> None:
    assert client_flags(client("127.0.0.1:1", "127.0.0.1:2")) == b"N"
    assert client_flags(client("/run/x.sock:0", "/run/x.sock:0")) == b"U"


def test_a_clock_that_lags_shows_no_negative_age() -> None:
    assert fields(client(), 99.0)["age"] == "0"

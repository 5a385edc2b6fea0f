"""Mail processes come in by the socket or, with the secret, by TCP; who is not trusted may do less. Requirement S1."""

from __future__ import annotations

import pytest

from pyrepl.mailbox.answers import Ok
from pyrepl.mailbox.greeting import Greeting
from pyrepl.mailbox.mail_conn import MailConn
from pyrepl.mailbox.talk import PING_S, SILENCE_S, Came, Lost, Opened, TalkOptions, TextCame
from pyrepl.mailbox.verbs import Hello, Lock, Save
from pyrepl.mailbox.words import Box
from tests.unit.mailbox.talks import introduction

SAVE = Save(user="alice", box=Box("INBOX"), guid="G", size=4, received=1)


def local(hello: bytes = b"* HELLO name=lmtp\n") -> MailConn:
    """A connection by the socket, after its greeting."""
    conn = MailConn(introduction("a"), TalkOptions(), 0.0, is_local=True)
    conn.receive(hello, 0.0)
    conn.data_to_send(), conn.events()
    return conn


def test_s1_the_socket_needs_no_secret() -> None:
    conn = MailConn(introduction("a"), TalkOptions(), 0.0, is_local=True)
    conn.receive(b"1 HELLO name=lmtp\n2 LOCK alice INBOX\n", 0.0)
    assert b"".join(conn.data_to_send()).startswith(b"1 HELLO node=a members=")
    assert conn.events() == [Opened(name="lmtp"), Came("2", Lock(user="alice", box=Box("INBOX")), False)]
    assert conn.next_deadline() is None


def test_s1_tcp_needs_the_secret_and_signs_of_life() -> None:
    conn = MailConn(introduction("a"), TalkOptions(), 0.0, is_local=False)
    mine = Greeting(Hello(name="chroot", nonce="m" * 32), b"s3", calls=True)
    conn.receive(f"* HELLO {' '.join(mine.mine.words())}\n".encode(), 0.0)
    assert conn.events() == []
    mine.hear(introduction("a").hello())
    conn.data_to_send()
    conn.receive(f"7 AUTH mac={mine.proof().mac}\n".encode(), 0.0)
    assert b"".join(conn.data_to_send()).startswith(b"7 AUTH mac=")
    assert conn.events() == [Opened(name="chroot")]
    assert conn.next_deadline() == PING_S
    conn.tick(SILENCE_S)
    assert conn.events() == [Lost("expected a sign of life within 15 s", True)]


def test_tcp_without_the_secret() -> None:
    conn = MailConn(introduction("a"), TalkOptions(), 0.0, is_local=False)
    conn.receive(f"* HELLO name=x nonce={'m' * 32}\n* AUTH mac=00\n1 LOCK alice INBOX\n".encode(), 0.0)
    [lost] = conn.events()
    assert isinstance(lost, Lost) and "mailbox-secret" in lost.reason


def test_a_bad_line_is_answered_and_its_text_dropped() -> None:
    conn = local()
    conn.receive(b"1 SAVE alice INBOX {4}\nabcd2 FROB\n3 SAVE alice INBOX guid=G size=4 received=1 {4}\nefgh", 1.0)
    bad = b"".join(conn.data_to_send()).splitlines()
    assert [line[:6] for line in bad] == [b"1 BAD ", b"2 BAD "]
    assert conn.events() == [Came("3", SAVE, True), TextCame(b"efgh", True)]


def test_a_size_that_is_not_the_texts() -> None:
    conn = local()
    conn.receive(b"1 SAVE alice INBOX guid=G size=5 received=1 {4}\nabcd", 1.0)
    assert conn.events() == []
    assert conn.data_to_send() == [b"1 BAD why=expected%20a%20text%20of%20size%3D5%2C%20got%20one%20of%204\n"]


@pytest.mark.parametrize(
    ("line", "may"),
    [
        (b"1 SAVE alice INBOX guid=G size=4 received=1 {4}\n", True),
        (b"1 STORE alice INBOX uids=3 add=\\Seen unchangedsince=7\n", True),
        (b"1 SAVE alice INBOX uid=7 guid=G size=4 received=1 {4}\n", False),
        (b"1 SAVE bob INBOX guid=G size=4 received=1 {4}\n", False),
        (b"1 LOCK alice INBOX\n", False),
        (b"1 CREATE bob X\n", False),
        (b"1 FETCH bob guid=G\n", False),
        (b"1 CHECK\n", False),
    ],
)
def test_who_is_not_trusted_has_one_user_and_no_uids(line: bytes, may: bool) -> None:
    conn = local(b"* HELLO name=script user=alice\n")
    conn.receive(line + b"abcd" * line.endswith(b"{4}\n"), 1.0)
    came = [event for event in conn.events() if isinstance(event, Came | TextCame)]
    said = b"".join(conn.data_to_send())
    assert bool(came) is may
    assert said.startswith(b"" if may else b"1 NO DENIED why=")


def test_nobody_asked_a_mail_process() -> None:
    conn = local()
    conn.receive(b"1 OK uid=3\n", 1.0)
    [lost] = conn.events()
    assert isinstance(lost, Lost) and lost.reason.startswith("OK answers nothing")


def test_answers_go_out() -> None:
    conn = local()
    conn.say(Ok(uid=7), "1", 1.0)
    assert conn.data_to_send() == [b"1 OK uid=7\n"]

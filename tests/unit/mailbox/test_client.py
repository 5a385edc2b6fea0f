"""The library says what the protocol has, and understands the answers. Nodes that answer are in tests/fault."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from pyrepl.mailbox.client import MOST_RANGES, MailboxClient, MailboxError, Message, new_guid
from pyrepl.mailbox.codec import encode
from pyrepl.mailbox.mail_conn import MailConn
from pyrepl.mailbox.talk import TalkOptions
from tests.unit.mailbox.talks import introduction


@contextmanager
def node(path: Path, *answers: bytes) -> Iterator[list[bytes]]:
    """A node that says HELLO and then these answers, one to each line; what it heard, texts left out."""
    heard: list[bytes] = []
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(path))
    listening.listen()

    def serve() -> None:
        conn, _ = listening.accept()
        with conn, conn.makefile("rb") as lines, suppress(BrokenPipeError):
            for answer in (encode(introduction("a").hello()), *answers, b""):
                line = lines.readline().rstrip()
                heard.append(line)
                if line.endswith(b"}"):
                    lines.read(int(line.rpartition(b"{")[2][:-1]))
                tag = line.split(b" ")[0]
                conn.sendall(answer.replace(b"TAG", tag))

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield heard
    thread.join(10)
    listening.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "socket"


def test_a_message_is_saved_flagged_copied_and_expunged(path: Path) -> None:
    answers = [b"TAG OK uid=7 acks=1\n", b"TAG OK modseq=3\n", b"TAG OK uids=4:5\n", b"TAG OK\n"]
    with node(path, *answers) as heard, MailboxClient(str(path), name="test", user="alice") as mail:
        saved = mail.append("alice", "inbox", b"hello", ["\\Seen"], received=5)
        assert saved.uid == 7 and saved.acks == 1
        mail.store("alice", "INBOX", [9, 7, 8], add=["\\Flagged"], remove=["work"], unchanged_since=2)
        assert mail.copy("alice", "INBOX", [7, 8], "Work/2026") == [4, 5]
        mail.expunge("alice", "INBOX", [7])
    assert heard[0].startswith(b"* HELLO name=test user=alice nonce=")
    assert heard[1] == b"1 SAVE alice INBOX guid=%b size=5 received=5 flags=\\Seen {5}" % saved.guid.encode()
    assert heard[2] == b"2 STORE alice INBOX uids=7:9 add=\\Flagged remove=work unchangedsince=2"
    assert heard[3] == b"3 COPY alice INBOX to=Work/2026 uids=7:8"
    assert heard[4:] == [b"4 EXPUNGE alice INBOX uids=7", b"* QUIT"]


def test_who_waits_long_for_an_answer_gives_a_sign_of_life(path: Path) -> None:
    with node(path, b"* PING\n", b"1 OK\n") as heard, MailboxClient(str(path)) as mail:
        mail.check()
    assert heard[1:] == [b"1 CHECK", b"* PING", b"* QUIT"]


def test_what_was_not_sent_whole_ends_the_connection(path: Path) -> None:
    """The next command would be taken for the rest of the text."""
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(path))
    listening.listen()
    taken: list[socket.socket] = []

    def take() -> None:
        taken.append(listening.accept()[0])
        taken[0].sendall(encode(introduction("a").hello()))

    threading.Thread(target=take).start()
    with MailboxClient(str(path), timeout_s=0.2) as mail:
        with pytest.raises(TimeoutError):
            mail.append("alice", "INBOX", b"x" * 8_000_000)
        with pytest.raises(ConnectionError, match="make another client"):
            mail.append("alice", "INBOX", b"y")
    for each in (listening, *taken):
        each.close()


def test_of_many_one_is_refused_and_what_comes_then_has_its_own_answers(path: Path) -> None:
    answers = (b"TAG OK uid=1\n", b"TAG NO DENIED why=no\n", b"TAG OK uid=2\n", b"TAG OK uid=3\n")
    with node(path, *answers), MailboxClient(str(path)) as mail:
        with pytest.raises(MailboxError, match="DENIED no"):
            mail.append_all("alice", "INBOX", [Message(b"%d" % number) for number in range(3)])
        assert mail.append("alice", "INBOX", b"x").uid == 3


def test_more_ranges_than_a_line_names_are_several_commands(path: Path) -> None:
    scattered = range(1, 2 * MOST_RANGES + 2, 2)
    modified = b"TAG NO MODIFIED uids=1\n", b"TAG NO MODIFIED uids=2001\n"
    with node(path, *modified, b"TAG OK\n", b"TAG OK\n") as heard, MailboxClient(str(path)) as mail:
        with pytest.raises(MailboxError) as raised:
            mail.store("alice", "INBOX", scattered, add=["\\Seen"], unchanged_since=5)
        mail.expunge("alice", "INBOX", scattered)
    assert raised.value.uids == (1, 2001)
    assert [line.split(b" ")[1] for line in heard[1:]] == [b"STORE", b"STORE", b"EXPUNGE", b"EXPUNGE", b"QUIT"]


def test_a_move_is_one_transaction(path: Path) -> None:
    with node(path, b"", b"TAG OK\n", b"TAG OK\n", b"TAG OK uids=9\n") as heard, MailboxClient(str(path)) as mail:
        assert mail.move("alice", "INBOX", [7], "Archive") == [9]
    assert [line.split(b" ")[1] for line in heard[1:]] == [b"TX-BEGIN", b"COPY", b"EXPUNGE", b"TX-END", b"QUIT"]


def test_many_are_saved_at_once(path: Path) -> None:
    with node(path, b"", b"", b"3 OK uid=9\n1 OK uid=7\n2 OK uid=8 acks=1\n"), MailboxClient(str(path)) as mail:
        saved = mail.append_all("alice", "INBOX", [Message(b"x" * size) for size in range(3)])
    assert [each.uid for each in saved] == [7, 8, 9] and [each.acks for each in saved] == [0, 1, 0]


def test_uids_of_its_own(path: Path) -> None:
    with (
        node(path, b"TAG OK uid=57\n", b"TAG OK uid=57\n", b"") as heard,
        MailboxClient(str(path)) as mail,
        mail.locked("alice", "INBOX") as uid,
    ):
        assert mail.save("alice", "INBOX", uid, b"hello").uid == 57
    assert heard[1] == b"1 LOCK alice INBOX ascending=1" and b" uid=57 " in heard[2]
    assert heard[3] == b"* UNLOCK alice INBOX"


def test_texts_and_folders(path: Path) -> None:
    answers = [
        b"TAG OK size=5 {5}\nhello",
        b"TAG OK\n",
        b"TAG OK\n",
        b"TAG OK\n",
        b"TAG OK\n",
        b"TAG OK\n",
        b"TAG OK\n",
    ]
    with node(path, *answers, b"TAG OK\n") as heard, MailboxClient(str(path)) as mail:
        assert mail.fetch("alice", "G1") == b"hello"
        mail.create("alice", "Work")
        mail.rename("alice", "Work", "Old")
        mail.subscribe("alice", "Old")
        mail.unsubscribe("alice", "Old")
        mail.delete("alice", "Old")
        mail.check("alice")
        mail.ping()
    assert [line.split(b" ", 1)[1] for line in heard[2:]] == [
        b"CREATE alice Work",
        b"RENAME alice Work to=Old",
        b"SUBSCRIBE alice Old",
        b"UNSUBSCRIBE alice Old",
        b"DELETE alice Old",
        b"CHECK alice",
        b"PING",
        b"QUIT",
    ]


@pytest.mark.parametrize(
    ("answer", "reason", "uids"),
    [
        (b"TAG NO MODIFIED uids=3:4\n", "MODIFIED", (3, 4)),
        (b"TAG BAD why=no\n", "BAD", ()),
        (b"* BAD why=gone\n", "CLOSED", ()),
        (b"TAG NO MODIFIED uids=1:4000000000\n", "BAD", ()),
        (b"TAG FROB\n", "CLOSED", ()),
    ],
)
def test_a_refusal_is_an_error(path: Path, answer: bytes, reason: str, uids: tuple[int, ...]) -> None:
    with node(path, answer):
        mail = MailboxClient(str(path))
        with pytest.raises(MailboxError) as raised:
            mail.store("alice", "INBOX", [3, 4], add=["\\Seen"])
        assert (raised.value.reason, raised.value.uids) == (reason, uids)
        mail.close()


def test_a_name_that_no_mailbox_can_have_is_refused_as_by_the_node(path: Path) -> None:
    with node(path):
        mail = MailboxClient(str(path))
        with pytest.raises(MailboxError, match=r"BAD expected a mailbox's name without .* got '\.\./up'"):
            mail.create("alice", "../up")
        mail.close()


def test_more_uids_than_were_copied_are_not_taken(path: Path) -> None:
    with node(path, b"TAG OK uids=1:4000000000\n"):
        mail = MailboxClient(str(path))
        with pytest.raises(MailboxError, match="more than 2 UIDs"):
            mail.copy("alice", "INBOX", [3, 4], "Archive")
        mail.close()


def test_a_node_that_ends(path: Path) -> None:
    with node(path):
        mail = MailboxClient(str(path))
        with pytest.raises(ConnectionError, match="the node closed"):
            mail.ping()
        mail.close()


@pytest.mark.parametrize(("secret", "why"), [(b"s3", ""), (b"wrong", "mailbox-secret")])
def test_by_tcp_both_prove_that_they_know_the_secret(secret: bytes, why: str) -> None:
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        conn, _ = listening.accept()
        talk = MailConn(introduction("a"), TalkOptions(), 0.0, is_local=False)
        with conn:
            while not talk.is_over and (data := conn.recv(1000)):
                talk.receive(data, 0.0)
                conn.sendall(b"".join(talk.data_to_send()))

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    if why:
        with pytest.raises(MailboxError, match=why):
            MailboxClient(address=listening.getsockname(), secret=secret)
    else:
        with MailboxClient(address=listening.getsockname(), secret=secret) as mail:
            mail.ping()
    thread.join(10)
    listening.close()


def test_guids_differ_and_are_words() -> None:
    guids = {new_guid() for _ in range(100)}
    assert len(guids) == 100 and all("/" not in guid and len(guid) <= 96 for guid in guids)

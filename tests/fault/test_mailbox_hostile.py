"""A real node to whose mailbox-port strangers and mail processes come that mean harm: they are refused or cut, its
memory stays bounded, and who is served is served on."""

from __future__ import annotations

import random
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

import psutil
import pytest

from pyrepl.mailbox.client import MailboxClient, MailboxError
from tests.fault.mailbox_cluster import SECRET, USER, MailboxCluster
from tests.peers.lab import Lab, wait_until
from tests.peers.ports import HOST

MOST_GROWTH = 48 << 20
"""Bytes that the node's memory may grow by, whatever comes: buffers of each connection, and what Python's allocator
keeps."""
FLOOD = 64 << 20
MAIL_PROCESSES = 20
MOST_TEXT = 8 << 20
"""`mailbox-text-limit`, bytes: texts of all mail processes are more than MOST_GROWTH."""
GREETING = b"* HELLO name=x nonce=" + b"x" * 32 + b"\n"
NAMES = ("../../etc", "a/../b", "..", "~root", "a//b", "a/./b", "/etc/passwd", "%2e%2e", "a%2f..", "x" * 5000)
USERS = ("bob", "../bob", ".", "%2e%2e", '""')


@pytest.fixture
def cluster(lab: Lab) -> Iterator[MailboxCluster]:
    found = MailboxCluster(lab, "ab")
    found.start("a", "b", **{"mailbox-maxclients": str(MAIL_PROCESSES), "mailbox-text-limit": str(MOST_TEXT)})
    found.client("a").create(USER, "INBOX")
    yield found


@contextmanager
def unharmed(cluster: MailboxCluster) -> Iterator[int]:
    """The port of a; behind it a has not grown, and serves on."""
    a = cluster.nodes["a"]
    a_process = psutil.Process(a.process.pid)
    mail = cluster.client("a")
    mail.append(USER, "INBOX", b"before")
    before = a_process.memory_info().rss
    yield cluster.ports["a"]
    wait_until("a serves on", lambda: mail.append(USER, "INBOX", b"behind").acks == 1)
    cluster.wait_equal()
    assert a_process.memory_info().rss - before < MOST_GROWTH
    assert sorted(path.name for path in (cluster.folder("a") / "mail").iterdir() if path.name[0] != ".") == [USER]


def is_cut(port: int, begin: bytes, more: bytes) -> int:
    """Say `begin`, and then `more` again and again until the node ends the connection; how many bytes it took."""
    taken = 0
    with socket.create_connection((HOST, port), 30) as peer, suppress(ConnectionError):
        peer.sendall(begin)
        while taken < FLOOD:
            taken += peer.send(more)
        hear_to_the_end(peer)
    return taken


def hear_to_the_end(peer: socket.socket) -> None:
    """Raises TimeoutError if the node does not end the connection."""
    while peer.recv(1 << 16):
        pass


@pytest.mark.parametrize(
    ("begin", "more"),
    [
        (b"", random.Random(1).randbytes(1 << 16)),
        (b"", b"x" * (1 << 16)),
        (b"", bytes(1 << 16)),
        (b"* HELLO ", b"y" * (1 << 16)),
        (b"1 SAVE alice INBOX guid=G1 size=9999999999 received=1 {9999999999}\n", b"x" * (1 << 16)),
        (GREETING + b"1 SAVE alice INBOX guid=G1 size=9 received=1 {9999999999}\n", b"x" * (1 << 16)),
        (GREETING, b"1 CHECK\n" * 8192),
        (GREETING.replace(b"name=x", b"node=b"), b"* PING\n" * 8192),
    ],
    ids=["noise", "no end", "zeros", "a long greeting", "a text first", "a text", "no proof", "no member"],
)
def test_a_stranger_is_cut_at_once(cluster: MailboxCluster, begin: bytes, more: bytes) -> None:
    with unharmed(cluster) as port:
        for _ in range(3):
            assert is_cut(port, begin, more) < FLOOD


def test_strangers_that_say_nothing_keep_nobody_out_and_are_cut(cluster: MailboxCluster) -> None:
    with unharmed(cluster) as port:
        silent = [socket.create_connection((HOST, port), 60) for _ in range(3 * MAIL_PROCESSES)]
        cluster.client("a").close()
        for peer in silent:
            with peer, suppress(ConnectionError):
                hear_to_the_end(peer)


def test_a_mail_process_of_one_user_reaches_no_other_one_and_no_other_folder(cluster: MailboxCluster) -> None:
    with unharmed(cluster) as port:
        address = (HOST, port)
        with MailboxClient(address=address, secret=SECRET.encode(), user=USER) as mail:
            lines = [f"CREATE {user} INBOX" for user in USERS] + [f"FETCH {user} guid=G1" for user in USERS]
            lines += [f"CREATE alice {name}" for name in NAMES]
            for line in lines:
                mail._send(f"9 {line}\n".encode())
                with pytest.raises(MailboxError):
                    mail._answer("9")
            assert mail.append(USER, "INBOX", b"small").acks == 1
        mail = MailboxClient(address=address, secret=SECRET.encode(), user=USER)
        with pytest.raises((MailboxError, ConnectionError)):
            mail.append(USER, "INBOX", bytes(MOST_TEXT + 1))
        mail.close()


def test_texts_that_are_never_whole_take_no_memory(cluster: MailboxCluster) -> None:
    """As many as there may be mail processes, each with a text of the greatest size that never ends."""
    with ExitStack() as stack, unharmed(cluster) as port:
        for number in range(MAIL_PROCESSES - 3):
            mail = MailboxClient(address=(HOST, port), secret=SECRET.encode(), user=USER)
            stack.callback(mail.close)
            begin = f"1 SAVE alice INBOX guid=H{number} size={MOST_TEXT} received=1 {{{MOST_TEXT}}}\n"
            mail._send(begin.encode() + bytes(MOST_TEXT - 1))

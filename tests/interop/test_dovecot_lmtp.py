"""Mail that is delivered through a node's LMTP port is at the other node when the mail server is told so."""

from __future__ import annotations

import random
import smtplib
import threading
import time
from pathlib import Path

import pytest

from tests.fault.mailbox_cluster import USER
from tests.interop.dovecot_pair import DovecotPair, append, dovecot_pair, shown
from tests.peers.lab import Lab, wait_until
from tests.peers.ports import HOST

DETAIL = """
recipient_delimiter = +
lmtp_save_to_detail_mailbox = yes
lda_mailbox_autocreate = yes
"""
SURE = {"mailbox-single-copy": "refuse", "mailbox-ack-timeout": "120000"}
"""No mail is told as taken that is on one node alone."""
KILLS = 50


class Mailer:
    """A mail server that delivers one mail after the other to a node, and comes again when it has to. `told`: the mails
    that it was told are taken."""

    def __init__(self, pair: DovecotPair, node: str) -> None:
        self.pair = pair
        self.node = node
        self.told: list[str] = []
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        number = 0
        while not self.is_over.is_set():
            try:
                with smtplib.LMTP(HOST, self.pair.lmtp_ports[self.node], timeout=60) as lmtp:
                    while not self.is_over.is_set():
                        number += 1
                        deliver(lmtp, f"mail-{number}")
                        self.told.append(f"mail-{number}")
            except (OSError, smtplib.SMTPException):
                time.sleep(0.05)

    def has_told(self, more: int) -> bool:
        return len(self.told) > more

    def stop(self) -> None:
        self.is_over.set()
        self.thread.join(120)
        assert not self.thread.is_alive()


def deliver(lmtp: smtplib.LMTP, subject: str, recipient: str = USER) -> None:
    """Raises SMTPException, if it was not taken."""
    lmtp.sendmail("x@example.org", [recipient], f"Subject: {subject}\r\n\r\nx\r\n")


def subjects(maildir: Path) -> set[str]:
    """What a Maildir has now."""
    found = set()
    for path in maildir.glob("cur/*"):
        lines = path.read_text().splitlines()
        found |= {line.partition(": ")[2] for line in lines if line.startswith("Subject: ")}
    return found


def test_a_mail_is_at_the_other_node_when_it_was_taken(lab: Lab) -> None:
    with dovecot_pair(lab, settings=DETAIL, more=SURE) as pair:
        session = pair.imap("a")
        maildirs = {name: dovecot.mail(USER) for name, dovecot in pair.dovecots.items()}
        for name, other in ("ab", "ba"):
            with smtplib.LMTP(HOST, pair.lmtp_ports[name], timeout=60) as lmtp:
                for number in range(5):
                    deliver(lmtp, f"{name}{number}")
                    assert f"{name}{number}" in subjects(maildirs[other])
                    append(session, b"Subject: y\r\n\r\ny\r\n")
                deliver(lmtp, f"{name}-detail", f"{USER}+Lists{name}")
                assert f"{name}-detail" in subjects(maildirs[other] / f".Lists{name}")
        assert len(pair.wait_equal(pair.imap("a"), pair.imap("b"))) == 20
        assert not any("single_copy" in node.log() for node in lab.nodes)


def test_alone_a_mail_is_refused_before_it_is_stored(lab: Lab) -> None:
    with dovecot_pair(lab, more=SURE) as pair:
        pair.cluster.nodes["b"].kill()
        pair.cluster.nodes["a"].wait_log("The connection with the mailbox node b at")
        with smtplib.LMTP(HOST, pair.lmtp_ports["a"], timeout=60) as lmtp:
            with pytest.raises(smtplib.SMTPDataError, match="no other node can be reached"):
                deliver(lmtp, "early")
            pair.start("b")
            deliver(lmtp, "late")
        assert subjects(pair.dovecots["b"].mail(USER)) == {"late"}


def kill_after_answers(pair: DovecotPair, kills: int) -> None:
    """Each mail that was told as taken is on b when a is killed, at any moment after."""
    chance = random.Random(11)
    other = pair.dovecots["b"].mail(USER)
    mailer = Mailer(pair, "a")
    for _ in range(kills):
        told = len(mailer.told)
        wait_until("mail is taken", lambda told=told: mailer.has_told(told))  # type: ignore[misc]
        time.sleep(chance.uniform(0, 0.3))
        pair.cluster.nodes["a"].kill()
        missing = set(mailer.told) - subjects(other)
        assert not missing, missing
        pair.start("a")
    mailer.stop()
    assert set(mailer.told) <= subjects(other)
    pair.wait_equal(pair.imap("a"), pair.imap("b"))
    assert len(shown(pair.imap("b"))) >= len(mailer.told) > kills


def test_a_node_that_is_killed_takes_no_mail_along(lab: Lab) -> None:
    with dovecot_pair(lab, more=SURE) as pair:
        kill_after_answers(pair, 3)


@pytest.mark.matrix
@pytest.mark.timeout(1800)
def test_a_node_that_is_killed_again_and_again_takes_no_mail_along(lab: Lab) -> None:
    with dovecot_pair(lab, more=SURE) as pair:
        kill_after_answers(pair, KILLS)

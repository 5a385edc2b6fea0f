"""Messages that are larger than what a mail process may send: a Dovecot has taken them, so all nodes have them."""

from __future__ import annotations

import hashlib

import psutil
import pytest

from tests.interop.dovecot_pair import DovecotPair, append, dovecot_pair, shown
from tests.peers.lab import Lab, wait_until

MB = 1024 * 1024
MOST_GROWTH = 48 * MB
"""Bytes that a node's memory may grow by, whatever it passes on."""


def texts(pair: DovecotPair, name: str) -> list[str]:
    """Digests of the texts that lie in the INBOX, in order."""
    folder = pair.dovecots[name].mail()
    paths = [path for part in ("new", "cur") for path in (folder / part).iterdir()]
    return sorted(hashlib.sha256(path.read_bytes()).hexdigest() for path in paths)


def test_a_text_above_the_limit_of_mail_processes(lab: Lab) -> None:
    with dovecot_pair(lab, more={"mailbox-text-limit": "1kb"}) as pair:
        one, other = pair.imap("a"), pair.imap("b")
        append(one, b"Subject: large\r\n\r\n" + b"line\r\n" * 100_000)
        append(one, b"Subject: small\r\n\r\nline\r\n")
        append(other, b"Subject: back\r\n\r\nline\r\n")
        assert len(pair.wait_equal(pair.imap("a"), pair.imap("b"))) == 3
        assert texts(pair, "a") == texts(pair, "b")
        assert "expected texts of at most" not in pair.cluster.nodes["a"].log() + pair.cluster.nodes["b"].log()


@pytest.mark.matrix
def test_a_text_that_is_too_large_for_checksums(lab: Lab) -> None:
    """300 MB, which the nodes never have in memory."""
    with dovecot_pair(lab) as pair:
        processes = [psutil.Process(pair.cluster.nodes[name].process.pid) for name in "ab"]
        append(pair.imap("a"), b"Subject: small\r\n\r\nline\r\n")
        pair.wait_equal(pair.imap("a"), pair.imap("b"))
        before = [process.memory_info().rss for process in processes]
        append(pair.imap("a"), b"Subject: large\r\n\r\n" + b"a line of twenty-two.\r\n" * 13_700_000)
        wait_until("b has it", lambda: len(shown(pair.imap("b"))) == 2, 120)
        grown = [process.memory_info().rss - was for process, was in zip(processes, before, strict=True)]
        assert texts(pair, "a") == texts(pair, "b") and max(grown) < MOST_GROWTH, grown

"""A Dovecot 2.3 on one node and a 2.4 on the other, on the same mailbox."""

from __future__ import annotations

import os
from typing import Final

import pytest

from tests.interop.dovecot_load import load_briefly, load_for_a_minute
from tests.interop.dovecot_pair import append, dovecot_pair
from tests.peers.lab import Lab

VERSIONS: Final = {"a": "2.3", "b": "2.4"}
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can enter the root of another Debian")


def test_either_waits_at_the_gate_and_shows_the_same(lab: Lab) -> None:
    with dovecot_pair(lab, versions=VERSIONS) as pair:
        a, b = pair.imap("a"), pair.imap("b")
        first = append(a, b"Subject: one\r\n\r\nof a\r\n", "(\\Seen)")
        second = append(b, b"Subject: two\r\n\r\nof b\r\n", "($Work)")
        assert [*pair.wait_equal(a, b)] == [first, second] == [1, 2]
        b.uid("STORE", "1", "+FLAGS", "(\\Flagged home)")
        a.uid("STORE", "2", "+FLAGS", "(\\Deleted)")
        a.expunge()
        append(a, b"Subject: three\r\n\r\nof a\r\n")
        found = pair.wait_equal(a, b)
        assert {uid: flags for uid, (flags, _) in found.items()} == {
            1: frozenset({"\\Seen", "\\Flagged", "home"}),
            3: frozenset(),
        }


def test_clients_of_both_append_and_flag(lab: Lab) -> None:
    with dovecot_pair(lab, versions=VERSIONS) as pair:
        load_briefly(pair)


@pytest.mark.matrix
def test_clients_of_both_append_and_flag_for_a_minute(lab: Lab) -> None:
    with dovecot_pair(lab, versions=VERSIONS) as pair:
        load_for_a_minute(pair)

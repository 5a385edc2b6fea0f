"""Clients of two nodes save and flag in one INBOX while mail is delivered there: no UID names two messages."""

from __future__ import annotations

import random
import time

import pytest

from tests.interop.dovecot_load import Load, load_briefly, load_for_a_minute, subjects
from tests.interop.dovecot_pair import dovecot_pair
from tests.peers.lab import Lab, wait_until

KILLS = 100


def test_clients_of_both_append_and_flag(lab: Lab) -> None:
    with dovecot_pair(lab) as pair:
        load_briefly(pair)


@pytest.mark.matrix
def test_clients_of_both_append_and_flag_for_a_minute(lab: Lab) -> None:
    with dovecot_pair(lab) as pair:
        load_for_a_minute(pair)


def test_a_killed_daemon_gives_no_uid_twice(lab: Lab) -> None:
    with dovecot_pair(lab) as pair:
        load = Load(pair, writers=1, most=30)
        wait_until("mail comes in", lambda: all(len(writer.given) > 2 for writer in load.writers))
        pair.cluster.nodes["a"].kill()
        pair.start("a")
        load.join()
        assert load.check() == 120
        assert not any("uid_burned" in node.log() for node in lab.nodes)


@pytest.mark.matrix
@pytest.mark.timeout(3600)
def test_daemons_that_are_killed_again_and_again_give_no_uid_twice(lab: Lab) -> None:
    chance = random.Random(19)
    with dovecot_pair(lab) as pair:
        load = Load(pair, writers=4)
        seen: dict[int, str] = {}
        for number in range(KILLS):
            time.sleep(chance.uniform(0.1, 2))
            name = chance.choice("ab")
            pair.cluster.nodes[name].kill()
            pair.start(name)
            if chance.random() < 0.5:
                # The other half of the kills come before anybody is served again.
                wait_until("clients of both are served", load.serves_all())
            if number % 10 == 0:
                # A restart counts mailbox_renumbered from 0; what clients were shown tells of all of them.
                seen |= subjects(pair.imap(name))
        load.stop()
        assert load.check() > 100
        for name, node in pair.cluster.nodes.items():
            assert node.info("mailboxes")["mailbox_renumbered"] == "0"
            assert seen.items() <= subjects(pair.imap(name)).items(), "a UID that was shown has moved"
        assert not any("uid_burned" in node.log() for node in lab.nodes)

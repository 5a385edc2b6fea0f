"""Mailboxes that two nodes made under one name at once are one after a while; others are left alone."""

from __future__ import annotations

from pyrepl.mailbox.boxes import view
from pyrepl.mailbox.doubles import LOOK_S
from tests.scenario.mailbox.cluster import Cluster, ready, save

SOON_S = 3 * LOOK_S + 1.0


def names(cluster: Cluster, node: str = "b") -> list[str]:
    return sorted(name for name, _ in view(cluster.rows[node], "alice").values())


def both_made(name: str = "Work") -> Cluster:
    """While they do not hear of each other."""
    cluster = ready("abw", "w")
    cluster.cut("a", "b")
    for node in "ab":
        cluster.say(f"m1>{node} 1 CREATE alice {name}")
    cluster.said()
    return cluster


def met(cluster: Cluster) -> Cluster:
    cluster.link("a", "b")
    cluster.run(0.1)
    return cluster


def test_l2_a_folder_that_both_made_at_once_is_one_with_the_mails_of_both() -> None:
    cluster = both_made()
    cluster.cut("b", "w")
    cluster.run(8.0)
    for node, guids in (("a", ["a1", "a2"]), ("b", ["b1"])):
        for place, guid in enumerate(guids):
            cluster.say(f"m1>{node} s{place} SAVE alice Work " + save(guid))
    cluster.link("b", "w")
    met(cluster)
    assert names(cluster) == ["INBOX", "Work", "Work (2)"]
    cluster.run(SOON_S)
    assert names(cluster) == names(cluster, "a") == ["INBOX", "Work"]
    one, other = cluster.views()
    assert one == other and sorted(one) == ["Work/a1", "Work/a2", "Work/b1"]
    assert (one["Work/a1"], one["Work/a2"]) == ((1, ()), (2, ())), "the one with more mails keeps its UIDs"


def test_two_empty_ones_are_one() -> None:
    cluster = met(both_made())
    cluster.run(SOON_S)
    assert names(cluster) == ["INBOX", "Work"]
    assert all(node.doubles.is_idle and node.doubles.next_deadline() == float("inf") for node in cluster.nodes.values())


def test_it_waits_while_mail_comes_into_them() -> None:
    cluster = met(both_made())
    for number in range(4):
        cluster.run(0.9 * LOOK_S)
        cluster.say(f"m1>a {number} SAVE alice Work " + save(f"G{number}"))
        assert names(cluster) == ["INBOX", "Work", "Work (2)"]
    cluster.run(SOON_S)
    assert names(cluster) == ["INBOX", "Work"]


def test_names_that_were_given_by_a_rename_are_left_alone() -> None:
    cluster = ready("abw", "w")
    for name in ("One", "Two"):
        cluster.say(f"m1>a {name} CREATE alice {name}")
    cluster.cut("a", "b")
    for node, name in (("a", "One"), ("b", "Two")):
        cluster.say(f"m1>{node} 1 RENAME alice {name} to=Work")
    met(cluster)
    cluster.run(SOON_S)
    assert names(cluster) == ["INBOX", "Work", "Work (2)"]


def test_nobody_does_it_without_a_root_and_a_restart_forgets_nothing() -> None:
    cluster = met(both_made())
    for name in "abw":
        cluster.crash(name)
    cluster.start("b")
    cluster.run(SOON_S)
    assert names(cluster) == ["INBOX", "Work", "Work (2)"]
    cluster.start("w")
    cluster.run(SOON_S + 10.0)
    assert names(cluster) == ["INBOX", "Work"]
    cluster.start("a")
    cluster.run(2.0)
    assert names(cluster, "a") == ["INBOX", "Work"]


def test_a_mastership_that_cannot_be_had_is_asked_for_again() -> None:
    cluster = met(both_made())
    cluster.say("m1>a 2 LOCK alice Work")
    cluster.run(20.0)
    assert names(cluster) == ["INBOX", "Work", "Work (2)"]
    cluster.say("m1>a * UNLOCK alice Work")
    cluster.run(20.0)
    assert names(cluster) == ["INBOX", "Work"]

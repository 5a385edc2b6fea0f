"""A node without data votes for nobody before it has what others have."""

from __future__ import annotations

import pytest

from pyrepl.mailbox.words import Stamp, Token
from tests.scenario.mailbox.cluster import Cluster, ready, save


def is_fresh(cluster: Cluster, name: str) -> bool:
    fresh = cluster.nodes[name].mastering.root.is_fresh
    assert cluster.rows[name].cluster().is_fresh == fresh, "as it is kept"
    return fresh


def root(cluster: Cluster, name: str) -> str:
    return cluster.nodes[name].mastering.root.root


@pytest.mark.parametrize(("names", "witnesses"), [("a", ""), ("ab", ""), ("abc", ""), ("abw", "w")])
def test_a_new_cluster_votes_as_soon_as_a_majority_of_new_ones_is_linked(names: str, witnesses: str) -> None:
    cluster = ready(names, witnesses)
    assert not any(is_fresh(cluster, name) for name in names)
    assert {root(cluster, name) for name in names} == {"a"}


def test_one_that_is_alone_waits_for_a_majority() -> None:
    cluster = Cluster("abc")
    for name in "bc":
        cluster.crash(name)
    cluster.crash("a")
    for name in "abc":
        cluster.lose_disk(name)
    cluster.start("a")
    cluster.run(20.0)
    assert is_fresh(cluster, "a") and root(cluster, "a") == ""
    cluster.start("b")
    assert not is_fresh(cluster, "a")
    cluster.run(10.0)
    assert root(cluster, "a") == root(cluster, "b") != "" and not is_fresh(cluster, "b")


@pytest.mark.parametrize(("names", "lost"), [("abw", "ab"), ("aw", "a")])
def test_where_only_a_witness_is_left_of_a_cluster_it_begins_anew_in_a_later_epoch(names: str, lost: str) -> None:
    cluster = ready(names, "w")
    before = cluster.nodes["w"].mastering.root.epoch
    for name in lost:
        cluster.crash(name)
        cluster.lose_disk(name)
    for name in lost:
        assert all(is_fresh(cluster, up) for up in lost if up in cluster.nodes)
        cluster.start(name)
    cluster.run(20.0)
    assert not any(is_fresh(cluster, name) for name in lost)
    assert root(cluster, "a") == "a" and cluster.nodes["a"].mastering.root.epoch > before
    cluster.say("m1>a 1 CREATE alice INBOX")
    cluster.say("m1>a 2 LOCK alice INBOX")
    assert "a>m1 2 OK uid=1" in cluster.said()


@pytest.mark.parametrize("is_lost", [False, True], ids=["disk kept", "disk lost"])
def test_t10_who_lost_the_disk_neither_votes_nor_claims_until_another_has_told_all(is_lost: bool) -> None:
    cluster = ready("abw", "w")
    cluster.say("m1>a 1 SAVE alice INBOX " + save("G1"))
    cluster.crash("a")
    cluster.crash("b")
    if is_lost:
        cluster.lose_disk("b")
    cluster.start("b")
    cluster.run(30.0)
    assert (is_fresh(cluster, "b"), root(cluster, "b")) == ((True, "") if is_lost else (False, "b"))
    cluster.start("a")
    cluster.run(20.0)
    assert not is_fresh(cluster, "b") and root(cluster, "a") == root(cluster, "b") != ""
    one, other = cluster.views()
    assert one == other and len(one) == 1


def test_t10_it_is_fresh_over_a_restart_too() -> None:
    cluster = ready("abw", "w")
    cluster.crash("a")
    cluster.crash("b")
    cluster.lose_disk("b")
    for _ in range(2):
        cluster.start("b")
        cluster.run(1.0)
        assert is_fresh(cluster, "b")
        cluster.crash("b")


def test_t10_a_witness_that_lost_its_disk_waits_for_the_epochs_of_all_it_may_have_voted_with() -> None:
    cluster = ready("abw", "w")
    for name in "abw":
        cluster.crash(name)
    cluster.lose_disk("w")
    cluster.start("w")
    cluster.start("b")
    cluster.run(20.0)
    assert is_fresh(cluster, "w"), "it may have voted for a, of which b knows nothing"
    cluster.start("a")
    assert not is_fresh(cluster, "w")
    cluster.run(20.0)
    assert root(cluster, "w") == root(cluster, "a") == root(cluster, "b") != ""
    assert [notice.about for notice in cluster.nodes["w"].core.notices() if notice.name == "fresh_over"] == [
        "w as a witness"
    ]


def test_t10_who_lost_the_disk_votes_in_no_epoch_in_which_it_may_have_voted() -> None:
    cluster = ready("abw", "w")
    cluster.crash("a")
    cluster.run(20.0)
    assert root(cluster, "w") == "b"
    epoch = cluster.nodes["b"].mastering.root.epoch
    for name in "bw":
        cluster.crash(name)
    cluster.lose_disk("b")
    for name in "ab":
        cluster.start(name)
    cluster.run(20.0)
    assert is_fresh(cluster, "b") and root(cluster, "a") == "", "w alone knows that b was the root"
    cluster.start("w")
    cluster.run(20.0)
    assert root(cluster, "a") == root(cluster, "b") == root(cluster, "w") != ""
    assert cluster.nodes["a"].mastering.root.epoch > epoch


def test_a_link_that_went_does_not_count() -> None:
    cluster = Cluster("abc")
    for name in "abc":
        cluster.crash(name)
    cluster.lose_disk("a")
    cluster.start("a")
    node = cluster.nodes["a"]
    node.freshness.link_up("b", cluster.now, is_fresh=False, epoch=0)
    node.freshness.link_down("b")
    node.freshness.synced("b")
    assert is_fresh(cluster, "a")
    node.freshness.link_up("c", cluster.now, is_fresh=True, epoch=0)
    assert not is_fresh(cluster, "a")


def test_who_lost_the_disk_gives_out_no_uid_that_it_gave_out_before() -> None:
    cluster = ready("abw", "w")
    cluster.cut("a", "b")
    cluster.cut("b", "w")
    cluster.run(8.0)
    cluster.say("m2>b 1 SAVE alice INBOX " + save("G1"))
    [box] = cluster.stores["b"].boxes
    apart, _ = cluster.stores["b"].boxes[box]["G1"]
    cluster.crash("b")
    cluster.lose_disk("b")
    cluster.start("b")
    cluster.run(5.0)
    cluster.cut("a", "b")
    cluster.cut("b", "w")
    cluster.run(8.0)
    cluster.say("m2>b 2 SAVE alice INBOX " + save("G2"))
    assert cluster.stores["b"].boxes[box]["G2"][0] > apart


def test_who_lost_the_disk_is_clear_when_every_member_has_told_it_all() -> None:
    """A mailbox that only b knows may have UIDs of it."""
    cluster = ready("abc")
    cluster.cut("a", "b")
    cluster.say("m1>b 1 CREATE alice Work")
    cluster.crash("c")
    cluster.lose_disk("c")
    cluster.crash("b")
    cluster.start("c")
    node, boxes = cluster.nodes["c"], cluster.rows["c"].boxes
    node.freshness.link_up("b", cluster.now, is_fresh=False, epoch=1)
    node.freshness.link_down("b")
    cluster.run(9.0)
    assert not is_fresh(cluster, "c") and not node.freshness.has_heard_all()
    [box] = boxes("alice")
    assert box.uidnext > 300_000, "its own UIDs are passed over"
    assert not [line for line in cluster.said("ROOT-CLEAR") if line.startswith("c>")]
    cluster.start("b")
    cluster.run(3.0)
    assert node.freshness.has_heard_all() and [line for line in cluster.said("ROOT-CLEAR") if line.startswith("c>")]
    assert [box.uidnext > 300_000 for box in boxes("alice")] == [True, True]


@pytest.mark.parametrize(("maker", "is_passed"), [("b", True), ("a", False), ("b~5", False)])
def test_a_mailbox_from_before_may_come_to_light_when_all_was_told(maker: str, is_passed: bool) -> None:
    """Another one has its beginning, and nobody the ops: it is told as rows."""
    cluster = ready("ab")
    cluster.crash("b")
    cluster.lose_disk("b")
    cluster.start("b")
    cluster.run(5.0)
    node, other, rows = cluster.nodes["b"], cluster.rows["a"], cluster.rows["b"]
    assert node.freshness.has_heard_all() and node.core.origin == "b~5"
    [inbox] = other.boxes("alice")
    guid = "9" * 32
    other.put_box(inbox._replace(guid=guid, name="Work", uidnext=3, token=Token(0, 0), created_stamp=Stamp(2, maker)))
    node.resync.pulling.want(node.core.peers["a"])
    cluster._after("b")
    cluster.settle()
    [found] = [box for box in rows.boxes("alice") if box.guid == guid]
    assert (found.uidnext > 200_000) == is_passed


def test_while_it_is_fresh_it_gives_out_uids_only_in_mailboxes_of_its_own() -> None:
    cluster = ready("abw", "w")
    cluster.crash("b")
    cluster.lose_disk("b")
    node = cluster.nodes["b"] = type(cluster.nodes["a"])(
        "b", cluster.members, cluster.rows["b"], cluster.now, cluster.options
    )
    cluster.say("m2>b 1 CREATE alice Work")
    cluster.run(8.0)
    cluster.said()
    cluster.say("m2>b 2 SAVE alice Work " + save("G1"))
    assert [line for line in cluster.said() if line.startswith("b>m2 2 OK")]
    cluster.link("b", "a")
    node.mastering.root.is_fresh = True
    cluster.say("m2>b 3 LOCK alice INBOX")
    assert cluster.said()[-1] == "b>m2 3 NO APART"

"""Masterships with rows and links: GIVE that is lost, takeovers, and what ends an epoch."""

from __future__ import annotations

import pytest

from pyrepl.mailbox.journal_ops import by_guid
from pyrepl.mailbox.store import Stored
from pyrepl.mailbox.tracker import ASK_AGAIN_S
from pyrepl.mailbox.uids import MASTER
from pyrepl.mailbox.verbs import Give, RootClear, Save, Take
from pyrepl.mailbox.words import Box, Dot, Token
from tests.scenario.mailbox.cluster import ready, save


def test_a_give_that_was_lost_is_said_again() -> None:
    cluster = ready()
    cluster.held.add("a>b")
    cluster.say("m2>b 1 LOCK alice INBOX")
    assert [line.split(" ")[2] for line in cluster.said()] == ["LOCK", "TAKE", "GIVE"]
    cluster.cut("a", "b")
    cluster.held.clear()
    cluster.link("a", "b")
    cluster.run(0.2)
    assert "b>m2 1 OK uid=1" in cluster.said()


def test_a_mastership_of_a_mailbox_that_its_user_has_not_is_neither_given_nor_taken() -> None:
    cluster = ready("abc")
    cluster.say("m2>b 1 SAVE alice INBOX " + save("G1"))
    node, [box] = cluster.nodes["a"], cluster.rows["a"].boxes("alice")
    give = Give(user="mallory", box=by_guid(box), token=Token(node.mastering.root.epoch, 99), uid=9, modseq=9, held=())
    take = Take(user="mallory", box=by_guid(box), wanted_by="c", hops=1, token=box.token)
    before = node.mastering.tracker.boxes[box.guid].phase, cluster.rows["a"].box(box.guid)
    for command in (give, take):
        node.hear("c", "g9", command, "", cluster.now)
    assert (node.mastering.tracker.boxes[box.guid].phase, cluster.rows["a"].box(box.guid)) == before
    assert node.core.sends() == []


def test_a_take_that_overtakes_the_create_of_its_mailbox_is_served_when_that_comes() -> None:
    cluster = ready("abc")
    cluster.held.add("b>a")
    cluster.say("m2>b 1 CREATE alice Work id=" + "8" * 32)
    cluster.say("m3>c 1 LOCK alice Work")
    assert cluster.said("TAKE", "GIVE") == ["c>a * TAKE alice #Work for=c hops=1 token=1.0"]
    cluster.release("b>a")
    assert [line.split(" ")[2] for line in cluster.said("TAKE", "GIVE")] == ["GIVE"], "nothing had to be said again"


@pytest.mark.parametrize(
    ("before", "wait_s", "is_kept"), [(9, 0.1, True), (9, ASK_AGAIN_S + 0.1, False), (1000, 0.1, False)]
)
def test_only_so_many_takes_of_mailboxes_that_are_not_known_are_kept_and_for_a_while_only(
    before: int, wait_s: float, is_kept: bool
) -> None:
    cluster = ready("abc")
    for number in (*range(before), 8 * 10**31):
        take = Take(user="alice", box=Box(f"{number:032}", True), wanted_by="c", hops=1, token=Token(1, 0))
        cluster.nodes["a"].hear("c", "*", take, "", cluster.now)
    cluster.run(wait_s)
    cluster.say(f"m1>a 1 CREATE alice Work id=8{'0' * 31}")
    assert bool(cluster.said("GIVE")) == is_kept


@pytest.mark.parametrize("gives_up", [True, False], ids=["giver dead", "giver linked"])
def test_a_mailbox_that_was_given_and_whose_ops_nobody_has_is_lost(gives_up: bool) -> None:
    cluster = ready("abc")
    cluster.say("m1>a 1 SAVE alice INBOX " + save("G1"))
    node, [box] = cluster.nodes["b"], cluster.rows["b"].boxes("alice")
    token = Token(node.mastering.root.epoch, 99)
    give = Give(user="alice", box=by_guid(box), token=token, uid=9, modseq=9, held=(Dot("c", 77),))
    node.hear("c", "g1", give, "", cluster.now)
    if gives_up:
        cluster.crash("c")
    for number in range(4):
        cluster.say(f"m2>b {number} LOCK alice INBOX")
        cluster.run(8.0)
        cluster.say(f"m2>b u{number} UNLOCK alice INBOX")
    granted = [line for line in cluster.said() if line.startswith("b>m2 3 OK uid=")]
    assert bool(granted) == gives_up and (node.mastering.root.epoch > token.epoch) == gives_up


def test_a_master_that_restarts_in_the_same_epoch_is_still_the_master() -> None:
    cluster = ready("abc")
    cluster.say("m2>b 1 SAVE alice INBOX " + save("G1"))
    cluster.crash("b")
    cluster.start("b")
    cluster.run(1.5)
    cluster.said()
    cluster.say("m2>b 2 LOCK alice INBOX")
    assert cluster.said() == ["m2>b 2 LOCK alice INBOX", "b>m2 2 OK uid=2"]


def test_a_takeover_from_the_dead_leaves_room_for_what_they_gave_out() -> None:
    cluster = ready("abc")
    cluster.crash("a")
    cluster.say("m2>b 1 LOCK alice INBOX")
    cluster.run(9.0)
    assert "b>m2 1 OK uid=4000" in cluster.said()
    box = next(iter(cluster.rows["b"].boxes("alice")))
    assert box.token == Token(2, 0) and box.holder == "b"


def test_two_takeovers_that_know_nothing_of_each_other_give_out_different_uids() -> None:
    cluster = ready("abw", witnesses="w")
    cluster.cut("a", "b")
    cluster.cut("a", "w")
    cluster.say("m2>b 1 LOCK alice INBOX")
    cluster.run(9.9)
    assert "b>m2 1 OK uid=4000" in cluster.said(), "the place of epoch 2 in the block"
    cluster.say("m2>b * SAVE alice INBOX " + save("G1", "4000"))
    cluster.say("m2>b * UNLOCK alice INBOX")
    cluster.cut("b", "w")
    cluster.link("a", "w")
    cluster.run(3.0)
    cluster.say("m1>a 1 LOCK alice INBOX")
    cluster.run(9.0)
    assert "a>m1 1 OK uid=6000" in cluster.said(), "that of epoch 3 has another place"


def test_takeovers_behind_uids_given_out_apart_give_out_different_ones() -> None:
    cluster = ready("abw", witnesses="w")
    cluster.cut("b", "a")
    cluster.cut("b", "w")
    cluster.run(8.0)
    cluster.say("m2>b 1 SAVE alice INBOX " + save("G1"))
    [apart] = [line for line in cluster.said("OK") if line.startswith("b>m2 1")]
    cluster.link("b", "a")
    cluster.run(0.5)
    box = next(iter(cluster.rows["a"].boxes("alice")))
    first = cluster.nodes["a"].mastering.blocks.first(box.uidnext, MASTER)
    assert "uid=2" in apart and first > box.uidnext
    cluster.rows["a"].put_box(box._replace(token=Token(2, 3), holder="b"))
    cluster.crash("b")
    node = cluster.nodes["a"] = type(cluster.nodes["a"])(
        "a", cluster.members, cluster.rows["a"], cluster.now, cluster.options
    )
    node.mastering.root.row = node.mastering.root.row._replace(epoch=2)
    cluster.link("a", "w")
    cluster.run(12.0)
    cluster.say("m1>a 1 LOCK alice INBOX")
    assert f"a>m1 1 OK uid={first // 100_000 * 100_000 + 6000}" in cluster.said(), "behind what was given out apart"


@pytest.mark.parametrize("restarts", [False, True])
def test_behind_messages_of_an_older_epoch_that_come_late_a_master_goes_on_where_its_own_epoch_says(
    restarts: bool,
) -> None:
    """Who gave these out may have given out more behind them, which nobody told of yet."""
    cluster = ready("abc")
    cluster.crash("a")
    cluster.say("m3>c 1 LOCK alice INBOX")
    cluster.run(9.0)
    cluster.say("m3>c 2 UNLOCK alice INBOX")
    [box] = cluster.rows["c"].boxes("alice")
    assert box.token.epoch == 2 and box.holder == "c"
    late = Save(user="alice", box=by_guid(box), uid=404_001, guid="G9", size=4, received=1, modseq=50)
    op = late.replaced(token=Token(1, 7), at=Dot("a", cluster.rows["c"].held().get("a", 0) + 1))
    cluster.nodes["c"].hear("b", "*", op, "text", cluster.now)
    cluster._after("c")
    if restarts:
        cluster.crash("c")
        cluster.start("c")
        cluster.run(1.5)
    uid = cluster.nodes["c"].mastering.blocks.takeover(404_002, 2)
    assert uid > 404_002
    for number in range(2):
        cluster.say(f"m3>c s{number} SAVE alice INBOX " + save(f"G{number}"))
        cluster.run(4.0)
    uids = {row.guid: row.uid for row in cluster.rows["c"].messages(box.guid)}
    assert uids == {"G9": 404_001, "G0": uid, "G1": uid + 1}


def test_a_mailbox_whose_giver_knew_less_than_we_do_goes_on_behind_neither() -> None:
    cluster = ready("abc")
    cluster.say("m2>b 1 SAVE alice INBOX " + save("G1"))
    node, [box] = cluster.nodes["c"], cluster.rows["c"].boxes("alice")
    give = Give(user="alice", box=by_guid(box), token=Token(1, 9), uid=404_003, modseq=9, held=())
    node.hear("b", "g9", give, "", cluster.now)
    cluster._after("c")
    [box] = cluster.rows["c"].boxes("alice")
    assert box.token == Token(1, 9)
    assert node.mastering.first_uid(box, box.token) == node.mastering.blocks.takeover(2, 1)


def test_a_root_that_all_have_cleared_for_goes_on_without_a_gap() -> None:
    cluster = ready("abc")
    cluster.nodes["a"].mastering.root.renew(cluster.now)
    cluster.run(0.5)
    cluster.said()
    cluster.say("m1>a 1 LOCK alice INBOX")
    assert "a>m1 1 OK uid=1" in cluster.said()
    assert cluster.nodes["a"].mastering.root.held_of_cleared == {}, "it is needed no more"


@pytest.mark.parametrize("why", ["a crash left a message", "rows came by state in part"])
def test_who_waits_for_ops_of_which_it_shows_something_does_not_say_that_it_is_clear(why: str) -> None:
    """The UIDs that its clients have seen, nobody else may know; nor what those gave out that made these ops."""
    cluster = ready("abc")
    [box] = cluster.rows["b"].boxes("alice")
    core = cluster.nodes["b"].core
    if why == "a crash left a message":
        core.merger.kept[box.guid] = {"G1": Stored(7, (), Dot("c", 1))}
    else:
        core.journal.reaches([Dot("c", 1)])
    cluster.nodes["a"].mastering.root.renew(cluster.now)
    cluster.run(0.1)
    assert not [line for line in cluster.said("ROOT-CLEAR") if line.startswith("b>a")]
    core.merger.kept.clear()
    core.jump((Dot("c", 1),))
    cluster.run(1.5)
    assert [line for line in cluster.said("ROOT-CLEAR") if line.startswith("b>a")]


def test_a_restart_does_not_forget_what_a_give_had_to_wait_for() -> None:
    cluster = ready("abc")
    cluster.held.add("c>b")
    cluster.say("m3>c * STORE alice INBOX uids=1 add=\\Seen")
    cluster.say("m3>c * SAVE alice INBOX " + save("G1"))
    cluster.say("m2>b 1 LOCK alice INBOX")
    cluster.crash("b")
    cluster.held.add("a>b")
    cluster.start("b")
    cluster.run(1.5)
    cluster.say("m2>b 2 LOCK alice INBOX")
    assert not [line for line in cluster.said("OK") if line.startswith("b>m2")]
    cluster.held.clear()
    cluster.settle()
    cluster.run(1.5)
    assert "b>m2 2 OK uid=2" in cluster.said()


def test_a_root_that_lacks_what_a_member_had_begins_after_a_while_whoever_waits() -> None:
    """A text of it may be nowhere until somebody has the mailbox."""
    cluster = ready()
    cluster.nodes["b"].mastering.may_clear = lambda: False
    cluster.say("m2>b 1 LOCK alice INBOX")
    cluster.say("m1>a 1 LOCK alice INBOX")
    root = cluster.nodes["a"].mastering
    root.root.renew(cluster.now)
    cluster.say("m2>b 2 UNLOCK alice INBOX")
    cluster.nodes["a"].hear("b", "*", RootClear(epoch=2, node="b", held=(Dot("b", 77),)), "", cluster.now)
    cluster.run(30.0)
    assert root.root.epoch == 2 and root.tracker.is_ready, "an epoch that is begun anew would have all wait anew"
    assert [line for line in cluster.said() if line.startswith("a>m1 1 OK uid=")]

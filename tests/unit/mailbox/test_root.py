"""Elections and leases. Requirements T8, T9, T10: ROOT-SET, ROOT-CLEAR, and how a root is chosen."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyrepl.mailbox.root import Root, RootOptions
from pyrepl.mailbox.root_states import RootState
from pyrepl.mailbox.rows import ClusterRow
from pyrepl.mailbox.verbs import RootClaim, RootClear, RootPing
from pyrepl.mailbox.words import Dot
from tests.unit.mailbox.elections import Elections


def test_t10_the_first_root_is_elected_by_a_majority() -> None:
    world = Elections()
    world.dead = {"b", "c"}
    world.run(10.0)
    assert world.rulers() == []
    world.dead = set()
    world.run(0.3)
    assert world.rulers() == ["a"]
    assert world.roots["a"].state is RootState.ROOT and world.roots["a"].epoch == 1
    assert world.roots["b"].root == world.roots["c"].root == "a"
    assert all(root.has_lease(world.now) for root in world.roots.values())


@pytest.mark.parametrize(
    "options", [RootOptions(lease_s=1.0), RootOptions(timeout_s=0.5), RootOptions(lease_s=1.0, timeout_s=0.5)]
)
def test_t10_a_root_stays_the_root_however_short_leases_are(options: RootOptions) -> None:
    world = Elections(options=options)
    world.run(4.0)
    assert world.ready() == ["a"]
    for _ in range(200):
        world.run(0.1)
        assert [root.epoch for root in world.roots.values()] == [1, 1, 1]
        assert all(root.has_lease(world.now) for root in world.roots.values())


def test_t10_a_dead_root_is_replaced_after_its_leases_are_over() -> None:
    world = Elections()
    world.run(4.0)
    world.dead.add("a")
    world.run(3.0)
    assert world.roots["b"].state is RootState.COLLECTING and world.roots["b"].epoch == 2
    elected_at = world.now
    while world.roots["b"].state is RootState.COLLECTING:
        world.run(0.1)
    assert 4.0 < world.now - elected_at < 6.0, "1.1 leases from the election"
    assert not world.roots["b"].all_cleared() and world.roots["b"].cleared == {"b", "c"}


def test_t9_a_root_whose_members_are_clear_begins_at_once() -> None:
    world = Elections()
    world.run(3.0)
    assert world.roots["a"].all_cleared()
    assert any(line.startswith("b>a ROOT-CLEAR epoch=1 node=b") for line in world.said)


def test_t9_a_clear_that_comes_to_another_goes_on_to_the_root() -> None:
    world = Elections()
    world.run(3.0)
    world.said.clear()
    world.roots["b"].hear("c", "*", RootClear(epoch=1, node="c"), world.now)
    world.deliver()
    assert world.said == ["b>a ROOT-CLEAR epoch=1 node=c"]


def test_of_each_member_that_keeps_mail_one_vector_is_kept() -> None:
    world = Elections(witnesses="c")
    world.run(5.0)
    root = world.roots["a"]
    assert root.is_root
    for seq in range(1, 9):
        for node in ("b", "c", f"x{seq}"):
            root.hear("b", "*", RootClear(epoch=root.epoch, node=node, held=(Dot("b", seq),)), world.now)
    assert root.held_of_cleared["b"] == (Dot("b", 8),) and root.cleared == {"a", "b"}
    assert root.held_of_cleared.keys() <= {"a", "b"}


def test_t8_one_that_comes_back_learns_the_new_root() -> None:
    world = Elections()
    world.run(4.0)
    world.dead.add("a")
    world.run(9.0)
    assert world.rulers() == ["b"]
    world.restart("a")
    world.run(1.5)
    assert world.roots["a"].root == "b" and world.rulers() == ["b"]


@pytest.mark.parametrize("names", ["ab", "abc"])
def test_a_root_that_comes_back_before_it_is_replaced_is_the_root_at_once(names: str) -> None:
    world = Elections(names)
    world.run(4.0)
    for _ in range(20):
        world.dead.add("a")
        world.run(0.5)
        world.restart("a")
        world.run(0.3)
        assert world.ready() == ["a"] and all(root.has_lease(world.now) for root in world.roots.values())


def test_a_member_that_comes_back_has_its_lease_at_once() -> None:
    world = Elections("ab")
    world.run(4.0)
    world.dead.add("b")
    world.run(1.0)
    world.restart("b")
    world.run(0.2)
    assert world.ready() == ["a"] and world.roots["a"].epoch == 1 and world.roots["b"].has_lease(world.now)


def test_members_that_are_killed_in_turn_have_a_root_whenever_both_are_there() -> None:
    world = Elections("ab", options=RootOptions(jitter_s=0.1))
    world.run(4.0)
    for name in "abbaababbbaaab" * 3:
        world.dead.add(name)
        world.run(0.6)
        world.restart(name)
        world.run(0.6)
        assert len(world.ready()) == 1 and all(root.has_lease(world.now) for root in world.roots.values())


def test_a_member_that_comes_while_votes_are_counted_is_asked_too() -> None:
    world = Elections("ab")
    world.cut.add(frozenset("ab"))
    while world.roots["a"].state is not RootState.PROBING:
        world.run(0.1)
    world.heal()
    world.run(0.1)
    assert world.rulers() == ["a"]


def test_one_that_has_only_begun_is_not_shut_out_by_a_root_that_it_did_not_meet_yet() -> None:
    world = Elections("abw", witnesses="w")
    world.run(4.0)
    world.dead.add("a")
    world.run(12.0)
    assert world.rulers() == ["b"]
    world.restart("a")
    world.cut.add(frozenset("ab"))
    world.run(1.0)
    assert not world.roots["a"].is_shut_out
    world.run(3.0)
    assert world.roots["a"].is_shut_out, "as b does not come"
    assert world.rulers() == ["b"] and world.roots["b"].epoch == 2


def test_a_node_that_was_cut_off_does_not_depose_the_root() -> None:
    world = Elections()
    world.run(4.0)
    world.isolate("c")
    world.run(30.0)
    assert world.roots["c"].epoch == 1, "it asked, and claimed nothing"
    assert not world.roots["c"].has_lease(world.now)
    world.heal()
    world.run(11.0)
    assert world.rulers() == ["a"] and world.roots["a"].epoch == 1
    assert world.roots["c"].has_lease(world.now)


def test_a_root_that_was_cut_off_has_no_lease_before_another_has_one() -> None:
    world = Elections()
    world.run(4.0)
    world.isolate("a")
    for _ in range(150):
        world.run(0.1)
        assert len(world.ready()) <= 1
    assert world.rulers() == ["b"]
    world.heal()
    world.run(2.0)
    assert world.rulers() == ["b"] and world.roots["a"].root == "b"


def test_a_witness_votes_never_claims_and_is_not_waited_for() -> None:
    world = Elections("abw", witnesses="w")
    world.run(4.0)
    assert world.rulers() == ["a"]
    world.cut.add(frozenset("ab"))
    world.run(20.0)
    assert world.rulers() == ["a"] and world.roots["a"].epoch == 1, "w hears a root: b gets no vote"
    assert world.roots["b"].is_shut_out and not world.roots["b"].has_lease(world.now)
    world.dead.add("a")
    world.run(20.0)
    assert world.rulers() == ["b"]
    world.dead.add("b")
    world.run(20.0)
    assert world.rulers() == [] and world.roots["w"].root == "b"


def test_two_members_have_no_root_while_one_is_down() -> None:
    world = Elections("ab")
    world.run(4.0)
    world.dead.add("a")
    world.run(20.0)
    assert world.rulers() == []
    world.restart("a")
    world.run(15.0)
    assert len(world.rulers()) == 1


def test_force_makes_a_root_to_which_all_others_yield() -> None:
    world = Elections()
    world.run(4.0)
    world.dead |= {"a", "b"}
    world.run(10.0)
    world.roots["c"].force(world.now)
    world.run(10.0)
    assert world.rulers() == ["c"] and world.roots["c"].epoch == 1001
    world.restart("a")
    world.restart("b")
    world.run(3.0)
    assert world.rulers() == ["c"] and world.roots["a"].root == "c"


def test_a_fresh_node_neither_votes_nor_claims() -> None:
    world = Elections("ab")
    world.roots["b"].is_fresh = True
    world.run(20.0)
    assert world.rulers() == []
    world.roots["b"].is_fresh = False
    world.run(15.0)
    assert len(world.rulers()) == 1


def test_a_vote_is_kept_over_a_restart() -> None:
    world = Elections()
    root = world.roots["c"]
    root.hear("a", "1", RootClaim(epoch=1, node="a"), 0.0)
    assert root.row.voted == "a" and root.to_send()[0].command.VERB == "OK"
    again: Root = world.made("c", root.row)
    again.hear("b", "1", RootClaim(epoch=1, node="b"), 5.0)
    assert again.to_send()[0].command.VERB == "NO"
    again.hear("a", "2", RootClaim(epoch=1, node="a"), 5.0)
    assert again.to_send()[0].command.VERB == "OK"


def test_the_root_may_ask_for_a_new_epoch() -> None:
    world = Elections()
    world.run(4.0)
    world.roots["a"].renew(world.now)
    world.run(0.2)
    assert world.rulers() == ["a"] and world.roots["a"].epoch == 2 and world.roots["a"].state is RootState.ROOT


def test_who_has_voted_lets_the_other_be_elected_however_long_ago_it_met_a_majority() -> None:
    world = Elections()
    world.dead = {"b", "c"}
    world.run(3.0)
    world.dead = set()
    world.run(3.0)
    b = world.roots["b"]
    b.link_down("a")
    b.row = b.row._replace(root="")
    b.link_up("a", world.now)
    b.row = b.row._replace(root="a")
    world.run(2.0)
    b.hear("a", "1", RootClaim(epoch=b.epoch + 1, node="a"), world.now)
    assert b.row.voted == "a" and b.next_deadline(world.now) >= world.now
    b.tick(world.now)
    assert b.state is RootState.FOLLOWING and not any(isinstance(send.command, RootClaim) for send in b.to_send()), (
        "the claimer comes first"
    )


def test_questions_of_an_older_epoch_are_refused() -> None:
    world = Elections()
    root = Root("b", world.members, ClusterRow(epoch=5, root="c"), 0.0, world.roots["b"].options)
    root.hear("a", "1", RootPing(epoch=4, node="a", root="a"), 1.0)
    [send] = root.to_send()
    assert send.command.words() == ["EPOCH", "epoch=5", "root=c"]


@settings(max_examples=60)
@given(st.lists(st.tuples(st.sampled_from("abcde"), st.sampled_from(["kill", "start", "isolate", "heal"])), max_size=8))
def test_never_two_roots_with_a_lease(happens: list[tuple[str, str]]) -> None:
    world = Elections("abcde")
    world.run(3.0)
    for name, what in happens:
        if what == "kill":
            world.dead.add(name)
        elif what == "start" and name in world.dead:
            world.restart(name)
        elif what == "isolate":
            world.isolate(name)
        elif what == "heal":
            world.heal()
        for _ in range(15):
            world.run(0.2)
            assert len(world.ready()) <= 1
    world.heal()
    for name in sorted(world.dead):
        world.restart(name)
    world.run(25.0)
    assert len(world.rulers()) == 1

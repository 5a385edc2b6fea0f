"""The tracker. Requirements T1 to T9: LOCK, UNLOCK, GIVE, TAKE, REQUEST, ROOT-SET, ROOT-CLEAR."""

from __future__ import annotations

from pyrepl.mailbox import mastership
from pyrepl.mailbox import tracker as tracker_module
from pyrepl.mailbox.answers import Reason
from pyrepl.mailbox.mastership import (
    Arrived,
    AskFor,
    Granted,
    HandOver,
    Lost,
    Overdue,
    Refused,
    StaleGive,
    StillUsed,
    Want,
)
from pyrepl.mailbox.tracker import ASK_AGAIN_S, LOST_S, USED_S, Tracker, TrackerOptions
from pyrepl.mailbox.tracker_states import Phase
from pyrepl.mailbox.words import APART, Dot, Token

ACCEPT = TrackerOptions()
REFUSE = TrackerOptions(accept=False)


def tracker(name: str = "b", root: str = "a", options: TrackerOptions = ACCEPT) -> Tracker:
    """One of a, b, c in epoch 4, with a lease, that knows one mailbox."""
    made = Tracker(name, 3, options)
    made.root_set(4, root, 0.0)
    for peer in {"a", "b", "c"} - {name}:
        made.link(peer, True, 0.0)
    made.lease(True, 0.0)
    made.add("box", Token(0, 0), "")
    if root == name:
        made.root_ready(0.0)
    made.events()
    return made


def test_t1_the_first_master_is_the_root() -> None:
    mine = tracker("a")
    mine.lock("box", "m1", 1.0)
    assert Granted("box", "m1", Token(4, 0)) in mine.events()


def test_t1_who_is_not_the_master_asks_the_root_and_waits_for_give() -> None:
    mine = tracker()
    mine.lock("box", "m1", 1.0)
    mine.lock("box", "m2", 1.0)
    assert mine.events() == [AskFor("box", "a", "b", 1)]
    assert mine.give("box", Token(4, 1), (), 1.5)
    mine.applied({}, 1.5)
    token = Token(4, 1)
    assert mine.events() == [Arrived("box", token), Granted("box", "m1", token), Granted("box", "m2", token)]


def test_t4_a_give_waits_for_what_its_sender_had_applied() -> None:
    mine = tracker()
    mine.lock("box", "m1", 1.0)
    mine.give("box", Token(4, 1), (Dot("a", 901), Dot("c", 44)), 1.5)
    mine.events()
    mine.applied({"a": 901, "c": 43}, 1.6)
    assert mine.events() == [] and mine.boxes["box"].phase is Phase.ARRIVING
    mine.applied({"a": 905, "c": 44}, 1.7)
    assert Granted("box", "m1", Token(4, 1)) in mine.events()


def test_t4_what_a_give_waits_for_is_looked_for_while_locks_wait_and_given_up_by_the_root() -> None:
    mine, root = tracker("b"), tracker("a")
    mine.give("box", Token(4, 1), (Dot("c", 44),), 0.0)
    mine.tick(LOST_S)
    assert mine.events() == [] and mine.next_deadline() == float("inf"), "nobody here waits for it"
    mine.lock("box", "m1", 1.0)
    assert mine.next_deadline() == LOST_S
    mine.tick(LOST_S)
    assert mine.events() == [Overdue("box", (Dot("c", 44),))]
    mine.tick(LOST_S + 1.0)
    assert mine.events() == []
    mine.cannot_come("box")
    [ask] = mine.events()
    assert isinstance(ask, AskFor) and ask.peer == "a"
    root.lock("box", "m9", 0.0)
    root.take("box", Want("b", 1), Token(4, 0), 0.0)
    root.unlock("box", "m9", 0.0)
    root.events()
    root.take("box", Want(ask.wanted_by, ask.hops), Token(4, 0), LOST_S)
    assert Lost("box") in root.events()
    root.give("box", Token(4, 9), (Dot("c", 44),), LOST_S)
    root.cannot_come("box")
    assert Lost("box") in root.events()


def test_t4_a_give_of_no_higher_token_or_another_epoch_is_void() -> None:
    mine = tracker()
    mine.give("box", Token(4, 5), (), 1.0)
    mine.applied({}, 1.0)
    mine.take("box", Want("c", 1), Token(4, 0), 1.0)
    mine.events()
    for token in (Token(4, 6), Token(3, 9), Token(5, 0)):
        assert not mine.give("box", token, (), 2.0)
        assert mine.events() == [StaleGive("box", token)]
    assert mine.give("box", Token(4, 7), (), 2.0)


def test_t2_an_unanswered_question_goes_to_the_root_after_a_second() -> None:
    mine = tracker("b")
    mine.add("other", Token(4, 3), "c")
    mine.lock("other", "m1", 1.0)
    assert mine.events() == [AskFor("other", "c", "b", 1)]
    mine.tick(1.9)
    assert mine.events() == []
    mine.tick(2.0)
    assert mine.events() == [AskFor("other", "a", "b", 1)]


def test_t2_a_link_that_breaks_sends_the_question_to_the_root() -> None:
    mine = tracker("b")
    mine.add("other", Token(4, 3), "c")
    mine.lock("other", "m1", 1.0)
    mine.events()
    mine.link("c", False, 1.1)
    assert mine.events() == [AskFor("other", "a", "b", 1)]


def test_t2_the_root_asks_whom_it_gave_the_mailbox_to_as_soon_as_that_is_back() -> None:
    mine = tracker("a")
    mine.add("other", Token(4, 3), "c")
    mine.lock("other", "m1", 1.0)
    assert mine.events() == [AskFor("other", "c", "a", 1)]
    mine.link("c", False, 1.1)
    mine.tick(2.1)
    assert mine.events() == []
    mine.link("c", True, 2.2)
    assert mine.events() == [AskFor("other", "c", "a", 1)]
    mine.tick(3.2)
    assert mine.events() == [AskFor("other", "c", "a", 1)]


def test_t2_what_waits_is_asked_of_a_root_that_is_known_again() -> None:
    mine = tracker("b")
    mine.root_gone()
    mine.lock("box", "m1", 1.0)
    assert mine.events() == []
    mine.root_found("c", 1.1)
    assert mine.events() == [AskFor("box", "c", "b", 1)]


def test_t2_a_lock_is_answered_at_its_deadline() -> None:
    mine = tracker()
    mine.lock("box", "m1", 1.0, wait_s=0.5)
    assert mine.next_deadline() == 1.5
    mine.tick(1.5)
    assert Refused("box", "m1", Reason.TIMEOUT) in mine.events()
    assert mine.boxes["box"].phase is Phase.ELSEWHERE


def test_t5_waiting_locks_do_not_starve_who_takes() -> None:
    mine = tracker("a")
    mine.lock("box", "m1", 1.0)
    mine.take("box", Want("b", 1), Token(4, 0), 2.0)
    mine.lock("box", "m2", 2.1)
    mine.events()
    mine.unlock("box", "m1", 2.2)
    assert mine.events() == [HandOver("box", "b", Token(4, 1)), AskFor("box", "b", "a", 1)]


def test_t7_a_hint_turns_to_who_asks_and_the_question_goes_on() -> None:
    mine = tracker("b")
    mine.add("other", Token(4, 3), "c")
    mine.take("other", Want("a", 1), Token(4, 0), 1.0)
    assert mine.events() == [AskFor("other", "c", "a", 2)]
    assert mine.boxes["other"].hint == "a"


def test_t7_without_an_idea_the_root_is_asked() -> None:
    mine = tracker("b")
    mine.take("box", Want("c", 1), Token(4, 0), 1.0)
    assert mine.events() == [AskFor("box", "a", "c", 2)]


def test_a_question_that_met_a_dead_link_or_walked_too_far_goes_to_the_root() -> None:
    mine = tracker("b")
    mine.add("other", Token(4, 3), "c")
    mine.link("c", False, 0.5)
    mine.take("other", Want("a", 7), Token(4, 0), 1.0)
    assert mine.events() == [], "the root is who asks: it has to find out itself"
    root = tracker("a")
    root.add("other", Token(4, 3), "c")
    root.take("other", Want("b", 7), Token(4, 0), 1.0)
    assert root.events() == [Lost("other")]


def test_what_nobody_gives_for_five_seconds_is_lost() -> None:
    mine = tracker("b")
    mine.lock("box", "m1", 0.0)
    for second in range(1, 6):
        mine.tick(float(second))
    assert mine.events()[-1] == AskFor("box", "a", "b", 7)


def test_a_take_of_an_older_epoch_is_void() -> None:
    mine = tracker("a")
    mine.take("box", Want("b", 1), Token(3, 9), 1.0)
    assert mine.events() == []


def test_t8_a_new_root_waits_for_open_locks_and_delays_new_ones() -> None:
    mine = tracker("b")
    mine.give("box", Token(4, 1), (), 1.0)
    mine.applied({}, 1.0)
    mine.lock("box", "m1", 1.0)
    mine.root_set(5, "c", 2.0)
    mine.lock("box", "m2", 2.1)
    mine.events()
    assert not mine.is_clear
    mine.unlock("box", "m1", 2.2)
    assert mine.is_clear
    assert mine.events() == [AskFor("box", "c", "b", 1)], "the new root is asked for what waited"


def test_t9_at_the_root_pending_locks_and_takes_start_when_all_are_clear() -> None:
    mine = tracker("b")
    mine.root_set(5, "b", 1.0)
    mine.lock("box", "m1", 1.1)
    mine.take("box", Want("c", 1), Token(5, 0), 1.2)
    assert mine.events() == []
    mine.root_ready(1.3)
    assert Granted("box", "m1", Token(5, 0)) in mine.events()
    mine.unlock("box", "m1", 1.4)
    assert mine.events() == [HandOver("box", "c", Token(5, 1))]


def test_without_a_lease_nothing_is_given_out_as_a_master() -> None:
    mine = tracker("a", options=REFUSE)
    mine.lock("box", "m1", 0.0)
    mine.lease(False, 1.0)
    mine.apart(True, stays_master=False)
    mine.events()
    mine.lock("box", "m2", 1.0)
    mine.tick(11.0)
    assert mine.events() == [Refused("box", "m2", Reason.APART)]
    mine.lease(True, 12.0)
    assert mine.boxes["box"].phase is Phase.HELD


def test_apart_and_accepting_a_lock_gets_a_token_of_its_own() -> None:
    mine = tracker("b")
    mine.lock("box", "m1", 0.0)
    mine.lease(False, 1.0)
    mine.events()
    mine.apart(True, stays_master=True)
    assert mine.events() == [Granted("box", "m1", Token(4, APART))], "it never was the master"
    root = tracker("a")
    root.lock("box", "m1", 0.0)
    root.lease(False, 1.0)
    root.apart(True, stays_master=True)
    root.events()
    root.lock("box", "m2", 1.0)
    assert root.events() == [Granted("box", "m2", Token(4, 0))], "of two members none can take it from the master"


def test_what_was_ours_before_a_restart_is_ours_in_the_same_epoch() -> None:
    mine = Tracker("b", 3, ACCEPT)
    mine.root_set(4, "a", 0.0)
    mine.add("box", Token(4, 3), "b")
    mine.add("old", Token(3, 3), "b")
    mine.lease(True, 1.0)
    assert mine.boxes["box"].phase is Phase.HELD and mine.boxes["old"].phase is Phase.ELSEWHERE


def test_who_gave_up_still_takes_what_comes_and_hands_it_on() -> None:
    mine = tracker("b")
    mine.lock("box", "m1", 0.0)
    mine.take("box", Want("c", 1), Token(4, 0), 0.1)
    mine.unlock("box", "m1", 0.2)
    assert mine.boxes["box"].phase is Phase.ELSEWHERE
    assert mine.events()[-1] == AskFor("box", "a", "c", 2)
    mine.give("box", Token(4, 1), (), 0.3)
    mine.applied({}, 0.3)
    mine.take("box", Want("c", 2), Token(4, 0), 0.4)
    assert mine.events()[-1] == HandOver("box", "c", Token(4, 2))


def test_s3_the_tracker_knows_neither_who_sends_nor_who_receives() -> None:
    names = {name for module in (tracker_module, mastership) for name in vars(module)}
    assert {"Tracker", "Mastership", "AskFor"} <= names
    assert not {"Core", "Saving", "Resync", "PeerLink", "MailConn", "Rows", "Send", "Reply"} & names


def test_apart_nobody_gets_a_mailbox_in_which_unknown_uids_may_be_until_they_are_known() -> None:
    mine, unlooked = tracker(), {"box"}
    mine.unlooked = unlooked
    mine.lease(False, 0.0)
    mine.lock("box", "m1", 0.0)
    mine.apart(True, stays_master=False)
    mine.lock("box", "m2", 0.0)
    assert not any(isinstance(event, Granted) for event in mine.events()) and mine.token_now("box") is None
    unlooked.clear()
    mine.looked("box")
    mine.looked("another")
    granted = [event for event in mine.events() if isinstance(event, Granted)]
    assert [(event.lock, event.token) for event in granted] == [("m1", Token(4, APART)), ("m2", Token(4, APART))]
    assert mine.stands("box", Token(4, APART))


def drained(now: float = 1.0) -> Tracker:
    """The root, with a LOCK open while b and, behind it, c want the mailbox."""
    root = tracker("a")
    root.lock("box", "m1", 0.0)
    for node in "bc":
        root.take("box", Want(node, 1), Token(4, 0), now)
    root.events()
    return root


def test_whoever_waits_is_told_that_a_mailbox_is_in_use_for_a_while() -> None:
    root = drained()
    said = []
    for step in range(int(2 * USED_S) * 10):
        root.tick(1.0 + step / 10)
        said += root.events()
    assert said[:2] == [StillUsed("box", "b", Token(4, 0)), StillUsed("box", "c", Token(4, 0))]
    assert len(said) == 2 * int(USED_S / ASK_AGAIN_S)
    assert root.next_deadline() == float("inf")
    root.unlock("box", "m1", 200.0)
    assert [type(event) for event in root.events()] == [HandOver, AskFor]


def test_what_is_in_use_is_not_lost_and_those_behind_us_hear_of_it() -> None:
    mine = tracker()
    mine.lock("box", "m1", 1.0)
    mine.take("box", Want("c", 1), Token(4, 0), 1.0)
    mine.in_use("box", Token(4, 0), 4.0)
    assert mine.events()[-1] == StillUsed("box", "c", Token(4, 0))
    mine.tick(4.0 + LOST_S - 0.1)
    assert [event.hops for event in mine.events() if isinstance(event, AskFor)] == [1]
    mine.in_use("box", Token(3, 0), 8.0)
    assert mine.events() == [], "of an older epoch"
    mine.tick(4.0 + LOST_S + 1.0)
    assert [event.hops for event in mine.events() if isinstance(event, AskFor)] == [mine.most_hops + 1]


def test_locks_that_wait_for_a_shorter_time_find_what_is_lost_together() -> None:
    mine = tracker(options=TrackerOptions(lock_timeout_s=LOST_S / 2))
    lost = []
    for turn in range(4):
        begun = turn * 100.0
        mine.lock("box", f"m{turn}", begun)
        for second in range(int(LOST_S)):
            mine.tick(begun + second)
        lost.append(any(isinstance(event, AskFor) and event.hops > mine.most_hops for event in mine.events()))
    assert lost == [False, True, True, True]
    mine.give("box", Token(4, 1), (), 400.0)
    mine.applied({}, 400.0)
    mine.unlock("box", "m3", 400.0)
    mine.take("box", Want("c", 1), Token(4, 0), 401.0)
    mine.lock("box", "m9", 402.0)
    assert [event.hops for event in mine.events() if isinstance(event, AskFor)] == [1], "it was found"

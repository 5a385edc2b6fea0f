"""One mailbox's mastership: locks, waiting ones, and when it is let go. Requirements T3, T5, T6."""

from __future__ import annotations

from pyrepl.mailbox.answers import Reason
from pyrepl.mailbox.mastership import Arrived, AskFor, Granted, HandOver, Mastership, Refused, TrackerEvent, Want
from pyrepl.mailbox.tracker_states import Phase, TrackerTrigger
from pyrepl.mailbox.words import Token


def held(out: list[TrackerEvent], *locks: str) -> Mastership:
    mine = Mastership("a", "box", Token(4, 17), "", out)
    for lock in locks:
        mine.waiting[lock] = 10.0
    mine.hold(0.0, 0.02)
    return mine


def test_all_that_wait_are_granted_when_it_comes() -> None:
    out: list[TrackerEvent] = []
    held(out, "m1", "m2")
    token = Token(4, 17)
    assert out == [Arrived("box", token), Granted("box", "m1", token), Granted("box", "m2", token)]


def test_t5_without_a_lock_it_goes_at_once() -> None:
    out: list[TrackerEvent] = []
    mine = held(out)
    mine.want(Want("b", 1), 0.0)
    assert out[-1] == HandOver("box", "b", Token(4, 18))
    assert mine.phase is Phase.ELSEWHERE and mine.hint == "b"


def test_t3_the_last_unlock_lets_it_go() -> None:
    out: list[TrackerEvent] = []
    mine = held(out, "m1", "m2")
    mine.want(Want("b", 1), 1.0)
    assert mine.phase is Phase.DRAINING
    mine.unlock("m1", 1.1)
    assert mine.phase is Phase.DRAINING
    mine.unlock("m2", 1.2)
    assert out[-1] == HandOver("box", "b", Token(4, 18))


def test_within_its_tenure_it_stays_while_locks_are_open() -> None:
    out: list[TrackerEvent] = []
    mine = held(out, "m1")
    mine.want(Want("b", 1), 0.01)
    phases = [mine.phase]
    mine.serve(0.02)
    assert [*phases, mine.phase] == [Phase.HELD, Phase.DRAINING]


def test_t6_the_first_gets_it_and_the_others_are_sent_on() -> None:
    out: list[TrackerEvent] = []
    mine = held(out, "m1")
    for node in ("b", "c", "b"):
        mine.want(Want(node, 1), 1.0)
    mine.waiting["m2"] = 10.0
    mine.unlock("m1", 2.0)
    token = Token(4, 18)
    assert out[2:] == [HandOver("box", "b", token), AskFor("box", "b", "c", 2), AskFor("box", "b", "a", 1)]
    assert mine.phase is Phase.ASKING


def test_t2_a_lock_that_waits_too_long_is_refused() -> None:
    out: list[TrackerEvent] = []
    mine = Mastership("a", "box", Token(4, 17), "b", out)
    mine.waiting["m1"] = 10.0
    mine.move(TrackerTrigger.WANT)
    mine.expire(9.9, Reason.TIMEOUT)
    assert out == []
    mine.expire(10.0, Reason.TIMEOUT)
    assert out == [Refused("box", "m1", Reason.TIMEOUT)] and not mine.waiting

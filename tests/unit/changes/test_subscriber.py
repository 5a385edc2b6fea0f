"""The subscriber's end of a conversation: what it says, what it makes of the answer, when it hangs up."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrepl.changes.batches import Batch
from pyrepl.changes.place import NOW, Place
from pyrepl.changes.refusals import AnotherServer, BatchTooLarge, TokenTooOld
from pyrepl.changes.subscriber import Ended, Greeted, Subscriber, SubscriberOptions

PLAIN = SubscriberOptions()
GREETING = b"SERVER node-a\nPING 1490197665618\nHISTORY abc\n"


def subscriber(place: Place = NOW, options: SubscriberOptions = PLAIN, stream: str = "keys") -> Subscriber:
    """Connected at 0."""
    made = Subscriber(stream, place, options, lambda now: 1000 * int(now) + 7)
    made.connected(0.0)
    return made


def greeted(place: Place = NOW, options: SubscriberOptions = PLAIN) -> Subscriber:
    """And what it said is out of the way."""
    made = subscriber(place, options)
    made.receive(GREETING, 0.0)
    assert made.events() == [Greeted("node-a", "abc")]
    made.data_to_send()
    return made


def batch(token: int, *rows: object, size: int = 0) -> Batch:
    return Batch("keys", "", token, rows, size, "abc")  # type: ignore[arg-type]


# ---------------------------------------------------------------------- what it says


@pytest.mark.parametrize(
    ("place", "asked"),
    [
        (NOW, b"REPLICATE keys NOW\n"),
        (Place(5021), b"REPLICATE keys 5021\n"),
        (Place(0), b"REPLICATE keys 0\n"),
        (Place(5021, "abc"), b"REPLICATE keys 5021 abc\n"),
    ],
)
def test_it_asks_for_what_follows_its_place(place: Place, asked: bytes) -> None:
    assert b"".join(subscriber(place).data_to_send()) == b"PING 7\nHISTORY\n" + asked


@pytest.mark.parametrize(
    ("user", "password", "auth"),
    [
        ("", "secret", b"AUTH secret"),
        ("", "secret word", b"AUTH default secret word"),
        ("alice", "secret word", b"AUTH alice secret word"),
    ],
)
def test_it_names_itself_and_gives_the_password_first(user: str, password: str, auth: bytes) -> None:
    options = SubscriberOptions(name="my-worker", user=user, password=password)
    said = b"".join(subscriber(options=options).data_to_send())
    assert said == b"NAME my-worker\n%b\nPING 7\nHISTORY\nREPLICATE keys NOW\n" % auth
    assert "secret" not in repr(options)


# ---------------------------------------------------------------------- rows


def test_rows_of_a_token_come_together() -> None:
    follower = greeted()
    follower.receive(b'RDATA keys batch [0,"user:7","hset"]\n', 1.0)
    assert follower.events() == []
    follower.receive(b'RDATA keys 5174 [0,"user:8","del"]\nRDATA keys 5200 [1]\nPOSITION keys 5300\n', 1.0)
    assert follower.events() == [
        batch(5174, [0, "user:7", "hset"], [0, "user:8", "del"], size=37),
        batch(5200, [1], size=3),
        batch(5300),
    ]
    assert follower.held == 5300


def test_what_it_has_is_dropped() -> None:
    follower = greeted(Place(10))
    follower.receive(b"POSITION keys 10\nRDATA keys batch [1]\nRDATA keys 10 [2]\nPOSITION keys 9\n", 1.0)
    follower.receive(b"RDATA keys batch [3]\nRDATA keys 11 [4]\n", 1.0)
    assert follower.events() == [batch(11, [3], [4], size=6)]


def test_other_streams_are_none_of_its_business() -> None:
    follower = greeted()
    follower.receive(b"RDATA keys batch [1]\nRDATA caches 5 [2]\nPOSITION caches 9\nRDATA keys 4 [3]\n", 1.0)
    assert follower.events() == [batch(4, [1], [3], size=6)]


def test_signs_of_others_are_ignored() -> None:
    follower = greeted()
    follower.receive(b"REMOTE_SERVER_UP example.com\nSYNC 5\n\n", 1.0)
    assert (follower.events(), follower.data_to_send()) == ([], [])


def test_the_history_gets_another_name() -> None:
    follower = greeted(Place(10, "abc"))
    follower.receive(b"RDATA keys 11 [1]\nHISTORY def\nRDATA keys 12 [2]\n", 1.0)
    assert follower.events() == [
        batch(11, [1], size=3),
        Greeted("node-a", "def"),
        batch(12, [2], size=3)._replace(history="def"),
    ]


LINES = [b"RDATA keys batch [1]\n", b'RDATA keys 5 ["\xc3\xa9"]\n', b"POSITION keys 6\n", b"RDATA keys 9 [3]\n"]


@given(st.lists(st.integers(0, 90), max_size=10))
def test_any_cuts_of_the_bytes_give_the_same(cuts: list[int]) -> None:
    wire = GREETING + b"".join(LINES)
    follower = subscriber()
    places = [0, *sorted(cuts), len(wire)]
    for a, b in pairwise(places):
        follower.receive(wire[a:b], 0.0)
    assert [event for event in follower.events() if isinstance(event, Batch)] == [
        batch(5, [1], ["é"], size=8),
        batch(6),
        batch(9, [3], size=3),
    ]


# ---------------------------------------------------------------------- writer by writer


def by_writer(place: Place = NOW) -> Subscriber:
    made = Subscriber("orders", place, PLAIN, lambda now: 7, by_writer=True)
    made.connected(0.0)
    assert made.data_to_send() == [b"PING 7\n", b"HISTORY\n", b"REPLICATE\n"]
    return made


def test_each_writer_has_its_own_order() -> None:
    follower = by_writer()
    follower.receive(b"POSITION keys abc 5 5\nPOSITION orders a 20 20\nPOSITION orders b 30 30\n", 0.0)
    follower.receive(b'RDATA keys abc 6 ["x"]\nRDATA orders b batch [1]\nRDATA orders a 21 [2]\n', 0.0)
    follower.receive(b"RDATA orders b 31 [3]\nPOSITION orders a 20 25\nRDATA orders b 31 [4]\n", 0.0)
    found = [(event.writer, event.token, event.rows) for event in follower.events() if isinstance(event, Batch)]
    assert found == [("a", 20, ()), ("b", 30, ()), ("a", 21, ([2],)), ("b", 31, ([1], [3])), ("a", 25, ())]


def test_a_gap_of_one_writer_is_asked_for() -> None:
    follower = by_writer(Place(writers={"a": 7, "b": 30}))
    follower.receive(b"POSITION orders a 20 20\nPOSITION orders b 30 30\n", 0.0)
    assert follower.data_to_send() == [b"REPLICATE orders a 7\n", b"SYNC 1 a\n"]
    follower.receive(b"RDATA orders a 21 [21]\nRDATA orders b 31 [31]\nSYNC 1 a\nRDATA orders a 9 [9]\n", 0.0)
    follower.receive(b"RDATA orders a 21 [21]\nPOSITION orders a 7 21\n", 0.0)
    found = [(event.writer, event.token, event.rows) for event in follower.events() if isinstance(event, Batch)]
    assert found == [("b", 31, ([31],)), ("a", 9, ([9],)), ("a", 21, ([21],))]


@pytest.mark.parametrize(
    "line",
    [
        b'RDATA keys 5 [0,"a b","set"]\n',
        b'  RDATA keys 5 [0,"a b","set"]\r\n',
        b'RDATA keys 0000000000000000005 [0,"a b","set"]\n',
    ],
)
def test_the_usual_line_and_its_odd_forms_mean_the_same(line: bytes) -> None:
    follower = greeted()
    follower.receive(line, 0.0)
    (found,) = follower.events()
    assert isinstance(found, Batch)
    assert (found.token, found.rows) == (5, ([0, "a b", "set"],))


# ---------------------------------------------------------------------- ends


def test_an_error_that_may_pass() -> None:
    follower = greeted()
    follower.receive(b"ERROR server stopping\nRDATA keys 5 [1]\n", 1.0)
    assert follower.events() == [Ended("the node ended it: server stopping", None)]
    assert follower.next_deadline() is None


def test_an_error_that_will_not_pass() -> None:
    follower = greeted(Place(12))
    follower.receive(b"ERROR TOOOLD 4096 token 12 of stream keys is older\n", 1.0)
    (ended,) = follower.events()
    assert isinstance(ended, Ended)
    assert isinstance(ended.refusal, TokenTooOld)
    assert ended.refusal.oldest == 4096


@pytest.mark.parametrize(
    ("sent", "why"),
    [
        (b"-ERR unknown command\r\n", "unknown command '-ERR'"),
        (b"REPLICATE keys 5\n", "REPLICATE is no command of a server"),
        (b"RDATA keys 5 {oops\n", "expected a row as JSON, got '{oops'"),
        (b"RDATA keys 5 " + b"[" * 100_000 + b"\n", "expected a row as JSON, got '[[["),
        (b"RDATA keys batch [1]\nPOSITION keys 7\n", "expected the last row of a token of stream keys"),
        (b"RDATA keys 5 \xff\n", "expected UTF-8"),
    ],
)
def test_a_broken_protocol_is_told_to_both_sides(sent: bytes, why: str) -> None:
    follower = greeted()
    follower.receive(sent, 1.0)
    (ended,) = follower.events()
    assert isinstance(ended, Ended)
    assert ended.refusal is None
    assert ended.why.startswith(f"the node broke the protocol: {why}")
    said = b"".join(follower.data_to_send())
    assert said.startswith(b"ERROR ") and said.count(b"\n") == 1


def test_a_line_without_an_end() -> None:
    follower = greeted(options=SubscriberOptions(most_batch_bytes=100))
    follower.receive(b"x" * 1000, 1.0)
    assert follower.events() == []
    follower.receive(b"x" * 200, 1.0)
    (ended,) = follower.events()
    assert isinstance(ended, Ended) and isinstance(ended.refusal, BatchTooLarge)
    assert ended.why == "the rows of one token are more than 100 bytes (most_batch_bytes)"


def test_more_rows_of_one_token_than_memory_is_given() -> None:
    follower = greeted(options=SubscriberOptions(most_batch_bytes=9))
    follower.receive(b"RDATA keys batch [1]\n" * 3, 1.0)
    assert follower.events() == []
    follower.receive(b"RDATA keys batch [1]\n" * 3, 1.0)
    (ended,) = follower.events()
    assert isinstance(ended, Ended) and isinstance(ended.refusal, BatchTooLarge)


def test_another_node_than_expected() -> None:
    follower = subscriber(options=SubscriberOptions(expect_node="node-b"))
    follower.receive(GREETING, 0.0)
    (ended,) = follower.events()
    assert isinstance(ended, Ended) and isinstance(ended.refusal, AnotherServer)
    assert ended.why == "expected node node-b, got node-a"


# ---------------------------------------------------------------------- time


def test_it_pings_after_five_seconds_of_its_own_silence() -> None:
    follower = greeted()
    assert follower.next_deadline() == 5.0
    follower.tick(4.9)
    assert follower.data_to_send() == []
    follower.tick(5.0)
    assert follower.data_to_send() == [b"PING 5007\n"]
    assert follower.next_deadline() == 10.0


def test_fifteen_seconds_of_silence_end_it() -> None:
    follower = greeted()
    for now in (5.0, 10.0, 14.9):
        follower.tick(now)
    follower.data_to_send()
    assert follower.events() == []
    follower.tick(15.0)
    assert follower.events() == [Ended("the node was silent for 15 s", None)]
    assert follower.data_to_send() == [b"ERROR ping timeout: nothing came for 15 s\n"]


def test_whoever_never_pings_may_be_silent() -> None:
    follower = subscriber()
    follower.receive(b"SERVER by-hand\n", 0.0)
    follower.events()
    for now in range(5, 100, 5):
        follower.tick(float(now))
    assert follower.events() == []


def test_whoever_never_greets_may_not() -> None:
    follower = subscriber()
    for now in (5.0, 10.0, 15.0):
        follower.tick(now)
    assert follower.events() == [Ended("the node was silent for 15 s", None)]


def test_while_it_does_not_read_the_silence_is_its_own() -> None:
    follower = greeted()
    follower.hold()
    for now in range(5, 60, 5):
        follower.tick(float(now))
    assert follower.events() == []
    assert follower.data_to_send()[-1] == b"PING 55007\n", "the node must not think us dead"
    follower.release(60.0)
    follower.tick(74.9)
    assert follower.events() == []
    follower.tick(75.0)
    assert follower.events() == [Ended("the node was silent for 15 s", None)]

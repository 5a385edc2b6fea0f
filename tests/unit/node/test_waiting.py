"""The waits of a node: each ends once, in one of its ways, and whoever came first is told first."""

from __future__ import annotations

import pytest

from pyrepl.acl.identity import UNASKED
from pyrepl.commands.session.transactions import tell_watchers_of_swap
from pyrepl.errors import CommandError
from pyrepl.keyspace import list_verbs
from pyrepl.keyspace.database import Keyspace
from pyrepl.node.client import Client
from pyrepl.node.conditions import Conditions
from pyrepl.node.pause import Pause
from pyrepl.node.waiting import UNBLOCKED, UNBLOCKED_BY_CLIENT, Waiting
from pyrepl.node.waits import AckedWait, KeysWait, Kind, PausedWait, ShutdownWait, Wait, WorkWait
from pyrepl.rdb.values import StreamValue
from pyrepl.replication.role import Holder
from pyrepl.resp.reply import NO_REPLY, NULL_ARRAY, Reply
from tests.unit.daemon.rig import bare_node


class Bench:
    """Waits over a keyspace with lists and streams, whose changes they notice."""

    def __init__(self) -> None:
        self.keyspace = Keyspace(2)
        self.conditions = Conditions()
        self.waiting = Waiting(self.keyspace, self.conditions)
        self.clients: dict[int, Client] = {}
        self.looked: list[int] = []

    def client(self, number: int) -> Client:
        return self.clients.setdefault(number, Client(number, "h:1", "h:2", 0.0, UNASKED))

    def acked(self, number: int, deadline: float | None = None) -> None:
        """It waits for one replica; a bare node has none."""
        self.waiting.begin(AckedWait(self.client(number), deadline, bare_node().replication.roster, 1))

    def keys(self, number: int, *keys: bytes, deadline: float | None = None, db: int = 0) -> None:
        """BLPOP keys."""

        def pop() -> tuple[Reply] | None:
            for key in keys:
                element = list_verbs.pop(self.keyspace.databases[db], key, True)
                if element is not None:
                    return ([key, element],)
            return None

        places = tuple((db, key) for key in keys)
        self.waiting.begin(KeysWait(self.client(number), deadline, places, "list", pop, NULL_ARRAY))

    def moves(self, number: int, source: bytes, target: bytes) -> None:
        """BLMOVE source target."""

        def move() -> tuple[Reply] | None:
            element = list_verbs.move(self.keyspace.databases[0], source, target, True, False)
            return None if element is None else (element,)

        self.waiting.begin(KeysWait(self.client(number), None, ((0, source),), "list", move, None))

    def looks(self, number: int, *keys: bytes) -> None:
        """As a consumer for whom there is nothing: each time it is tried again, its number is noted in `looked`."""

        def look() -> None:
            self.looked.append(number)

        places = tuple((0, key) for key in keys)
        self.waiting.begin(KeysWait(self.client(number), None, places, "stream", look, None, on_any_type=True))

    def push(self, key: bytes, *values: bytes, db: int = 0) -> None:
        list_verbs.extend(self.keyspace.databases[db], key, list(values), False)

    def told(self) -> list[tuple[int, Reply]]:
        """Whoever was answered since the last call; an error as its text."""
        answers: list[tuple[int, Reply]] = [
            (client_id, str(reply) if isinstance(reply, CommandError) else reply)
            for client_id, reply in self.waiting.answers
        ]
        self.waiting.answers.clear()
        return answers


@pytest.fixture
def bench() -> Bench:
    return Bench()


class TestDeadlines:
    def test_the_next_one(self, bench: Bench) -> None:
        waiting = bench.waiting
        assert waiting.next_deadline() is None
        bench.acked(1)
        assert waiting.next_deadline() is None
        bench.acked(2, 9.0)
        bench.acked(3, 5.0)
        assert waiting.next_deadline() == 5.0
        waiting.forget(3)
        assert waiting.next_deadline() == 9.0

    def test_late_ones_in_the_order_of_their_deadlines(self, bench: Bench) -> None:
        for number, deadline in ((1, 9.0), (2, 5.0), (3, 5.0), (4, 20.0)):
            bench.acked(number, deadline)
        bench.waiting.tick(4.9)
        assert bench.told() == []
        bench.waiting.tick(10.0)
        assert bench.told() == [(2, 0), (3, 0), (1, 0)]
        assert bench.waiting.next_deadline() == 20.0

    def test_a_deadline_of_before_is_not_that_of_the_next_wait(self, bench: Bench) -> None:
        bench.acked(1, 5.0)
        bench.waiting.unblock(1, with_error=False)
        bench.told()
        bench.acked(1)
        bench.waiting.tick(10.0)
        assert bench.told() == [] and bench.waiting.next_deadline() is None

    def test_deadlines_of_those_who_left_do_not_pile_up(self, bench: Bench) -> None:
        bench.acked(0, 1000.0)
        for number in range(1, 1000):
            bench.acked(number, 2000.0 + number)
            bench.waiting.forget(number)
        assert len(bench.waiting._deadlines) < 100
        assert bench.waiting.next_deadline() == 1000.0


class TestUnblocking:
    def test_as_if_late(self, bench: Bench) -> None:
        bench.keys(1, b"a")
        assert bench.waiting.unblock(1, with_error=False)
        assert bench.told() == [(1, NULL_ARRAY)]
        assert not bench.waiting.unblock(1, with_error=False)

    def test_with_an_error(self, bench: Bench) -> None:
        bench.acked(1)
        assert bench.waiting.unblock(1, with_error=True)
        assert bench.told() == [(1, UNBLOCKED_BY_CLIENT)]

    def test_who_is_not_blocked_cannot_be(self, bench: Bench) -> None:
        bench.waiting.begin(WorkWait(bench.client(1)))
        bench.waiting.begin(PausedWait(bench.client(2), may_write=True))
        assert [bench.waiting.unblock(number, with_error=True) for number in (1, 2, 3)] == [False] * 3
        assert bench.told() == []


def test_a_change_of_role_ends_what_depends_on_it(bench: Bench) -> None:
    bench.keys(3, b"a")
    bench.acked(1)
    for wait in (ShutdownWait(bench.client(4)), PausedWait(bench.client(5), may_write=True)):
        bench.waiting.begin(wait)
    bench.waiting.role_changed()
    assert bench.told() == [(3, UNBLOCKED), (1, UNBLOCKED)]
    assert bench.waiting.key_counts() == (0, 0)
    assert len(bench.waiting.waits_of(Kind.SHUTDOWN)) == len(bench.waiting.waits_of(Kind.PAUSED)) == 1


def test_who_is_gone_is_told_nothing(bench: Bench) -> None:
    bench.keys(1, b"a", deadline=5.0)
    bench.waiting.forget(1)
    bench.waiting.forget(1)
    bench.push(b"a", b"x")
    bench.waiting.serve_keys()
    bench.waiting.tick(10.0)
    bench.waiting.finish(1, 1)
    assert bench.told() == [] and bench.waiting.key_counts() == (0, 0)


def test_who_is_blocked(bench: Bench) -> None:
    bench.acked(1)
    bench.waiting.begin(WorkWait(bench.client(2)))
    assert (bench.client(1).is_blocked, bench.client(2).is_blocked) == (True, False)
    bench.waiting.unblock(1, with_error=False)
    assert not bench.client(1).is_blocked


def test_those_who_have_what_they_wait_for(bench: Bench) -> None:
    class Ready(Wait):
        kind = Kind.FSYNCED

        def __init__(self, client: Client) -> None:
            super().__init__(client)
            self.reply: tuple[Reply] | None = None

        def ready(self) -> tuple[Reply] | None:
            return self.reply

    waits = [Ready(bench.client(number)) for number in (3, 1, 2)]
    for wait in waits:
        bench.waiting.begin(wait)
    bench.acked(4)
    bench.waiting.look(Kind.FSYNCED)
    assert bench.told() == []
    waits[0].reply = waits[2].reply = (None,)
    bench.waiting.look(Kind.FSYNCED)
    assert bench.told() == [(3, None), (2, None)]


class TestWork:
    def test_it_is_done(self, bench: Bench) -> None:
        for number in (1, 2):
            bench.waiting.begin(WorkWait(bench.client(number)))
        bench.waiting.finish(2, b"done")
        assert bench.told() == [(2, b"done")]

    def test_all_of_a_kind(self, bench: Bench) -> None:
        for number in (2, 1):
            bench.waiting.begin(ShutdownWait(bench.client(number)))
        bench.acked(3)
        bench.waiting.finish_all(Kind.SHUTDOWN, 0)
        assert bench.told() == [(2, 0), (1, 0)]


class TestPauses:
    def test_reads_go_on_before_writes(self, bench: Bench) -> None:
        pause = Pause(Conditions())
        pause.begin(100, writes_only=False)
        pause.begin(200, writes_only=True)
        for number, may_write in ((1, True), (2, False), (3, True), (4, False)):
            bench.waiting.begin(PausedWait(bench.client(number), may_write=may_write))
        bench.waiting.pause_changed(pause, 99)
        assert bench.told() == []
        bench.waiting.pause_changed(pause, 100)
        assert bench.told() == [(2, NO_REPLY), (4, NO_REPLY)]
        bench.waiting.pause_changed(pause, 200)
        assert bench.told() == [(1, NO_REPLY), (3, NO_REPLY)]

    def test_a_failover_holds_longer_than_client_pause(self, bench: Bench) -> None:
        pause = Pause(Conditions())
        pause.begin(100, writes_only=True)
        pause.hold_writes(Holder.FAILOVER)
        bench.waiting.begin(PausedWait(bench.client(1), may_write=True))
        pause.end()
        bench.waiting.pause_changed(pause, 50)
        assert bench.told() == []
        pause.let_go(Holder.FAILOVER)
        bench.waiting.pause_changed(pause, 50)
        assert bench.told() == [(1, NO_REPLY)]


class TestKeys:
    def test_in_the_order_in_which_they_came(self, bench: Bench) -> None:
        for number in (3, 1, 2):
            bench.keys(number, b"a")
        bench.push(b"a", b"x", b"y")
        assert bench.told() == [], "not before the command is over"
        bench.waiting.serve_keys()
        assert bench.told() == [(3, [b"a", b"x"]), (1, [b"a", b"y"])]
        bench.push(b"a", b"z")
        bench.waiting.serve_keys()
        assert bench.told() == [(2, [b"a", b"z"])]
        assert bench.waiting.key_counts() == (0, 0)

    def test_who_waits_for_several_is_served_once(self, bench: Bench) -> None:
        bench.keys(1, b"a", b"b")
        bench.keys(2, b"b")
        bench.push(b"a", b"x")
        bench.push(b"b", b"y")
        bench.waiting.serve_keys()
        assert bench.told() == [(1, [b"a", b"x"]), (2, [b"b", b"y"])]

    def test_the_key_that_was_ready_first(self, bench: Bench) -> None:
        bench.keys(1, b"a")
        bench.keys(2, b"b")
        bench.push(b"b", b"y")
        bench.push(b"a", b"x")
        bench.waiting.serve_keys()
        assert bench.told() == [(2, [b"b", b"y"]), (1, [b"a", b"x"])]

    def test_the_whole_command_is_tried_again(self, bench: Bench) -> None:
        bench.keys(1, b"a", b"b")
        bench.push(b"b", b"y")
        bench.push(b"a", b"x")
        bench.waiting.serve_keys()
        assert bench.told() == [(1, [b"a", b"x"])]

    def test_whoever_is_not_served_keeps_the_place(self, bench: Bench) -> None:
        bench.keys(1, b"a")
        bench.keys(2, b"a")
        bench.keyspace.databases[0].write(b"a", b"no list")
        bench.waiting.serve_keys()
        assert bench.told() == []
        bench.keyspace.databases[0].delete(b"a")
        bench.push(b"a", b"x")
        bench.waiting.serve_keys()
        assert bench.told() == [(1, [b"a", b"x"])]

    def test_serving_one_makes_another_key_ready(self, bench: Bench) -> None:
        bench.keys(1, b"c")
        bench.moves(2, b"b", b"c")
        bench.moves(3, b"a", b"b")
        bench.push(b"a", b"x")
        bench.waiting.serve_keys()
        assert bench.told() == [(3, b"x"), (2, b"x"), (1, [b"c", b"x"])]

    def test_a_circle_comes_to_an_end(self, bench: Bench) -> None:
        bench.moves(1, b"a", b"b")
        bench.moves(2, b"b", b"a")
        bench.push(b"a", b"x")
        bench.waiting.serve_keys()
        assert bench.told() == [(1, b"x"), (2, b"x")]
        assert list_verbs.between(bench.keyspace.databases[0], b"a", 0, -1) == [b"x"]

    def test_databases_are_apart(self, bench: Bench) -> None:
        bench.keys(1, b"a", db=1)
        bench.keys(2, b"a")
        bench.push(b"a", b"x", b"y")
        bench.waiting.serve_keys()
        assert bench.told() == [(2, [b"a", b"x"])]

    def test_the_content_of_a_database_was_exchanged(self, bench: Bench) -> None:
        bench.keys(1, b"a", b"b", db=1)
        bench.keys(2, b"c")
        bench.push(b"b", b"y")
        bench.keyspace.swap(0, 1)
        tell_watchers_of_swap(bench.keyspace.databases[0], bench.keyspace.databases[1])
        bench.waiting.serve_keys()
        assert bench.told() == [(1, [b"b", b"y"])]

    def test_all_keys_are_replaced(self, bench: Bench) -> None:
        bench.keys(1, b"a", b"b")
        loaded = Keyspace(1).databases[0]
        list_verbs.push(loaded, b"b", b"y", True)
        bench.keyspace.databases[0].take_over(loaded)
        bench.waiting.serve_keys()
        assert bench.told() == [(1, [b"b", b"y"])]

    def test_who_finds_nothing_goes_behind_the_others_at_all_its_keys(self, bench: Bench) -> None:
        bench.looks(1, b"a", b"b")
        bench.looks(2, b"b")
        for key in (b"a", b"b"):
            bench.keyspace.databases[0].put(key, StreamValue())
            bench.keyspace.databases[0].changed(key)
            bench.waiting.serve_keys()
        assert bench.looked == [1, 2, 1]

    def test_a_group_that_is_destroyed(self, bench: Bench) -> None:
        bench.keyspace.databases[0].put(b"a", StreamValue())
        bench.looks(1, b"a")
        bench.waiting.key_ready(0, b"a")
        bench.waiting.key_ready(0, b"b")
        bench.waiting.serve_keys()
        assert bench.looked == [1]

    def test_what_holds_while_keys_are_ready(self, bench: Bench) -> None:
        told: list[bool] = []
        bench.waiting.watch(lambda: told.append(bench.conditions.keys_ready))
        bench.push(b"a", b"x")
        bench.keys(1, b"b", b"c")
        assert not bench.conditions.keys_ready
        bench.push(b"b", b"y")
        bench.push(b"c", b"z")
        assert bench.conditions.keys_ready and told == [True]
        bench.waiting.forget(1)
        assert not bench.conditions.keys_ready
        bench.keys(1, b"d")
        bench.push(b"d", b"y")
        bench.waiting.serve_keys()
        assert not bench.conditions.keys_ready and told == [True, True]

    def test_how_many_keys(self, bench: Bench) -> None:
        bench.keys(1, b"a", b"b", b"a")
        bench.looks(2, b"b", b"c")
        bench.looks(3, b"c")
        assert bench.waiting.key_counts() == (3, 2)

    def test_a_command_that_fails_leaves_the_others_to_the_next_time(self, bench: Bench) -> None:
        def broken() -> tuple[Reply] | None:
            raise ZeroDivisionError

        bench.keys(2, b"b")
        bench.waiting.begin(KeysWait(bench.client(1), None, ((0, b"a"),), "list", broken, None))
        bench.push(b"a", b"x")
        bench.push(b"b", b"y")
        with pytest.raises(ZeroDivisionError):
            bench.waiting.serve_keys()
        bench.waiting.serve_keys()
        assert bench.told() == [(2, [b"b", b"y"])]

    def test_nobody_waits(self, bench: Bench) -> None:
        bench.push(b"a", b"x")
        bench.waiting.serve_keys()
        assert bench.told() == []
        bench.keys(1, b"a")
        bench.waiting.serve_keys()
        assert bench.told() == [], "it became ready before anybody waited"

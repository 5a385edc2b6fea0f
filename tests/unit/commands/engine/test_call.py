"""What a command function is given: the client's database, and what it says to the replicas."""

from __future__ import annotations

from pyrepl.commands.engine.call import Call
from tests.unit.commands.rig import Dice, Rig


def call() -> Call:
    return calling(Rig())


def calling(rig: Rig) -> Call:
    return Call(rig.node, rig.client, Dice(), rig.dispatcher)


def test_it_begins_in_the_clients_database() -> None:
    rig = Rig()
    rig.client.db_index = 3
    subject = calling(rig)
    assert subject.db is rig.node.keyspace.databases[3]


def test_the_commands_own_bytes_go_out_unless_it_says_otherwise() -> None:
    assert call().propagated is None


def test_rewrites_add_up_in_order() -> None:
    subject = call()
    subject.rewrite(b"DEL", b"a")
    subject.rewrite(b"SET", b"b", b"1")
    assert subject.propagated == [[b"DEL", b"a"], [b"SET", b"b", b"1"]]


def test_nothing_is_not_the_same_as_the_commands_own_bytes() -> None:
    subject = call()
    subject.rewrite(b"DEL", b"a")
    subject.propagate_nothing()
    assert subject.propagated == []


def test_a_call_inside_has_words_and_effects_of_its_own() -> None:
    subject = call()
    subject.now_ms = 5
    subject.argv = [b"EXEC"]
    inner = subject.nested()
    inner.argv = [b"SET", b"a", b"1"]
    inner.rewrite(b"DEL", b"a")
    assert (inner.client, inner.db, inner.now_ms) == (subject.client, subject.db, 5)
    assert inner.is_nested and not subject.is_nested
    assert subject.argv == [b"EXEC"] and subject.propagated is None and inner.unit == []

"""When a key is ready for those who wait for it, and when it is not."""

from __future__ import annotations

import pytest

from pyrepl.acl.identity import UNASKED
from pyrepl.commands.collections import lists
from pyrepl.commands.keys import expiry, keys
from pyrepl.commands.node import databases
from pyrepl.commands.strings import strings
from pyrepl.commands.xstreams import groups, streams
from pyrepl.node.client import Client
from pyrepl.node.key_queue import KeyQueue
from pyrepl.node.waits import KeysWait
from pyrepl.resp.reply import NULL_ARRAY
from tests.unit.commands.desk import Desk


class Bench:
    """A desk, one client that waits for the key `k`, and how often the key became ready."""

    def __init__(self) -> None:
        self.desk = Desk(keys, expiry, strings, lists, streams, groups, databases)
        self.ready = 0

    def wait(self, type_name: str, *, on_any_type: bool = False) -> KeyQueue:
        self.queue = KeyQueue(self.desk.keyspace.databases[0], b"k", self._note)
        client = Client(1, "h:1", "h:2", 0.0, UNASKED)
        wait = KeysWait(client, None, ((0, b"k"),), type_name, lambda: None, NULL_ARRAY, on_any_type=on_any_type)
        self.queue.waits[1] = wait
        return self.queue

    def after(self, *lines: str) -> int:
        """How often the key became ready during these commands."""
        before = self.ready
        for line in lines:
            self.desk.say(line)
        return self.ready - before

    def _note(self, queue: KeyQueue) -> None:
        assert queue is self.queue
        self.ready += 1


@pytest.fixture
def bench() -> Bench:
    return Bench()


@pytest.mark.parametrize("line", ["RPUSH k x", "RENAME other k", "COPY other k"])
def test_a_list_comes(bench: Bench, line: str) -> None:
    bench.desk.say("RPUSH other x")
    bench.wait("list")
    assert bench.after(line) == 1


def test_another_type_or_key_comes(bench: Bench) -> None:
    bench.wait("list")
    assert bench.after("SET k x", "APPEND k x", "DEL k", "XADD k * f v", "RPUSH other x", "FLUSHDB") == 0


def test_an_entry_is_added_and_nothing_else_about_a_stream_counts(bench: Bench) -> None:
    bench.desk.say("XADD k 1-1 f v")
    bench.wait("stream")
    assert bench.after("XADD k 2-1 f v") == 1
    assert bench.after("XADD k MAXLEN 0 3-1 f v") == 1
    assert bench.after("XADD k 4-1 f v") == 1
    quiet = ("XDEL k 4-1", "XTRIM k MAXLEN 0", "XSETID k 9-9", "XGROUP CREATE k g $", "XGROUP SETID k g 0", "DEL k")
    assert bench.after(*quiet) == 0
    assert bench.after("XADD k 1-1 f v") == 1


@pytest.mark.parametrize("line", ["DEL k", "RENAME k other", "SET k x", "FLUSHDB", "PEXPIREAT k 1", "MOVE k 1"])
def test_a_consumer_hears_that_the_stream_is_gone(bench: Bench, line: str) -> None:
    bench.desk.say("XADD k 1-1 f v")
    bench.wait("stream", on_any_type=True)
    assert bench.after(line) >= 1


def test_the_type_that_is_there_now(bench: Bench) -> None:
    queue = bench.wait("list")
    assert queue.type_name is None and not queue.dirty_cas
    bench.desk.say("RPUSH k x")
    assert queue.type_name == "list"
    bench.desk.say("PEXPIRE k 5")
    bench.desk.pass_ms(5)
    assert queue.type_name is None


def test_after_its_end_it_watches_no_more(bench: Bench) -> None:
    watchers = bench.desk.keyspace.databases[0].watchers
    first = bench.wait("list")
    second = bench.wait("list")
    first.close()
    assert bench.after("RPUSH k x") == 1
    second.close()
    assert watchers == {} and bench.after("DEL k", "RPUSH k x") == 0

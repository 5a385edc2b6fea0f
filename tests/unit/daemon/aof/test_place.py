"""The place kept beside the append-only file: under which name, from which byte, and what a start makes of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pyrepl.aof.manifest import Entry, FileType, Manifest
from pyrepl.aof.own_block import Aside
from pyrepl.aof.place import Place
from pyrepl.daemon.aof.files import AofFiles
from pyrepl.daemon.aof.place import AofPlace, FoundPlace, find_place, noted_place
from pyrepl.units import ReplId
from tests.unit.daemon.rig import in_loop, running

INCR = Entry("a.1.incr.aof", 1, FileType.INCR)
OLD, NEW = ReplId("a" * 40), ReplId("b" * 40)


@pytest.fixture
def files(tmp_path: Path) -> AofFiles:
    return AofFiles(tmp_path, "a")


def test_a_new_name_keeps_the_byte_and_the_cut(files: AofFiles) -> None:
    kept = AofPlace.note(files, INCR, Place(OLD, 100, INCR.name, 7))
    kept.follow(OLD)
    kept.follow(NEW)
    assert files.read_place(INCR) == kept.place == Place(NEW, 100, INCR.name, 7)


def test_a_place_counts_only_while_the_manifest_has_it_as_history(files: AofFiles) -> None:
    AofPlace.note(files, INCR, Place(OLD, 100, INCR.name, 7))
    named = Manifest(incrs=(INCR,), history=(files.place_entry(INCR),))
    assert noted_place(files, named) == Place(OLD, 100, INCR.name, 7)
    assert noted_place(files, Manifest(incrs=(INCR,))) is None, "somebody else opened these files"
    assert noted_place(files, Manifest()) is None


def test_the_end_of_the_file_is_a_cut() -> None:
    place = Place(OLD, 100, INCR.name, 7)
    found = find_place(place, 17, Aside(7))
    assert found is not None and (found.place, found.end, found.cut) == (place, 17, 110)
    assert found.fields(3)[b"repl-offset"] == b"110"
    assert find_place(place, 6, Aside(7)) is None, "left of the place nothing is known"


def test_what_is_no_stream_does_not_count() -> None:
    aside = Aside(7)
    for start, end in ((0, 5), (9, 12), (14, 16)):
        aside.add(start, end)
    found = find_place(Place(OLD, 100, INCR.name, 7), 17, aside)
    assert found is not None and found.cut == 105
    assert found.place == Place(OLD, 104, INCR.name, 16), "a place that says the same of what follows"


def test_the_tail_is_stream_alone(tmp_path: Path) -> None:
    path = tmp_path / "incr"
    path.write_bytes(b"SELECT." + b"0123456789" + b"torn")
    found = FoundPlace(Place(OLD, 100, "incr", 7), 17, 110, Aside(7))
    assert found.tail(path, 4) == b"6789"
    assert found.tail(path, 1000) == b"0123456789"
    aside = Aside(7)
    aside.add(9, 12)
    aside.add(14, 16)
    found = FoundPlace(Place(OLD, 104, "incr", 16), 17, 105, aside)
    assert [found.tail(path, most) for most in (1000, 6, 4, 2, 1)] == [b"01569", b"569", b"69", b"9", b"9"]


@pytest.mark.parametrize("stamped", [False, True])
@in_loop
async def test_a_killed_node_has_its_backlog_back(tmp_path: Path, stamped: bool) -> None:
    """What stands in the file serves replicas that were behind, under the name they know; times in it do no harm."""
    settings: dict[str, Any] = {"appendonly": True, "aof_timestamp_enabled": stamped}
    async with running(tmp_path, appendfsync="always", **settings) as node:
        backlog, replid = node.app.node.replication.backlog, node.app.node.replication.history.replid
        start = backlog.end
        await node.say("SET a 1")
        await node.say("SET b 2")
        stream = b"".join(backlog.read(start, 1000))
    async with running(tmp_path, **settings) as node:
        replication = node.app.node.replication
        assert replication.history.replid2 == replid
        assert b"".join(replication.backlog.read(start, 1000)) == stream
        assert await node.say("SET c 3") == "OK"
    async with running(tmp_path, **settings) as node:
        again = node.app.node.replication
        assert again.history.replid2 == replication.history.replid
        assert b"".join(again.backlog.read(start, 1000)).startswith(stream)


@in_loop
async def test_a_replica_is_told_no_name_that_is_not_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The child writes +FULLRESYNC: killed from then on, the node has to know what it called itself."""
    async with running(tmp_path, appendonly=True) as node:
        await node.say("SET a 1")
    async with running(tmp_path, appendonly=True) as node:
        on_disk: list[str] = []
        start = node.app.saver.start

        def noted(*args: Any, **how: Any) -> bool:
            [path] = (tmp_path / "appendonlydir").glob("*.stream")
            on_disk.append(path.read_text().split()[1])
            return start(*args, **how)

        monkeypatch.setattr(node.app.saver, "start", noted)
        replica = await node.peer()
        await replica.say("REPLCONF capa eof capa psync2")
        replica.send("PSYNC", "?", "-1")
        name = node.app.node.replication.history.replid
        assert await replica.line() == f"+FULLRESYNC {name} {node.app.node.stream_end}\r\n".encode()
        assert on_disk == [name]

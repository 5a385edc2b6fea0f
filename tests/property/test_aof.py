"""An append-only file cut anywhere: what is read is a prefix of whole units, and so is what is kept of the file."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyrepl.aof.manifest import Entry, FileType, Manifest, parse, render
from pyrepl.aof.own_block import Aside, own_block, timestamp
from pyrepl.aof.place import Place
from pyrepl.aof.reader import UnitReader
from pyrepl.daemon.aof.place import find_place
from pyrepl.resp.encoder import encode_command

WORD = st.binary(max_size=12)
COMMAND = st.lists(WORD, max_size=3).map(lambda words: [b"SET", *words])
UNIT = st.one_of(
    COMMAND.map(lambda argv: [argv]),
    st.lists(COMMAND, min_size=1, max_size=3).map(lambda inner: [[b"MULTI"], *inner, [b"EXEC"]]),
)


@settings(max_examples=80, deadline=None)
@given(units=st.lists(UNIT, max_size=6), data=st.data())
def test_any_cut_gives_whole_units_and_their_end(units: list[list[list[bytes]]], data: st.DataObject) -> None:
    encoded = [b"".join(encode_command(argv) for argv in unit) for unit in units]
    whole = b"".join(encoded)
    cut = data.draw(st.integers(0, len(whole)))
    step = data.draw(st.integers(1, 40))
    reader = UnitReader()
    got: list[list[bytes]] = []
    for at in range(0, cut, step):
        got += reader.feed(whole[at : min(cut, at + step)])
    expected: list[list[bytes]] = []
    end = 0
    for unit, raw in zip(units, encoded, strict=True):
        if end + len(raw) > cut:
            break
        end += len(raw)
        expected += unit
    assert (got, reader.end, reader.read) == (expected, end, cut)


PART: st.SearchStrategy[tuple[str, list[list[bytes]]]] = st.one_of(
    st.tuples(st.just("stream"), UNIT),
    st.tuples(st.just("own"), st.lists(UNIT, max_size=2).map(lambda units: [argv for unit in units for argv in unit])),
    st.tuples(st.just("time"), st.just([])),
)


@settings(max_examples=150, deadline=None)
@given(parts=st.lists(PART, max_size=8), data=st.data())
def test_any_cut_is_a_place_in_the_stream(
    parts: list[tuple[str, list[list[bytes]]]], data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Whatever stands aside in the file, its end is known as a cut, and its tail is stream alone."""
    prefix = encode_command([b"SELECT", b"3"])
    whole, ends, stream = prefix, [(len(prefix), b"")], b""
    for kind, commands in parts:
        raw = b"".join(map(encode_command, commands))
        stream += raw if kind == "stream" else b""
        whole += raw if kind == "stream" else own_block(raw) if kind == "own" else timestamp(1700000000)
        ends.append((len(whole), stream))
    cut = data.draw(st.integers(len(prefix), len(whole)))
    reader = UnitReader(0, Aside(len(prefix)))
    reader.feed(whole[:cut])
    end, held = max((end, held) for end, held in ends if end <= cut)
    found = find_place(Place("a" * 40, 1000, "incr", len(prefix)), reader.end, reader.aside)
    assert found is not None and (found.end, found.cut) == (end, 1000 + len(held))
    path = tmp_path_factory.mktemp("file") / "incr"
    path.write_bytes(whole[:cut])
    most = data.draw(st.integers(0, len(whole)))
    tail = found.tail(path, most)
    assert held.endswith(tail) and (tail == held or most < len(whole))


NAMES = st.text(st.characters(min_codepoint=32, max_codepoint=126, exclude_characters="/"), min_size=1, max_size=20)


@settings(max_examples=80, deadline=None)
@given(names=st.lists(NAMES.filter(lambda name: name not in (".", "..")), min_size=1, max_size=4))
def test_a_manifest_is_read_back(names: list[str]) -> None:
    manifest = Manifest(
        Entry(names[0], 1, FileType.BASE),
        tuple(Entry(name, seq, FileType.INCR) for seq, name in enumerate(names[1:], 1)),
    )
    assert parse(render(manifest)) == manifest

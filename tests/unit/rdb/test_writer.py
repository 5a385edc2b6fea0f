"""The writer: headers by version, checksums, batches, and what a version cannot hold."""

from __future__ import annotations

import pytest

from pyrepl.rdb.events import Aux, End, FunctionLibrary, Header, ResizeDb
from pyrepl.rdb.lzf import COMPRESSOR_IS_NATIVE
from pyrepl.rdb.settings import PackingSettings
from pyrepl.rdb.types.row import CannotHold
from pyrepl.rdb.values import HashWithTtls, StreamValue
from pyrepl.rdb.versions import WRITABLE_VERSIONS, Vendor, Version, newest, numbered
from pyrepl.rdb.writer import RdbWriter
from tests.unit.rdb.loading import load

FAR_MS = 4102444800123


def test_a_whole_file_spelled_out() -> None:
    writer = RdbWriter(numbered(10))
    data = writer.begin([(b"redis-ver", b"7.0.15"), (b"redis-bits", b"64")])
    data += writer.functions([b"code"])
    data += writer.select_db(3, 2, 1)
    data += writer.encode_keys([(b"k", b"v"), (b"12", b"-7")], {b"12": 258, b"other": 1})
    assert data == (
        b"REDIS0010\xfa\x09redis-ver\x067.0.15\xfa\x0aredis-bits\xc0\x40\xf5\x04code"
        b"\xfe\x03\xfb\x02\x01\x00\x01k\x01v\xfc\x02\x01\0\0\0\0\0\0\x00\xc0\x0c\xc0\xf9"
    )
    tail = writer.end()
    assert len(tail) == 9
    assert tail[0] == 0xFF
    loaded = load(data + tail)
    assert loaded.values == {3: {b"k": b"v", b"12": b"-7"}}
    assert loaded.expires == {3: {b"12": 258}}


def test_clocks_stand_between_the_time_to_live_and_the_type() -> None:
    writer = RdbWriter(numbered(9))
    assert writer.has_clocks and not RdbWriter(numbered(8)).has_clocks
    clocks = {b"k": writer.idle(70_000), b"l": writer.frequency(255), b"other": b"x"}
    data = writer.encode_keys([(b"k", b"v"), (b"l", b"w"), (b"m", b"x")], {b"k": 1}, clocks=clocks)
    assert data == (b"\xfc\x01\0\0\0\0\0\0\0\xf8\x80\x00\x01\x11\x70\x00\x01k\x01v\xf9\xff\x00\x01l\x01w\x00\x01m\x01x")


@pytest.mark.parametrize("version", WRITABLE_VERSIONS)
def test_head_and_end_by_version(version: Version) -> None:
    writer = RdbWriter(version)
    data = writer.begin([(b"repl-id", b"x")]) + writer.select_db(20000, 1, 0)
    data += writer.encode_strings([(b"a", b"b")]) + writer.end()
    loaded = load(data)
    expected: list[object] = [Header(version)]
    if version.number >= 7:
        expected += [Aux(b"repl-id", b"x"), ResizeDb(20000, 1, 0)]
    assert loaded.others[:-1] == expected
    end = loaded.others[-1]
    assert isinstance(end, End)
    assert bool(end.checksum) == (version.number >= 5)
    assert loaded.values == {20000: {b"a": b"b"}}


def test_without_checksum_it_ends_in_zeros() -> None:
    writer = RdbWriter(numbered(10), checksum=False)
    writer.begin()
    assert writer.end() == b"\xff" + bytes(8)


@pytest.mark.parametrize("version", [0, newest(Vendor.REDIS).number + 1, 79, 81])
def test_versions_nobody_knows(version: int) -> None:
    with pytest.raises(ValueError, match=f"cannot write RDB version {version}"):
        RdbWriter(numbered(version))


TEXTS = [
    b"", b"0", b"-1", b"00", b"12345678901", b"-2147483648", b"2147483648", b"9x", b"x9", b"-",
    b"a" * 11, b"a" * 12, b"1" * 12, b"a" * 20, b"a" * 21, b"a" * 63, b"a" * 64, b"a" * 2047, b"a" * 2048,
    b"a" * 16383, b"a" * 16384, bytes(range(256)) * 300,
]  # fmt: skip


@pytest.mark.parametrize("compress", [False, True])
def test_both_ways_to_write_strings_write_the_same(compress: bool) -> None:
    """Also: every boundary of the fast path, in keys and in values."""
    items = [(text, text) for text in TEXTS] + [(b"key:" + text, text) for text in TEXTS]
    fast = RdbWriter(numbered(10), compress=compress)
    slow = RdbWriter(numbered(10), compress=compress)
    data = fast.begin() + fast.encode_strings(items)
    assert data == slow.begin() + slow.encode_keys(items, {})
    assert load(data + fast.end()).values[0] == dict(items)
    if compress and COMPRESSOR_IS_NATIVE:
        assert len(data) < sum(map(len, dict(items)))


@pytest.mark.parametrize("strings", [False, True])
def test_a_batch_ends_at_its_limit_and_the_rest_stays(strings: bool) -> None:
    items = {b"%d" % i: b"x" * 100 for i in range(25)}
    writer = RdbWriter(numbered(10))
    data = writer.begin()
    keys = iter(items.items())
    sizes = []

    def encode() -> bytes:
        return writer.encode_strings(keys, 1000) if strings else writer.encode_keys(keys, {}, 1000)

    while batch := encode():
        sizes.append(batch.count(b"x" * 100))
        data += batch
    assert sizes == [10, 10, 5]
    assert load(data + writer.end()).values[0] == items


def test_settings_reach_the_types() -> None:
    writer = RdbWriter(numbered(10), packing=PackingSettings(hash_max_listpack_entries=1))
    assert writer.encode_keys([(b"h", {b"a": b"1", b"b": b"2"})], {})[0] == 4
    assert RdbWriter(numbered(10)).encode_keys([(b"h", {b"a": b"1", b"b": b"2"})], {})[0] == 16


def test_what_a_version_cannot_hold_is_named() -> None:
    hash_value = HashWithTtls({b"f": b"v"}, {b"f": FAR_MS})
    with pytest.raises(CannotHold, match=r"key b'the hash': .* 12 or 80, not 11"):
        RdbWriter(numbered(11)).encode_keys([(b"the hash", hash_value)], {})
    with pytest.raises(CannotHold, match="key b'the stream': a stream needs RDB version 9, not 8"):
        RdbWriter(numbered(8)).encode_keys([(b"the stream", StreamValue())], {})
    with pytest.raises(CannotHold, match="function libraries need RDB version 10, not 9: b'#!lua name=x'"):
        RdbWriter(numbered(9)).functions([b"#!lua name=x"])
    assert RdbWriter(numbered(9)).functions([]) == b""


def test_expiries_before_milliseconds_are_rounded_up() -> None:
    writer = RdbWriter(numbered(2))
    data = writer.begin() + writer.encode_keys([(b"a", b""), (b"b", [b"x"])], {b"a": 1001, b"b": 2000}) + writer.end()
    assert load(data).expires == {0: {b"a": 2000, b"b": 2000}}
    with pytest.raises(CannotHold, match="key b'k': RDB version 2 has no expiry at 4102444800123 ms"):
        RdbWriter(numbered(2)).encode_keys([(b"k", b"")], {b"k": FAR_MS})


def test_functions_keep_their_text() -> None:
    writer = RdbWriter(numbered(10), compress=True)
    text = b"#!lua name=x\n" + b"redis.call('x')\n" * 50
    assert FunctionLibrary(text) in load(writer.begin() + writer.functions([text]) + writer.end()).others

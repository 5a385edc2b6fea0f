"""The reader as a machine: opcodes, ends, limits, errors that say type, key and byte."""

from __future__ import annotations

import struct

import pytest

from pyrepl.errors import CorruptData
from pyrepl.rdb.events import (
    Aux,
    End,
    FunctionLibrary,
    Header,
    LoadedKeys,
    ResizeDb,
    SkippedEmpty,
    SkippedMetadata,
    SkippedModule,
    SlotImport,
    SlotInfo,
)
from pyrepl.rdb.reader import RdbLimits, RdbReader, duplicate_key_error
from pyrepl.rdb.versions import Vendor, newest, numbered
from tests.unit.rdb.loading import load
from tests.unit.rdb.old_encodings import key, snapshot, text

BEYOND = newest(Vendor.REDIS).number + 1
MODULE_ID = b"\x81" + struct.pack(">Q", 0x8A0A6A9DDD8CE001)


def refusal(data: bytes, limits: RdbLimits | None = None) -> CorruptData:
    reader = RdbReader(limits or RdbLimits())
    with pytest.raises(CorruptData) as caught:
        reader.feed(data)
        reader.check_complete()
    with pytest.raises(CorruptData) as again:
        reader.feed(b"")
    assert str(again.value) == str(caught.value)
    return caught.value


def test_events_in_the_order_of_the_file() -> None:
    body = (
        b"\xfa\x03abc\x01x"
        b"\xf5\x04code"
        b"\xfe\x02\xfb\x03\x01"
        b"\x00\x01a\x01b"
        b"\xf4\x05\x01\x00"
        b"\xfc" + struct.pack("<q", 1234) + b"\x00\x01e\x02ee"
        b"\xfd" + struct.pack("<i", 7) + b"\x01\x01l\x01\x01i"
        b"\xfe\x03"
        b"\xf8\x40\x64\xf9\x07\x00\x01i\xc0\x05"
    )  # fmt: skip
    reader = RdbReader()
    events = reader.feed(snapshot(12, body))
    assert events[:-1] == [
        Header(numbered(12)),
        Aux(b"abc", b"x"),
        FunctionLibrary(b"code"),
        ResizeDb(2, 3, 1),
        LoadedKeys(2, {b"a": b"b"}, [], {}, {}, {}, 1),
        SlotInfo(5, 1, 0),
        LoadedKeys(2, {b"e": b"ee"}, [(b"l", [b"i"])], {b"e": 1234, b"l": 7000}, {}, {}, 2),
        LoadedKeys(3, {b"i": b"5"}, [], {}, {b"i": 100}, {b"i": 7}, 1),
    ]
    assert isinstance(events[-1], End)


def test_attributes_belong_to_the_next_key_only() -> None:
    expiry = b"\xfc" + struct.pack("<q", -5)
    idle = b"\xf8\x80\x00\x01\x00\x00"
    body = expiry + b"\x00\x01a\x01b" + b"\x00\x01c\x01d" + idle + b"\x00\x01e\x01f" + b"\xf9\xff\x02\x01s\x01\x01m"
    loaded = load(snapshot(9, body))
    assert loaded.expires == {0: {b"a": -5}}
    assert loaded.idle_s == {b"e": 65536}
    assert loaded.freq == {b"s": 255}


def test_bytes_behind_the_end_are_kept() -> None:
    data = snapshot(10, b"\x00\x01a\x01b")
    for size in (1, 5, len(data), len(data) + 4):
        reader = RdbReader()
        whole = data + b"*1\r\n$4\r\nPING\r\n"
        for at in range(0, len(whole), size):
            reader.feed(whole[at : at + size])
        assert reader.finished
        assert reader.consumed == len(data)
        assert reader.unused() == b"*1\r\n$4\r\nPING\r\n"
        reader.check_complete()


@pytest.mark.parametrize("version", [1, 4, 5, 12])
def test_the_checksum_by_version(version: int) -> None:
    data = snapshot(version, b"\xfe\x00\x00\x01a\x01b")
    end = load(data).others[-1]
    assert isinstance(end, End)
    if version < 5:
        assert end.checksum == 0
        assert data[-1] == 0xFF
        return
    assert end.checksum == struct.unpack("<Q", data[-8:])[0]
    assert load(data[:-8] + bytes(8)).others[-1] == End(0)
    error = refusal(data[:-1] + bytes((data[-1] ^ 1,)))
    assert str(error).startswith("Wrong RDB checksum expected: (")
    assert error.offset == len(data) - 9
    assert "Wrong RDB checksum" in str(refusal(data.replace(b"\x01a\x01b", b"\x01a\x01c")))
    load(data.replace(b"\x01a\x01b", b"\x01a\x01c"), RdbLimits(verify_checksum=False))


def test_an_end_too_early() -> None:
    data = snapshot(10, b"\xfe\x00" + key(2, b"the key", b"\x02\x01a\x01b"))
    for cut in range(len(data)):
        assert "Unexpected end of the input" in str(refusal(data[:cut]))
    assert "in a value of type set-hashtable, key b'the key' of DB 0 (at byte 25)" in str(refusal(data[:26]))


def test_an_error_names_no_key_that_is_decoded_meanwhile() -> None:
    data = snapshot(10, b"\x00\x01a\x02bc" + b"\xf6\x01a")
    reader = RdbReader()
    reader.feed(data[:13])
    with pytest.raises(CorruptData, match=r"Pre-release function format not supported \(at byte 15\)"):
        reader.feed(data[13:])


def test_errors_name_type_key_and_byte() -> None:
    head = b"\xfe\x03" + key(0, b"first", text(b"x"))
    broken = refusal(snapshot(10, head + key(11, b"numbers", b"\x05abcde")))
    assert str(broken) == (
        "intset of 5 bytes, its header alone has 8 in a value of type set-intset, key b'numbers' of DB 3 (at byte 41)"
    )
    in_the_middle = refusal(snapshot(10, head + key(4, b"h", b"\x02\x01f\x01v\x01g\xc4")))
    assert str(in_the_middle) == (
        "Unknown RDB string encoding type 4 in a value of type hash-hashtable, key b'h' of DB 3 (at byte 40)"
    )
    assert in_the_middle.offset == 40


@pytest.mark.parametrize(
    ("version", "body", "message"),
    [
        (10, b"\x08\x01a\x01b", "Unknown value type or opcode 8 (0x08) for REDIS RDB version 10"),
        (10, b"\xf3\x01a", "Unknown value type or opcode 243 (0xf3) for REDIS RDB version 10"),
        (9, key(16, b"k", b""), "Unknown value type or opcode 16 (0x10) for REDIS RDB version 9"),
        (8, b"\xf8\x01", "Unknown value type or opcode 248"),
        (11, key(22, b"k", b""), "Unknown value type or opcode 22"),
        (10, key(6, b"old", b"\x05"), "Pre-release module format not supported in a value of type module-pre-release"),
        (10, b"\xf6\x01a", "Pre-release function format not supported"),
        (10, b"\x00\x01a\x01b\x00\x01a\x01c", "RDB has duplicated key b'a' in DB 0"),
        (10, b"\x00\x01a\x01b\x01\x01a\x01\x01c", "RDB has duplicated key b'a' in DB 0"),
        (10, b"\x01\x01a\x01\x01c\x00\x01a\x01b", "RDB has duplicated key b'a' in DB 0"),
        (10, b"\x00\x81\xff\xff\xff\xff\xff\xff\xff\xff", "a string of 18446744073709551615 bytes, the limit is"),
        (10, key(1, b"l", b"\x81\xff\xff\xff\xff\xff\xff\xff\xff"), "18446744073709551615 elements declared"),
    ],
)
def test_refused(version: int, body: bytes, message: str) -> None:
    assert message in str(refusal(snapshot(version, body)))


def test_unknown_file() -> None:
    assert "Wrong signature" in str(refusal(b"-ERR something\r\n"))
    assert refusal(b"REDIS0099").offset == 0


def test_limits() -> None:
    data = snapshot(10, b"\xfe\x05" + key(0, b"k", text(b"x" * 1000)) + key(1, b"l", b"\x03\x01a\x01b\x01c"))
    load(data, RdbLimits(max_string_bytes=1000, max_count=3, max_databases=6, input_bytes=len(data)))
    assert "a string of 1000 bytes, the limit is 999" in str(refusal(data, RdbLimits(max_string_bytes=999)))
    assert "3 elements declared, the limit is 2" in str(refusal(data, RdbLimits(max_count=2)))
    assert "more than 5 databases: it selects DB 5" in str(refusal(data, RdbLimits(max_databases=5)))
    assert "1000 bytes declared, but only" in str(refusal(data[:100], RdbLimits(input_bytes=500)))


def test_a_length_beyond_the_limit_is_refused_before_its_bytes_come() -> None:
    reader = RdbReader(RdbLimits(max_string_bytes=1 << 20))
    with pytest.raises(CorruptData, match="the limit is 1048576"):
        reader.feed(b"REDIS0010\x00\x01k\x80\x00\x10\x00\x01")


def test_a_long_string_is_joined_once() -> None:
    """The reader waits for the whole string instead of trying at every chunk."""
    size = 3_000_000
    data = snapshot(10, key(0, b"k", text(b"x" * size)))
    reader = RdbReader()
    events = []
    for at in range(0, len(data), 1000):
        events += reader.feed(data[at : at + 1000])
    assert next(event for event in events if isinstance(event, LoadedKeys)).strings == {b"k": b"x" * size}


def test_a_large_collection_leaves_no_bytes_behind() -> None:
    """Elements are taken in as they come: `consumed` follows the input, so nothing piles up."""
    data = snapshot(10, key(4, b"h", b"\x80\x00\x00\x27\x10" + b"".join(text(b"%05d" % i) * 2 for i in range(10_000))))
    reader = RdbReader()
    for at in range(0, len(data), 777):
        reader.feed(data[at : at + 777])
        assert len(data[: at + 777]) - reader.consumed < 40
    assert reader.finished


def test_empty_collections_are_left_out_but_empty_streams_are_not() -> None:
    expiry = b"\xfc" + struct.pack("<q", 99)
    stream = b"\x00" + b"\x00" + b"\x05\x01" + b"\x00\x00" + b"\x00\x00" + b"\x00" + b"\x00"
    body = expiry + key(1, b"l", b"\x00") + key(11, b"s", text(b"\x02\0\0\0\0\0\0\0")) + key(19, b"x", stream)
    loaded = load(snapshot(10, body))
    assert set(loaded.values[0]) == {b"x"}
    assert loaded.expires == {0: {}}
    assert loaded.others[1:3] == [SkippedEmpty(0, b"l"), SkippedEmpty(0, b"s")]


def test_modules_between_other_keys() -> None:
    items = b"\x01\x05\x02\x81" + bytes(8) + b"\x03" + bytes(4) + b"\x04" + bytes(8) + b"\x05\x03abc\x05\xc0\x01"
    items += b"\x05\xc3\x0a\x40\xc8" + bytes.fromhex("02616261e0ba01016162") + b"\x00"
    expiry = b"\xfc" + struct.pack("<q", 99)
    body = (
        b"\xf7" + MODULE_ID + b"\x02\x01" + items
        + b"\x00\x01a\x01b" + expiry + key(7, b"m", MODULE_ID + items) + b"\x00\x01c\x01d"
    )  # fmt: skip
    loaded = load(snapshot(10, body))
    assert loaded.values == {0: {b"a": b"b", b"c": b"d"}}
    assert loaded.expires == {0: {}}
    skipped = [event for event in loaded.others if isinstance(event, SkippedModule)]
    assert [(event.key, event.module) for event in skipped] == [(None, "igpqnd2M4"), (b"m", "igpqnd2M4")]


def test_modules_refused() -> None:
    assert "Unknown module opcode 6 in data of module igpqnd2M4" in str(
        refusal(snapshot(10, key(7, b"m", MODULE_ID + b"\x06")))
    )
    error = str(refusal(snapshot(10, b"\xf7" + MODULE_ID + b"\x01\x01\x00")))
    assert "Module aux: tag 1" in error
    assert "in module data outside the keys" in error


def test_metadata_of_keys_is_told_once_for_each_class() -> None:
    meta = b"\xf3\x01\x09\xf5\xc4\x28" + b"\x05\x05hello\x00"
    expiry = b"\xfc" + struct.pack("<q", 99)
    data = snapshot(13, expiry + meta + b"\x00\x01a\x01b" + meta + key(2, b"s", b"\x01\x01m") + b"\x00\x01c\x01d")
    loaded = load(data)
    assert loaded.values == {0: {b"a": b"b", b"s": {b"m"}, b"c": b"d"}}
    assert loaded.expires == {0: {b"a": 99}}
    assert [event for event in loaded.others if isinstance(event, SkippedMetadata)] == [SkippedMetadata("KMT1")]


def test_metadata_of_keys_refused() -> None:
    assert "Too many metadata classes: 8 (max 7)" in str(refusal(snapshot(13, b"\xf3\x08")))
    assert "Unknown module opcode 9" in str(refusal(snapshot(13, b"\xf3\x01\x09\xf5\xc4\x28\x09")))


@pytest.mark.parametrize(
    ("magic", "version", "number", "dialect"),
    [
        (b"REDIS%04d" % BEYOND, BEYOND, 200, f"REDIS RDB version {BEYOND}, which is tried as version {BEYOND - 1}"),
        (b"REDIS0079", 79, 200, f"REDIS RDB version 79, which is tried as version {BEYOND - 1}"),
        (b"VALKEY081", 81, 26, "VALKEY RDB version 81, which is tried as version 80"),
    ],
)
def test_relaxed_reads_on_to_the_first_unknown_type(magic: bytes, version: int, number: int, dialect: str) -> None:
    known = b"\x00\x01a\x01b" + key(2, b"s", b"\x01\x01m")
    strict = refusal(snapshot(version, known, magic))
    assert f"Can't handle RDB format version {version}" in str(strict)
    relaxed = RdbLimits(relaxed=True)
    assert load(snapshot(version, known, magic), relaxed).values == {0: {b"a": b"b", b"s": {b"m"}}}
    with pytest.raises(
        CorruptData, match=f"Unknown value type or opcode {number} \\({number:#04x}\\) for {dialect}"
    ) as caught:
        load(snapshot(version, known + bytes((number,)), magic), relaxed)
    assert caught.value.offset == len(magic) + len(known)


def test_valkey_has_numbers_of_its_own() -> None:
    imports = b"\xf3\x03job\x02\x00\x05\x40\x64\x40\x65"
    ttls = b"\x02\x01f\x01v" + struct.pack("<q", 77) + b"\x01g\x01w" + struct.pack("<q", -1)
    data = snapshot(80, imports + key(22, b"h", ttls), b"VALKEY080")
    loaded = load(data)
    assert loaded.others[:2] == [Header(numbered(80)), SlotImport(b"job", ((0, 5), (100, 101)))]
    assert repr(loaded.values[0][b"h"]) == "HashWithTtls({b'f': b'v', b'g': b'w'}, {b'f': 77})"
    too_many = snapshot(80, b"\xf3\x03job\x80\x00\x00\x40\x01", b"VALKEY080")
    assert "Slot import of 16385 ranges" in str(refusal(too_many))
    assert "for VALKEY RDB version 80" in str(refusal(snapshot(80, key(24, b"h", b""), b"VALKEY080")))


def test_the_error_for_keys_doubled_across_batches() -> None:
    assert str(duplicate_key_error(3, b"k", 17)) == "RDB has duplicated key b'k' in DB 3 (at byte 17)"

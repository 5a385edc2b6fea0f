"""Capabilities and the vendors' ways to sync on two connections."""

from __future__ import annotations

import pytest

from pyrepl.config.directives import ROWS
from pyrepl.config.settings import Settings
from pyrepl.errors import PeerError
from pyrepl.replication.dialects import (
    CAPABILITY_WORDS,
    DIALECTS,
    REDIS_RDB_CHANNEL,
    VALKEY_DUAL_CHANNEL,
    Capability,
    SnapshotStart,
    capability_of_version,
    common_capabilities,
    common_versions,
    decode_capability,
    decode_end_offset,
    dialects_of,
    encode_end_offset,
    encode_verdict,
    no_compression,
)
from pyrepl.replication.psync import TwoChannelsGranted, decode_answer
from pyrepl.units import Offset, ReplId

A = ReplId("a" * 40)


def test_known_words_in_any_case() -> None:
    assert decode_capability(b"EOF") is Capability.EOF
    assert decode_capability(b"psync2") is Capability.PSYNC2
    assert decode_capability(b"rdb-version-13") is decode_capability(b"rdb-version-14") is Capability.READS_13
    assert decode_capability(b"rdb-version-12") is decode_capability(b"rdb-version-x") is Capability.NONE


def test_who_reads_what() -> None:
    assert capability_of_version("9.0.1") is capability_of_version("10.1") is Capability.READS_80
    assert capability_of_version("8.1.0") is capability_of_version("") is capability_of_version("x") is Capability.NONE
    assert no_compression(True) == Capability.READS_13 | Capability.NO_COMPRESSION
    assert no_compression(False) == Capability.READS_13
    some = Capability.EOF | Capability.READS_13
    assert common_capabilities([some, some | Capability.PSYNC2]) == some
    assert common_versions([some, some | Capability.READS_80]) == Capability.READS_13
    assert common_versions([some, Capability.EOF]) == Capability.NONE


def test_unknown_words_mean_nothing() -> None:
    assert decode_capability(b"telepathy") is Capability.NONE


def test_each_dialect_is_announced_by_a_word_of_its_own() -> None:
    announced = [dialect.capability for dialect in DIALECTS]
    assert len(set(announced)) == len(DIALECTS)
    assert [CAPABILITY_WORDS[dialect.capa_word] for dialect in DIALECTS] == announced
    assert len({dialect.verdict for dialect in DIALECTS}) == len(DIALECTS)


def test_the_verdict_is_read_as_it_was_said() -> None:
    assert encode_verdict(REDIS_RDB_CHANNEL, 7) == b"+RDBCHANNELSYNC 7\r\n"
    assert encode_verdict(VALKEY_DUAL_CHANNEL, 7) == b"+DUALCHANNELSYNC\r\n"
    for dialect, session_id in ((REDIS_RDB_CHANNEL, 7), (VALKEY_DUAL_CHANNEL, None)):
        line = encode_verdict(dialect, 7).removesuffix(b"\r\n")
        assert decode_answer(line) == TwoChannelsGranted(dialect, session_id)


def test_the_end_offset_is_read_as_it_was_said() -> None:
    line = encode_end_offset(Offset(1234), A, 3, 99)
    assert line == b"$ENDOFF:1234 " + b"a" * 40 + b" 3 99\r\n"
    assert decode_end_offset(line.removesuffix(b"\r\n")) == SnapshotStart(A, Offset(1234), 3, 99)


def test_a_database_that_is_none_counts_as_the_first() -> None:
    assert decode_end_offset(b"$ENDOFF:0 " + b"a" * 40 + b" -1 9").stream_db == 0


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"$ENDOFF:",
        b"$ENDOFF:x " + b"a" * 40 + b" 0 9",
        b"$ENDOFF:-1 " + b"a" * 40 + b" 0 9",
        b"$ENDOFF:1 " + b"a" * 39 + b" 0 9",
        b"$ENDOFF:1 " + b"a" * 40 + b" 0",
        b"$ENDOFF:1 " + b"a" * 40 + b" 0 9 9",
        b"$ENDOFF:1 " + b"a" * 40 + b" 0 x",
        b"ENDOFF:1 " + b"a" * 40 + b" 0 9",
    ],
)
def test_what_states_no_end_offset(line: bytes) -> None:
    with pytest.raises(PeerError, match="expected \\$ENDOFF"):
        decode_end_offset(line)


def test_each_dialect_has_its_directive() -> None:
    settings = Settings()
    for dialect in DIALECTS:
        assert dialect.setting.replace("_", "-") in ROWS
        setattr(settings, dialect.setting, False)
    assert dialects_of(settings) == frozenset()
    for dialect in DIALECTS:
        setattr(settings, dialect.setting, True)
        assert dialect in dialects_of(settings)
    assert dialects_of(settings) == frozenset(DIALECTS)

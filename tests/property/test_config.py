"""Configurations: any settings survive being written and read; no bytes crash the reader."""

from __future__ import annotations

import contextlib
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from pyrepl.config.directives import ROWS
from pyrepl.config.kinds import (
    Addresses,
    BufferLimit,
    BufferLimits,
    CacheRule,
    CacheRules,
    Choice,
    Integer,
    MasterAddress,
    Memory,
    OctalMode,
    OutputBufferLimits,
    Percentiles,
    RdbVersion,
    Rename,
    Renames,
    ReplicaOf,
    SavePoint,
    SavePoints,
    Secret,
    Text,
    YesNo,
)
from pyrepl.config.loading import load
from pyrepl.config.mailbox_kinds import MailboxMember, MailboxMembers, MailboxPatterns
from pyrepl.config.parser import read_argv, read_file
from pyrepl.config.process_kinds import ShutdownOptions
from pyrepl.config.render import rewrite
from pyrepl.config.settings import Settings
from pyrepl.config.share_kinds import MemoryOrPercent
from pyrepl.config.tls_kinds import TLS_VERSIONS, CertificateField, TlsProtocols
from pyrepl.config.user_kinds import UserLines
from pyrepl.errors import ConfigError

WORDS = st.binary(max_size=12).filter(lambda word: b"\0" not in word)
LIMIT = st.builds(BufferLimit, st.integers(0, 2**40), st.integers(0, 2**40), st.integers(0, 1000))
WORD_WITHOUT_SPACE = st.text(alphabet='ab*:[]\\"é', min_size=1, max_size=6).map(str.encode)
FORCE = st.sampled_from([(), ("force",)])
PATTERN = st.text(alphabet="ab*?/é", min_size=1, max_size=6).filter(lambda word: word.strip("/") == word)
HOSTS = st.text(alphabet="abc.:*", min_size=1, max_size=8)


def values(kind: Any) -> st.SearchStrategy[Any]:
    """Values that a directive of this kind can have."""
    match kind:
        case YesNo():
            return st.booleans()
        case Integer() | Memory():
            return st.integers(kind.low, kind.high)
        case MemoryOrPercent():
            return st.integers(-100, 2**63 - 1)
        case CertificateField():
            return st.sampled_from(["off", "CN", "URI"])
        case TlsProtocols():
            return st.sets(st.sampled_from(TLS_VERSIONS)).map(lambda some: tuple(v for v in TLS_VERSIONS if v in some))
        case OctalMode():
            return st.integers(0, 0o777)
        case Text(path=False):
            return st.just("other.rdb")
        case Text():
            return WORDS.filter(lambda word: word or not kind.needed).map(
                lambda word: word.decode("utf-8", "surrogateescape")
            )
        case Secret():
            return st.binary(min_size=int(kind.needed), max_size=12)
        case Choice():
            return st.sampled_from(kind.options)
        case RdbVersion():
            return st.sampled_from([None, *kind.versions])
        case Addresses():
            return st.lists(HOSTS, max_size=3).map(tuple)
        case MailboxPatterns():
            return st.lists(PATTERN, max_size=3).map(tuple)
        case MailboxMembers():
            hosts = st.sampled_from(["10.0.0.1", "mail.example", "::1"])
            names = st.text(alphabet="aZ0_.-", min_size=1, max_size=32)
            member = st.builds(MailboxMember, names, hosts, st.integers(1, 65535), st.booleans())
            return st.lists(member, max_size=3, unique_by=lambda member: member.name).map(tuple)
        case SavePoints():
            return st.lists(st.builds(SavePoint, st.integers(1, 9999), st.integers(0, 9999)), max_size=3).map(tuple)
        case CacheRules():
            rule = st.builds(CacheRule, WORD_WITHOUT_SPACE, WORD_WITHOUT_SPACE)
            return st.lists(rule, max_size=3).map(tuple)
        case Renames():
            rename = st.builds(Rename, WORD_WITHOUT_SPACE, WORD_WITHOUT_SPACE | st.just(b""))
            return st.lists(rename, max_size=3).map(tuple)
        case UserLines():
            line = st.builds(
                lambda name, rules: (name, *rules), WORD_WITHOUT_SPACE, st.lists(WORD_WITHOUT_SPACE, max_size=3)
            )
            return st.lists(line, max_size=3, unique_by=lambda words: words[0]).map(tuple)
        case Percentiles():
            return st.lists(st.floats(0, 100), max_size=3).map(tuple)
        case OutputBufferLimits():
            return st.builds(BufferLimits, LIMIT, LIMIT, LIMIT)
        case ReplicaOf():
            return st.none() | st.builds(MasterAddress, HOSTS, st.integers(1, 65535))
        case ShutdownOptions():
            saves = st.sampled_from([(), ("save",), ("nosave",)])
            return st.builds(lambda *parts: sum(parts, ()), saves, st.sampled_from([(), ("now",)]), FORCE)
        case _:
            return st.sampled_from(["", "AKE", "xnKm"])


CHANGES = st.fixed_dictionaries({}, optional={row.attribute: values(row.kind) for row in ROWS.values()})
OLD_FILES = st.lists(
    st.sampled_from([b"# remark", b"", b"port 1", b"save 1 1", b"save 2 2", b'save ""', b"slaveof a 1", b"hz 10"]),
    max_size=8,
).map(b"\n".join)


def read(content: bytes) -> Settings:
    into = Settings()
    load(into, read_file(content, "x", lambda path: []))
    return into


@settings(max_examples=80, deadline=None)
@given(CHANGES, OLD_FILES)
def test_rewritten_settings_read_back(changes: dict[str, Any], old: bytes) -> None:
    wanted = Settings(**changes)
    written = rewrite(old, wanted)
    again = read(written)
    assert {name: again.value_of(row) for name, row in ROWS.items()} == {
        name: wanted.value_of(row) for name, row in ROWS.items()
    }
    assert rewrite(written, wanted) == written
    assert [line for line in old.split(b"\n") if line == b"# remark"] == [
        line for line in written.split(b"\n") if line == b"# remark"
    ]


@settings(max_examples=80, deadline=None)
@given(CHANGES)
def test_what_config_get_shows_config_set_takes(changes: dict[str, Any]) -> None:
    wanted, other = Settings(**changes), Settings()
    for name, row in ROWS.items():
        if row.mutable and (row.kind.text(wanted.value_of(row)) or not row.kind.many_words):
            other.set(name, wanted.get(name) or b"")
            assert other.value_of(row) == wanted.value_of(row)


NAMES = st.sampled_from([name.encode() for name in ROWS])
LINES = st.builds(lambda name, rest: name + b" " + rest, NAMES | WORDS, WORDS | st.sampled_from([b"-1", b"9" * 40]))


@settings(max_examples=150, deadline=None)
@given(st.lists(LINES | st.binary(max_size=30), max_size=5).map(b"\n".join))
def test_any_bytes_load_or_are_refused(content: bytes) -> None:
    with contextlib.suppress(ConfigError):
        read(content)
    rewrite(content, Settings())


@settings(max_examples=80, deadline=None)
@given(st.lists(WORDS | NAMES.map(lambda name: b"--" + name), max_size=6))
def test_any_command_line_loads_or_is_refused(argv: list[bytes]) -> None:
    with contextlib.suppress(ConfigError):
        load(Settings(), read_argv(argv, lambda path: []))

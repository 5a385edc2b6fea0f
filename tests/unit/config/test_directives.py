"""The rows: each sound in itself, names unambiguous, aliases as people know them."""

from __future__ import annotations

from typing import Any

import pytest

from pyrepl.config.accepted import ACCEPTED, REFUSED
from pyrepl.config.directive import Directive
from pyrepl.config.directives import ALIASES, GROUPS, ROWS, Directives, find
from pyrepl.config.kinds import RdbVersion
from pyrepl.rdb.versions import WRITABLE_VERSIONS


@pytest.mark.parametrize("row", ROWS.values(), ids=repr)
def test_each_default_reads_back_from_its_own_text(row: Directive[Any]) -> None:
    words = row.kind.text(row.default).split(b" ") if row.kind.many_words else [row.kind.text(row.default)]
    if row.default is not None or row.kind.text(row.default):
        assert row.kind.parse(words, row.default) == row.default


@pytest.mark.parametrize("row", ROWS.values(), ids=repr)
def test_each_row_has_help_and_a_name_in_lower_case(row: Directive[Any]) -> None:
    assert row.help.endswith(".")
    assert row.name == row.name.lower()
    assert row.attribute.replace("_", "-") == row.name


def test_names_are_said_once() -> None:
    names = [*ROWS, *ALIASES]
    assert len(names) == len(set(names))
    assert not ACCEPTED.keys() & set(names)
    assert not set(REFUSED) & set(names)


def test_every_row_of_the_class_stands_in_a_group() -> None:
    attributes = {name for name in dir(Directives) if isinstance(getattr(Directives, name), Directive)}
    assert attributes == {row.attribute for _, rows in GROUPS for row in rows}
    assert all(title for title, _ in GROUPS)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("slaveof", "replicaof"),
        ("slave-read-only", "replica-read-only"),
        ("slave-serve-stale-data", "replica-serve-stale-data"),
        ("slave-priority", "replica-priority"),
        ("slave-announce-ip", "replica-announce-ip"),
        ("slave-announce-port", "replica-announce-port"),
        ("slave-lazy-flush", "replica-lazy-flush"),
        ("repl-ping-slave-period", "repl-ping-replica-period"),
        ("min-slaves-to-write", "min-replicas-to-write"),
        ("min-slaves-max-lag", "min-replicas-max-lag"),
        ("hash-max-ziplist-entries", "hash-max-listpack-entries"),
        ("hash-max-ziplist-value", "hash-max-listpack-value"),
        ("zset-max-ziplist-entries", "zset-max-listpack-entries"),
        ("zset-max-ziplist-value", "zset-max-listpack-value"),
        ("list-max-ziplist-size", "list-max-listpack-size"),
        ("primaryauth", "masterauth"),
        ("primaryuser", "masteruser"),
    ],
)
def test_old_spellings(old: str, new: str) -> None:
    assert find(old.upper()) is find(new)
    assert find(new) is ROWS[new]


def test_rdb_versions_are_those_that_can_be_written() -> None:
    kind = ROWS["rdb-version"].kind
    assert isinstance(kind, RdbVersion)
    assert kind.versions == tuple(version.number for version in WRITABLE_VERSIONS)

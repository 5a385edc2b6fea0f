"""Fields, rows and sections: how a value becomes a line."""

from __future__ import annotations

import pytest

from pyrepl.observability.info.field import (
    Field,
    Kind,
    Rows,
    Section,
    Value,
    constant,
    counter,
    flag,
    gauge,
    shown,
    text,
)
from tests.unit.commands.rig import Rig


@pytest.mark.parametrize(
    ("value", "digits", "line"),
    [(True, 2, "1"), (False, 2, "0"), (7, 2, "7"), (1.006, 2, "1.01"), (1.5, 6, "1.500000"), ("a:b", 2, "a:b")],
)
def test_shown(value: Value, digits: int, line: str) -> None:
    assert shown(value, digits) == line


def test_a_field_reads_the_node() -> None:
    field = gauge("pid", lambda node: node.process.pid, "Process id.")
    assert list(field.lines(Rig().node)) == ["pid:42"]


def test_a_field_that_is_not_always_there() -> None:
    field = gauge(
        "pid", lambda node: node.process.pid, "Process id.", when=lambda node: node.replication.role.is_replica
    )
    rig = Rig()
    assert list(field.lines(rig.node)) == []
    rig.follow()
    assert list(field.lines(rig.node)) == ["pid:42"]


def test_rows() -> None:
    rows = Rows("db<n>", lambda node: [("db0", "a"), ("db1", "b")], "Databases.")
    assert list(rows.lines(Rig().node)) == ["db0:a", "db1:b"]


def test_a_section() -> None:
    section = Section("Things", (constant("one", 1, "One."), constant("two", "2", "Two.")))
    assert section.name == "things" and section.usual
    assert section.text(Rig().node) == "# Things\r\none:1\r\ntwo:2\r\n"


def test_kinds() -> None:
    fields: list[Field] = [
        counter("a", lambda node: 1, "."),
        gauge("b", lambda node: 1, "."),
        flag("c", lambda node: True, "."),
        text("d", lambda node: "x", "."),
        constant("e", "x", "."),
        constant("f", 0, "."),
    ]
    assert [field.kind for field in fields] == [
        Kind.COUNTER,
        Kind.GAUGE,
        Kind.FLAG,
        Kind.TEXT,
        Kind.TEXT,
        Kind.GAUGE,
    ]

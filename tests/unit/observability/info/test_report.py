"""INFO as a whole: sections, order, form; and every field of every section."""

from __future__ import annotations

import re

import pytest

from pyrepl.observability.info.field import Field, Kind, Rows, Section
from pyrepl.observability.info.report import SECTIONS, info_text
from tests.unit.commands.rig import Rig

TITLES = [section.title for section in SECTIONS]


def titles(text: bytes) -> list[str]:
    return re.findall(r"^# (\w+)", text.decode(), re.MULTILINE)


def test_usual_sections() -> None:
    """Those of redis-server 8.2.3 without `Threads`, `Keysizes` and `Latencystats`,
    which we do not have, and Streams and Mailboxes, which are ours."""
    usual = (
        "Server Clients Memory Persistence Stats Replication CPU Modules Errorstats Cluster Keyspace Streams Mailboxes"
    )
    assert " ".join(titles(info_text(Rig().node))) == usual
    assert " ".join(titles(info_text(Rig().node, ["default"]))) == usual


@pytest.mark.parametrize("word", ["all", "everything"])
def test_all_sections(word: str) -> None:
    assert titles(info_text(Rig().node, [word])) == TITLES


def test_default_and_more() -> None:
    assert "Commandstats" in titles(info_text(Rig().node, ["default", "commandstats"]))


def test_order_is_ours() -> None:
    assert titles(info_text(Rig().node, ["keyspace", "server", "nosuch", "server"])) == ["Server", "Keyspace"]


def test_unknown_alone_is_empty() -> None:
    assert info_text(Rig().node, ["nosuch"]) == b""


def test_form() -> None:
    text = info_text(Rig().node, ["cpu", "cluster"])
    assert text.startswith(b"# CPU\r\nused_cpu_sys:0.000000\r\n")
    assert text.endswith(b"\r\n\r\n# Cluster\r\ncluster_enabled:0\r\n")


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.name)
def test_fields(section: Section) -> None:
    """On a master and on a replica every line is `name:value`, names are declared once and described."""
    master, replica = Rig(), Rig()
    replica.follow()
    for rig in (master, replica):
        rig.say("SET a 1 PX 1000")
        rig.say("NOSUCH")
        lines = section.text(rig.node).split("\r\n")
        assert lines[-1] == ""
        assert all(re.fullmatch(r"[a-z0-9_|-]+(_[A-Z]+)?:.*", line) for line in lines[1:-1]), lines
    names = [entry.name for entry in section.entries]
    assert len(set(names)) == len(names)
    assert all(entry.help.endswith(".") for entry in section.entries)


def test_no_name_is_in_two_sections() -> None:
    names = [entry.name for section in SECTIONS for entry in section.entries]
    assert len(set(names)) == len(names)


def test_entries_are_fields_or_rows() -> None:
    kinds = {type(entry) for section in SECTIONS for entry in section.entries}
    assert kinds == {Field, Rows}
    assert {entry.kind for section in SECTIONS for entry in section.entries if isinstance(entry, Field)} == set(Kind)

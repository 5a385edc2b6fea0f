"""Texts of messages that have no UID: they lie beside the Maildirs, and survive a power cut when they are synced."""

from __future__ import annotations

import random

import pytest

from pyrepl.daemon.mailbox.aside import Aside
from tests.unit.daemon.mailbox.model_disk import ModelDisk


@pytest.fixture
def disk() -> ModelDisk:
    made = ModelDisk()
    made.make_folders(b"/mail")
    made.write_new(b"/mail/text", b"one")
    made.sync(b"/mail/text")
    made.sync(b"/mail")
    return made


def opened(disk: ModelDisk, box: bytes = b"1") -> Aside:
    made = Aside(disk, b"/mail", box)
    made.load()
    return made


@pytest.mark.parametrize("guid", ["G1", "a/b", "=G1", ".x", "a\nb", "x" * 128, "\udcff"])
def test_any_guid_lies_there_and_is_known_again(disk: ModelDisk, guid: str) -> None:
    aside = opened(disk)
    for _ in range(2):
        aside.add(guid, b"/mail/text")
    aside.sync()
    aside.sync()
    disk.lose_power(random.Random(1))
    found = opened(disk)
    assert found.guids() == [guid] and opened(disk, b"2").guids() == []
    path = found.path(guid)
    assert path is not None and disk.read(path) == b"one"


def test_what_is_removed_is_gone(disk: ModelDisk) -> None:
    aside = opened(disk)
    for guid in ("G1", "G2"):
        aside.add(guid, b"/mail/text")
    aside.remove("G1")
    aside.remove("G1")
    assert aside.guids() == opened(disk).guids() == ["G2"] and aside.path("G1") is None
    aside.remove_all()
    assert aside.guids() == opened(disk).guids() == []

"""Files that are wanted together are known in the next run, and where that is lost nothing is."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyrepl.metrics import manifest as manifests
from pyrepl.metrics import near
from tests.unit.metrics.conftest import LOGS
from tests.unit.metrics.inline import read, told


def test_the_next_run_knows_them(tmp_path: Path) -> None:
    near.save(tmp_path / "new", {"a": 1, "b": 0})
    assert near.load(tmp_path / "new") == {"a": 1, "b": 0}


@pytest.mark.parametrize("content", [None, "", "[]", "7", '{"a": null}', '{"a": "x"}', "{cut short"])
def test_what_is_damaged_is_nothing(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / near.NAME).write_text(content)
    assert near.load(tmp_path) == {}


def test_both_ends_of_a_pair_are_wanted_together(tmp_path: Path) -> None:
    read(LOGS / "text" / "redis7-failover", tmp_path)
    told(tmp_path)
    known = manifests.load(tmp_path)
    assert near.load(tmp_path) == dict.fromkeys(known.entries, 0)
    told(tmp_path, since_us=1)
    assert near.load(tmp_path) == dict.fromkeys(known.entries, 0)

"""The data set in pyrepl: through clients, from real dump.rdb files, through its own file, into real servers."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.peers import compare, dataset, finder
from tests.peers.kinds import OURS, REAL, exact_scores, field_ttl
from tests.peers.lab import Lab, wait_until

SCALE = 4000


@pytest.mark.parametrize("kind", REAL)
def test_filled_by_pipelines_as_the_real_one(lab: Lab, kind: str) -> None:
    """The same commands give the same data."""
    traits = {"field_ttl": field_ttl(OURS, kind), "exact_scores": exact_scores(kind)}
    real, ours = lab.start(kind), lab.start("pyrepl")
    for node in (real, ours):
        dataset.fill(node, dataset.commands(SCALE, **traits))
    assert compare.differences(real, ours, times=False) == []


@pytest.mark.parametrize("kind", REAL)
def test_real_dump_is_read(lab: Lab, dumps: Path, kind: str) -> None:
    dump = dataset.real_dump(kind, SCALE, dumps, field_ttl=field_ttl(OURS, kind), exact_scores=exact_scores(kind))
    real, ours = lab.start(kind, dump=dump), lab.start("pyrepl", dump=dump)
    real.wait_loaded()
    ours.wait_loaded()
    compare.assert_equal(real, ours)


@pytest.mark.parametrize("kind", REAL)
def test_own_dump_is_read_by_real_servers(lab: Lab, dumps: Path, kind: str) -> None:
    """SAVE, then redis-check-rdb of 7.0 accepts the file and the real server loads it to the same data."""
    dump = dataset.real_dump("redis7", SCALE, dumps)
    ours = lab.start("pyrepl", dump=dump)
    ours.wait_loaded()
    ours.call("SAVE")
    written = ours.folder / "dump.rdb"
    check = subprocess.run([finder.tool("redis-check-rdb"), written], capture_output=True, text=True, check=False)
    assert check.returncode == 0, check.stdout
    assert "RDB looks OK" in check.stdout
    real = lab.start(kind, dump=written)
    real.wait_loaded()
    compare.assert_equal(ours, real)


def test_field_ttls_survive_our_dump(lab: Lab, dumps: Path) -> None:
    """Hashes whose fields expire need version 12, which the file then has."""
    dump = dataset.real_dump("redis8", SCALE, dumps, field_ttl=True, exact_scores=False)
    ours = lab.start("pyrepl", dump=dump)
    ours.wait_loaded()
    ours.call("SAVE")
    real = lab.start("redis8", dump=ours.folder / "dump.rdb")
    real.wait_loaded()
    compare.assert_equal(ours, real)


def test_background_save_and_restart(lab: Lab, dumps: Path) -> None:
    """BGSAVE under writes, SIGTERM with `save` set, start again: all there."""
    dump = dataset.real_dump("redis7", SCALE, dumps)
    ours = lab.start("pyrepl", dump=dump, directives={"save": "3600 1"})
    ours.wait_loaded()
    ours.call("BGSAVE")
    ours.call("SET", "while", "saving")
    wait_until("the save is done", lambda: ours.info("persistence")["rdb_bgsave_in_progress"] == "0")
    assert ours.info("persistence")["rdb_last_bgsave_status"] == "ok"
    before = compare.digest(ours)
    assert ours.terminate() == 0
    again = lab.start("pyrepl", folder=ours.folder)
    again.wait_loaded()
    assert compare.digest(again) == before
    assert again.call("GET", "while") == b"saving"


@pytest.mark.parametrize("kind", REAL)
def test_debug_reload_changes_nothing(lab: Lab, dumps: Path, kind: str) -> None:
    dump = dataset.real_dump(kind, SCALE, dumps, field_ttl=field_ttl(OURS, kind), exact_scores=exact_scores(kind))
    ours = lab.start("pyrepl", dump=dump)
    ours.wait_loaded()
    before = compare.digest(ours)
    ours.call("DEBUG", "RELOAD")
    assert compare.digest(ours) == before

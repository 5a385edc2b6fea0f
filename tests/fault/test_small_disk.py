"""A disk that is really full, a small tmpfs: what was promised is there, the rest is told, and room alone heals it.

test_full_disk.py refuses room to one process (RLIMIT_FSIZE); here the file system has none: writes end in the middle,
and files cannot be made either.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import pytest

from tests.fault.crash_stories import AOF, Ledger, Run, digests_in
from tests.peers import compare
from tests.peers.lab import Lab, Node, wait_until
from tests.peers.wire import ErrorReply

DISK_BYTES = 1024 * 1024
ROOM_BYTES = 40 * 1024
"""Left beside the ballast: for two of the large values, and not for three."""
UNCOMPRESSED: Final = {"rdbcompression": "no"}
"""The large values are of one byte each: compressed, a snapshot of them needs no room."""


@pytest.fixture(scope="module")
def digests(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The digest after so many writes."""
    return digests_in(tmp_path_factory.mktemp("digests"))


class Disk:
    """A file system of its own, with a file that takes its room away."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._ballast = folder / "ballast"

    def fill(self, but_bytes: int) -> None:
        """Leave so much room."""
        self._ballast.write_bytes(bytes(shutil.disk_usage(self.folder).free - but_bytes))

    def free(self) -> None:
        self._ballast.unlink()

    @property
    def temporary(self) -> list[str]:
        return [path.name for path in self.folder.rglob("temp*")]


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    folder = tmp_path / "disk"
    folder.mkdir()
    as_root = [] if os.geteuid() == 0 else ["sudo", "-n"]
    mount = [*as_root, "mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES},mode=0777", "tmpfs", str(folder)]
    done = subprocess.run(mount, capture_output=True, text=True)
    if done.returncode:
        pytest.fail(f"this test mounts a small tmpfs, which only root may, here or by sudo: {done.stderr.strip()}")
    try:
        yield Disk(folder)
    finally:
        subprocess.run([*as_root, "umount", "--lazy", str(folder)], check=True)


@pytest.fixture
def lab(tmp_path: Path, disk: Disk) -> Iterator[Lab]:
    """Ended before its disk goes; the logs are elsewhere."""
    logs = tmp_path / "logs"
    logs.mkdir()
    with Lab(logs) as lab:
        yield lab


def started(lab: Lab, disk: Disk, directives: dict[str, str]) -> tuple[Run, Node]:
    """A node on that disk, with the ledger of its client."""
    node = lab.start("pyrepl", directives=directives, folder=disk.folder)
    return Run(lab, disk.folder, directives, Ledger(), node), node


def again(run: Run) -> Node:
    """Killed, and started again in its folder."""
    assert run.node is not None
    run.hang_up()
    run.node.kill()
    run.node = run.lab.start("pyrepl", directives=run.directives, folder=run.folder)
    run.node.wait_loaded()
    return run.node


def judge(run: Run, digests: list[str]) -> int:
    """The data is that of so many writes: of all that were promised at least."""
    assert run.node is not None
    number = digests.index(compare.digest(run.node))
    assert run.ledger.promised <= number <= run.ledger.sent
    return number


def aof(run: Run) -> dict[str, str]:
    """INFO persistence of the node."""
    assert run.node is not None
    return run.node.info("persistence")


def unwritten(run: Run) -> int:
    """Bytes that wait for an fsync to end, as they may with everysec; a SIGKILL would take them."""
    return int(aof(run)["aof_buffer_length"])


def write_until_refused(run: Run) -> None:
    """The last write is answered by an error and the end of its connection; it waits in memory until there is room."""
    with pytest.raises(AssertionError, match="MISCONF Errors writing to the AOF file: No space left on device"):
        for _ in range(40):
            run.write(1)
            wait_until(
                "it is written, or refused", lambda: not unwritten(run) or aof(run)["aof_last_write_status"] == "err"
            )
    assert run.ledger.acked == run.ledger.sent - 1
    run.hang_up()


@pytest.mark.parametrize("how", ["SAVE", "BGSAVE"])
def test_a_snapshot_without_room(lab: Lab, disk: Disk, digests: list[str], how: str) -> None:
    run, node = started(lab, disk, {"save": "3600 1000000", **UNCOMPRESSED})
    run.write(40)
    node.call("SAVE")
    run.ledger.promised = 40
    run.write(40)
    disk.fill(but_bytes=4096)
    if how == "SAVE":
        with pytest.raises(ErrorReply):
            node.call("SAVE")
    else:
        node.call("BGSAVE")
        wait_until("it has failed", lambda: node.info("persistence")["rdb_last_bgsave_status"] == "err")
    assert "No space left on device" in node.log()
    assert disk.temporary == []
    with pytest.raises(ErrorReply, match=r"^MISCONF"):
        node.call("SET", "a", "1")
    node = again(run)
    assert judge(run, digests) == 40
    disk.free()
    assert node.call("SAVE") == node.call("SET", "a", "1") == "OK"


@pytest.mark.parametrize("fsync", ["everysec", "no"])
def test_an_append_only_file_heals_when_there_is_room(lab: Lab, disk: Disk, digests: list[str], fsync: str) -> None:
    run, node = started(lab, disk, {"appendonly": "yes", "appendfsync": fsync})
    run.write(20)
    disk.fill(but_bytes=ROOM_BYTES)
    write_until_refused(run)
    disk.free()
    wait_until("it is written", lambda: node.info("persistence")["aof_last_write_status"] == "ok")
    assert judge(run, digests) == run.ledger.sent
    run.ledger.promised = run.ledger.sent
    run.write(3)
    wait_until("that too", lambda: not unwritten(run))
    again(run)
    assert judge(run, digests) == run.ledger.sent


@pytest.mark.parametrize("fsync", ["everysec", "no"])
def test_killed_on_a_full_disk_it_starts_on_it(lab: Lab, disk: Disk, digests: list[str], fsync: str) -> None:
    """What was on disk when the room came to an end is there, and a start needs none. The file ends at a command."""
    run, node = started(lab, disk, {"appendonly": "yes", "appendfsync": fsync})
    run.write(20)
    assert run.wire().call("WAITAOF", 1 if fsync == "everysec" else 0, 0, 0)
    disk.fill(but_bytes=ROOM_BYTES)
    write_until_refused(run)
    run.ledger.promised = 20
    node = again(run)
    number = judge(run, digests)
    assert "truncated there" not in node.log(), "what was written in part is taken back"
    disk.free()
    node.call("SET", "a", "1")
    wait_until("it is written", lambda: not unwritten(run))
    node = again(run)
    assert node.call("DEL", "a") == 1
    assert judge(run, digests) == number


def test_always_ends_rather_than_acknowledge_what_is_not_on_disk(lab: Lab, disk: Disk, digests: list[str]) -> None:
    run, node = started(lab, disk, {"appendonly": "yes", "appendfsync": "always"})
    run.write(20)
    disk.fill(but_bytes=ROOM_BYTES)
    with pytest.raises(ConnectionError):
        run.write(40)
    assert node.process.wait(60) == 1
    assert "Can't recover from AOF write error when the AOF fsync policy is 'always'" in node.log()
    assert run.ledger.promised == run.ledger.acked > 20
    disk.free()
    again(run)
    assert judge(run, digests) >= run.ledger.acked
    run.ledger.sent = run.ledger.acked = judge(run, digests)
    run.write(5)
    again(run)
    assert judge(run, digests) == run.ledger.acked


@pytest.mark.parametrize("room_bytes", [0, 4096, 8192, 16384, 32768])
def test_a_rewrite_without_room(lab: Lab, disk: Disk, digests: list[str], room_bytes: int) -> None:
    """It ends where the room does: with no incr, no place, no manifest, or in the middle of the base."""
    run, node = started(lab, disk, {**AOF, **UNCOMPRESSED, "appendfsync": "no"})
    run.write(40)
    disk.fill(but_bytes=room_bytes)
    with suppress(ErrorReply):
        node.call("BGREWRITEAOF")
    wait_until("it has failed", lambda: node.info("persistence")["aof_last_bgrewrite_status"] == "err")
    assert disk.temporary == []
    node = again(run)
    assert judge(run, digests) == 40
    disk.free()
    node.call("BGREWRITEAOF")
    wait_until("it is done", lambda: node.info("persistence")["aof_rewrites"] == "1")
    again(run)
    assert judge(run, digests) == 40

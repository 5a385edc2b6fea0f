"""A node that starts from an append-only file: whole, torn, broken."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pyrepl.errors import ConfigError
from pyrepl.resp.encoder import encode_command
from tests.unit.daemon.rig import in_loop, running

SET = encode_command([b"SET", b"a", b"1"])
PUSH = encode_command([b"RPUSH", b"a", b"1"])
MULTI = encode_command([b"MULTI"])


def folder_of(tmp_path: Path, *files: bytes) -> Path:
    """An append-only file of these incrs; the path of the last."""
    folder = tmp_path / "appendonlydir"
    folder.mkdir()
    lines = []
    for seq, content in enumerate(files, 1):
        (folder / f"appendonly.aof.{seq}.incr.aof").write_bytes(content)
        lines.append(f"file appendonly.aof.{seq}.incr.aof seq {seq} type i\n")
    (folder / "appendonly.aof.manifest").write_text("".join(lines))
    return folder / f"appendonly.aof.{len(files)}.incr.aof"


@in_loop
async def test_a_torn_tail_is_cut_and_told_with_its_byte(tmp_path: Path) -> None:
    path = folder_of(tmp_path, SET, b"#TS:1700000000\r\n" + SET + MULTI + SET)
    async with running(tmp_path, appendonly=True) as node:
        assert await node.say("GET a") == b"1"
        assert node.logged(f"the last whole command ends at byte {16 + len(SET)}")
    assert path.read_bytes().startswith(b"#TS:1700000000\r\n" + SET)
    assert MULTI not in path.read_bytes()


@pytest.mark.parametrize(
    ("files", "settings", "complaint"),
    [
        ((SET, SET[:-3]), {"aof_load_truncated": False}, f"ends at byte 0, and {len(SET) - 3} bytes follow"),
        ((SET[:-3], SET), {}, "Unexpected end of file reading"),
        ((SET, SET + b"junk\r\n" + SET), {}, rf"Bad file format.*at byte {len(SET)}.*redis-check-aof"),
        ((encode_command([b"NOSUCH"]),), {}, "Unknown command 'NOSUCH'"),
        ((SET, SET + PUSH), {"propagation_error_behavior": "panic"}, "'RPUSH' fails: WRONGTYPE .* is panic"),
    ],
)
def test_what_cannot_be_loaded_ends_the_start_and_stays(
    tmp_path: Path, files: tuple[bytes, ...], settings: dict[str, Any], complaint: str
) -> None:
    path = folder_of(tmp_path, *files)

    @in_loop
    async def run() -> None:
        with pytest.raises(ConfigError, match=complaint):
            async with running(tmp_path, appendonly=True, **settings):
                pass

    run()
    assert path.read_bytes() == files[-1]


@in_loop
async def test_a_broken_manifest_ends_the_start(tmp_path: Path) -> None:
    path = folder_of(tmp_path, SET)
    path.with_name("appendonly.aof.manifest").write_text("junk\n")
    with pytest.raises(ConfigError, match="line 1"):
        async with running(tmp_path, appendonly=True):
            pass


@pytest.mark.parametrize("behavior", ["ignore", "panic-on-replicas"])
@in_loop
async def test_a_command_that_fails_is_told_and_passed(tmp_path: Path, behavior: str) -> None:
    folder_of(tmp_path, SET + PUSH + SET)
    async with running(tmp_path, appendonly=True, propagation_error_behavior=behavior) as node:
        assert await node.say("GET a") == b"1"
        assert node.logged("'WRONGTYPE Operation against a key holding the wrong kind of value' after processing")
        assert await node.info("unexpected_error_replies") == "1"

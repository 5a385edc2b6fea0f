"""The child that writes a base."""

from __future__ import annotations

from pathlib import Path

from pyrepl.daemon.aof.rewrite import AofRewrite
from pyrepl.daemon.disk.snapshot import Outcome
from tests.unit.daemon.rig import children, in_loop, running, until


@in_loop
async def test_a_base_is_a_snapshot_marked_as_one(tmp_path: Path) -> None:
    async with running(tmp_path) as node:
        await node.say("SET a 1")
        ended: list[Outcome] = []
        rewrite = AofRewrite(node.app.saver, ended.append)
        assert rewrite.start(tmp_path / "base") in children()
        await until(lambda: ended, "the child")
        assert ended[0].error == "" and rewrite.child is None
        rewrite.write_here(tmp_path / "here")
        for name in ("base", "here"):
            content = (tmp_path / name).read_bytes()
            assert content.startswith(b"REDIS0010") and b"aof-base\xc0\x01" in content and b"repl-id" not in content


@in_loop
async def test_a_stopped_child_leaves_nothing(tmp_path: Path) -> None:
    async with running(tmp_path, rdb_key_save_delay=200_000) as node:
        await node.say("MSET a 1 b 2 c 3")
        ended: list[Outcome] = []
        rewrite = AofRewrite(node.app.saver, ended.append)
        rewrite.start(tmp_path / "base")
        rewrite.stop(reap=True)
        assert ended and ended[0].error and rewrite.child is None
        assert children() == [] and list(tmp_path.glob("*base*")) == [] and list(tmp_path.glob("temp*")) == []
        rewrite.stop()

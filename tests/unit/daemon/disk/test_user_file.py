"""The users at the start, and the file that keeps them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pyrepl.acl.passwords import hashed
from pyrepl.errors import ConfigError
from tests.unit.daemon.rig import in_loop, running

DEFAULT = b"user default on nopass sanitize-payload ~* &* +@all"


@in_loop
async def test_users_of_the_configuration(tmp_path: Path) -> None:
    async with running(tmp_path, user=((b"bob", b">p", b"+get"),)) as node:
        peer = await node.peer()
        assert await peer.say("ACL USERS") == [b"bob", b"default"]
        assert node.logged("The user 'bob' is disabled")


@in_loop
async def test_a_file_is_loaded_saved_and_loaded_again(tmp_path: Path) -> None:
    path = tmp_path / "users.acl"
    path.write_text("user bob on >p ~* +@all\n")
    leftover = tmp_path / "users.acl.999999.tmp"
    leftover.write_text("half")
    async with running(tmp_path, aclfile=str(path)) as node:
        assert not leftover.exists()
        peer, bob = await node.peer(), await node.peer()
        assert await bob.say("AUTH bob p") == "OK"
        await peer.say("ACL SETUSER carol on nopass")
        assert await peer.say("ACL SAVE") == "OK"
        assert path.stat().st_mode & 0o777 == 0o600
        assert path.read_bytes().split(b"\n") == [
            b"user bob on sanitize-payload #%b ~* resetchannels +@all" % hashed(b"p"),
            b"user carol on nopass sanitize-payload resetchannels -@all",
            DEFAULT,
            b"",
        ]
        path.write_text("user bob on >q +nosuch\n")
        assert "Unknown command or category name in ACL" in await peer.error("ACL LOAD")
        assert await bob.say("ACL WHOAMI") == b"bob"
        path.write_text("user dave on\n")
        assert await peer.say("ACL LOAD") == "OK"
        assert await peer.say("ACL USERS") == [b"dave", b"default"]
        assert await bob.rest() == b""


@in_loop
async def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    path = tmp_path / "users.acl"
    path.write_text("")
    async with running(tmp_path, aclfile=str(path)) as node:
        path.unlink()
        path.mkdir()
        error = await (await node.peer()).error("ACL SAVE")
        assert error.startswith("ERR There was an error trying to save the ACLs")
        assert node.logged("Writing ACL file for ACL SAVE")
        assert not list(tmp_path.glob("*.tmp"))


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"aclfile": "missing.acl"}, r"opening file 'missing\.acl': No such file"),
        ({"aclfile": "u.acl", "user": ((b"bob",),)}, "please define either an ACL file or declare users directly"),
        (
            {"user": ((b"bob", b"+nosuch"),)},
            "Error loading ACL rule '.nosuch' for the user named 'bob'",
        ),
    ],
)
@in_loop
async def test_wrong_users_end_the_start(tmp_path: Path, settings: dict[str, Any], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        async with running(tmp_path, **settings):
            pass


@in_loop
async def test_passwords(tmp_path: Path) -> None:
    async with running(tmp_path) as node:
        peer = await node.peer()
        first, second = await peer.say("ACL GENPASS"), await peer.say("ACL GENPASS")
        assert first != second and len(first) == 64 and int(first, 16) >= 0
        assert len(await peer.say("ACL GENPASS 5")) == 2

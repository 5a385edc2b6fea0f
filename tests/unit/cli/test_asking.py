"""Asking nodes over sockets: against scripted peers that answer well, badly, late or not at all."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from cli.asking import Credentials, Unreachable, Way, info_of, look
from pyrepl.address import Address

NOBODY = Credentials("", "")
Script = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def bulk(text: str) -> bytes:
    return f"${len(text)}\r\n{text}\r\n".encode()


@asynccontextmanager
async def serving(script: Script) -> AsyncIterator[int]:
    """A peer that follows a script with each connection; its port."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await script(reader, writer)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


def saying(answer: bytes, heard: list[bytes] | None = None) -> Script:
    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        data = await reader.read(1000)
        if heard is not None:
            heard.append(data)
        writer.write(answer)
        await writer.drain()

    return script


def ask(script: Script, credentials: Credentials = NOBODY, timeout_s: float = 60.0) -> str:
    async def run() -> str:
        async with serving(script) as port:
            return await info_of(Address("127.0.0.1", port), Way(credentials), timeout_s)

    return asyncio.run(run())


def why(script: Script, credentials: Credentials = NOBODY, timeout_s: float = 60.0) -> str:
    with pytest.raises(Unreachable) as caught:
        ask(script, credentials, timeout_s)
    return str(caught.value)


def test_info() -> None:
    heard: list[bytes] = []
    assert ask(saying(bulk("role:master\r\n"), heard)) == "role:master\r\n"
    assert heard == [b"*1\r\n$4\r\nINFO\r\n"]


@pytest.mark.parametrize(
    ("user", "auth"),
    [("", b"*2\r\n$4\r\nAUTH\r\n$3\r\npw!\r\n"), ("bob", b"*3\r\n$4\r\nAUTH\r\n$3\r\nbob\r\n$3\r\npw!\r\n")],
)
def test_a_password(user: str, auth: bytes) -> None:
    heard: list[bytes] = []
    assert ask(saying(b"+OK\r\n" + bulk("x"), heard), Credentials(user, "pw!")) == "x"
    assert heard[0].startswith(auth)


def test_a_password_where_none_is_wanted() -> None:
    answer = b"-ERR AUTH <password> called without any password configured for the default user. Are you sure?\r\n"
    assert ask(saying(answer + bulk("x")), Credentials("", "pw")) == "x"


def test_a_wrong_password_is_told_and_not_shown() -> None:
    answer = b"-WRONGPASS invalid username-password pair or user is disabled.\r\n-NOAUTH Authentication required.\r\n"
    said = why(saying(answer), Credentials("", "geheim"))
    assert said.startswith("WRONGPASS") and "geheim" not in said
    assert "geheim" not in repr(Credentials("bob", "geheim"))


def test_no_password() -> None:
    assert "set PYREPL_PASSWORD" in why(saying(b"-NOAUTH Authentication required.\r\n"))


def test_protected_mode() -> None:
    assert why(saying(b"-DENIED Redis is running in protected mode\r\n"), Credentials("", "pw")).startswith("DENIED")


def test_no_redis() -> None:
    assert "does not speak the Redis protocol" in why(saying(b"HTTP/1.1 400 Bad Request\r\n\r\n"))
    assert "expected a text from INFO, got int" in why(saying(b":5\r\n"))


def test_it_hangs_up() -> None:
    assert "closed the connection" in why(saying(b"$100\r\nhalf"))


def test_it_says_nothing() -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    assert why(silent, timeout_s=0.1) == "no answer within 0.1 s"


def test_it_talks_without_end() -> None:
    async def endless(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"$999999999\r\n" + b"x" * 1000)
        await reader.read()

    assert "999999999 bytes" in why(endless)


@pytest.mark.parametrize(
    ("host", "said"), [("127.0.0.1", "Connection refused"), ("no-such.invalid", "unknown host"), ("a" * 70, "host")]
)
def test_nobody_there(host: str, said: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(Unreachable, match=said):
        asyncio.run(info_of(Address(host, port), Way(NOBODY), 60.0))


def test_a_look_follows_what_it_finds() -> None:
    async def run() -> None:
        async with serving(saying(bulk("run_id:r\nrole:slave\nmaster_host:127.0.0.1\nmaster_port:1\n"))) as port:
            walk = await look(Address("localhost", port), Way(NOBODY), 60.0)
            assert [facts.run_id for facts, _ in walk.answers.values()] == ["r"]
            assert walk.failures == {Address("127.0.0.1", 1): "Connection refused"}

    asyncio.run(run())

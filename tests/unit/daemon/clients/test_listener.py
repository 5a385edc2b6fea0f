"""Listening sockets: what cannot be bound is one clear line; unix sockets replace stale files and leave none."""

from __future__ import annotations

import grp
import os
import socket
import stat
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from pyrepl.daemon.clients.listener import Listener
from pyrepl.daemon.wires.wire import Wire
from pyrepl.errors import ConfigError
from tests.peers.ports import free_port
from tests.unit.daemon.rig import Peer, in_loop, open_fds, soon, until


def greet(wire: Wire) -> None:
    """Says hello and closes."""
    wire.send(b"hello")
    wire.close()


def has_ip6() -> bool:
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            return True
    except OSError:
        return False


def may_mark() -> bool:
    """Does the kernel let this process mark its packets?"""
    with socket.socket() as probe:
        try:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_MARK, 1)
        except PermissionError:
            return False
    return True


def sockets_at(port: int) -> list[socket.socket]:
    """Copies of the sockets of this process that have this port."""
    found = []
    for item in open_fds():
        number, target = item.split(" ", 1)
        if target.startswith("socket:"):
            with suppress(OSError):
                copy = socket.socket(fileno=os.dup(int(number)))
                if copy.family == socket.AF_INET and copy.getsockname()[1] == port:
                    found.append(copy)
                else:
                    copy.close()
    return found


def mark_of(copy: socket.socket) -> int:
    with copy:
        return int.from_bytes(copy.getsockopt(socket.SOL_SOCKET, socket.SO_MARK, 4), sys.byteorder)


class TestTcp:
    @in_loop
    async def test_every_address(self) -> None:
        listener = Listener()
        port = free_port()
        listener.bind_tcp(["127.0.0.1", "127.0.0.2"], port, 511)
        assert listener.port == port
        listener.accept_with(greet)
        for host in ("127.0.0.1", "127.0.0.2"):
            assert await (await soon(Peer.to(port, host))).rest() == b"hello"
        with pytest.raises(OSError):
            await soon(Peer.to(port, "127.0.0.3"))
        listener.close()
        with pytest.raises(OSError):
            await soon(Peer.to(port))

    @in_loop
    async def test_names_and_stars(self) -> None:
        for addresses in (["*"], ["0.0.0.0"], ["localhost"]):
            listener = Listener()
            listener.bind_tcp(addresses, 0, 511)
            listener.accept_with(greet)
            assert await (await soon(Peer.to(listener.port, "localhost"))).rest() == b"hello"
            listener.close()

    def test_an_optional_address_may_be_absent(self) -> None:
        listener = Listener()
        listener.bind_tcp(["127.0.0.1", "-192.0.2.1", "-::1"], 0, 511)
        assert listener.port
        listener.close()

    def test_a_needed_one_may_not(self) -> None:
        with pytest.raises(ConfigError, match=r"192\.0\.2\.1:7000: bind: Cannot assign requested address$"):
            Listener().bind_tcp(["192.0.2.1"], 7000, 511)

    def test_only_absent_ones(self) -> None:
        with pytest.raises(ConfigError, match="Could not listen on port 7000: none of the addresses in 'bind' exists"):
            Listener().bind_tcp(["-192.0.2.1"], 7000, 511)

    def test_a_port_in_use(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            with pytest.raises(ConfigError) as raised:
                Listener().bind_tcp(["127.0.0.1"], port, 511)
        assert str(raised.value) == (
            f"Could not create server TCP listening socket 127.0.0.1:{port}: bind: Address already in use; "
            "another process listens there: stop it, or choose another --port"
        )

    def test_a_name_without_address(self) -> None:
        with pytest.raises(ConfigError, match=r"Could not resolve the address 'no\.such\.host\.invalid' in 'bind'"):
            Listener().bind_tcp(["no.such.host.invalid"], 7000, 511)

    @in_loop
    async def test_connections_outlive_it_and_descriptors_do_not(self) -> None:
        before = open_fds()
        listener, wires = Listener(), list[Wire]()
        listener.bind_tcp(["127.0.0.1"], 0, 511)
        listener.accept_with(wires.append)
        peer = await soon(Peer.to(listener.port))
        await until(lambda: wires, "a connection")
        listener.close()
        assert await peer.is_silent()
        peer.close()
        wires[0].close()
        await until(lambda: open_fds() <= before, "closed descriptors")

    def test_the_mark_is_on_every_socket_or_who_may_not_set_one_is_told(self) -> None:
        marked = Listener(2**32 - 2)
        if may_mark():
            port = free_port()
            marked.bind_tcp(["127.0.0.1", "127.0.0.2"], port, 511)
            assert [mark_of(copy) for copy in sockets_at(port)] == [2**32 - 2] * 2
        else:
            with pytest.raises(ConfigError, match="give the process CAP_NET_ADMIN, or remove socket-mark-id"):
                marked.bind_tcp(["127.0.0.1"], 0, 511)
        marked.close()


class TestUnix:
    @in_loop
    async def test_mode_and_end(self, tmp_path: Path) -> None:
        path = tmp_path / "sock"
        listener = Listener()
        listener.bind_unix(str(path), 0o700, 511)
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
        assert listener.port == 0
        listener.accept_with(greet)
        assert await (await soon(Peer.to_unix(str(path)))).rest() == b"hello"
        listener.close()
        assert not path.exists()

    def test_mode_0_leaves_it_to_the_umask(self, tmp_path: Path) -> None:
        path = tmp_path / "sock"
        old = os.umask(0o027)
        try:
            listener = Listener()
            listener.bind_unix(str(path), 0, 511)
        finally:
            os.umask(old)
        assert stat.S_IMODE(path.stat().st_mode) == 0o750
        listener.close()

    def test_group_by_name_or_number(self, tmp_path: Path) -> None:
        path = tmp_path / "sock"
        own = os.getegid()
        for group in (grp.getgrgid(own).gr_name, str(own)):
            listener = Listener()
            listener.bind_unix(str(path), 0, 511, group)
            assert path.stat().st_gid == own
            listener.close()

    def test_another_group_if_we_may(self, tmp_path: Path) -> None:
        other = next(group for group in grp.getgrall() if group.gr_gid != os.getegid())
        path = tmp_path / "sock"
        listener = Listener()
        if os.geteuid() == 0 or other.gr_gid in os.getgroups():
            listener.bind_unix(str(path), 0, 511, other.gr_name)
            assert path.stat().st_gid == other.gr_gid
        else:
            with pytest.raises(ConfigError, match="Operation not permitted"):
                listener.bind_unix(str(path), 0, 511, other.gr_name)
        listener.close()

    def test_no_such_group(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match="There is no group 'nobody-of-ours' for the unix socket: create it"):
            Listener().bind_unix(str(tmp_path / "sock"), 0, 511, "nobody-of-ours")
        assert not (tmp_path / "sock").exists()

    @in_loop
    async def test_a_stale_socket_is_replaced(self, tmp_path: Path) -> None:
        path = str(tmp_path / "sock")
        with socket.socket(socket.AF_UNIX) as dead:
            dead.bind(path)
        listener = Listener()
        listener.bind_unix(path, 0, 511)
        listener.accept_with(greet)
        assert await (await soon(Peer.to_unix(path))).rest() == b"hello"
        listener.close()

    def test_any_other_file_is_not(self, tmp_path: Path) -> None:
        path = tmp_path / "precious"
        path.write_text("data")
        with pytest.raises(ConfigError, match=r"Could not open the unix socket .*precious: Address already in use"):
            Listener().bind_unix(str(path), 0, 511)
        assert path.read_text() == "data"

    def test_no_directory(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match="No such file or directory"):
            Listener().bind_unix(str(tmp_path / "no" / "sock"), 0, 511)

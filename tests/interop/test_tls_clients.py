"""Client libraries and tools by TLS, unchanged, and users that are known by their certificates."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any, Final

import pytest
import redis

from tests.peers import finder
from tests.peers.lab import Lab, Node
from tests.peers.ports import HOST

LARGE: Final = b"x" * 5_000_000


@pytest.fixture
def node(lab: Lab) -> Node:
    return lab.start("pyrepl", directives=lab.authority.directives())


def client_of(lab: Lab, node: Node, certificate: Path | None = None, **more: Any) -> Any:
    """redis-py, which checks the server's certificate and its name."""
    path = str(certificate or lab.authority.folder / "node.pem")
    files: Any = {"ssl_certfile": path, "ssl_keyfile": path, "ssl_ca_certs": str(lab.authority.ca_file)}
    return redis.Redis(HOST, node.tls_port, ssl=True, **files, **more)


@pytest.mark.parametrize("protocol", [2, 3])
def test_redis_py(lab: Lab, node: Node, protocol: int) -> None:
    client = client_of(lab, node, protocol=protocol)
    assert client.set("large", LARGE) and client.get("large") == LARGE
    with client.pipeline(transaction=False) as pipe:
        for number in range(5000):
            pipe.set(f"key:{number}", "v" * (number % 300))
        assert all(pipe.execute())
    assert [len(value) for value in client.mget(f"key:{number}" for number in range(300))] == list(range(300))
    listener = client.pubsub()
    listener.subscribe("news")
    assert listener.get_message(timeout=5)["type"] == "subscribe"
    client.publish("news", LARGE)
    assert listener.get_message(timeout=5)["data"] == LARGE
    listener.close()
    client.close()


def test_redis_py_by_url(lab: Lab, node: Node) -> None:
    authority = lab.authority
    path = authority.folder / "node.pem"
    url = f"rediss://localhost:{node.tls_port}?ssl_ca_certs={authority.ca_file}&ssl_certfile={path}&ssl_keyfile={path}"
    client: Any = redis.from_url(url)
    assert client.ping() is True
    client.close()


def test_node_js(lab: Lab, node: Node) -> None:
    executable, modules = finder.node_packages()
    script = Path(__file__).with_name("tls_clients.js")
    files = [str(lab.authority.ca_file), str(lab.authority.folder / "node.pem")]
    done = subprocess.run(
        [executable, script, str(node.tls_port), *files],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={"NODE_PATH": str(modules)},
    )
    assert (done.returncode, done.stdout.strip()) == (0, "all good"), done.stderr


def tool(lab: Lab, node: Node, name: str, *args: object) -> str:
    """What one of Redis's tools prints; raises when it fails."""
    path = lab.authority.folder / "node.pem"
    command: list[object] = [finder.tool(name), "-h", HOST, "-p", node.tls_port, "--tls"]
    command += ["--cacert", lab.authority.ca_file, "--cert", path, "--key", path, *args]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, (args, done.stdout, done.stderr)
    return done.stdout + done.stderr


def test_redis_cli(lab: Lab, node: Node, tmp_path: Path) -> None:
    assert tool(lab, node, "redis-cli", "SET", "a", "b") == "OK\n"
    assert "tcp_port:" in tool(lab, node, "redis-cli", "INFO", "server")
    tool(lab, node, "redis-cli", "--rdb", tmp_path / "copy.rdb")
    assert (tmp_path / "copy.rdb").read_bytes().startswith(b"REDIS")


def test_redis_benchmark(lab: Lab, node: Node) -> None:
    for depth in (1, 16):
        said = tool(
            lab, node, "redis-benchmark", "-q", "-n", 5000, "-c", 20, "-P", depth, "-d", 100, "-t", "set,get,lrange"
        )
        assert len(re.findall(r"requests per second", said)) >= 3 and "rror" not in said
    assert node.call("PING") == "PONG"


NAMES: Final = ("alice", "off", "nobody")


def test_users_by_certificate_are_those_of_valkey(lab: Lab) -> None:
    """Who one is, what ACL LOG tells and what INFO counts, beside Valkey 9.1."""
    wanted = {"tls-auth-clients-user": "CN"}
    told = []
    for kind in ("pyrepl", "valkey91"):
        node = lab.start(kind, directives={**lab.authority.directives(), **wanted})
        node.call("ACL", "SETUSER", "alice", "on", ">secret", "~a:*", "+@read", "+acl|whoami")
        node.call("ACL", "SETUSER", "off", "off", "nopass", "+@all")
        story: list[object] = []
        for name in NAMES:
            client = client_of(lab, node, lab.authority.issue(name), protocol=2)
            story.append(client.execute_command("ACL WHOAMI"))
            try:
                story.append(client.execute_command("SET", "key", "value"))
            except redis.ResponseError as error:
                story.append(str(error))
            client.close()
        for entry in node.call("ACL", "LOG"):
            fields = dict(zip(entry[::2], entry[1::2], strict=True))
            story.append({name: fields[name] for name in (b"count", b"reason", b"context", b"object", b"username")})
        story.append(node.info("stats")["acl_access_denied_tls_cert"])
        told.append(story)
    assert told[0] == told[1]
    assert told[0][0] == "alice" and told[0][2] == "default"


def test_a_user_by_certificate_needs_no_password(lab: Lab) -> None:
    node = lab.start(
        "pyrepl", directives={**lab.authority.directives(), "tls-auth-clients-user": "cn", "requirepass": "secret"}
    )
    node.call("ACL", "SETUSER", "alice", "on", "~*", "+@all")
    alice = client_of(lab, node, lab.authority.issue("alice"), protocol=2)
    assert alice.execute_command("ACL WHOAMI") == "alice"
    nobody = client_of(lab, node, lab.authority.issue("nobody"), protocol=2)
    with pytest.raises(redis.AuthenticationError):
        nobody.execute_command("GET", "key")
    alice.close()
    nobody.close()

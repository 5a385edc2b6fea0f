"""`pyrepl status`, `pyrepl tail` and `pyrepl replica --master rediss://...` by TLS, and the stream port."""

from __future__ import annotations

import asyncio
import json
import ssl
import subprocess
from pathlib import Path

import pytest

from pyrepl.changes.client import ClientOptions, subscribe
from tests.peers.lab import Lab, Node, pyrepl_command
from tests.peers.ports import HOST, free_port


def say(*words: object) -> subprocess.CompletedProcess[str]:
    command = [*pyrepl_command(), *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def files(lab: Lab, name: str = "node") -> list[object]:
    return ["--tls", "--cacert", lab.authority.ca_file, "--cert", lab.authority.folder / f"{name}.pem"]


@pytest.mark.parametrize("kind", ["pyrepl", "redis7", "valkey8"])
def test_status(lab: Lab, kind: str) -> None:
    """It finds the replica too, whose port with TLS is the one that it told its master."""
    master = lab.start(kind, directives=lab.authority.directives())
    replica = lab.start("pyrepl", master.tls_port, directives=lab.authority.directives())
    replica.wait_link_up()
    master.wait_online()
    done = say("status", f"{HOST}:{master.tls_port}", "--json", *files(lab))
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert f'{HOST}:{replica.tls_port}"' in json.dumps(found), found


def test_status_that_does_not_fit(lab: Lab) -> None:
    node = lab.start("pyrepl", directives=lab.authority.directives())
    real = lab.start("redis7", directives=lab.authority.directives())
    for words, said in (
        ((f"{HOST}:{node.port}", *files(lab)), "it does not speak TLS on this port: leave out --tls"),
        ((f"{HOST}:{node.tls_port}",), "This port speaks TLS only"),
        ((f"{HOST}:{real.tls_port}",), "if this port speaks TLS, give --tls"),
        ((f"{HOST}:{node.tls_port}", "--tls"), "its certificate is not to be trusted"),
        ((f"rediss://{HOST}:{node.tls_port}",), "its certificate is not to be trusted"),
        ((f"{HOST}:{node.tls_port}", "--tls", "--insecure"), "certificate of ours"),
    ):
        done = say("status", *words)
        told = " ".join((done.stdout + done.stderr).split())
        assert done.returncode == 2 and said in told, (words, told)


def test_a_master_by_url(lab: Lab) -> None:
    master = lab.start("redis7", directives=lab.authority.directives())
    words = {name: value for name, value in lab.authority.directives().items() if name != "tls-replication"}
    replica = lab.start("pyrepl", f"rediss://{HOST}:{master.tls_port}", directives=words)
    replica.wait_link_up()
    assert replica.call("CONFIG", "GET", "tls-replication") == [b"tls-replication", b"yes"]


@pytest.fixture
def streaming(lab: Lab) -> tuple[Node, int]:
    """A node, and its stream port, which speaks TLS."""
    port = free_port()
    directives = {**lab.authority.directives(), "tls-port": "0", "stream-port": str(port), "tls-stream": "yes"}
    return lab.start("pyrepl", directives=directives), port


def test_tail(lab: Lab, streaming: tuple[Node, int], tmp_path: Path) -> None:
    node, port = streaming
    command = ["tail", f"{HOST}:{port}", "--count", "3", "--from", "0", *files(lab)]
    for number in range(3):
        node.call("SET", f"key:{number}", "x")
    done = say(*command)
    assert done.returncode == 0 and done.stdout.count('"set"') == 3, done.stdout + done.stderr
    done = say("tail", f"{HOST}:{port}", "--count", "1")
    assert "speaks TLS only" in done.stderr or "TLS" in done.stderr, done.stderr
    plain = lab.start("pyrepl", directives={"stream-port": str(free_port())})
    asked = plain.call("CONFIG", "GET", "stream-port")[1].decode()
    process = subprocess.Popen(
        [*pyrepl_command(), "tail", f"{HOST}:{asked}", *map(str, files(lab))], stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    assert "TLS: the node does not speak TLS on this port (tls-stream)" in process.stderr.readline()
    process.kill()
    process.wait()
    process.stderr.close()


def test_a_subscriber_by_certificate_needs_no_password(lab: Lab, streaming: tuple[Node, int]) -> None:
    node, port = streaming
    node.call("CONFIG", "SET", "tls-auth-clients-user", "CN")
    node.call("ACL", "SETUSER", "node", "on", "+psync")
    node.call("SET", "key", "x")
    node.call("ACL", "SETUSER", "default", "off")
    command = ["tail", f"{HOST}:{port}", "--count", "1", "--from", "0"]
    done = say(*command, *files(lab))
    assert done.returncode == 0 and '"set"' in done.stdout, done.stdout + done.stderr
    lab.authority.issue("nobody")
    done = say(*command, *files(lab, "nobody"))
    assert done.returncode == 1 and "NOAUTH" in done.stderr, done.stdout + done.stderr


def test_the_client_library(lab: Lab, streaming: tuple[Node, int]) -> None:
    node, port = streaming
    context = ssl.create_default_context(cafile=lab.authority.ca_file)
    context.load_cert_chain(lab.authority.folder / "node.pem")

    async def rows() -> list[str]:
        found: list[str] = []
        async with subscribe([f"{HOST}:{port}"], "keys", 0, options=ClientOptions(tls=context)) as changes:
            async for row in changes:
                found.append(str(row))
                if len(found) == 500:
                    break
        return found

    for number in range(500):
        node.call("SET", f"key:{number}", "x" * 100)
    found = asyncio.run(rows())
    assert "key:0" in found[0] and "key:499" in found[-1]

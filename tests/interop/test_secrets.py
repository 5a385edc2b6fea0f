"""Passwords are planted everywhere, in the right places and in wrong ones; then everything that people, logs and other
programs can see is searched for them."""

from __future__ import annotations

import json
import socket
from pathlib import Path

from tests.peers.lab import Lab, Node, wait_until
from tests.peers.ports import free_port
from tests.peers.wire import ErrorReply, Wire

MARK = "pl4nted"
"""Every secret holds this word, and nothing else does."""


class Planter:
    """Makes secrets; notes what the node says to whoever plants them."""

    def __init__(self) -> None:
        self.count = 0
        self.heard: list[str] = []

    def secret(self) -> str:
        self.count += 1
        return f"{MARK}-{self.count}"

    def say(self, wire: Wire, *words: str) -> None:
        try:
            self.heard.append(repr(wire.call(*words)))
        except ErrorReply as error:
            self.heard.append(str(error))


def watched(lab: Lab, tmp_path: Path, plant: Planter) -> tuple[Node, Node]:
    """A master with all kinds of passwords in its file, and a replica that logs in as a user."""
    password, of_link = plant.secret(), plant.secret()
    conf = tmp_path / "master.conf"
    conf.write_text(
        f"requirepass {password}\nmasterauth {plant.secret()}\n\n"
        f"user repl on >{of_link} +psync +replconf +ping\nuser other on >{plant.secret()} ~* +@all\n"
        f"slowlog-log-slower-than 0\nloglevel debug\nevent-log {tmp_path / 'master-events'}\n"
        f"commandlog-request-larger-than 0\ncommandlog-reply-larger-than 0\nenable-protected-configs yes\n"
        f"tls-key-file-pass {plant.secret()}\ntls-client-key-file-pass {plant.secret()}\n"
    )
    master = lab.start("pyrepl", directives={"config": str(conf), "stream-port": str(free_port())})
    master.password = password
    conf = tmp_path / "replica.conf"
    conf.write_text(f"masteruser repl\nmasterauth {of_link}\nloglevel debug\nevent-log {tmp_path / 'replica-events'}\n")
    replica = lab.start("pyrepl", master, {"config": str(conf)})
    replica.wait_link_up()
    return master, replica


def use(master: Node, replica: Node, plant: Planter) -> None:
    """Say secrets in every command that takes one: right, wrong, misspelt, in MULTI and in scripts."""
    wire = master.connect()
    ours = ("127.0.0.1", "1", "k", "0", "50")
    said: list[tuple[str, ...]] = [
        ("AUTH", plant.secret()),
        ("AUTH", "other", plant.secret()),
        ("AUTH", "other", plant.secret(), plant.secret()),
        ("HELLO", "3", "AUTH", "other", plant.secret()),
        ("HELLO", "9", "AUTH", "other", plant.secret()),
        ("HELLO", "3", "AUTH", plant.secret()),
        ("HELLO", "3", "NONSENSE", "AUTH", "other", plant.secret()),
        ("CONFIG", "SET", "masterauth", plant.secret()),
        ("CONFIG", "SET", "masterauth", plant.secret(), "nonsense", plant.secret()),
        ("CONFIG", "SET", "masterauth", plant.secret(), "hz"),
        ("CONFIG", "SET", "requirepass", plant.secret(), "requirepass", plant.secret()),
        ("CONFIG", "SET", "tls-key-file-pass", plant.secret()),
        ("CONFIG", "SET", "tls-key-file-pass", plant.secret(), "tls-port", "1", "tls-cert-file", "/no/such"),
        ("CONFIG", "SET", "tls-client-key-file-pass", plant.secret(), "tls-replication", "yes"),
        ("ACL", "SETUSER", "third", "on", f">{plant.secret()}", "+@all"),
        ("ACL", "SETUSER", "third", f"<{plant.secret()}"),
        ("ACL", "SETUSER", "third", f"#{plant.secret()}"),
        ("ACL", "SETUSER", "third", f"(>{plant.secret()} ~a)"),
        ("MIGRATE", *ours, "AUTH", plant.secret()),
        ("MIGRATE", *ours[:2], "", *ours[3:], "AUTH2", "other", plant.secret(), "KEYS", "k"),
        ("MIGRATE", *ours, "AUTH", plant.secret(), "NONSENSE"),
        ("MIGRATE", *ours, "NONSENSE", "AUTH", plant.secret()),
        ("MIGRATE", *ours, "AUTH2", plant.secret()),
        ("EVAL", "return redis.pcall('AUTH', ARGV[1])", "0", "x"),
        ("MULTI",),
        ("ACL", "SETUSER", "third", f">{plant.secret()}"),
        ("AUTH", plant.secret()),
        ("EXEC",),
    ]
    for words in said:
        plant.say(wire, *words)
    subscribe(int(master.call("CONFIG", "GET", "stream-port")[1]), plant)
    plant.say(replica.connect(), "CONFIG", "SET", "masterauth", plant.secret())
    plant.say(replica.connect(), "CLIENT", "KILL", "TYPE", "master")
    wait_until("a refused link", lambda: "WRONGPASS" in replica.log())


def subscribe(port: int, plant: Planter) -> None:
    """Say wrong passwords, and what is no login, at the stream port."""
    for line in (
        f"AUTH {plant.secret()}",
        f"NAME me {plant.secret()}",
        f"REPLICATE {plant.secret()}",
        f"AUTH a {plant.secret()}",
    ):
        with socket.create_connection(("127.0.0.1", port), 60) as connection:
            connection.sendall(line.encode() + b"\n")
            connection.shutdown(socket.SHUT_WR)
            with connection.makefile() as answers:
                plant.heard.append(answers.read())


def shown(node: Node, events: Path) -> dict[str, str]:
    """Everything that can be seen of a node, by where it is seen."""
    files = {f"file {path}": path.read_text(errors="replace") for path in events.parent.glob(f"{events.name}*")}
    process = Path(f"/proc/{node.process.pid}")
    asked = {
        " ".join(words): repr(node.call(*words))
        for words in (
            ("INFO", "everything"), ("CLIENT", "LIST"), ("SLOWLOG", "GET", "-1"), ("ACL", "LOG", "1000"),
            ("COMMANDLOG", "GET", "-1", "large-request"), ("COMMANDLOG", "GET", "-1", "large-reply"),
            ("LATENCY", "DOCTOR"), ("MEMORY", "DOCTOR"), ("ROLE",), ("COMMAND", "DOCS", "AUTH"), ("HOTKEYS", "GET"),
        )
    }  # fmt: skip
    return {
        "log": node.log(),
        "ps": (process / "cmdline").read_bytes().decode(),
        "thread names": " ".join(path.read_text() for path in process.glob("task/*/comm")),
        **asked,
        **files,
    }


def test_no_secret_is_seen(lab: Lab, tmp_path: Path) -> None:
    plant = Planter()
    master, replica = watched(lab, tmp_path, plant)
    monitor = master.connect()
    assert monitor.call("MONITOR") == "OK"
    use(master, replica, plant)
    monitor.send(b"*1\r\n$4\r\nPING\r\n")
    seen = {"replies": "\n".join(plant.heard)}
    lines = []
    while "PING" not in (line := str(monitor.read())):
        lines.append(line)
    seen["MONITOR"] = "\n".join(lines)
    for node, name in ((master, "master-events"), (replica, "replica-events")):
        seen |= {f"{node.name}: {where}": text for where, text in shown(node, tmp_path / name).items()}
    leaks = {where: text[max(0, text.index(MARK) - 100) :][:200] for where, text in seen.items() if MARK in text}
    assert leaks == {}, json.dumps(leaks, indent=1)
    assert any("events" in where for where in seen) and "AUTH" in seen["MONITOR"] and len(plant.heard) > 15


def test_who_may_not_ask_is_not_told(lab: Lab) -> None:
    """CONFIG GET shows passwords, as in Redis: to those alone who may run it."""
    node = lab.start("pyrepl", directives={"requirepass": MARK})
    node.call("ACL", "SETUSER", "bob", "on", "nopass", "~*", "+@all", "-@admin")
    assert MARK.encode() in node.call("CONFIG", "GET", "requirepass")
    bob = node.connect()
    bob.call("AUTH", "bob", "x")
    plant = Planter()
    plant.say(bob, "CONFIG", "GET", "requirepass")
    plant.say(bob, "EVAL", "return redis.call('CONFIG', 'GET', 'requirepass')", "0")
    plant.say(bob, "ACL", "LIST")
    assert not any(MARK in text for text in plant.heard)
    assert all("NOPERM" in text or "not allowed from script" in text for text in plant.heard), plant.heard

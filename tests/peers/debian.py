"""Packages and sources of Debian, by apt, for the peers in `.peers/` and for what else the tests need.

A server is downloaded and unpacked, never installed, so that no service starts; shared libraries, compilers and the
like are installed, as root or by sudo. What another suite holds (backports, testing, experimental) is read through a
sources list of its own, made from the mirror that the machine already uses, and apt checks signatures and digests as
ever; the machine's own lists stay as they are.

`python3 -m tests.peers.debian PACKAGE...` installs packages, with nothing but Python's own library.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

NOT_NEEDED: Final = frozenset({"adduser", "lsb-base", "init-system-helpers"})
APT: Final = ("apt-get", "-q", "-oAPT::Sandbox::User=root")
APT_SAYS: Final = {"DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C"}
KEYRING: Final = "debian-archive-keyring"

_WITHOUT_SERVICES: Final = """
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
    trap 'rm -f $policy' EXIT
    printf '#!/bin/sh\\nexit 101\\n' >$policy
    chmod 755 $policy
fi
"$@"
"""
"""Runs a command with Debian's own way to say that packages start no services, where the machine has no say yet."""


class PeerMissing(Exception):
    """A real server or a tool that the tests need is not here and cannot be had; the text says what to do.

    `packages` are those that somebody with the right to do so has to install.
    """

    def __init__(self, text: str, packages: Sequence[str] = ()) -> None:
        super().__init__(text)
        self.packages = tuple(packages)


class Source(NamedTuple):
    """A source package: its name, how its version begins, and the suites to look in, one after the other."""

    name: str
    version: str
    suites: tuple[str, ...]


def unpack(names: Sequence[str], suite: str, target: Path, version: str = "") -> None:
    """Download packages, unpack them below `target`, install the shared libraries they need.

    `suite` may be empty: the machine's own lists. `version` is how the packages' versions begin. Raises PeerMissing,
    with apt's own words when apt failed, or with the versions there are.
    """
    target.mkdir(parents=True, exist_ok=True)
    options = _options("deb", suite, target) if suite else _lists(target)
    with suppress(PeerMissing):
        # One broken foreign source of the machine must not stop us; if it was ours, the next line says so.
        _apt([*options, "update"], target)
    _apt([*options, "download", *names], target)
    debs = sorted(target.glob("*.deb"))
    others = {found for deb in debs if not (found := _field(deb, "Version")).split(":")[-1].startswith(version)}
    if others:
        shutil.rmtree(target)
        raise PeerMissing(f"{' and '.join(names)} have version {', '.join(sorted(others))} here, not {version}*")
    libraries = _libraries(debs, names)
    for deb in debs:
        subprocess.run(["dpkg", "-x", deb, target], check=True)
        deb.unlink()
    forget(target)
    install(libraries)


def install(names: Sequence[str]) -> None:
    """Install those that are not here, without what they merely recommend; says so on stderr. No service is started.

    The machine's lists are read anew if it does not work with those that are there. Raises PeerMissing: with apt's own
    words, or naming the packages where this user may not install any.
    """
    missing = [name for name in names if not is_installed(name)]
    if not missing:
        return
    words = " ".join(missing)
    if not shutil.which("apt-get"):
        raise PeerMissing(f"this is no Debian, where the packages {words} would be installed now", missing)
    may = _as_root()
    if may is None:
        raise PeerMissing(f"only root may install the packages {words}", missing)
    print(f"installing {words}", file=sys.stderr, flush=True)
    command = [*may, "env", *(f"{name}={value}" for name, value in APT_SAYS.items()), *APT]
    wanted = [*may, "sh", "-c", _WITHOUT_SERVICES, "sh", *command[len(may) :], "install", "-y"]
    wanted += ["--no-install-recommends", *missing]
    try:
        _run(wanted, Path("/"))
    except PeerMissing:
        with suppress(PeerMissing):
            _run([*command, "update"], Path("/"))
        _run(wanted, Path("/"))


def is_installed(name: str) -> bool:
    """Is this package here, whole?"""
    if not shutil.which("dpkg-query"):
        return False
    command = ["dpkg-query", "-W", "-f", "${db:Status-Status}", name]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout == "installed"


@functools.cache
def _as_root() -> list[str] | None:
    """What stands before a command that root has to run; None if that cannot be without being asked."""
    if os.geteuid() == 0:
        return []
    may = shutil.which("sudo") and subprocess.run(["sudo", "-n", "true"], capture_output=True, check=False)
    return ["sudo", "-n"] if may and may.returncode == 0 else None


def forget(target: Path) -> None:
    """Remove what apt has noted there: it is long, and old when it is needed again."""
    for name in ("lists", "cache"):
        shutil.rmtree(target / name, ignore_errors=True)


def source(wanted: Source, target: Path) -> Path:
    """The folder of upstream's sources, unpacked below `target`, from the first suite that has such a version.

    Debian's own changes are left out: the peer is what its makers publish. Raises PeerMissing.
    """
    target.mkdir(parents=True, exist_ok=True)
    seen: list[str] = []
    for suite in wanted.suites:
        options = _options("deb-src", suite, target)
        _update(options, "deb-src", suite, target)
        versions = _versions(wanted.name, options, target)
        found = next((each for each in versions if each.split(":")[-1].startswith(wanted.version)), None)
        if found is not None:
            return _tree(f"{wanted.name}={found}", options, target)
        seen += [f"{suite} has {', '.join(versions) or 'none'}"]
    raise PeerMissing(f"no source package {wanted.name} {wanted.version}* on this machine's mirror: {'; '.join(seen)}")


def _tree(package: str, options: list[str], target: Path) -> Path:
    """Download the one archive of upstream and unpack it."""
    folder = target / "source"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    _apt([*options, "source", "--download-only", "--tar-only", package], folder)
    (archive,) = folder.glob("*.orig.tar.*")
    _run(["tar", "-x", "--no-same-owner", "-f", str(archive)], folder)
    archive.unlink()
    (tree,) = folder.iterdir()
    return tree


def _versions(name: str, options: list[str], cwd: Path) -> list[str]:
    """Of a source package, as the lists hold them."""
    output = _run(["apt-cache", *options, "showsrc", "--only-source", name], cwd, may_fail=True)
    return re.findall(r"^Version: (\S+)$", output, re.MULTILINE)


def _update(options: list[str], kind: str, suite: str, target: Path) -> None:
    """Read the lists; where the machine's keys are older than the suite's signature, by a newer keyring of Debian's."""
    try:
        _apt([*options, "update"], target)
    except PeerMissing as failure:
        if "NO_PUBKEY" not in str(failure):
            raise
        unpack([KEYRING], "", target)
        _options(kind, suite, target, target / f"usr/share/keyrings/{KEYRING}.gpg")
        _apt([*options, "update"], target)


def _libraries(debs: list[Path], ours: Sequence[str]) -> list[str]:
    """The packages these need, without themselves and without what only a service needs."""
    wanted: set[str] = set()
    for deb in debs:
        wanted.update(part.split("|")[0].split("(")[0].strip() for part in _field(deb, "Depends").split(","))
    return sorted(wanted - {"", *ours} - NOT_NEEDED)


def _field(deb: Path, name: str) -> str:
    """What a package says of itself there."""
    return subprocess.run(["dpkg-deb", "-f", deb, name], capture_output=True, text=True, check=True).stdout.strip()


def _options(kind: str, suite: str, target: Path, keyring: Path | None = None) -> list[str]:
    """apt options that read one other suite from the machine's own mirror, with lists of their own.

    `kind` is "deb" or "deb-src"; `keyring` takes the place of the one that the machine names for its mirror.
    """
    sources = target / "sources.list"
    sources.write_text(_suite_line(kind, suite, keyring) + "\n")
    return [f"-oDir::Etc::SourceList={sources}", "-oDir::Etc::SourceParts=/dev/null", *_lists(target)]


def _suite_line(kind: str, suite: str, keyring: Path | None) -> str:
    """The line `deb [...] MIRROR SUITE main`, with the mirror and the key that serve this machine's own suite."""
    codename = _codename()
    for uri, suites, key in _sources():
        if codename in suites:
            key = str(keyring or key)
            signed = f"[signed-by={key}] " if key else ""
            return f"{kind} {signed}{uri} {suite} main"
    raise PeerMissing(f"no apt source for {codename} in /etc/apt: cannot tell where {suite} would be")


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


def _lists(target: Path) -> list[str]:
    """apt options for lists of our own, which need not be root's."""
    for folder in ("lists", "cache/archives"):
        (target / folder / "partial").mkdir(parents=True, exist_ok=True)
    return [f"-oDir::State::Lists={target / 'lists'}", f"-oDir::Cache={target / 'cache'}"]


def _apt(args: list[str], cwd: Path) -> None:
    _run([*APT, *args], cwd)


def _run(command: list[str], cwd: Path, may_fail: bool = False) -> str:
    """Its output. Raises PeerMissing with all it said, unless it may fail."""
    env = {**os.environ, **APT_SAYS}
    try:
        done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise PeerMissing(f"there is no {command[0]} here: the real servers come from Debian packages") from None
    if done.returncode and not may_fail:
        raise PeerMissing(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    try:
        install(sys.argv[1:])
    except PeerMissing as told:
        sys.exit(f"{told}\nAs root: apt-get install {' '.join(sys.argv[1:])}")
